"""Candidates to scores, seen from a recall: priors, neighbours, tokens, probability."""

from collections import Counter
from datetime import UTC, timedelta
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from slowcat_memory.core.query.recall_gate import Need, judge
from slowcat_memory.core.ranking.score import (
    AnswerEvidence,
    FuseOptions,
    LeftOutReason,
    probability,
)
from slowcat_memory.core.text.normalize import fingerprint
from slowcat_memory.records import Hit, Memory
from slowcat_memory.runtime.namespaces.known_facts import Overtaken
from slowcat_memory.runtime.recall.choosing import Recall, ended
from slowcat_memory.runtime.recall.query import RecallOptions, Recollection, RetrievalOptions
from tests.support.recall_without_store import EMBEDDER, NOW, Mind, memory, query

WORDS = ("max", "dog", "barks", "tea", "lisbon", "garden", "swims")

# ------------------------------------------------------------------- tokens

DOGS = tuple(memory(str(n), f"dog number{n} of the house") for n in range(8))


def tokens_of(**said: str) -> dict[str, np.ndarray]:
    """Token vectors as if memories had said something else."""
    return dict(zip(said, EMBEDDER.encode(list(said.values())).tokens, strict=True))


def with_tokens(known: dict[str, np.ndarray], *memories: Memory, **fusing: float) -> Mind:
    return Mind(
        *memories,
        embed=EMBEDDER.encode_query,
        tokens=known,
        fusing=FuseOptions(**fusing),  # type: ignore[arg-type]
    )


def test_scoring_score_tokens_reorder_the_best():
    tokens = tokens_of(**{str(n): "garden" for n in range(7)}, **{"7": "the dog house"})
    found = with_tokens(tokens, *DOGS).run(query("dog house"))
    assert found.hits[0].memory.id == "7"
    assert set(found.timings) >= {"tokens"} and set(found.hits[0].views) >= {"tokens"}
    assert found.hits[0].views["tokens"] == 1.0 and found.hits[1].views["tokens"] == 0.0
    assert with_tokens(tokens, *DOGS, rerank=0).ids("dog house")[0] != "7"


# ------------------------------------------------------------------- probability


def hits(mind: Mind, text: str, **how: object) -> dict[str, Hit]:
    return {hit.memory.id: hit for hit in mind.run(query(text, k=20, **how)).hits}


said = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)


@settings(max_examples=60, deadline=None)
@given(st.lists(said, min_size=1, max_size=8, unique=True), said, st.booleans())
def test_scoring_score_a_hit_tells_how_likely_it_answers(texts, text, vectors):
    mind = Mind(*(memory(str(n), t) for n, t in enumerate(texts)), vectors=vectors)
    found = list(hits(mind, text).values())
    for hit in found:
        assert 0 <= hit.coverage <= 1 and 0 <= hit.probability <= 1
        assert (hit.cosine is not None) == vectors
        near = None if hit.cosine is None else np.array([hit.cosine])
        expected = probability(np.array([hit.coverage]), near, len(texts))[0]
        assert hit.probability == pytest.approx(expected, abs=1e-3)
    for a in found:
        for b in found:  # no better by either measure, no likelier
            if a.coverage <= b.coverage and (a.cosine or 0) <= (b.cosine or 0):
                assert a.probability <= b.probability + 2e-4


def test_scoring_score_the_floor_is_a_probability():
    mind = Mind(*(memory(str(n), f"dog {' '.join(WORDS[3 : 3 + n])}") for n in range(4)))
    found = hits(mind, "dog tea lisbon")
    likely = sorted(hit.probability for hit in found.values())
    assert len(set(likely)) > 2
    for floor in (likely[0] - 0.001, likely[1] + 0.001, likely[-1] + 0.001):
        kept = {id_ for id_, hit in found.items() if hit.probability >= floor}
        assert set(hits(mind, "dog tea lisbon", floor=floor)) == kept


# ------------------------------------------------------------------- why a memory was left out


def reasons(found: Recollection, offered: int | None = None, most: int = 20) -> dict[str, str]:
    assert found.trace is not None
    ids = [hit.memory.id for hit in found.hits]
    told = found.trace.left_out(set(ids), set(ids[:offered]), most)
    return {one.memory: one.reason for one in told}


def ask(mind: Mind, text: str, **how: object) -> Recollection:
    return mind.run(query(text, **how))


def test_scoring_trace_left_out_the_floor_keeps_out_all_but_what_is_pinned():
    mind = Mind(memory("dog", "My dog is called Max"), memory("tea", "I drink tea", pinned=True))
    told = reasons(ask(mind, "what is my dog called", floor=1.0))
    assert told == {"dog": LeftOutReason.BELOW_FLOOR}
    low = ask(mind, "what is my dog called", floor=1.0, keep_share=1.0)
    assert reasons(low)["dog"] == LeftOutReason.BELOW_FLOOR


def test_scoring_trace_left_out_what_stands_in_the_context_is_told_apart_by_id_and_by_words():
    mind = Mind()
    found = ask(mind, "my dog", exclude=frozenset({"dog", "tea", "unknown"}))
    assert found.trace is not None and found.trace.visible_ids == ["dog", "tea"]
    assert "dog" not in reasons(found)
    words = frozenset({fingerprint("My dog is called Max")})
    assert reasons(ask(mind, "my dog", exclude_words=words))["dog"] == LeftOutReason.ALREADY_VISIBLE


