"""``slowcat-memory search``, ``show``, ``why`` and ``replay``: a memory, and what is recalled of it."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace
from rich.text import Text

from slowcat_memory.cli import shell
from slowcat_memory.cli.shell import Settings, dots, print_entries, print_json, say, short, when

if TYPE_CHECKING:
    from datetime import tzinfo

    from slowcat_memory.engine import MemoryEngine
    from slowcat_memory.records import Hit, LedgerEntry, Memory, Session, Task, Turn
    from slowcat_memory.replay.replay import Rederived
    from slowcat_memory.store import Snapshot

UNLIKELY = 0.05  # a probability below which a hit answers nothing
VIEWS = {
    "window": "its words and those around it",
    "session": "its conversation",
    "dense": "meaning",
    "tokens": "the meaning of single words",
    "keys": "a fact or question about it",
    "asked": "an earlier question",
}
MEMORIES = ("notes", "summaries", "episodes", "blocks", "icebreakers")
KINDS = ("sessions", "turns", *MEMORIES, "jobs", "calls", "stats")
MOST = 1000  # memories of one search
RUNS = 10  # of jobs that are shown
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


@shell.takes("limit", "user", "as_json")
def search(known: Settings, text: list[str], *, kind: str = "", why: bool = False) -> None:
    """Find memories, best first: when, what was said and by whom, and how likely it answers.

    Uses the agent's recall, without its deadline. Ten at most, without --limit.

    Examples: [bold]slowcat-memory search "what is my dog called" --limit 3[/],
    [bold]slowcat-memory search "the garden" --kind summary[/]

    Args:
        text (TEXT): What to look for, in your own words.
        kind: Only this kind: fact, note, summary, episode, …
        why: Also what each was found by.
    """
    words = " ".join(text)
    if not words.strip():
        raise shell.usage("say in a few words what to look for", "TEXT")
    from slowcat_memory.core.render.memory_block import mark_of
    from slowcat_memory.runtime.conversation.conversation import guest_scope

    known.limit = min(known.limit or 10, MOST)
    with known.opened(words_only=False) as (engine, where):
        if where != guest_scope(engine.config.people):
            engine.prepare(where)  # a short-lived process has no later answer to be complete
        kinds = (kind,) if kind else ()
        recall = engine.search(words, where, known.limit, kinds=kinds, local=True)

        def entry(hit: "Hit") -> Sequence[str | Text]:
            memory = hit.memory
            likely = f"{likelihood(hit.probability)} likely" if hit.probability else ""
            over = mark_of(memory, engine.clock(), engine.zone)
            pinned = "pinned" if memory.pinned else ""
            about = dots(memory.speaker, over, pinned, likely, shell.shown_id(memory.id))
            line = Text(short(memory.text), style="bold" if memory.pinned else "")
            by = f"found by {found_by(hit.views) or 'its time'}" if why else ""
            return when(memory.valid_from, engine.zone)[:10], line, about, by

        hits = list(recall.hits)
        if known.as_json:
            shown = [{"score": h.score, "views": h.views, "memory": h.memory} for h in hits]
            timed = {"stage": recall.stage, "timings_ms": recall.timings}
            return print_json({**timed, "hits": shown})
        likely = [hit for hit in hits if hit.probability >= UNLIKELY]
        if hits and not likely:
            shell.warn("Nothing there answers that; this is nearest to it:")
        how = "by words and meaning" if recall.stage == "full" else "by words only"
        ms = recall.timings.get("total", sum(recall.timings.values()))
        note = f", found {how} in {ms:.0f} ms"
        none = partial(shell.nothing_in, engine, where, "Nothing found.")
        shell.print_list(known, likely or hits, entry, "memory", none, note=note)
        report = engine.embedding.report
        if report.state in ("needs export", "missing"):
            hint = report.hint or "slowcat-memory init prepares it."
            shell.warn(f"No vectors: {report.source}. {hint}")


def likelihood(probability: float | None) -> str:
    """Return a probability as every command shows it: never certain, "" for none."""
    return f"{min(probability, 0.99):.0%}" if probability else ""


def found_by(views: dict[str, float]) -> str:
    """Return in words what a memory was found by, strongest first, with scores."""
    best_first = sorted(views.items(), key=lambda item: -item[1])
    return ", ".join(
        f"{VIEWS.get(name, name)} {score:.2f}" for name, score in best_first if score >= 0.005
    )


@shell.takes("limit", "user", "as_json", last={"min": 1})
def show(known: Settings, what: str = "sessions", *, last: int | None = None) -> None:
    """Show the sessions, the turns of one, one memory with its sources, or all of a kind.

    The latest come last. The beginning of a session's id is enough. Notes are statements that were
    not made in a conversation; with them, everything that is pinned, muted or local-only is listed.

    Examples: [bold]slowcat-memory show[/], [bold]slowcat-memory show --last 20[/],
    [bold]slowcat-memory show 17[/], [bold]slowcat-memory show summaries[/]

    Args:
        what ([KIND|ID]): sessions, turns, notes, summaries, episodes, blocks, icebreakers, jobs,
            calls, stats; or a session's id, a turn's number, a memory's id.
        last: Show this many of the latest turns.
    """
    if last is not None:
        what, known.limit = "turns", last
    if what == "stats":
        with known.existing().engine(readonly=True) as engine:
            return _stats(engine, known.as_json)
    with known.opened() as (engine, where), engine.snapshot() as snapshot:
        named = what not in KINDS and not what.isdecimal()
        session = find_session(snapshot, what, where) if named else None
        if what not in KINDS and session is None:
            return _one(engine, snapshot, where, what, known.as_json)
        if what == "jobs":
            return _jobs(known, engine, snapshot)
        rows: Sequence[Any]
        if what == "sessions":
            rows = sorted(snapshot.sessions(where), key=lambda row: (row.started, row.id))
        elif what == "calls":
            rows = snapshot.calls()[::-1]
        elif what in MEMORIES:
            rows = _memories(engine, snapshot, where, what)
        else:
            rows = as_called(engine, snapshot.turns(session.scope if session else where))
            rows = [turn for turn in rows if session is None or turn.session == session.id]

        def entry(row: Any) -> Sequence[str]:
            if what == "sessions":
                return _session(row, snapshot.turn(row.first_turn), engine.zone)
            if what == "calls":
                result = "refused" if row.failed else shell.count(len(row.memories), "memory")
                return when(row.at, engine.zone), row.client, dots(row.tool, row.scope, result)
            return _memory(row, engine.zone) if what in MEMORIES else turn_entry(row, engine.zone)

        noun = {"summaries": "summary"}.get(what, what[:-1] if what in KINDS else "turn")
        nothing = {
            "calls": "No program has asked yet: `slowcat-memory mcp` offers the memory to them.",
            "notes": f"No notes in the scope {where}, and nothing pinned, muted or local-only.",
            "icebreakers": "No icebreaker is queued.",
        }.get(what, f"No {what} in the scope {where} yet: `slowcat-memory idle` writes them.")
        late = "" if what in ("sessions", "turns") else nothing
        turns = sum(getattr(row, "turns", 0) for row in rows) if what == "sessions" else 0
        note = (f", {shell.count(turns, 'turn')}" if turns else "") + f" in scope {where}"
        none = partial(shell.nothing_in, engine, where, late)
        shell.print_list(known, rows, entry, noun, none, latest_last=True, note=note)


def as_called(memory: "MemoryEngine", turns: "Iterable[Turn | None]") -> "list[Turn]":
    """Return the turns that there are, under the present names of those who spoke."""
    from slowcat_memory.core.disclosure import present_name

    every = [row for row in turns if row]
    called = memory.reader(*{row.scope for row in every}).called
    return [replace(row, speaker=present_name(row.speaker, row.scope, called)) for row in every]


def present(engine: "MemoryEngine", memories: "Collection[Memory]") -> "list[Memory]":
    """Return memories under the present names of users."""
    from slowcat_memory.core.disclosure import renamed

    called = engine.reader(*{row.scope for row in memories}, local=True).called
    return [renamed(row, called) for row in memories]


def find_session(snapshot: "Snapshot", name: str, scope: str) -> "Session | None":
    """Return the session whose id starts with ``name``; None if there is none or several.

    One of ``scope`` comes first.
    """
    from slowcat_memory.core.memory import session_in

    every = [row for row in snapshot.sessions() if row.id.startswith(name)]
    for rows in ([row for row in every if row.scope == scope], every):
        exact = [row for row in rows if row.id in (name, session_in(name, row.scope))]
        if len(exact or rows) == 1:
            return (exact or rows)[0]
    return None


def find_memory(snapshot: "Snapshot", scope: str, id_: str) -> "Memory | None":
    """Return a memory of a scope, or a turn's chunk of any scope: turn numbers are global."""
    from slowcat_memory.core.memory import turn_of

    turn = snapshot.turn(turn_of(id_)) if turn_of(id_) else None
    return snapshot.read(turn.scope if turn else scope, id_)


