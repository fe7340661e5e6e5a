"""Results to Markdown: what docs/performance.md shows between its markers. See also recall_tables."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.common import number

PERCENTILES = ("p50", "p95", "p99", "max")
WHEN = ("before", "after")
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


def prefix(written: dict[str, Any]) -> str:
    """Write what ``benchmarks.prefix`` measured.

    Args:
        written: Its JSON.

    Returns:
        Markdown.
    """
    columns = (
        "turns: placement",
        "new a turn",
        "max",
        "without blocks",
        "against none",
        "block a turn",
        "when any",
        "prefix broken",
        "last prompt",
    )
    rows = [
        (
            f"{result['turns']}: {name}",
            arm["new"]["mean"],
            arm["new"]["max"],
            arm["new_words"]["mean"],
            f"{arm['difference_percent']:+.0f} %",
            arm["block"]["mean"],
            arm["block"]["mean_when_any"],
            f"{arm['broken']} times",
            arm["prompt"],
        )
        for result in written["results"]
        for name, arm in result["arms"].items()
    ]
    return f"Tokens:\n\n{table(columns, rows)}"


def footprint(written: dict[str, Any]) -> str:
    """Write what ``benchmarks.footprint`` measured.

    Args:
        written: Its JSON.

    Returns:
        Markdown: what is on disk, what is in memory.
    """
    results = written["results"]
    held = [(f"{r['memories']:,}, {when} ageing", r, when) for r in results for when in WHEN]
    names = ["", *(name for name, _, _ in held)]
    parts = [{k: v / r["memories"] for k, v in r[w]["disk"]["parts"].items()} for _, r, w in held]
    disk = [(part, *(one[part] for one in parts)) for part in parts[0]]
    disk.append(("all of these", *(sum(one.values()) for one in parts)))
    disk.append(("data file", *(r[w]["disk"]["file"] / r["memories"] for _, r, w in held)))
    sizes = [r[w]["rss_mb"] for _, r, w in held]
    memory = [(part, *(one[part] for one in sizes)) for part in sizes[0]]
    return "\n\n".join(
        (
            "Bytes on disk for each memory:",
            table(names, disk),
            f"Resident megabytes (*memory* is all but the interpreter; the sources plan "
            f"{written['sources_mb']}):",
            table(names, memory),
        )
    )


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
