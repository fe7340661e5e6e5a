"""Results about speed to Markdown: latency, the wait of a turn, peers, growth, idle work."""

from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks.growth import rows
from benchmarks.preempt import CONTROL
from benchmarks.tables import PERCENTILES, percent, table

SEARCHES = {
    "search": "search",
    "search_with_sentence_transformers": "by s-t",
    "search_without_embedding": "ahead",
    "search_after_pause": "after a pause",
}
SPENDS = {"cpu": "CPU a search", "cpu_without_embedding": "CPU, ahead"}
FATES = {
    "stood": "all of it",
    "vector": "its vector",
    "redone": "nothing of it",
    "nothing": "there was none",
}
ARMS = {"off": "without idle work", "on": "with it"}
BESIDE = {
    "beside_busy": "the first, beside a busy core",
    "during_build": "the first, while the index is built anew",
}


def latency(written: dict[str, Any]) -> str:
    """Write what ``benchmarks.latency`` measured.

    Args:
        written: Its JSON.

    Returns:
        Markdown.
    """
    parts = []
    for result in written["results"]:
        rows = [
            ("recall, embedded while the turn waits", result["inline"]),
            ("recall, embedded ahead", result["ahead"]),
            *((label, result[name]) for name, label in BESIDE.items()),
            *_rhythms(result),
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
            table(("", *PERCENTILES), cells),
            f"Fresh process: {cold['lexical']:.0f} ms from open to the first answer by words, "
            f"{cold['full']:.0f} ms in full, after {cold['imports']:.0f} ms of imports; "
            f"{result['rss_mb']:.0f} MB resident, of which {result['rss_imports_mb']:.0f} MB are "
            f"imports. {result['over_deadline']} of {result['queries']} recalls took longer than "
            "the deadline of 10 ms." + _ratios(result),
        ]
    return "\n\n".join(parts)


