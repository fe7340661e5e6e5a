from datetime import UTC, datetime

from slowcat_memory.records import Hit, Memory
from slowcat_memory.runtime.recall.service import union

NOON = datetime(2026, 5, 12, 12, tzinfo=UTC)


def hit(scope: str, text: str, score: float, probability: float) -> Hit:
    memory = Memory(
        id=f"{scope}/{text}", kind="note", scope=scope, speaker="x", text=text, valid_from=NOON
    )
    return Hit(memory=memory, score=score, probability=probability)


def texts(hits: list[Hit]) -> list[str]:
    return [one.memory.text for one in hits]


OWN = [hit("anna", "one", 0.9, 0.2), hit("anna", "two", 0.6, 0.3), hit("anna", "three", 0.5, 0.1)]


def test_union_the_likelier_namespace_comes_first_and_each_keeps_its_order() -> None:
    home = [hit("home", "four", 0.2, 0.9), hit("home", "five", 0.1, 0.95)]
    merged = union([OWN, home], 9, 0.8)
    assert texts(merged) == ["four", "five", "one", "two", "three"]
    assert [one.score for one in merged] == sorted((one.score for one in merged), reverse=True)
    assert merged[0].score == 0.95  # that of the likeliest of its namespace


def test_union_a_scale_of_scores_of_its_own_means_nothing() -> None:
    loud = [hit("home", "loud", 1.3, 0.05)]
    assert texts(union([OWN, loud], 9, 0.8))[0] == "one"


def test_union_what_both_say_is_said_once_by_the_likelier() -> None:
    home = [hit("home", "One!", 0.5, 0.9)]
    merged = union([OWN, home], 9, 0.8)
    assert texts(merged) == ["One!", "two", "three"]


def test_union_no_more_than_asked_for_and_nothing_of_nothing() -> None:
    assert len(union([OWN, [hit("home", "four", 1, 1)]], 2, 0.8)) == 2
    assert union([[], []], 5, 0.8) == []
    assert texts(union([[], OWN], 5, 0.8)) == ["one", "two", "three"]
