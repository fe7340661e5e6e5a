"""What a turn is offered: nothing that is over as current, and nothing beside what it sees."""

from datetime import UTC, timedelta
from unittest.mock import Mock

from msgspec.structs import replace

from slowcat_memory.core.query.recall_gate import Need, judge
from slowcat_memory.core.ranking.offering import AnswerEvidence
from slowcat_memory.runtime.namespaces.known_facts import Ending
from slowcat_memory.runtime.recall.choosing import Recall, ended
from slowcat_memory.runtime.recall.query import RecallOptions, RetrievalOptions
from tests.support.recall_without_store import NOW, Mind, memory, query

LISBON = memory("chunk/1", "I live in Lisbon by the river", days=60)
PORTO = memory("chunk/2", "We moved house to Porto last week", days=9)
OVER = Ending(NOW - timedelta(days=9), "I live in Lisbon", newer="chunk/2")


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
    answers = {
        text: mind_evidence(text)
        for text in ("What is my landlord called?", "What is my puppy called?")
    }
    assert answers == {"What is my landlord called?": 1.0, "What is my puppy called?": 0.0}


def mind_evidence(text: str) -> float:
    """Return the share of names never said that a recall counts in a question; Max is a dog."""
    found = Mind().run(query(text, need=judge(text)))
    assert found.evidence is not None
    return found.evidence.unseen_names


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
