"""How much a fact matters does not depend on how sure it is."""

from datetime import UTC, datetime

from msgspec.structs import replace

from slowcat_memory.core.facts.fact import HIGH, LOW, ORDINARY, fact_memory
from slowcat_memory.core.facts.prompt import facts_by_rule
from slowcat_memory.records import Made, Turn
from tests.support.rows import each_row

AT = datetime(2026, 5, 12, 18, tzinfo=UTC)


def weights(text: str, confidence: str) -> set[float]:
    turn = Turn(session="s", scope="anna", speaker="Anna", role="user", text=text, at=AT)
    found = [replace(one, confidence=confidence) for one in facts_by_rule(turn, UTC)]
    assert found
    return {fact_memory(one, AT, Made(job="facts", version=1)).importance for one in found}


@each_row("confidence", ["high", "medium", "low"])
@each_row(
    ("text", "importance"),
    [
        ("I'm allergic to hazelnuts.", HIGH),
        ("Ich bin allergisch gegen Nüsse.", HIGH),
        ("My sister is called Clara.", HIGH),
        ("My mum has diabetes.", HIGH),
        ("My dog Rex died.", HIGH),
        ("I live in Graz.", ORDINARY),
        ("I have a dentist appointment on Friday.", ORDINARY),
        ("I like tea.", LOW),
        ("Ich mag Tee.", LOW),
    ],
)
def test_importance_follows_the_matter_and_not_the_confidence(
    text: str, importance: float, confidence: str
) -> None:
    assert weights(text, confidence) == {importance}
