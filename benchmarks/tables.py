"""Results to Markdown: what docs/performance.md shows between its markers. See also recall_tables."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks import everyday
from benchmarks.common import number
from benchmarks.scoring import ALL

PERCENTILES = ("p50", "p95", "p99", "max")
WHEN = ("before", "after")
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


def unrepeated(written: dict[str, Any]) -> dict[str, Any]:
    """Choose, of what ``benchmarks.prefix`` measured, the longest talk that says nothing twice.

    Args:
        written: Its JSON.

    Returns:
        One of its results.
    """
    short = [result for result in written["results"] if result["turns"] <= everyday.WRITTEN]
    return max(short or written["results"], key=lambda result: result["turns"])


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


def figures(results: Mapping[str, Sequence[dict[str, Any]]]) -> str:
    """Write the few figures of the page's beginning, each with its command.

    Args:
        results: Each benchmark's JSON files, by its name.

    Returns:
        Markdown.
    """
    timed = results["latency"][0]
    large = timed["results"][-1]
    store = large["store"]
    rows = [
        ("recall, query embedded while the turn waits", *_two(large["inline"])),
        ("recall, query embedded ahead", *_two(large["ahead"])),
        ("a turn accepted for storing, in a burst", *_two(store["burst"]["accept"])),
        ("the same, one every tenth of a second", *_two(store["talk"]["accept"])),
        ("… and durable on disk", *_two(store["talk"]["durable"])),
        ("event loop late, four exchanges a second", *_two(large["loop_lag"]["talk"])),
    ]
    machine = timed["machine"]
    title = f"{large['memories']:,} memories, {machine['cores']} cores ({machine['cpu']}), ms"
    cold, command = large["cold"], f"latency --sizes {large['memories']}"
    lines = [
        "- From opening the store to the first answer: "
        f"{cold['lexical']:.0f} ms by words, {cold['full']:.0f} ms in full. "
        f"{large['rss_mb']:.0f} MB resident ({_run(command)}).",
        *(_lived(written) for written in results.get("turn", ())),
        _prefix(unrepeated(results["prefix"][0])),
        *(
            _recall(result["data"], result["levels"])
            for written in results["quality"]
            for result in written["results"]
        ),
        *(_denied(written["judged"]) for written in results.get("unknown", ())),
        *(
            _thought(result)
            for written in results.get("contextual", ())
            for result in written["results"]
        ),
    ]
    return "\n\n".join(
        (f"{_run(command)}:", table((title, "p50", "p99"), rows), "\n".join(filter(None, lines)))
    )


def _run(command: str) -> str:
    return f"`python -m benchmarks.{command}`"


def _lived(written: Mapping[str, Any]) -> str:
    """Write how long a turn waits at home, where that was measured."""
    if "one core: segmented" not in written["arms"]:
        return ""
    arm = written["arms"]["one core: segmented"]
    shortest, longest = written["pause_s"]
    return (
        "- A turn in a pipeline, with a recogniser like Whisper on one of the cores and pauses of "
        f"{shortest:g} to {longest:g} s, {written['memories']:,} memories: waits "
        f"{number(arm['wait']['p50'])} ms (p50), {number(arm['wait']['p95'])} ms (p95); "
        f"{percent(arm['in_time'])} % of {arm['wait']['n']} turns have all of it within 10 ms "
        f"({_run('turn')})."
    )


def _prefix(long: Mapping[str, Any]) -> str:
    ours, theirs = long["arms"]["ours"], long["arms"]["Mem0's"]
    return (
        f"- The LLM's prefix over {long['turns']} turns: broken {ours['broken']} times (Mem0's "
        f"placement: {theirs['broken']}); the block takes {ours['block']['mean']:.0f} tokens a "
        f"turn on average ({_run('prefix')})."
    )


def _denied(judged: Mapping[str, Any] | None) -> str:
    """Write how often it is said that nothing is remembered; nothing where none were judged."""
    if not judged:
        return ""
    told = {kind: percent(of["told"]) for kind, of in judged["kinds"].items()}
    return (
        f'- "Nothing is remembered about this" is said to {told["own"]} % of the questions of '
        f"{judged['data']} that have an answer, to {told['unrelated']} % of those asked about "
        f"somebody else's life, and to {told['adversarial']} % of those that mistake one person "
        f"for another ({_run('unknown --data ' + judged['data'])})."
    )


def _thought(result: Mapping[str, Any]) -> str:
    """Write what text of an LLM adds."""
    arms = result["arms"]
    with_, without = arms["the same + keys"], arms["without text: the same + reranking"]
    told = ", ".join(
        f"{metric} {percent(without[metric])} → {percent(with_[metric])}"
        for metric in ("R@10", "R@300w")
    )
    command = f"contextual --data {result['data']} --llm recorded --only-noted"
    return (
        f"- {result['data']}, with what a strong LLM wrote about each turn (recorded, "
        f"{result['conversations']} conversations, {result['n']} questions): {told} "
        f"({_run(command)})."
    )


def _recall(data: str, levels: Mapping[str, Mapping[str, Mapping[str, float]]]) -> str:
    turns, sessions = levels["turn"][ALL], levels.get("session", {}).get(ALL)
    line = (
        f"- {data}, no LLM: R@10 {percent(turns['R@10'])}, R@300w {percent(turns['R@300w'])} "
        f"({turns['n']} questions)"
    )
    if sessions:
        found = " / ".join(percent(sessions[name]) for name in ("Hit@5", "Hit@10"))
        line += f"; a right session among the first 5 / 10: {found} ({sessions['n']} questions)"
    return f"{line} ({_run(f'quality --data {data}')})."


def _two(values: Mapping[str, float]) -> tuple[float, float]:
    return values["p50"], values["p99"]


def where(written: dict[str, Any], when: str = "before and after each size") -> str:
    """Write on what machine something was measured.

    Args:
        written: A benchmark's JSON.
        when: Its load was looked at.

    Returns:
        A sentence.
    """
    machine = written["machine"]
    loads = ", ".join(number(load) for load in written["load"])
    return (
        f"{machine['cores']} cores ({machine['cpu']}), {machine['system']}, Python "
        f"{machine['python']}; load average {when}: {loads}."
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