def test_scoring_trace_visible_has_what_the_llm_reads_and_not_what_is_withheld_from_it():
    mind = Mind()
    mind.searcher.set_columns("tea", local=True)
    hidden = frozenset({"dog", "tea"})
    found = ask(mind, "my dog drinks tea in Lisbon", exclude=hidden, local=False)
    assert found.trace is not None and found.trace.visible_ids == ["dog"]
    assert list(found.trace.ids) == ["dog", "trip"] and list(reasons(found)) == []


def test_scoring_trace_left_out_beyond_as_many_as_may_be_offered_or_have_room_in_the_block():
    mind = Mind(*(memory(str(n), f"Max barks at number{n}") for n in range(6)))
    found = ask(mind, "Max barks", k=4)
    assert [*reasons(found).values()] == [LeftOutReason.BEYOND_LIMIT] * 2
    told = Counter(reasons(found, offered=1).values())
    assert told == {LeftOutReason.NO_BUDGET: 3, LeftOutReason.BEYOND_LIMIT: 2}


def test_scoring_trace_left_out_the_best_come_first_with_their_scores_and_no_more_than_asked_for():
    mind = Mind(*(memory(str(n), "Max barks " * (9 - n)) for n in range(9)))
    found = ask(mind, "Max barks", k=9, keep_share=1.0)
    assert found.trace is not None
    told = found.trace.left_out(set(), set(), 3)
    assert len(told) == 3 and [t.score for t in told] == sorted(t.score for t in told)[::-1]
    best = {hit.memory.id: hit for hit in found.hits}[told[0].memory]
    assert told[0].views == best.views and told[0].probability == best.probability


# ------------------------------------------------------------------- x

LISBON = memory("chunk/1", "I live in Lisbon by the river", days=60)
PORTO = memory("chunk/2", "We moved house to Porto last week", days=9)
OVER = Overtaken(NOW - timedelta(days=9), "I live in Lisbon", newer="chunk/2")


def moved() -> Mind:
    mind = Mind(LISBON, PORTO, memory("chunk/3", "I drink green tea every morning"))
    mind.namespace.ended["chunk/1"] = (OVER,)
    return mind


def test_what_holds_stands_before_what_is_over_and_that_has_its_end():
    found = moved().run(query("do I live in Lisbon", keep_share=0.9)).hits
    assert [hit.memory.id for hit in found] == ["chunk/2", "chunk/1"]
    assert found[1].memory.valid_to == OVER.until and found[0].memory.valid_to is None


def test_only_the_part_of_a_turn_that_is_over_is_marked_as_over():
    both = memory("chunk/1", "I live in Lisbon and my dog Max loves the beach so much")
    marked = ended(both, [OVER])
    assert marked.valid_to is None and marked.facets["over"] == "I live in Lisbon"
    assert ended(LISBON, []) is LISBON


def test_a_later_change_of_what_is_asked_stands_beside_and_the_older_is_marked():
    old = memory("old", "The movers come on the sixteenth with two lorries", days=20)
    new = memory("new", "Because of the strike the movers were rescheduled", days=2)
    mind = Mind(old, new)
    text = "on which day come the movers with the lorries on the sixteenth"
    found = {hit.memory.id: hit.memory for hit in mind.run(query(text, keep_share=0.95)).hits}
    assert found["old"].facets == {"earlier": "yes"} and found["new"].facets == {}


def test_the_name_of_what_was_never_mentioned_is_not_that_of_something_else():
    for text, unseen in (("What is my landlord called?", 1.0), ("What is my puppy called?", 0.0)):
        found = Mind().run(query(text, need=judge(text)))  # Max is a dog
        assert found.evidence is not None and found.evidence.unseen_names == unseen


def test_a_question_gets_the_facts_of_a_turn_the_nearest_first_on_this_machine_alone():
    mind = Mind(memory("chunk/1", "he lends me his trailer and rings her on Friday"))
    mind.namespace.told["chunk/1"] = ("Marek rings Jana.", "Marek lends Anna a trailer.")
    asked = query("who lends me a trailer?", need=judge("who lends me a trailer?"))
    here = replace(asked, local=True)
    assert mind.run(asked).hits[0].memory.facets == {}
    assert mind.run(here).hits[0].memory.facets == {
        "facts": "Marek lends Anna a trailer.\nMarek rings Jana."
    }


def test_a_small_store_offers_more_beside_the_best():
    shares = [
        Recall(Mock(), query("dog"), RetrievalOptions(), UTC, range(n))._share  # type: ignore[arg-type]
        for n in (20, 40, 200, 600, 100_000)
    ]
    assert shares == sorted(shares) and shares[0] < 0.6 and shares[3] == shares[4] == 0.8


def test_a_question_of_the_world_is_offered_what_answers_or_reaches_the_floor():
    good = AnswerEvidence(coverage=0.7, max_similarity=0.8, unseen_names=0.0, memories=500)
    bad = replace(good, coverage=0.1, max_similarity=0.3)
    recall = Mind(recalling=RecallOptions(floor=0.1, unknown_below=0.15)).begin(
        query("why is the sky blue", need=Need(query="why is the sky blue", asks=True))
    )
    offered = [
        recall._answers(Mock(likeliest=lambda likeliest=likeliest: likeliest), evidence)
        for evidence, likeliest in ((good, 0.0), (bad, 0.2), (bad, 0.05))
    ]
    assert offered == [True, True, False]