def _memories(
    engine: "MemoryEngine", snapshot: "Snapshot", scope: str, kind: str
) -> "list[Memory]":
    """Return the memories of a kind, latest last; "notes" are also those with a mark."""
    from slowcat_memory.core.proactive.policy import waiting
    from slowcat_memory.core.summaries.summary import META, WINDOW, current, until

    singular = {"notes": "", "summaries": "summary/"}.get(kind, f"{kind[:-1]}/")
    every = [row for row in snapshot.memories(scope, singular) if row.retired_at is None]
    if kind == "notes":
        every = [row for row in every if row.kind == "note" or marks_of(row)]
    elif kind == "icebreakers":
        every = waiting(every, engine.clock())
    elif kind != "blocks":
        every = [row for row in current(every) if row.kind not in (WINDOW, META)]
        every.sort(key=lambda row: (until(row), row.kind, row.id))
    if kind in ("notes", "blocks"):
        every.sort(key=lambda row: (row.valid_from, row.id))
    return present(engine, every)


def marks_of(memory: "Memory") -> str:
    """Return the marks that a person put on a memory, and none that it inherited."""
    marks = {
        "pinned": memory.pinned,
        "muted": memory.muted and not memory.muted_inherited,
        "local-only": memory.local_only and not memory.local_inherited,
    }
    return dots(*(name for name, on in marks.items() if on))


