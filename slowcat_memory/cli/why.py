"""``slowcat-memory why`` and ``replay``: the recall of a turn, then and now; derived data anew."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec import Struct
from rich.text import Text

from slowcat_memory.cli.look import as_called, found_by, likelihood
from slowcat_memory.cli.shell import (
    NotFound,
    Settings,
    Yes,
    count,
    done,
    dots,
    out,
    print_entries,
    print_json,
    settings,
    short,
    takes,
    usage,
    waiting,
    warn,
    when,
)

if TYPE_CHECKING:
    from datetime import tzinfo

    from slowcat_memory.engine import MemoryEngine
    from slowcat_memory.records import LedgerEntry, Memory, Turn
    from slowcat_memory.replay.rederive import Rederived
    from slowcat_memory.store import Snapshot

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
STAGES = {
    "full": "by words and vectors",
    "lexical": "by words alone: no vector, or no time for one",
    "tail": "out of time: by words, in recent turns only",
    "skipped": "the turn needs no memory",
    "none": "out of time, or the memory was not loaded yet",
}


@takes("as_json")
def why(
    ctx: typer.Context,
    turn: Annotated[
        int | None, typer.Argument(help="A turn's number; by default the latest turn.")
    ] = None,
) -> None:
    """Show what was recalled for a turn: what the LLM saw, what was left out, and why.

    The configuration says how many turns are kept (ledger_keep).
    [bold]slowcat-memory show --last 20[/] shows the numbers of turns.

    Examples: [bold]slowcat-memory why[/], [bold]slowcat-memory why 17[/]
    """
    from slowcat_memory.runtime.recall.query import asked_text

    known = settings(ctx).existing()
    with known.readonly(words_only=True) as engine, engine.snapshot() as snapshot:
        found = recall_of(engine, snapshot, turn)
        if found is None:
            if known.as_json and not turn:
                return print_json(None)
            raise NotFound(
                f"no recall was recorded for turn {turn}"
                if turn
                else "no recall has been recorded yet",
                hint="Only turns said to an agent have one, not imported ones; "
                "`slowcat-memory search TEXT --why` shows what would be recalled for any words",
            )
        entry, memories = found
        told, config = snapshot.turn(entry.turn), engine.config
        language = config.memory.language
        asked = asked_text(snapshot, told, config.ask, config.gate, language) if told else ""
        told = next(iter(as_called(engine, [told])), None)
        if known.as_json:
            weighed = {"weighed": verdicts(entry), "memories": memories}
            return print_json({"recall": entry, "asked": asked, **weighed})
        _print_turn(told, asked, f"turn {entry.turn}, scope {entry.scope}")
        if not entry.offers:
            warn("The LLM got no memories for this turn.")
        print_recall(entry, memories, engine.zone)
    return None


def recall_of(
    memory: "MemoryEngine", snapshot: "Snapshot", turn: int | None = None
) -> "tuple[LedgerEntry, dict[str, Memory]] | None":
    """Return what was recalled for a turn, by default the latest; names are those of the present."""
    from slowcat_memory.core.disclosure import renamed
    from slowcat_memory.runtime.commands.targets import why as ledger_of

    number = turn or next((entry.turn for entry in snapshot.ledger_tail(1)), 0)
    found = ledger_of(snapshot, number) if number else None
    if found is None:
        return None
    called = memory.reader(found[0].scope, local=True).called
    return found[0], {id: renamed(one, called) for id, one in found[1].items()}


def _print_turn(turn: "Turn | None", asked: str, heading: str) -> None:
    out().print(heading, style="bold")
    if turn:
        out().print(f"{turn.speaker}: {turn.text}", markup=False)
        if asked != turn.text:
            out().print(f"searched for: {asked}", markup=False, style="dim")


def print_recall(entry: "LedgerEntry", memories: "Mapping[str, Memory]", zone: "tzinfo") -> None:
    """Print the memories that were weighed for a turn, those that were offered first."""
    weighed = sorted(verdicts(entry), key=lambda one: one.verdict != OFFERED)
    shown = weighed[: len(entry.offers) + NEXT_BEST]
    rows = []
    for one in shown:
        memory = memories.get(one.memory)
        line = "forgotten since"
        if memory is not None:
            line = f"{when(memory.valid_from, zone)} {memory.speaker}: {short(memory.text)}"
        score = f"score {one.score:.2f}" if one.score is not None else ""
        about = dots(one.words, score, found_by(one.views), one.memory)
        text = Text(line, style="" if one.verdict == OFFERED else "dim")
        rows.append((likelihood(one.probability), text, about))
    if rows:
        print_entries(rows)
    if more := len(weighed) - len(shown):
        out().print(f"and {more:,} more: `why --json` has all", style="dim")
    stage = entry.stage or "none"
    times = ", ".join(f"{name} {ms:.1f}" for name, ms in entry.timings.items())
    parts = [f"stage {stage} ({STAGES.get(stage, stage)})"]
    parts += [f"{entry.candidates} candidates"] if entry.candidates else []
    parts += [f"{entry.tokens} tokens"] + ([f"ms: {times}"] if times else [])
    out().print("; ".join(parts), style="dim")


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
    reasons = dict.fromkeys((offer.memory for offer in entry.offers), OFFERED)
    reasons |= {one.memory: one.reason for one in entry.left_out}
    scored = [
        Verdict(
            memory=one.memory,
            verdict=reasons[one.memory],
            score=one.score,
            probability=one.probability,
            views=one.views,
        )
        for one in sorted(entry.told, key=lambda one: -(one.score or 0))
    ]
    return scored + [Verdict(memory=memory, verdict=VISIBLE) for memory in entry.visible]


# ------------------------------------------------------------------- replay


@takes("as_json")
def replay(
    ctx: typer.Context,
    turn: Annotated[int | None, typer.Option("--turn", help="The number of a user's turn.")] = None,
    job: Annotated[
        list[str] | None, typer.Option(help="Rebuild only this job's work. May be repeated.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what would change.")
    ] = False,
    yes: Yes = False,
) -> None:
    """Re-run recall for one turn, or rebuild all derived data.

    With [bold]--turn[/]: shows the recall of that moment and a recall now. Works while an agent
    is running. The index of that moment is rebuilt in memory, which takes seconds for a large
    memory. To try other options on an old turn, use a changed copy of the configuration.

    Without: rebuilds summaries, facts, blocks and everything else that idle work derived, session
    by session, with the clock of that time. Useful after a change of model or prompt, or to repair.
    Turns, notes, pins, voice commands and your edits stay. Works on a copy; makes a backup first;
    writes all differences or none.

    Examples: [bold]slowcat-memory replay --turn 17[/],
    [bold]slowcat-memory replay --dry-run[/], [bold]slowcat-memory replay --job facts[/]
    """
    known = settings(ctx).existing()
    if turn is None:
        return _rederive(known, job, dry_run=dry_run, yes=yes)
    from slowcat_memory.replay.replay_turn import replay_turn

    with known.readonly() as engine:
        replayed = replay_turn(engine, turn)
        then, now, zone = replayed.then, replayed.now, engine.zone
    if known.as_json:
        both = {"then": verdicts(then) if then else None, "now": verdicts(now)}
        asked = {"turn": replayed.turn, "asked": replayed.asked}
        return print_json({**asked, **both, "memories": replayed.memories})
    _print_turn(replayed.turn, replayed.asked, f"turn {turn}, scope {replayed.turn.scope}")
    if then is None:
        warn("No recall was recorded for this turn; this is what a recall now finds.")
    else:
        out().print("\nthen", style="bold")
        print_recall(then, replayed.memories, zone)
    out().print("\nnow", style="bold")
    print_recall(now, replayed.memories, zone)
    return None


def _rederive(known: Settings, jobs: list[str] | None, *, dry_run: bool, yes: bool) -> None:
    from slowcat_memory.replay.rederive import REPLAY, rederive

    with known.engine() as engine:
        try:
            with waiting("replaying") as status:
                made = rederive(
                    engine, jobs, lambda n: status(f"{count(n, 'session')} done"), dry_run=dry_run
                )
        except KeyError as error:
            raise usage(str(error.args[0]), "--job") from None
        if known.as_json:
            print_json({"new": made.new, "gone": made.gone, "same": made.same})
        else:
            _print_changes(made)
        if dry_run or not made.changes:
            return
        if not yes:
            typer.confirm("Write these changes?", abort=True, err=True)
        engine.apply(REPLAY, made.batch)
    warn(f"Written. A backup of the memory before is in {made.backup}.")


def _print_changes(made: "Rederived") -> None:
    both = {(m.kind, m.text) for m in made.gone} & {(m.kind, m.text) for m in made.new}
    rows = [
        (sign, Text(short(memory.text), style), memory.kind)
        for sign, style, memories in (("-", "red", made.gone), ("+", "green", made.new))
        for memory in memories
        if not memory.retired_at and (memory.kind, memory.text) not in both
    ]
    print_entries(rows)
    changes = f"{len(made.new)} new or different, {len(made.gone)} gone, {made.same} unchanged."
    done(f"{count(made.sessions, 'session')}: {changes}")
