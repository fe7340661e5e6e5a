"""The figures that a stranger reads first, in README.md and docs/machines.md, from result files."""

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.common import number
from benchmarks.scoring import ALL
from benchmarks.tables import table, unrepeated

Results = Mapping[str, Sequence[dict[str, Any]]]
NEEDS = ("growth", "latency", "turn", "prefix", "quality")
EXAMPLE = "LoCoMo"  # the data set whose questions are named; the others are in performance.md


def plain(results: Results) -> str:
    """Write what is noticed: how long a turn waits, what is found, and what it costs.

    Args:
        results: Each benchmark's JSON files, by its name: all of ``NEEDS``.

    Returns:
        A table in Markdown; each row ends with the command that measures it.
    """
    timed, turns = results["latency"][0], results["turn"][0]
    large, grown = timed["results"][-1], results["growth"][0]["results"][-1]
    typed, spoken = turns["arms"]["one core: segmented"], turns["arms"]["one core: streaming"]
    talk = unrepeated(results["prefix"][0])
    ours, theirs = (talk["arms"][name]["broken"] for name in ("ours", "Mem0's"))
    machine, many = timed["machine"], f"{large['memories']:,} memories"
    found = _example(results)
    rows = [
        (
            f"A recall among {many}",
            f"{number(large['inline']['p50'])} ms; 99 of 100 within "
            f"{number(large['inline']['p99'])} ms",
            _run(f"latency --sizes {large['memories']}"),
        ),
        (
            "What a turn waits for it, streaming speech-to-text",
            f"{number(spoken['wait']['p50'])} ms; recall ran while the user spoke",
            _run("turn"),
        ),
        (
            "… with a recogniser like Whisper on the same two cores",
            f"{number(typed['wait']['p50'])} ms",
            _run("turn"),
        ),
        (
            f"Memory and disk at {many}",
            f"{grown['rss_mb']:.0f} MB and {grown['disk_mb']:.0f} MB",
            _run("growth"),
        ),
        (
            "From start to the first answer",
            f"{large['cold']['lexical']:.0f} ms by words, {large['cold']['full']:.0f} ms in full",
            _run(f"latency --sizes {large['memories']}"),
        ),
        (
            "Turns after which the LLM must read its prompt again",
            f"{ours} of {talk['turns']} (placed as Mem0's service does: {theirs})",
            _run("prefix"),
        ),
        (
            f"Questions about months of talk ({EXAMPLE}, {found['n']}): a right conversation "
            "among the first five found, without any LLM",
            f"{100 * found['Hit@5']:.0f} %",
            _run(f"quality --data {EXAMPLE}"),
        ),
    ]
    head = (f"{machine['cores']} cores ({machine['cpu']}), no GPU", "", "measured by")
    return table(head, rows).replace("---:", "---")


def machines(results: Results) -> str:
    """Write what a store of each size needs.

    Args:
        results: Each benchmark's JSON files, by its name: at least ``growth``.

    Returns:
        A table in Markdown, with the command.
    """
    grown = results["growth"][0]
    rows = [
        (
            f"{one['memories']:,}",
            one["rss_mb"],
            one["disk_mb"],
            one["inline"]["p50"],
            one["cold"]["lexical"],
        )
        for one in grown["results"]
    ]
    head = (
        "memories",
        "memory in use, MB",
        "disk, MB",
        "a recall, ms",
        "start to first answer, ms",
    )
    return f"{_run('growth')}:\n\n{table(head, rows)}"


def _example(results: Results) -> Mapping[str, float]:
    every = (result for written in results["quality"] for result in written["results"])
    return next(one["levels"]["session"][ALL] for one in every if one["data"] == EXAMPLE)


def _run(command: str) -> str:
    return f"`python -m benchmarks.{command}`"