def _rhythms(result: dict[str, Any]) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield the rows of recalls at the rhythm of people."""
    yield "the first, without its embedding", result["but_embedding"]
    yield "the first, processor time of all threads", result["cpu"]
    for pause in ("50", "300"):
        yield f"after a pause of {pause} ms", result["pauses"][pause]
    yield "back to back, between these", result["pauses"]["together"]
    yield "beside idle work", result["beside_idle"]["beside"]
    yield "without it, between these", result["beside_idle"]["alone"]
    for tier, values in result["tiers"].items():
        yield f"answer in the {tier} tier", values


def _ratios(result: dict[str, Any]) -> str:
    after, beside = result["pauses"]["ratio"]["300"], result["beside_idle"]
    return (
        f" Processor time over wait, inline: {result['cpu_ratio']:.2f}. After a pause of 300 ms, over "
        f"the median back to back: {after['p50']:.2f} (p50), {after['p95']:.2f} (p95){_machine(result)}. Beside idle "
        f"work, over the same without it: {beside['ratio']['p50']:.2f} (p50), "
        f"{beside['ratio']['p95']:.2f} (p95); it took {percent(beside['idle_share'])} % of a core "
        "before these recalls."
    )


def _machine(result: dict[str, Any]) -> str:
    """Say how much slower memory itself is after a pause, where that was measured."""
    reading = result["pauses"].get("reading")
    if not reading:
        return ""
    return f"; reading 20 MB: {reading['300']:.1f} ms after it, {reading['0']:.1f} ms back to back"


def turn(written: dict[str, Any]) -> str:
    """Write what ``benchmarks.turn`` measured.

    Args:
        written: Its JSON.

    Returns:
        Markdown: the waits, and what became of the recalls that were begun ahead.
    """
    arms = written["arms"]
    waits = [
        (
            name,
            arm["wait"]["n"],
            *(arm["wait"][p] for p in PERCENTILES),
            percent(arm["under_1_ms"]),
            percent(arm["in_time"]),
            _stages(arm),
        )
        for name, arm in arms.items()
    ]
    ahead = {name: arm["prefetch"] for name, arm in arms.items() if "prefetch" in arm}
    fates = [
        (name, *(percent(told[how]) for how in FATES), told["wasted"])
        for name, told in ahead.items()
    ]
    return "\n\n".join(
        (
            f"**{written['memories']:,} memories**, milliseconds:",
            table(("", "turns", *PERCENTILES, "under 1 ms, %", "in time, %", "stages"), waits),
            "What a turn took of what was recalled ahead, % of turns:",
            table(("", *FATES.values(), "recalls in vain a turn"), fates),
        )
    )


def _stages(arm: dict[str, Any]) -> str:
    return ", ".join(f"{name} {count}" for name, count in arm["stages"].items())


def peers(written: dict[str, Any]) -> str:
    """Write what ``benchmarks.peers`` measured.

    Args:
        written: Its JSON.

    Returns:
        Markdown.
    """
    results = written["results"]
    first = results[0]
    columns = (
        "",
        *(f"{name}, {p}" for name in SEARCHES.values() for p in ("p50", "p99")),
        *SPENDS.values(),
        "add p50",
        "add with vector",
        "disk MB",
        "R@10",
    )
    rows = [
        (
            result["peer"],
            *(result[way][p] for way in SEARCHES for p in ("p50", "p99")),
            *(result[figure]["p50"] for figure in SPENDS),
            result["add"]["p50"],
            result["add_with_embedding"]["p50"],
            result["disk_mb"],
            percent(result["recall_at_10"]),
        )
        for result in results
    ]
    packages = dict(sorted(pair for result in results for pair in result["packages"].items()))
    return "\n\n".join(
        (
            f"A megabyte was hashed in {_range(first['reference'])} ms.",
            f"**{first['memories']:,} memories**, {first['search']['n']} questions of each kind, "
            f"milliseconds; R@10 of {first['recall_n']} questions of {first['recall_data']}:",
            table(columns, rows),
            "\n".join(f"- {result['peer']}: {result['note']}." for result in results),
            f"Versions: {', '.join(f'{name} {version}' for name, version in packages.items())}.",
        )
    )


def _range(values: Sequence[float]) -> str:
    return f"{min(values):.2f} to {max(values):.2f}"


def growth(written: dict[str, Any]) -> str:
    """Write what ``benchmarks.growth`` measured.

    Args:
        written: Its JSON.

    Returns:
        Markdown.
    """
    columns, made = rows(written)
    title = "By number of memories, milliseconds but where it says MB:"
    return f"{title}\n\n{table(columns, made)}"


def preempt(written: dict[str, Any]) -> str:
    """Write what ``benchmarks.preempt`` measured.

    Args:
        written: Its JSON.

    Returns:
        Markdown.
    """
    rows = [
        (
            f"{name} (control)" if name == CONTROL else name,
            arm["gone"]["n"],
            *(arm["gone"][p] for p in PERCENTILES),
            arm["overlaps"],
        )
        for name, arm in written["arms"].items()
    ]
    return "\n\n".join(
        (
            f"**{written['interruptions']} interruptions** an arm, milliseconds:",
            table(("", "requests", *PERCENTILES, "beside the conversation's"), rows),
        )
    )


def idle_cost(written: dict[str, Any]) -> str:
    """Write what ``benchmarks.idle_cost`` measured.

    Args:
        written: Its JSON.

    Returns:
        Markdown.
    """
    rows = [
        (f"{figure}, {ARMS[arm]}", *(values[figure][p] for p in PERCENTILES))
        for figure in written["ratio"]
        for arm, values in written["arms"].items()
    ]
    rows += [
        (f"{figure}, ratio", *(ratio.get(p, "") for p in PERCENTILES))
        for figure, ratio in written["ratio"].items()
    ]
    return "\n\n".join(
        (
            f"**{written['memories']:,} memories**, {written['turns']} turns each, "
            f"{written['steps']} steps of idle work begun, milliseconds:",
            table(("", *PERCENTILES), rows),
        )
    )
