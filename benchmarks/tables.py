"""Results to Markdown: what docs/performance.md shows between its markers."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks.common import number
from benchmarks.scoring import METRICS

PERCENTILES = ("p50", "p95", "p99", "max")
_PART = re.compile(r"(<!-- begin (\w+) -->\n).*?(<!-- end \2 -->)", re.S)


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


def latency(written: dict[str, Any]) -> str:
    """Write what ``benchmarks.latency`` measured.

    Args:
        written: Its JSON.

    Returns:
        Markdown.
    """
    parts = [_where(written)]
    for result in written["results"]:
        rows = [
            ("recall, embedded while the turn waits", result["inline"]),
            ("recall, embedded ahead", result["ahead"]),
            *((f"· {name}", values) for name, values in result["stages"].items()),
            *((f"event loop late, {name}", ms) for name, ms in result["loop_lag"].items()),
            *(
                (f"store a turn: {what}, {pace}", result["store"][pace][what])
                for what in ("accept", "durable")
                for pace in ("talk", "burst")
            ),
        ]
        cells = [(name, *(values[p] for p in PERCENTILES)) for name, values in rows]
        cold = result["cold"]
        parts += [
            f"**{result['memories']:,} memories** ({result['queries']} questions), milliseconds:",
            _table(("", *PERCENTILES), cells),
            f"Fresh process: {cold['lexical']:.0f} ms from open to the first answer by words, "
            f"{cold['full']:.0f} ms in full, after {cold['imports']:.0f} ms of imports; "
            f"{result['rss_mb']:.0f} MB resident, of which {result['rss_imports_mb']:.0f} MB are "
            f"imports. {result['over_deadline']} of {result['queries']} recalls took longer than "
            "the deadline of 10 ms.",
        ]
    return "\n\n".join(parts)


def prefix(written: dict[str, Any]) -> str:
    """Write what ``benchmarks.prefix`` measured.

    Args:
        written: Its JSON.

    Returns:
        Markdown.
    """
    columns = (
        "placement",
        "new a turn",
        "max",
        "without blocks",
        "against none",
        "block a turn",
        "when any",
        "prefix broken",
        "last prompt",
    )
    parts = []
    for result in written["results"]:
        rows = [
            (
                name,
                arm["new"]["mean"],
                arm["new"]["max"],
                arm["new_words"]["mean"],
                f"{arm['difference_percent']:+.0f} %",
                arm["block"]["mean"],
                arm["block"]["mean_when_any"],
                f"{arm['broken']} times",
                arm["prompt"],
            )
            for name, arm in result["arms"].items()
        ]
        parts += [f"**{result['turns']} turns**, tokens:", _table(columns, rows)]
    return "\n\n".join(parts)


def quality(written: Sequence[dict[str, Any]]) -> str:
    """Write what ``benchmarks.quality`` measured.

    Args:
        written: Its JSON, one a data folder.

    Returns:
        Markdown.
    """
    rows = []
    for result in written:
        for name, scores in result["scores"].items():
            label = f"**{result['data']}**" if name == "all" else f"· {name}"
            rows.append((label, *(f"{100 * scores[m]:.1f}" for m in METRICS), scores["n"]))
    return _table(("", *METRICS, "questions"), rows)


RENDER: dict[str, Callable[[Any], str]] = {
    "latency": latency,
    "prefix": prefix,
    "quality": quality,
}


def _where(written: dict[str, Any]) -> str:
    machine = written["machine"]
    loads = ", ".join(number(load) for load in written["load"])
    return (
        f"{machine['cores']} cores ({machine['cpu']}), {machine['system']}, Python "
        f"{machine['python']}; load average before and after each size: {loads}."
    )


def _table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    lines = [columns, ["---", *["---:"] * (len(columns) - 1)]]
    lines += [[number(value) for value in row] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
