"""What is known before a stretch of a conversation, for the steps that show it to an LLM."""

from collections.abc import Sequence

from slowcat_memory.core.disclosure import is_derived_local
from slowcat_memory.core.extraction.known import KNOWN_TOKENS, Known
from slowcat_memory.core.graph.known_names import KnownIndex
from slowcat_memory.idle.job import JobContext
from slowcat_memory.records import Memory, Turn
from slowcat_memory.store import Snapshot

SHARE_OF_PROMPT = 16  # what is known takes at most this part of what an LLM reads


class KnownView:
    """The statements of a namespace; see ``WorkingSet``."""

    beginnings = KnownIndex.beginnings

    def __init__(self) -> None:
        self.index = KnownIndex()

    def put(self, memory: Memory, snapshot: Snapshot) -> None:
        if is_derived_local(memory, snapshot.memory):
            self.index.drop(memory.id)
        else:
            self.index.put(memory)

    def drop(self, id: str) -> None:
        self.index.drop(id)


def known_before(turns: Sequence[Turn], context: JobContext) -> Known:
    """Return who and what was known before some turns of one namespace, at least one."""
    reads = context.llm.prompt_tokens if context.llm else 0
    with context.snapshot() as snapshot:
        index = context.view(KnownView, snapshot, turns[0].scope).index
    return index.before(turns, context.zone, min(KNOWN_TOKENS, reads // SHARE_OF_PROMPT))
