import pytest

from slowcat_memory.core.query.asked_facts import asked_fact
from tests.support.rows import each_row


@each_row(
    ("query", "language", "predicate", "thing"),
    [
        ("Where do I live?", "english", "lives_in", ""),
        ("which town do we live in", "english", "lives_in", ""),
        ("What do I do for a living?", "english", "works_as", ""),
        ("who do I work for", "english", "works_at", ""),
        ("What is my dog called?", "english", "has_pet", "dog"),
        ("what’s my dog’s name", "english", "has_pet", "dog"),
        ("Do you know what my boss is called?", "english", "has_boss", "boss"),
        ("what kind of food do i eat", "english", "diet", ""),
        ("What is my favourite colour?", "english", "favourite_colour", "colour"),
        ("remind me which city I'm based in", "english", "lives_in", ""),
        ("do you still know where we live", "english", "lives_in", ""),
        ("who am i going out with", "english", "has_partner", ""),
        ("what do i do for fun", "english", "plays", ""),
        ("what’s off limits, what can't I eat", "english", "allergic_to", ""),
        ("which car do i have", "english", "owns", "car"),
        ("who do I report to?", "english", "has_boss", ""),
        ("how do i feel about olives", "english", "likes", "olives"),
        ("what was my brother's name again", "english", "has_brother", "brother"),
        ("any news about the tax return", "english", "type:open_thread", "tax return"),
        ("Wo wohne ich?", "german", "lives_in", ""),
        ("in welcher stadt leben wir", "german", "lives_in", ""),
        ("mit wem bin ich eigentlich zusammen", "german", "has_partner", ""),
        ("Was für ein Handy habe ich?", "german", "owns", "handy"),
        ("nenn mir meine adresse", "german", "lives_in", ""),
        ("wohin bin ich umgezogen", "german", "lives_in", ""),
        ("wohne ich noch in graz", "german", "lives_in", ""),
        ("wo bin ich gemeldet", "german", "lives_in", ""),
        ("mag ich oliven", "german", "likes", "oliven"),
        ("Gibt es etwas, das ich nicht vertrage?", "german", "allergic_to", ""),
        ("wofür hab ich mich entschieden", "german", "type:decision", ""),
        ("was bin ich von beruf", "german", "works_as", ""),
        ("Was arbeite ich?", "german", "works_as", ""),
        ("Wie heißt mein Hund?", "german", "has_pet", "hund"),
        ("weißt du wie mein vater heißt", "german", "has_father", "vater"),
    ],
)
def test_asked_fact_a_question_about_oneself_asks_for_predicates(
    query: str, language: str, predicate: str, thing: str
) -> None:
    asked = asked_fact(query, language)
    assert asked and predicate in asked.predicates and asked.thing == thing


@pytest.mark.parametrize(
    "query",
    [
        "Where does Tom live?",
        "What is the capital of France?",
        "I live in Graz.",
        "my dog barks",
        "",
    ],
)
def test_asked_fact_other_questions_and_statements_ask_for_none(query: str) -> None:
    assert asked_fact(query, "english") is None
