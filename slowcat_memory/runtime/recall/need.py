"""Whether a turn needs a memory, by the options of a recall."""

from msgspec.structs import replace

from slowcat_memory.core.query.recall_gate import Need, judge
from slowcat_memory.runtime.recall.query import RetrievalOptions


def need_of(text: str, options: RetrievalOptions) -> Need:
    """Return what a turn needs; with the gate off, everything is searched."""
    need = judge(text, options.language)
    return need if options.gate.enabled else replace(need, query=text)
