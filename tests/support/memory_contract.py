"""Every verb of ``MemoryEngine`` once, for a memory that another process has open too."""

import asyncio
from datetime import UTC, datetime, timedelta

from slowcat_memory.core.commands.grammar import Heard
from slowcat_memory.core.memory import chunk_id
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.engine.search import build_query
from slowcat_memory.records import Cursor, Forget, MemoryEvent, SessionEdge, Turn, WriteBatch
from slowcat_memory.runtime.commands.executor import CommandContext
from tests.support.memories import Look, ids
from tests.support.said import memory_at, turn_at

SCOPE, SESSION = "anna", "contract"
THEN = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
SAID = ("My dog is called Max", "I drink green tea every morning", "My sister plays the violin")


def check_memory(memory: MemoryEngine) -> None:
    """Check every method of an empty, writable memory without an LLM; close it.

    Raises:
        AssertionError: At the first that fails.
    """
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


def _turn(text: str, at: datetime) -> Turn:
    return turn_at(text, at, session=SESSION)


def _texts(memory: MemoryEngine, query: str) -> list[str]:
    return [hit.memory.text for hit in memory.search(query, SCOPE).hits]


def _check_turns(memory: MemoryEngine) -> None:
    first = memory.append(SessionEdge(session=SESSION, scope=SCOPE, kind="start", at=THEN))
    turns = [_turn(text, THEN + timedelta(minutes=n)) for n, text in enumerate(SAID)]
    second = memory.append(turns[0])
    last = memory.append(*turns[1:], cursor=Cursor(name="contract", position=7))
    assert memory.flush(10.0, indexed=True)
    assert 0 < first.id < second.id < last.id - 1, "events are numbered in order"
    assert [turn.text for turn in Look(memory).turns(SCOPE)] == list(SAID)
    assert Look(memory).cursor("contract").position == 7, "a cursor moves in the same transaction"
    assert Look(memory).session(SESSION).turns == len(SAID)


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
    assert memory.search("Max the dog", SCOPE, at=THEN - timedelta(days=1)).hits == []


def _check_recall(memory: MemoryEngine) -> None:
    async def talk() -> None:
        text = "Which dog is Max?"
        prefetch = memory.prefetch(lambda words: build_query(memory.clock, text, SCOPE))
        prefetch.hear(text, whole=True)
        found = await memory.recall(text, SCOPE, prefetch=prefetch)
        packed = memory.blocks.pack(found, memory.clock())
        turn = memory.append(_turn(text, memory.clock())).event
        memory.note_recall(turn, found, packed)
        assert "Max" in packed.text

    memory.set_activity("contract/speaks", True)
    asyncio.run(talk())
    memory.set_activity("contract/", False)
    assert memory.flush(10.0, indexed=True)
    [row] = Look(memory).ledger_tail(9)
    assert row.turn == ids(Look(memory).turns(SCOPE))[-1] and row.offers


def _check_changes(memory: MemoryEngine) -> None:
    kept = memory.remember("The spare key lies under the pot", SCOPE, pinned=True)
    assert kept.pinned and memory.search("spare key", SCOPE).hits[0].memory.id == kept.id
    marked = memory.edit(SCOPE, kept.id, pinned=False, local_only=True)
    assert marked is not None and marked.local_only and not marked.pinned
    assert kept.text not in _texts(memory, "spare key"), "kept from an LLM that may be remote"
    assert memory.icebreakers.push(SCOPE, "How was the concert?", quiet=False)
    assert isinstance(memory.session_context(SCOPE), str)
    note = memory_at("note/contract", "Ferns", THEN)
    memory.apply("contract", WriteBatch(memories=(note,)))
    assert _texts(memory, "ferns")[0] == note.text
    memory.apply("contract", WriteBatch(drop=((SCOPE, note.id),)))
    assert note.text not in _texts(memory, "ferns")


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
    of_note = {(what, (note.id,)) for what in ("created", "marked", "forgotten")}
    assert seen >= {("stored", (chunk_id(turn.id),)), *of_note}
    assert {event.scope for event in events} == {SCOPE} and all(event.at for event in events)
    assert "oboe" not in repr(events) and len(events) == len(seen)


def _check_commands(memory: MemoryEngine) -> None:
    text = "Remember that the bins are emptied on Tuesday"
    command = Heard(text, memory.config.memory.language).command()
    turn = memory.append(_turn(text, memory.clock()))
    where = CommandContext(scope=SCOPE, speaker="Anna", session=SESSION, turn=turn.id)
    outcome = memory.carry_out(command, where)
    assert outcome.done and outcome.said and "bins" in _texts(memory, "bins on Tuesday")[0]
    [entry] = Look(memory).commands(SCOPE, 1)
    undone = memory.undo(entry)
    assert undone is not None and undone.state == "undone"
    assert memory.undo(entry) is None, "it is undone once"


def _check_upkeep(memory: MemoryEngine) -> None:
    stop = memory.subscribe(on_pause=lambda: None, on_memory=lambda event: None)
    assert memory.idle.until_done(["seal"]) == 0
    stop()
    steps: list[str] = []
    memory.upkeep.embed(SCOPE)
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
    first, second = ids(Look(memory).turns(SCOPE))[:2]
    requests = [Forget(turns=(first,)), Forget(scope=SCOPE, memories=(chunk_id(second),))]
    assert set(memory.forget(requests, dry_run=True).turns) == {first, second}
    assert SAID[0] in _texts(memory, "Max the dog"), "a preview changes nothing"
    gone = memory.forget(requests)
    assert set(gone.turns) == {first, second} and gone.erased
    assert not {*SAID[:2]} & {*_texts(memory, "Max the dog, green tea")}
