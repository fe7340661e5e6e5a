"""Why a memory was left out, from the recall that left it out."""

from slowcat_memory.core.text.normalize import fingerprint
from slowcat_memory.runtime.recall.query import LeftOutReason, Recollection
from tests.support.recall_without_store import Mind, memory, query


def reasons(found: Recollection, offered: int | None = None, most: int = 20) -> dict[str, str]:
    assert found.trace is not None
    ids = [hit.memory.id for hit in found.hits]
    told = found.trace.left_out(set(ids), set(ids[:offered]), most)
    return {one.memory: one.reason for one in told}


def ask(mind: Mind, text: str, **how: object) -> Recollection:
    return mind.run(query(text, **how))


def test_scoring_trace_left_out_the_floor_keeps_out_all_but_what_is_pinned() -> None:
    mind = Mind(memory("dog", "My dog is called Max"), memory("tea", "I drink tea", pinned=True))
    told = reasons(ask(mind, "what is my dog called", floor=1.0))
    assert told == {"dog": LeftOutReason.BELOW_FLOOR}
    low = ask(mind, "what is my dog called", floor=1.0, keep_share=1.0)
    assert reasons(low)["dog"] == LeftOutReason.BELOW_FLOOR


def test_scoring_trace_left_out_what_stands_in_the_context_is_told_apart_by_id_and_by_words() -> (
    None
):
    mind = Mind()
    found = ask(mind, "my dog", exclude=frozenset({"dog", "tea", "unknown"}))
    assert found.trace is not None and found.trace.visible == ["dog", "tea"]
    assert "dog" not in reasons(found)
    words = frozenset({fingerprint("My dog is called Max")})
    assert reasons(ask(mind, "my dog", exclude_words=words))["dog"] == LeftOutReason.ALREADY_VISIBLE


def test_scoring_trace_visible_has_what_the_llm_reads_and_not_what_is_withheld_from_it() -> None:
    mind = Mind()
    mind.searcher.set_columns("tea", local=True)
    hidden = frozenset({"dog", "tea"})
    found = ask(mind, "my dog drinks tea in Lisbon", exclude=hidden, local=False)
    assert found.trace is not None and found.trace.visible == ["dog"]
    assert list(found.trace.candidates.ids) == ["dog", "trip"] and list(reasons(found)) == []


def test_scoring_trace_left_out_beyond_as_many_as_may_be_offered() -> None:
    mind = Mind(*(memory(str(n), f"Max barks at number{n}") for n in range(6)))
    told = reasons(ask(mind, "Max barks", k=4))
    assert len(told) == 2 and set(told.values()) == {LeftOutReason.BEYOND_LIMIT}


def test_scoring_trace_left_out_a_hit_for_which_the_block_has_no_room() -> None:
    mind = Mind(*(memory(str(n), f"Max barks at number{n}") for n in range(3)))
    told = reasons(ask(mind, "Max barks"), offered=1)
    assert set(told.values()) == {LeftOutReason.NO_BUDGET} and len(told) == 2


def test_scoring_trace_left_out_the_best_come_first_with_their_scores_and_no_more_than_asked_for() -> (
    None
):
    mind = Mind(*(memory(str(n), "Max barks " * (9 - n)) for n in range(9)))
    found = ask(mind, "Max barks", k=9, keep_share=1.0)
    assert found.trace is not None
    told = found.trace.left_out(set(), set(), 3)
    assert len(told) == 3 and [t.score for t in told] == sorted(t.score for t in told)[::-1]
    best = {hit.memory.id: hit for hit in found.hits}[told[0].memory]
    assert told[0].views == best.views and told[0].probability == best.probability
