"""What a turn needs of its memory, and what the memory has to say to it.

The gate decides before a recall whether there is anything to look up; after it, whether what came up
answers a question that asks for a memory. If not, the block says so, and offers nothing but what is
pinned: the best of nothing would be taken for an answer.
"""

from msgspec.structs import replace

from slowcat_memory.core.query.recall_gate import GateOptions, Need, judge
from slowcat_memory.core.ranking.abstention import probability
from slowcat_memory.runtime.recall.query import Query, Recollection


def need_of(query: Query, language: str, options: GateOptions) -> Need:
    """Decide what a turn needs.

    Args:
        query: The turn, as it was said.
        language: Of the gate's words.
        options: Which turns need no memory.

    Returns:
        What to look up, and what is asked for.
    """
    need = judge(query.text, language)
    return need if options.enabled else replace(need, query=query.text)


def looked_up(query: Query, need: Need, unknown_below: float) -> Query:
    """Ask for what a turn needs; the same before its end and at it, so that the two compare.

    Args:
        query: The turn, as it was said.
        need: What it needs.
        unknown_below: As in ``answered``.

    Returns:
        The query to recall with.
    """
    return replace(query, text=need.query, doubt=unknown_below if need.asks_at_all else 0.0)


def answered(found: Recollection, need: Need, unknown_below: float) -> Recollection:
    """Say so where a question asks for a memory and there is none.

    Args:
        found: What came to mind; without ``signs`` nobody can tell whether it answers.
        need: What the turn needs.
        unknown_below: Probability that anything answers, below which nothing does.

    Returns:
        What is put before the LLM.
    """
    asks = need.asks_memory or need.asks_somebody or (need.asks and found.names_speaker)
    unknown = asks and found.signs is not None and probability(found.signs) < unknown_below
    hits = [hit for hit in found.hits if hit.memory.pinned] if unknown else found.hits
    return replace(found, hits=hits, unknown=unknown, asks_time=need.asks_time)
