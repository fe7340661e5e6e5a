"""Engines with a clock of their own, conversations with them, and what they store."""

from msgspec.structs import replace

from slowcat_memory.engine import MemoryEngine
from slowcat_memory.records import CommandEntry, LedgerEntry, Offer, SessionEdge
from tests.support.memories import Look
from tests.support.said import NOON, turn_at

NOW = NOON
WORD = "quokkasaurus"
UNDO_S = 300.0


def talk(engine: MemoryEngine, *lines: str, session: str = "s") -> list[int]:
    """Log lines in turn: the user's, then the agent's."""
    engine.store.flush(None)
    if not Look(engine).session(session):
        engine.append(SessionEdge(session=session, scope="anna", kind="start", at=engine.clock()))
    ids: list[int] = []
    for n, text in enumerate(lines):
        engine.clock.advance(1)  # type: ignore[attr-defined]
        said = turn_at(text, engine.clock(), session=session)
        if n % 2:
            said = replace(said, speaker="Assistant", role="assistant", reply_to=ids[-1])
        ids.append(engine.append(said).id)
    engine.flush(indexed=True)
    return ids


def found(engine: MemoryEngine, words: str) -> list[str]:
    engine.flush(indexed=True)
    return [hit.memory.text for hit in engine.search(words, "anna", k=9).hits]


def commands(engine: MemoryEngine) -> list[CommandEntry]:
    return Look(engine.store).commands()


def hide(engine: MemoryEngine, *turns: int, turn: int = 0) -> CommandEntry:
    chunks = [f"chunk/{id_}" for id_ in turns]
    return engine.undo_log.hide("forget_that", "anna", chunks, turns, turn, UNDO_S)


def offer(engine: MemoryEngine, turn: int, *memories: str) -> None:
    """Note which memories were put before the LLM for a turn."""
    offers = tuple(Offer(memory, 0.9) for memory in memories)
    row = LedgerEntry(turn=turn, scope="anna", session="s", at=NOW, offers=offers)
    engine.store.write_ledger(row).wait(30)
