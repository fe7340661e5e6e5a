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


def figures(results: Mapping[str, Sequence[dict[str, Any]]]) -> str:
    """Write the few figures that the README shows.

    Args:
        results: Each benchmark's JSON files, by its name.

    Returns:
        Markdown.
    """
    timed = results["latency"][0]
    large = timed["results"][-1]
    long = results["prefix"][0]["results"][-1]
    ours, theirs = long["arms"]["ours"], long["arms"]["Mem0's"]
    scores = {result["data"]: result["scores"]["all"] for result in results["quality"]}
    store = large["store"]
    talk = large["loop_lag"]["talk"]
    rows = [
        ("recall, query embedded while the turn waits", *_two(large["inline"])),
        ("recall, query embedded ahead", *_two(large["ahead"])),
        ("a turn accepted for storing, in a burst", *_two(store["burst"]["accept"])),
        ("the same, one every tenth of a second", *_two(store["talk"]["accept"])),
        ("… and durable on disk", *_two(store["talk"]["durable"])),
        ("event loop late, four exchanges a second", *_two(talk)),
    ]
    machine = timed["machine"]
    title = f"{large['memories']:,} memories, {machine['cores']} cores ({machine['cpu']}), ms"
    cold = large["cold"]
    lines = [
        f"- From opening the store to the first answer: {cold['lexical']:.0f} ms by words, "
        f"{cold['full']:.0f} ms in full. {large['rss_mb']:.0f} MB resident.",
        f"- The LLM's prefix over {long['turns']} turns: broken {ours['broken']} times (Mem0's "
        f"placement: {theirs['broken']}); the block takes {ours['block']['mean']:.0f} tokens a "
        "turn on average.",
        *(
            f"- {name}, no LLM: R@10 {100 * s['R@10']:.1f}, R@300w {100 * s['R@300w']:.1f} "
            f"({s['n']} questions)."
            for name, s in scores.items()
        ),
    ]
    return "\n\n".join((_table((title, "p50", "p99"), rows), "\n".join(lines)))


def _two(values: Mapping[str, float]) -> tuple[float, float]:
    return values["p50"], values["p99"]


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
