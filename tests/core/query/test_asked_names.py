"""What a user asks the name of."""

from slowcat_memory.core.query.asked_facts import named_thing
from tests.support.rows import each_row


@each_row(
    ("query", "language", "thing"),
    [
        ("What is my landlord called?", "english", "landlord"),
        ("what’s my dentist called", "english", "dentist"),
        ("What's the name of my neighbour?", "english", "neighbour"),
        ("What is my puppy called?", "english", "puppy"),
        ("What is my salary?", "english", ""),
        ("What is my favourite tea called?", "english", ""),
        ("Where do I live?", "english", ""),
        ("Wie heißt mein Vermieter?", "german", "vermieter"),
        ("wer ist meine zahnärztin", "german", "zahnärztin"),
        ("Wo wohne ich?", "german", ""),
    ],
)
def test_what_is_asked_the_name_of(query: str, language: str, thing: str) -> None:
    assert (named_thing(query, language) or [""])[0] == thing


def test_a_thing_may_have_been_mentioned_by_another_word() -> None:
    assert {"dog", "pet", "cat"} <= set(named_thing("What is my puppy called?", "english"))
    assert {"frau", "partnerin"} <= set(named_thing("Wie heißt meine Frau?", "german"))
