"""The jobs that send prompts, and a ledger row for them."""

from slowcat_memory.core.memory import chunk_id
from slowcat_memory.records import LedgerEntry, Offer
from tests.support.parroting_llm import Mind
from tests.support.rows import listed

SAID = [(told, answered) for told, answered in listed("idle/said")]  # of which all jobs ask

ASKING = {
    *("contextualize", "facts", "merge", "session_summary", "window_summary"),
    *("rollups", "blocks", "rerank"),
}


def ledger(mind: Mind) -> None:
    """Let recall have weighed all that there is for every question."""
    with mind.engine.store.snapshot() as snapshot:
        turns = list(snapshot.turns("anna"))
    every = [Offer(memory=chunk_id(turn.id), score=0.5, probability=0.5) for turn in turns]
    for turn in turns:
        offers = tuple(one for one in every if one.memory != chunk_id(turn.id))
        mind.engine.store.write_ledger(
            LedgerEntry(turn=turn.id, scope="anna", session=turn.session, at=turn.at,
                        offers=offers[:12])
        )  # fmt: skip
