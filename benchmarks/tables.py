"""Results to Markdown: what benchmarks print, and docs/performance.md shows between its markers."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

PERCENTILES = ("p50", "p95", "p99", "max")
_PART = re.compile(r"(<!-- begin (\w+) -->\n).*?(<!-- end \2 -->)", re.S)


class MixedCommitsError(ValueError):
    """A table would show results of several commits."""


def fill(text: str, parts: Mapping[str, str]) -> str:
    """Put generated parts between their markers.

    Args:
        text: Markdown with ``<!-- begin NAME -->`` and ``<!-- end NAME -->``.
        parts: Markdown by name; a name without a part keeps what is there.

    Returns:
        The text.
    """
    return _PART.sub(
        lambda m: f"{m[1]}{parts[m[2]]}\n{m[3]}" if m[2] in parts else m[0],
        text,
    )


def number(value: Any) -> str:
    """Write a value for a table: a float with more decimals the smaller it is."""
    if not isinstance(value, float):
        return str(value)
    size = abs(value)
    return f"{value:.{0 if size >= 1000 else 1 if size >= 20 else 2 if size >= 0.1 else 3}f}"


def percent(share: float) -> str:
    """Write a share.

    Args:
        share: 0 to 1.

    Returns:
        In percent, with one decimal.
    """
    return f"{100 * share:.1f}"


def is_known(written: Any) -> bool:
    """Tell whether results were measured on a known commit: stamped, and without other changes."""
    commit = written.get("commit", "") if isinstance(written, dict) else ""
    return bool(commit) and not commit.endswith("+")


def generation(results: Iterable[Mapping[str, Any]]) -> str:
    """Return the commit of the newest of some results on known commits, "" for none."""
    newest = max(results, key=lambda written: written["date"], default={"commit": ""})
    return str(newest["commit"])


def commit_of(files: Mapping[str, dict[str, Any]]) -> str:
    """Return the commit on which results were measured.

    Args:
        files: Results on known commits, by name of their file; one at least.

    Raises:
        MixedCommitsError: They were measured on several.
    """
    commits = {name: written["commit"] for name, written in files.items()}
    if len(set(commits.values())) > 1:
        told = ", ".join(f"{name} of {commit}" for name, commit in sorted(commits.items()))
        raise MixedCommitsError(
            f"one table cannot show results of several commits: {told}. "
            "Measure all of them on one commit, or remove the older files."
        )
    return next(iter(commits.values()))


def caption(files: Mapping[str, dict[str, Any]]) -> str:
    """Write on which commit and machine, when and beside how much else something was measured.

    Args:
        files: Results on one known commit, by name of their file; one at least.

    Returns:
        A sentence.

    Raises:
        MixedCommitsError: They were measured on several.
    """
    dates = {written["date"] for written in files.values()}
    machines = {_machine(written["machine"]): None for written in files.values()}
    loads = [load for written in files.values() for load in written["load"]]
    return (
        f"Commit `{commit_of(files)}`, {_range(min(dates), max(dates))}; {'; '.join(machines)}; load average "
        f"{_range(number(min(loads)), number(max(loads)))}."
    )


def _range(least: str, most: str) -> str:
    return least if least == most else f"{least} to {most}"


def _machine(machine: Mapping[str, Any]) -> str:
    return (
        f"{machine['cores']} cores ({machine['cpu']}), {machine['system']}, Python "
        f"{machine['python']}"
    )


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Write a table, its first column left-aligned and the others right-aligned.

    Args:
        columns: Names.
        rows: Values.

    Returns:
        Markdown.
    """
    lines = [columns, ["---", *["---:"] * (len(columns) - 1)]]
    lines += [[number(value) for value in row] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def titled(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Write a table below a line in bold."""
    return f"**{title}**\n\n{table(columns, rows)}"