def _memory(memory: "Memory", zone: "tzinfo") -> Sequence[str]:
    from slowcat_memory.core.summaries.summary import until

    at = until(memory) if memory.kind.startswith("summary") else memory.valid_from
    ruled = memory.made is not None and not memory.made.model
    about = dots(
        memory.kind.replace("/", " ") if not memory.id.startswith("chunk/") else "",
        shell.shown_id(memory.id),
        marks_of(memory),
        memory.speaker,
        "without an LLM" if ruled else "",
        short(memory.facets.get("topics", ""), 60),
    )
    return when(at, zone)[:10], short(memory.text), about


def _session(session: "Session", first: "Turn | None", zone: "tzinfo") -> Sequence[str]:
    minutes = (session.last - session.started).total_seconds() / 60
    # An imported one ended by ``transfer.import_.REASON``.
    state = "" if session.reason == "import" else session.reason if session.ended else "open"
    about = dots(shell.count(session.turns, "turn"), f"{minutes:.0f} min", state, session.id)
    return when(session.started, zone), short(first.text, 100) if first else "", about


def turn_entry(turn: "Turn", zone: "tzinfo") -> Sequence[str]:
    """Return a turn as an entry of a list."""
    cut = f"{turn.cut:,} characters cut" if turn.cut else ""
    interrupted = "interrupted" if turn.interrupted else ""
    about = dots(turn.speaker, f"turn {turn.id}", interrupted, cut)
    return when(turn.at, zone), turn.text, about


