"""Which turns say something that a later question can be answered with."""

import pytest

from slowcat_memory.core.query.understand import asks_about_talk, of_words, substance
from tests.support.recall_without_store import memory
from tests.support.rows import each_row

NOTHING = {
    "english": (
        "Okay, thanks.", "alright", "Ha, yeah.", "I don't know, sorry.", "no idea", "Great idea!",
        "What is my dog called?", "what is my dog called", "where do i live", "who's my boss",
        "Do you remember where we parked?", "tell me again what my sister does",
        "did i ever mention my landlord", "My sister's name?", "so when did we get the scooter",
        "can you tell me my dog’s name",
    ),
    "german": (
        "Alles klar, danke.", "keine Ahnung", "Tolle Idee!", "Wie heißt mein Hund?",
        "wo wohne ich", "weißt du noch wo wir geparkt haben", "wann war ich in Lissabon",
        "sag mir nochmal wo ich arbeite", "Wem habe ich das Zelt geliehen?",
    ),
}  # fmt: skip
BY_THE_AGENT = {
    "english": (
        "Alright.", "Good luck!", "Good name.", "Congratulations!", "Sorry, I don't know that.",
        "I'm not sure, sorry.", "You haven't told me that yet.", "Noted, I'll remember that.",
        "That sounds like a great plan.", "What kind of dog is it?", "I can't check your calendar.",
    ),
    "german": (
        "Das weiß ich leider nicht.", "Das hast du mir noch nicht erzählt.", "Schöner Name!",
        "Viel Erfolg!", "Und wie geht es ihm?",
    ),
}  # fmt: skip
SOMETHING = {
    "english": (
        "I live in Graz.", "my dog is called max", "When I was in Lisbon I met Tom.",
        "Did I tell you that my sister got engaged?", "Can you remind me to call the vet?",
        "I have a good job.", "She is nice.", "I don't know how to swim.", "We sold it, okay?",
        "Remind me to water the plants tomorrow.", "No, on Thursday.",
    ),
    "german": (
        "Ich wohne in Graz.", "mein hund heißt max", "Als ich in Wien war, traf ich Tom.",
        "Kannst du mich morgen an den Zahnarzt erinnern?", "Was ich gekauft habe, war teuer.",
        "Hab ich dir erzählt, dass meine Schwester heiratet?",
    ),
}  # fmt: skip


def _cases(table: dict[str, tuple[str, ...]]) -> list[tuple[str, str]]:
    return [(text, language) for language, texts in table.items() for text in texts]


@each_row(("text", "language"), _cases(NOTHING))
def test_fillers_and_questions_about_oneself_say_nothing(text: str, language: str) -> None:
    assert of_words(text, False, language).share == 0


@each_row(("text", "language"), _cases(BY_THE_AGENT))
def test_reactions_and_not_knowing_of_the_agent_say_nothing(text: str, language: str) -> None:
    assert of_words(text, True, language).share == 0


@each_row(("text", "language"), _cases(SOMETHING))
def test_statements_say_something(text: str, language: str) -> None:
    assert of_words(text, False, language).share >= 0.3


def test_a_question_beside_a_statement_takes_only_its_share() -> None:
    both = of_words("My dog is called Max. What is yours called?", False, "english")
    assert 0.3 < both.share < 1 and not both.asks
    assert of_words("What is my dog called?", False, "english").asks
    assert not of_words("okay thanks", False, "english").asks


@each_row(
    ("text", "language", "about"),
    [
        ("Tell me about Max", "english", False),
        ("tell us about the old lighthouse", "english", False),
        ("Tell me about my sister", "english", True),
        ("What did you tell me about Max?", "english", True),
        ("Who gave me the lamp?", "english", True),
        ("Erzähl mir von der Zugspitze", "german", False),
        ("Erzähl mir von meiner Schwester", "german", True),
        ("Wer hat mir die Lampe geschenkt?", "german", True),
    ],
)
def test_who_asks_to_be_told_does_not_ask_about_themselves_for_that(
    text: str, language: str, about: bool
) -> None:
    assert of_words(text, False, language).asks == about


def test_only_the_words_of_turns_are_weighed() -> None:
    assert substance(memory("chunk/1", "okay thanks"), "english").share == 0
    assert substance(memory("note/1", "okay thanks", kind="note"), "english").share == 1
    assert substance(memory("chunk/1", "okay thanks", pinned=True), "english").share == 1


@pytest.mark.parametrize(
    ("query", "language", "about"),
    [
        ("What did I ask you yesterday?", "english", True),
        ("which questions did I have", "english", True),
        ("Was habe ich dich gestern gefragt?", "german", True),
        ("Where do I live?", "english", False),
        ("what about my basket", "english", False),
    ],
)
def test_a_query_for_earlier_questions_is_told_from_others(
    query: str, language: str, about: bool
) -> None:
    assert asks_about_talk(query, language) == about
