"""Results about speed to Markdown: latency, the wait of a turn, where it goes, peers, growth."""

from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks.budget import PARTS
from benchmarks.growth import rows
from benchmarks.tables import PERCENTILES, percent, table, where

SEARCHES = {
    "search": "search",
    "search_with_sentence_transformers": "by s-t",
    "search_without_embedding": "ahead",
    "search_after_pause": "after a pause",
}
LEAST_MS = 0.02  # a turn: a thread that computes less is left out
SPENDS = {"cpu": "CPU a search", "cpu_without_embedding": "CPU, ahead"}
FATES = {
    "stood": "all of it",
    "vector": "its vector",
    "redone": "nothing of it",
    "nothing": "there was none",
}
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
    parts = [where(written)]
    for result in written["results"]:
        rows = [
            ("recall, embedded while the turn waits", result["inline"]),
            ("recall, embedded ahead", result["ahead"]),
            *((label, result[name]) for name, label in BESIDE.items() if name in result),
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
    """Yield the rows of recalls at the rhythm of people, of those that were measured."""
    if "but_embedding" in result:
        yield "the first, without its embedding", result["but_embedding"]
        yield "the first, processor time of all threads", result["cpu"]
    for pause in ("50", "300") if "pauses" in result else ():
        yield f"after a pause of {pause} ms", result["pauses"][pause]
    if "pauses" in result:
        yield "back to back, between these", result["pauses"]["together"]
    if "beside_idle" in result:
        yield "beside idle work", result["beside_idle"]["beside"]
        yield "without it, between these", result["beside_idle"]["alone"]
    for tier, values in result.get("tiers", {}).items():
        yield f"answer in the {tier} tier", values


def _ratios(result: dict[str, Any]) -> str:
    told = ""
    if "limit_ratio" in result:
        told += f" The median is {result['limit_ratio']} times the limit."
    if "cpu_ratio" in result:
        told += f" Processor time over wait, inline: {result['cpu_ratio']:.2f}."
    if "pauses" in result:
        after = result["pauses"]["ratio"]["300"]
        told += (
            f" After a pause of 300 ms, over the median back to back: {after['p50']:.2f} (p50), "
            f"{after['p95']:.2f} (p95)."
        )
    if "beside_idle" in result:
        beside = result["beside_idle"]
        told += (
            f" Beside idle work, over the same without it: {beside['ratio']['p50']:.2f} (p50), "
            f"{beside['ratio']['p95']:.2f} (p95); it took {percent(beside['idle_share'])} % of a core "
            "before these recalls."
        )
    return told


def turn(written: dict[str, Any]) -> str:
    """Write what ``benchmarks.turn`` measured.

    Args:
        written: Its JSON.

    Returns:
        Markdown: the waits, what became of the recalls that were begun ahead, and the budget.
    """
    arms = written["arms"]
    waits = [
        (
            name,
            arm["wait"]["n"],
            *(arm["wait"][p] for p in PERCENTILES),
            percent(arm["under_1_ms"]),
            percent(arm["in_time"]) if "in_time" in arm else "",
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
            where(written, "before the first arm and after each"),
            f"**{written['memories']:,} memories**, milliseconds:",
            table(("", "turns", *PERCENTILES, "under 1 ms, %", "in time, %", "stages"), waits),
            "What a turn took of what was recalled ahead, % of turns:",
            table(("", *FATES.values(), "recalls in vain a turn"), fates),
            *(_drawn(written) if any("parts" in arm for arm in arms.values()) else ()),
        )
    )


def _drawn(written: dict[str, Any]) -> tuple[str, str]:
    return budget(written), "![Where the wait of a turn goes](budget.png)"


def budget(written: dict[str, Any]) -> str:
    """Write where the wait of a turn goes, as ``benchmarks.turn`` measured it.

    Args:
        written: Its JSON.

    Returns:
        Markdown: the parts of a middle turn, and what processors did meanwhile.
    """
    arms = {name: arm for name, arm in written["arms"].items() if "parts" in arm}
    middle = {name: arm["parts"]["middle"] for name, arm in arms.items()}
    shown = [part for part in PARTS if any(part in parts for parts in middle.values())]
    parts = [(name, *(each.get(part, 0.0) for part in shown)) for name, each in middle.items()]
    spent = [
        (
            name,
            arm["cpu"]["p50"],
            arm["loop_cpu"]["p50"],
            arm["cpu_ratio"],
            arm["switches"]["voluntary"],
            arm["switches"]["involuntary"],
        )
        for name, arm in arms.items()
    ]
    threads = {name: arm.get("threads", {}) for name, arm in arms.items()}
    seen = {who for each in threads.values() for who, ms in each.items() if ms >= LEAST_MS}
    busy = sorted(seen, key=lambda who: -max(each.get(who, 0.0) for each in threads.values()))
    by_thread = [(name, *(each.get(who, 0.0) for who in busy)) for name, each in threads.items()]
    columns = ("", "CPU, p50", "of the event loop", "CPU / wait", "voluntary", "involuntary")
    return "\n\n".join(
        (
            "Milliseconds by part, mean of the middle half of the turns:",
            table(("", *shown), parts),
            "Processor time of all threads while a turn waits, milliseconds, and switches of "
            "context a turn:",
            table(columns, spent),
            *(("The same by thread, mean:", table(("", *busy), by_thread)) if busy else ()),
        )
    )


def _stages(arm: dict[str, Any]) -> str:
    return ", ".join(f"{name} {count}" for name, count in arm["stages"].items())


def peers(written: Sequence[dict[str, Any]]) -> str:
    """Write what ``benchmarks.peers`` measured.

    Args:
        written: Its JSON.

    Returns:
        Markdown.
    """
    first = written[0]
    searches = {way: name for way, name in SEARCHES.items() if way in first}
    spends = {figure: name for figure, name in SPENDS.items() if figure in first}
    columns = (
        "",
        *(f"{name}, {p}" for name in searches.values() for p in ("p50", "p99")),
        *spends.values(),
        "add p50",
        "add with vector",
        "disk MB",
        "R@10",
    )
    rows = [
        (
            result["peer"],
            *(result[way][p] for way in searches for p in ("p50", "p99")),
            *(result[figure]["p50"] for figure in spends),
            result["add"]["p50"],
            result["add_with_embedding"]["p50"],
            result["disk_mb"],
            percent(result["recall_at_10"]),
        )
        for result in written
    ]
    packages = dict(sorted(pair for result in written for pair in result["packages"].items()))
    return "\n\n".join(
        (
            where(first, "before and after")
            + f" A megabyte was hashed in {_range(first['reference'])} ms.",
            f"**{first['memories']:,} memories**, {first['search']['n']} questions of each kind, "
            f"milliseconds; R@10 of {first['recall_n']} questions of {first['recall_data']}:",
            table(columns, rows),
            "\n".join(f"- {result['peer']}: {result['note']}." for result in written),
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
    return "\n\n".join(
        (
            where(written),
            "By number of memories, milliseconds but where it says MB; *power* is how a stage grows "
            "between the two largest sizes (0: not at all, 1: with the number):",
            table(columns, made),
        )
    )