def _one(
    engine: "MemoryEngine", snapshot: "Snapshot", scope: str, what: str, as_json: bool
) -> None:
    memory = find_memory(snapshot, scope, shell.memory_id(what))
    if memory is None:
        raise shell.NotFound(
            f"there is no session and no memory {what!r} in scope {scope}",
            hint="`slowcat-memory show` lists the sessions, and `show --last 20` the latest turns.",
        )
    [memory] = present(engine, [memory])
    sources = as_called(engine, map(snapshot.turn, memory.sources))
    if as_json:
        return print_json({"memory": memory, "sources": sources})
    zone = engine.zone
    about = {
        "text": memory.text,
        "id": memory.id,
        "kind": memory.kind,
        "scope": memory.scope,
        "who": f"{memory.speaker} ({memory.role})",
        "context": memory.context,
        "holds since": when(memory.valid_from, zone),
        "holds until": when(memory.valid_to, zone) if memory.valid_to else "",
        "superseded": when(memory.retired_at, zone) if memory.retired_at else "",
        "made from": memory.facets.get("covers", ""),
        "pinned": "yes" if memory.pinned else "",
        "muted": "yes: kept, and never recalled" if memory.muted else "",
        "stays here": "yes: never sent to an LLM on another machine" if memory.local_only else "",
    }
    print_entries([(name, value) for name, value in about.items() if value])
    if sources:
        say("Said in", "bold")
        print_entries([turn_entry(turn, zone) for turn in sources])


def _jobs(known: Settings, engine: "MemoryEngine", snapshot: "Snapshot") -> None:
    """Print the waiting and failed tasks, and the last runs; no texts of memories."""
    from slowcat_memory.idle.scheduler.task_queue import forecast

    tasks, runs, zone = snapshot.tasks(), snapshot.runs(RUNS), engine.zone
    if known.as_json:
        return print_json({"tasks": tasks, "runs": runs, "forecast": forecast(snapshot)})

    def entry(task: "Task") -> Sequence[str | Text]:
        state = Text("failed", "red") if task.state == "dead" else Text("waiting")
        later = f"next try {when(task.not_before, zone)}" if task.not_before else ""
        tried = f"tried {task.attempts:,} times" if task.attempts else ""
        return when(task.created, zone), state.append(f" {task.id}"), dots(tried, later, task.error)

    if tasks:
        tasks.sort(key=lambda task: task.state != "dead")
        shell.print_list(known, tasks, entry, "task", str)
    else:
        say("No tasks are waiting.")
    if runs:
        say("\nLast runs", "bold")
    rows = []
    for run in runs:
        amounts = {"token": run.tokens_in + run.tokens_out, "record": run.made}
        some = [shell.count(n, noun) for noun, n in amounts.items() if n]
        about = dots(run.outcome, f"{run.ms:,.0f} ms", *some, short(run.error, 80))
        rows.append((when(run.at, zone), run.task or run.job, about))
    print_entries(rows)


def _stats(engine: "MemoryEngine", as_json: bool) -> None:
    """Print how much is remembered of whom."""
    from slowcat_memory.store.sharing import others_of

    stats, others = engine.upkeep.stats(), others_of(engine.config.folder)
    stats["processes"] = [{"pid": other.pid, "program": other.program} for other in others]
    report = engine.embedding.report
    with engine.snapshot() as snapshot:
        stats["scopes"] = {name: _amounts(snapshot, name, report.key) for name in snapshot.scopes()}
    if as_json:
        return print_json(stats)
    rows = []
    for name, held in stats["scopes"].items():
        last = when(held["last"], engine.zone)[:10] if held["last"] else ""
        shown = [f"{n:,} {what}" for what, n in held.items() if what != "last"]
        rows.append((name, ", ".join(shown), f"last on {last}" if last else ""))
    print_entries(rows)
    used = "".join(f", in use by process {other.pid} ({other.program})" for other in others)
    doubt = f" The clock is doubted: {stats['clock_doubted']}." if stats["clock_doubted"] else ""
    stored = f"{shell.size(stats['disk_bytes'])} in {stats['path']}{used}"
    say(f"{stored}. Embedding: {report.source}.{doubt}")


