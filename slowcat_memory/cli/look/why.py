"""``slowcat-memory why``: the recalled and rejected memories of a turn, with the reasons."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from msgspec import Struct

from slowcat_memory.cli.shared.exits import NotFound
from slowcat_memory.cli.shared.output import entries, out, print_json, short, warn, when
from slowcat_memory.cli.shared.output import entry as add
from slowcat_memory.cli.shared.settings import NEXT_STEP, AsJson, settings

if TYPE_CHECKING:
    from datetime import tzinfo

    from slowcat_memory.engine import MemoryEngine
    from slowcat_memory.records import LedgerEntry, Memory


def why(
    ctx: typer.Context,
    turn: Annotated[
        int | None,
        typer.Argument(help="A turn's number; by default the latest turn.", show_default=False),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Every memory that was weighed.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show what was recalled for a turn: what the LLM saw, what was left out, and why.

    The configuration says how many turns are kept (ledger_keep).
    [bold]slowcat-memory show --last 20[/] shows the numbers of turns.

    Examples: [bold]slowcat-memory why[/], [bold]slowcat-memory why 17[/]
    """
    from slowcat_memory.core.disclosure import renamed
    from slowcat_memory.engine.search import why as ledger_of

    with settings(ctx).engine(readonly=True, words_only=True) as engine:
        with engine.snapshot() as snapshot:
            latest = turn or next((one.turn for one in snapshot.ledger_tail(1)), 0)
            found = ledger_of(snapshot, latest)
        if not latest:
            if as_json:
                return print_json(None)
            raise NotFound("no recall has been recorded yet", hint=NEXT_STEP)
        if found is None:
            raise NotFound(
                f"no recall was recorded for turn {latest}: only turns said to an agent have one",
                hint="`slowcat-memory show --last 20` shows the turns",
            )
        entry, stored = found
        called = engine.reader(entry.scope, local=True).called
        memories = {id: renamed(one, called) for id, one in stored.items()}
        asked = _asked(engine, entry)
        if as_json:
            recalled = {"recall": entry, "asked": asked, "weighed": verdicts(entry)}
            return print_json({**recalled, "memories": memories})
        _print(engine, entry, asked, memories, everything=everything)
    return None


def _asked(engine: "MemoryEngine", entry: "LedgerEntry") -> str:
    from slowcat_memory.runtime.recall.query import asked_text

    config = engine.config
    with engine.snapshot() as snapshot:
        if turn := snapshot.turn(entry.turn):
            return asked_text(snapshot, turn, config.ask, config.gate, config.memory.language)
    return ""


def _print(
    engine: "MemoryEngine",
    entry: "LedgerEntry",
    asked: str,
    memories: "dict[str, Memory]",
    *,
    everything: bool,
) -> None:
    from slowcat_memory.core.disclosure import present_name

    with engine.snapshot() as snapshot:
        turn = snapshot.turn(entry.turn)
    console = out()
    console.print(f"[bold]turn {entry.turn}[/] {when(entry.at, engine.zone)}, scope {entry.scope}")
    if turn:
        called = engine.reader(turn.scope, local=True).called
        speaker = present_name(turn.speaker, turn.scope, called)
        console.print(f"{speaker}: {turn.text}", markup=False)
        if asked != turn.text:
            console.print(f"searched for: {asked}", markup=False, style="dim")
    if not entry.offers:
        warn("The LLM got no memories for this turn.")
    if weighed := sorted(verdicts(entry), key=lambda one: one.verdict != OFFERED):
        shown = weighed if everything else weighed[: len(entry.offers) + NEXT_BEST]
        console.print(_listed(engine, shown, memories))
        if more := len(weighed) - len(shown):
            console.print(f"[dim]and {more:,} more: --all shows them[/]")
    console.print(f"[dim]{how_found(entry)}[/]")


def _listed(
    engine: "MemoryEngine", weighed: "Sequence[Verdict]", memories: "dict[str, Memory]"
) -> Any:
    made = entries(width=4)
    for one in weighed:
        likely = f"{one.probability:.0%}" if one.probability else ""
        found = line(memories.get(one.memory), engine.zone)
        why = [
            one.words,
            f"score {one.score:.2f}" if one.score is not None else "",
            views(one.views),
        ]
        beneath = " · ".join(filter(None, [*why, one.memory]))
        add(made, likely, found, beneath, style="" if one.verdict == OFFERED else "dim")
    return made


NEXT_BEST = 5  # memories shown beside the offered ones
OFFERED = "offered"
VISIBLE = "visible"
WORDS = {
    OFFERED: "offered",
    VISIBLE: "still in the context",
    "floor": "nothing was likely enough",
    "share": "much weaker than the best",
    "heard": "the same words are in the context",
    "duplicate": "says the same as a better one",
    "enough": "others were better",
    "room": "no room in the block",
    "over": "was no longer true",
    "gone": "forgotten since",
    "local": "not for this reader",
}
WIDTH = 20  # of the verdict columns, so that 80 columns leave room for the memory
STAGES = {
    "full": "by words and vectors",
    "lexical": "by words alone: no vector, or no time for one",
    "tail": "out of time: by words, in recent turns only",
    "skipped": "the turn needs no memory",
    "none": "out of time, or the memory was not loaded yet",
}


class Verdict(Struct, frozen=True, kw_only=True):
    """Whether one memory was used for a turn; scores as in ``Hit``, None when it was not scored."""

    memory: str  # its id
    verdict: str  # a key of ``WORDS``, or another reason
    score: float | None = None
    probability: float | None = None
    views: dict[str, float] = {}

    @property
    def words(self) -> str:
        return WORDS.get(self.verdict, self.verdict)


def verdicts(entry: "LedgerEntry") -> list[Verdict]:
    """Return the verdict on each memory, best score first; those already in the context last."""
    return [*sorted(_scored(entry), key=lambda one: -(one.score or 0)), *_visible(entry)]


def _scored(entry: "LedgerEntry") -> Iterator[Verdict]:
    reasons = dict.fromkeys((offer.memory for offer in entry.offers), OFFERED)
    reasons |= {one.memory: one.reason for one in entry.left_out}
    for one in entry.told:
        yield Verdict(
            memory=one.memory,
            verdict=reasons[one.memory],
            score=one.score,
            probability=one.probability,
            views=one.views,
        )


def _visible(entry: "LedgerEntry") -> Iterator[Verdict]:
    return (Verdict(memory=memory, verdict=VISIBLE) for memory in entry.visible)


def line(memory: "Memory | None", zone: "tzinfo") -> str:
    """Return a memory as one line: "2024-05-12 18:30 Anna: My dog is called Max."."""
    if memory is None:
        return "forgotten since"
    return f"{when(memory.valid_from, zone)} {memory.speaker}: {short(memory.text)}"


def views(scores: dict[str, float]) -> str:
    """Return the fields that matched, for example "window 0.91, dense 0.40"."""
    best_first = sorted(scores.items(), key=lambda item: -item[1])
    return ", ".join(f"{name} {score:.2f}" for name, score in best_first if abs(score) >= 0.005)


def how_found(entry: "LedgerEntry") -> str:
    """Return the recall's stage, candidates, tokens and timings in a line."""
    stage = entry.stage or "none"
    times = ", ".join(f"{name} {ms:.1f}" for name, ms in entry.timings.items())
    told = [f"stage {stage} ({STAGES.get(stage, stage)})"]
    told += [f"{entry.candidates} candidates"] if entry.candidates else []
    told += [f"{entry.tokens} tokens"]
    return "; ".join([*told, f"ms: {times}"] if times else told)
