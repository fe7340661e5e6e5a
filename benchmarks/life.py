"""Is what it says of a person's life right, the next morning and two years later?

Simulated lives with a known truth (``benchmarks/lives``) are played through the real processor, with
idle work between the conversations, by a clock of their own; an oracle compares what the memory
shows with the truth. A generated life uses wordings of one half alone; rules are written with the
tuned half, and the figures that count are those of the held-out half, diaries included.

    python -m benchmarks.life --seeds 1 2 3 --half both
    python -m benchmarks.life --seeds 1 --half tuned --days 90 --wrong current
    python -m benchmarks.life --diaries --llm scripted

``--wrong`` prints wrong cases, one for each wording: its sentences, what was expected, and the chain
from the turn to what was shown; never for held-out lives and diaries.

The JSON: ``days``, ``llm``, and ``lives``: for each life its name, language, half,
turns and seconds, and its ``laws`` by name: ``cases``, ``right``, and ``share`` of them.
``by_half`` and ``by_language`` have the sums.
"""

import argparse
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks import common
from benchmarks.lives.generate import YEARS_OF_DAYS, generate
from benchmarks.lives.laws import LAWS, LIMITS, judge
from benchmarks.lives.model import Life, diaries
from benchmarks.lives.player import play
from benchmarks.lives.truth import Finding, Verdict
from benchmarks.lives.truthful import TruthfulLLM
from benchmarks.lives.wordings import Half
from benchmarks.tables import titled

MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None  # a life is hundreds of days of writes
HALVES: dict[str, tuple[Half, ...]] = {
    "tuned": ("tuned",),
    "held out": ("held out",),
    "both": ("tuned", "held out"),
}


def main() -> None:
    options = _arguments()
    rows = list(_measured(_lives(options), options))
    written = {
        "days": options.days,
        "llm": options.llm,
        "lives": rows,
        "by_half": {half: sums(_where(rows, "half", half)) for half in HALVES["both"]},
        "by_language": {one: sums(_where(rows, "language", one)) for one in ("en", "de")},
    }
    show(written)
    common.write_json(options.json, written)


def _lives(options: argparse.Namespace) -> Iterator[Life]:
    if options.diaries:
        yield from (life for life in diaries() if life.half in HALVES[options.half])
        return
    for seed in options.seeds:
        for half in HALVES[options.half]:
            yield generate(seed, half, options.days)


def _measured(lives: Iterable[Life], options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    for life in lives:
        llm = TruthfulLLM(life) if options.llm == "scripted" else None
        with tempfile.TemporaryDirectory(prefix="slowcat-life-", dir=MEMORY) as folder:
            path = Path(folder, "store")
            played = play(life, path, llm=llm)
        verdicts = judge(played)
        if life.half == "tuned":
            _print_wrong(life, verdicts, options.wrong)
        turns = sum(len(session.turns) for session in life.sessions)
        seconds = round(played.record.seconds, 1)
        common.console.print(
            f"{life.name}, {life.language}, {life.half}: {turns} turns, {seconds} s"
        )
        yield {
            "name": life.name, "language": life.language, "half": life.half, "turns": turns,
            "seconds": seconds, "laws": {name: counts(one) for name, one in verdicts.items()},
        }  # fmt: skip


def _print_wrong(life: Life, verdicts: dict[str, Verdict], laws: Sequence[str] | None) -> None:
    if laws is None:
        return
    for name in laws or LAWS:
        alike = dict[str, list[Finding]]()
        for finding in verdicts[name].findings:
            alike.setdefault(finding.wording or str(len(alike)), []).append(finding)
        for wording, found in alike.items():
            print(f"\n{life.name} ({life.language}) {wording}, {len(found)} x {as_text(found[0])}")


def as_text(finding: Finding) -> str:
    """Return a wrong case in lines: what was said, what was expected, and the chain."""
    lines = [f"{finding.law}, {finding.at:%a %d %b %Y}: expected {finding.expected}"]
    lines += [f"    said   {one}" for one in finding.said]
    lines += [f"    shown  {one}" for one in finding.chain]
    return "\n".join(lines)


def sums(rows: Sequence[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the sums of some lives' laws, with the share that is right."""
    made = {}
    for law in LAWS:
        cases = sum(row["laws"][law]["cases"] for row in rows)
        right = sum(row["laws"][law]["right"] for row in rows)
        made[law] = _share(cases, right)
    return made


def counts(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict as numbers: ``cases``, ``right`` and their ``share``."""
    return _share(verdict.cases, verdict.hits)


def _share(cases: int, right: int) -> dict[str, Any]:
    return {"cases": cases, "right": right, "share": round(right / cases, 4) if cases else None}


def _where(rows: Sequence[dict[str, Any]], field: str, value: str) -> list[dict[str, Any]]:
    return [row for row in rows if row[field] == value]


def show(written: dict[str, Any]) -> None:
    """Print the share that is right by law, for each half and each language."""
    groups = {**written["by_half"], **written["by_language"]}
    shown = []
    for law, check in LAWS.items():
        counts = [group[law] for group in groups.values()]
        cells = [
            f"{100 * one['share']:.1f} ({one['cases'] - one['right']}/{one['cases']})"
            if one["cases"] else "-"
            for one in counts
        ]  # fmt: skip
        limit = LIMITS[written["llm"]].get(law)
        least = "" if limit is None else f"{100 * (1 - limit):g}"
        shown.append([law, least, *cells, (check.__doc__ or "").strip()])
    title = f"right, % (wrong/cases), {len(written['lives'])} lives, LLM: {written['llm']}"
    print(titled(title, ["law", "at least", *groups, "says"], shown))


def _arguments() -> argparse.Namespace:
    parser = common.arguments(__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--half", choices=tuple(HALVES), default="both")
    parser.add_argument("--llm", choices=("none", "scripted"), default="none")
    parser.add_argument("--days", type=int, default=YEARS_OF_DAYS, help="of each life")
    parser.add_argument("--diaries", action="store_true", help="the hand-written ones instead")
    parser.add_argument("--wrong", nargs="*", metavar="LAW", choices=tuple(LAWS),
                        help="print wrong cases of these laws, or of all")  # fmt: skip
    return parser.parse_args()


if __name__ == "__main__":
    main()