def _amounts(snapshot: "Snapshot", scope: str, embedder: str) -> dict[str, Any]:
    from slowcat_memory.core.memory import FACT, NOTE, QUARANTINED, SUMMARY, family

    sessions, manifest = snapshot.sessions(scope), snapshot.manifest(scope)
    every = (m for m in snapshot.memories(scope) if not m.retired_at and m.kind != QUARANTINED)
    held = Counter(family(memory.kind) for memory in every)
    vectors = snapshot.vectors(embedder, scope) if embedder else ()
    return {
        "turns": sum(session.turns for session in sessions),
        "sessions": len(sessions),
        "facts": held[FACT],
        "notes": held[NOTE],
        "summaries": held[SUMMARY],
        "vectors": sum("?" not in vector.memory for vector in vectors),  # not those of keys
        "sealed": manifest.documents if manifest else 0,
        "last": max((session.last for session in sessions), default=None),
    }


# ------------------------------------------------------------------- why


@shell.takes("as_json")
def why(known: Settings, turn: int | None = None) -> None:
    """Show what was recalled for a turn: what the LLM saw, what was left out, and why.

    The configuration says how many turns are kept (ledger_keep).
    [bold]slowcat-memory show --last 20[/] shows the numbers of turns.

    Examples: [bold]slowcat-memory why[/], [bold]slowcat-memory why 17[/]

    Args:
        turn: A turn's number; by default the latest turn.
    """
    from slowcat_memory.runtime.recall.query import asked_text

    known.existing()
    with known.engine(words_only=True, readonly=True) as engine, engine.snapshot() as snapshot:
        recall = recall_of(engine, snapshot, turn)
        if recall is None:
            if known.as_json and not turn:
                return print_json(None)
            raise shell.NotFound(
                f"no recall was recorded for turn {turn}"
                if turn
                else "no recall has been recorded yet",
                hint="Only turns said to an agent have one, not imported ones; "
                "`slowcat-memory search TEXT --why` shows what would be recalled for any words",
            )
        entry, memories = recall
        told, config = snapshot.turn(entry.turn), engine.config
        language = config.memory.language
        asked = asked_text(snapshot, told, config.ask, config.gate, language) if told else ""
        told = next(iter(as_called(engine, [told])), None)
        if known.as_json:
            weighed = {"weighed": verdicts(entry), "memories": memories}
            return print_json({"recall": entry, "asked": asked, **weighed})
        _print_turn(told, asked, f"turn {entry.turn}, scope {entry.scope}")
        if not entry.offers:
            shell.warn("The LLM got no memories for this turn.")
        print_recall(entry, memories, engine.zone)


def recall_of(
    memory: "MemoryEngine", snapshot: "Snapshot", turn: int | None = None
) -> "tuple[LedgerEntry, dict[str, Memory]] | None":
    """Return what was recalled for a turn, by default the latest; names are those of the present."""
    from slowcat_memory.runtime.commands.executor import why as ledger_of

    number = turn or next((entry.turn for entry in snapshot.ledger_tail(1)), 0)
    recall = ledger_of(snapshot, number) if number else None
    if recall is None:
        return None
    return recall[0], {row.id: row for row in present(memory, recall[1].values())}


def _print_turn(turn: "Turn | None", asked: str, heading: str) -> None:
    say(heading, "bold")
    if turn:
        say(f"{turn.speaker}: {turn.text}")
        if asked != turn.text:
            say(f"searched for: {asked}", "dim")


def print_recall(entry: "LedgerEntry", memories: "Mapping[str, Memory]", zone: "tzinfo") -> None:
    """Print the memories that were weighed for a turn, those that were offered first."""
    weighed = sorted(verdicts(entry), key=lambda row: row.verdict != OFFERED)
    shown = weighed[: len(entry.offers) + NEXT_BEST]
    rows = []
    for row in shown:
        memory = memories.get(row.memory)
        line = "forgotten since"
        if memory is not None:
            line = f"{when(memory.valid_from, zone)} {memory.speaker}: {short(memory.text)}"
        score = f"score {row.score:.2f}" if row.score is not None else ""
        about = dots(WORDS.get(row.verdict, row.verdict), score, found_by(row.views), row.memory)
        text = Text(line, style="" if row.verdict == OFFERED else "dim")
        rows.append((likelihood(row.probability), text, about))
    if rows:
        print_entries(rows)
    if more := len(weighed) - len(shown):
        say(f"and {more:,} more: `why --json` has all", "dim")
    stage = entry.stage or "none"
    times = ", ".join(f"{name} {ms:.1f}" for name, ms in entry.timings.items())
    parts = [f"stage {stage} ({STAGES.get(stage, stage)})"]
    parts += [f"{entry.candidates} candidates"] if entry.candidates else []
    parts += [f"{entry.tokens} tokens"] + ([f"ms: {times}"] if times else [])
    say("; ".join(parts), "dim")


