"""Every verb of ``MemoryEngine`` once, for a memory that another process has open too."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from slowcat_memory.core.commands.grammar import recognise
from slowcat_memory.core.memory import chunk_id
from slowcat_memory.engine import MemoryEngine, hotwords, read_graph
from slowcat_memory.engine.search import build_query
from slowcat_memory.records import (
    Cursor,
    Forget,
    MemoryEvent,
    Session,
    SessionEdge,
    Turn,
    WriteBatch,
)
from slowcat_memory.records import Memory as MemoryRecord
from slowcat_memory.runtime.commands.executor import CommandContext

SCOPE, SESSION = "anna", "contract"
THEN = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
SAID = ("My dog is called Max", "I drink green tea every morning", "My sister plays the violin")


def check_memory(open_memory: Callable[[], MemoryEngine]) -> None:
    """Check every method of a memory; raise ``AssertionError`` at the first that fails.

    ``open_memory`` opens an empty, writable memory without an LLM, with idle work off.
    """
    memory = open_memory()
    try:
        memory.prepare(SCOPE)
        _check_turns(memory)
        _check_search(memory)
        _check_recall(memory)
        _check_changes(memory)
        _check_events(memory)
        _check_commands(memory)
        _check_upkeep(memory)
        _check_forget(memory)
    finally:
        memory.close()


def _turn(text: str, at: datetime, role: str = "user") -> Turn:
    speaker = "Anna" if role == "user" else "Cat"
    return Turn(session=SESSION, scope=SCOPE, speaker=speaker, role=role, text=text, at=at)  # type: ignore[arg-type]


def _texts(memory: MemoryEngine, query: str) -> list[str]:
    return [hit.memory.text for hit in memory.search(query, SCOPE).hits]


def _check_turns(memory: MemoryEngine) -> None:
    start = SessionEdge(session=SESSION, scope=SCOPE, kind="start", at=THEN)
    first = memory.append(start)
    second = memory.append(_turn(SAID[0], THEN))
    more = [_turn(text, THEN + timedelta(minutes=n)) for n, text in enumerate(SAID[1:], 1)]
    last = memory.append(*more, cursor=Cursor(name="contract", position=7))
    assert memory.flush(10.0, indexed=True)
    assert 0 < first.id < second.id < last.id - 1, "events are numbered in order"
    with memory.snapshot() as snapshot:
        assert [turn.text for turn in snapshot.turns(SCOPE)] == list(SAID)
        cursor, session = snapshot.cursor("contract"), snapshot.session(SESSION)
    assert cursor is not None and cursor.position == 7, "a cursor moves in the same transaction"
    assert isinstance(session, Session) and session.turns == len(SAID)


def _check_search(memory: MemoryEngine) -> None:
    hits = memory.search("Max the dog", SCOPE, 5, local=True).hits
    assert hits[0].memory.text == SAID[0]
    assert memory.search("Max the dog", "berta", 5).hits == [], "scopes do not see each other"
    left = memory.search("Max the dog", SCOPE, exclude=frozenset({hits[0].memory.id})).hits
    assert hits[0].memory.id not in [hit.memory.id for hit in left]
    late = THEN + timedelta(seconds=90)
    assert [hit.memory.text for hit in memory.search("violin", SCOPE, since=late).hits] == [SAID[2]]
    early = [hit.memory.text for hit in memory.search("Max the dog", SCOPE, until=late).hits]
    assert SAID[2] not in early and SAID[0] in early
    assert memory.search("Max the dog", SCOPE, speaker="nobody").hits == []
    before = THEN - timedelta(days=1)
    assert memory.search("Max the dog", SCOPE, at=before).hits == []
    assert read_graph(memory, SCOPE).relations == []
    assert all(0 <= word.weight <= 1 for word in hotwords(memory, SCOPE, 5))
    memory.flush()
    counted = memory.upkeep.stats()
    assert SCOPE in counted["scopes"] and counted["unsaved"] == 0
    assert memory.embedding.source and memory.opened is not None


def _check_recall(memory: MemoryEngine) -> None:
    async def talk() -> None:
        text = "Which dog is Max?"
        query = build_query(memory.clock, text, SCOPE)
        prefetch = memory.prefetch(lambda words: query)
        prefetch.hear(text, whole=True)
        found = await memory.recall(text, SCOPE, prefetch=prefetch)
        packed = memory.blocks.pack(found, memory.clock())
        turn = memory.append(_turn(text, memory.clock())).event
        assert isinstance(turn, Turn)
        memory.note_recall(turn, found, packed)
        assert "Max" in packed.text
        found = await memory.recall(text, "berta")
        assert "Max" not in memory.blocks.pack(found, memory.clock()).text

    memory.set_activity("contract/speaks", True)
    asyncio.run(talk())
    memory.set_activity("contract/", False)
    assert memory.flush(10.0, indexed=True)
    with memory.snapshot() as snapshot:
        asked = [turn.id for turn in snapshot.turns(SCOPE)][-1]
        assert asked > len(SAID)


def _check_changes(memory: MemoryEngine) -> None:
    kept = memory.remember("The spare key lies under the pot", SCOPE, pinned=True)
    assert kept.pinned and memory.search("spare key", SCOPE).hits[0].memory.id == kept.id
    marked = memory.edit(SCOPE, kept.id, pinned=False, local_only=True)
    assert marked is not None and marked.local_only and not marked.pinned
    shown = [hit.memory.id for hit in memory.search("spare key", SCOPE, local=False).hits]
    assert kept.id not in shown, "a remote LLM does not see local-only memories"
    assert memory.edit(SCOPE, "note/none", pinned=True) is None
    icebreaker = memory.icebreakers.push(SCOPE, "How was the concert?", quiet=False)
    assert icebreaker is not None
    assert isinstance(memory.session_context(SCOPE), str)
    note = MemoryRecord(
        id="note/contract", kind="note", scope=SCOPE, speaker="Anna", text="Ferns", valid_from=THEN
    )
    memory.apply("contract", WriteBatch(memories=(note,)))
    assert memory.search("ferns", SCOPE).hits[0].memory.id == note.id
    memory.apply("contract", WriteBatch(drop=((SCOPE, note.id),)))
    assert note.id not in [hit.memory.id for hit in memory.search("ferns", SCOPE).hits]


def _check_events(memory: MemoryEngine) -> None:
    events: list[MemoryEvent] = []
    stop = memory.subscribe(on_event=events.append)
    turn = memory.append(_turn("The lodger plays the oboe", memory.clock()))
    assert memory.flush(30.0, indexed=True)
    note = memory.remember("The lodger leaves in May", SCOPE)
    memory.edit(SCOPE, note.id, pinned=True)
    memory.forget(Forget(scope=SCOPE, memories=(note.id,)))
    stop()
    memory.remember("Nobody listens to this", SCOPE)
    seen = {(event.what, event.ids) for event in events}
    for what, id in (
        ("stored", chunk_id(turn.id)),
        ("created", note.id),
        ("marked", note.id),
        ("forgotten", note.id),
    ):
        assert (what, (id,)) in seen, f"{what} in {seen}"
    assert {event.scope for event in events} == {SCOPE} and all(event.at for event in events)
    assert "oboe" not in repr(events) and len(events) == len(seen)


def _check_commands(memory: MemoryEngine) -> None:
    text = "Remember that the bins are emptied on Tuesday"
    command = recognise(text, memory.config.memory.language)
    assert command is not None
    turn = memory.append(_turn(text, memory.clock()))
    where = CommandContext(scope=SCOPE, speaker="Anna", session=SESSION, turn=turn.id)
    outcome = memory.carry_out(command, where)
    assert outcome.done and outcome.said and outcome.entry
    assert "bins" in memory.search("bins on Tuesday", SCOPE).hits[0].memory.text
    with memory.snapshot() as snapshot:
        [entry] = snapshot.commands(SCOPE, 1)
    undone = memory.undo(entry)
    assert undone is not None and undone.state == "undone"
    assert memory.undo(entry) is None, "it is undone once"


def _check_upkeep(memory: MemoryEngine) -> None:
    paused: list[bool] = []
    stop = memory.subscribe(on_pause=lambda: paused.append(True), on_memory=lambda event: None)
    assert memory.idle.until_done(["seal"]) == 0
    stop()
    steps: list[str] = []
    memory.upkeep.embed(SCOPE, progress=lambda step, done, total: steps.append(step))
    memory.upkeep.seal(SCOPE)
    memory.upkeep.tidy(SCOPE, progress=lambda step, done, total: steps.append(step))
    assert steps[-1] == "tiers"
    assert memory.upkeep.stats()["index"][SCOPE]["sealed"] > 0
    memory.upkeep.drop_queries()
    memory.upkeep.erase()
    memory.upkeep.overdue()
    memory.upkeep.confirm_clock()
    memory.upkeep.shrink()
    memory.upkeep.repair()
    assert memory.upkeep.check() is not None
    assert memory.upkeep.backup().is_file()
    assert SAID[0] in _texts(memory, "Max the dog")


def _check_forget(memory: MemoryEngine) -> None:
    with memory.snapshot() as snapshot:
        first, second = [turn.id for turn in snapshot.turns(SCOPE)][:2]
    requests = [Forget(turns=(first,)), Forget(scope=SCOPE, memories=(chunk_id(second),))]
    preview = memory.forget(requests, dry_run=True)
    assert set(preview.turns) == {first, second}
    assert SAID[0] in _texts(memory, "Max the dog"), "a preview changes nothing"
    gone = memory.forget(requests)
    assert set(gone.turns) == {first, second} and gone.erased
    texts = _texts(memory, "Max the dog, green tea")
    assert SAID[0] not in texts and SAID[1] not in texts
    try:
        memory.forget(Forget())
    except ValueError:
        return
    raise AssertionError("a forget without a condition was accepted")