class Verdict(Struct, frozen=True):
    """Whether one memory was used for a turn; scores as in ``Hit``, None when it was not scored."""

    memory: str  # its id
    verdict: str  # a key of ``WORDS``, or another reason
    score: float | None = None
    probability: float | None = None
    views: dict[str, float] = {}


def verdicts(entry: "LedgerEntry") -> list[Verdict]:
    """Return the verdict on each memory, best score first; those already in the context last."""
    reasons = dict.fromkeys((offer.memory for offer in entry.offers), OFFERED)
    reasons |= {row.memory: row.reason for row in entry.left_out}
    scored = [
        Verdict(row.memory, reasons[row.memory], row.score, row.probability, row.views)
        for row in sorted(entry.told, key=lambda row: -(row.score or 0))
    ]
    return scored + [Verdict(memory, VISIBLE) for memory in entry.visible]


# ------------------------------------------------------------------- replay


@shell.takes("as_json", "yes")
def replay(
    known: Settings, *, turn: int | None = None, job: list[str] | None = None, dry_run: bool = False
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

    Args:
        turn: The number of a user's turn.
        job: Rebuild only this job's work. May be repeated.
        dry_run: Only show what would change.
    """
    known.existing()
    if turn is None:
        return _rederive(known, job, dry_run=dry_run)
    from slowcat_memory.replay.replay import replay_turn

    with known.engine(readonly=True) as engine:
        replayed = replay_turn(engine, turn)
        then, now, zone = replayed.then, replayed.now, engine.zone
    if known.as_json:
        both = {"then": verdicts(then) if then else None, "now": verdicts(now)}
        asked = {"turn": replayed.turn, "asked": replayed.asked}
        return print_json({**asked, **both, "memories": replayed.memories})
    _print_turn(replayed.turn, replayed.asked, f"turn {turn}, scope {replayed.turn.scope}")
    if then is None:
        shell.warn("No recall was recorded for this turn; this is what a recall now finds.")
    else:
        say("\nthen", "bold")
        print_recall(then, replayed.memories, zone)
    say("\nnow", "bold")
    print_recall(now, replayed.memories, zone)


def _rederive(known: Settings, jobs: list[str] | None, *, dry_run: bool) -> None:
    from slowcat_memory.replay.replay import REPLAY, rederive

    with known.engine() as engine:
        try:
            with shell.waiting("replaying") as status:

                def show(sessions: int) -> None:
                    status(f"{shell.count(sessions, 'session')} done")

                diff = rederive(engine, jobs, show, dry_run=dry_run)
        except KeyError as error:
            raise shell.usage(str(error.args[0]), "--job") from None
        if known.as_json:
            print_json({"new": diff.new, "gone": diff.gone, "same": diff.same})
        else:
            _print_changes(diff)
        if dry_run or not diff.changes:
            return
        known.confirm("Write these changes?")
        engine.apply(REPLAY, diff.batch)
    shell.warn(f"Written. A backup of the memory before is in {diff.backup}.")


def _print_changes(diff: "Rederived") -> None:
    both = {(m.kind, m.text) for m in diff.gone} & {(m.kind, m.text) for m in diff.new}
    rows = [
        (sign, Text(short(memory.text), style), memory.kind)
        for sign, style, memories in (("-", "red", diff.gone), ("+", "green", diff.new))
        for memory in memories
        if not memory.retired_at and (memory.kind, memory.text) not in both
    ]
    print_entries(rows)
    changes = f"{len(diff.new)} new or different, {len(diff.gone)} gone, {diff.same} unchanged."
    shell.done(f"{shell.count(diff.sessions, 'session')}: {changes}")
