"""What a user feels is said by the user, in several turns, or nobody knows it."""

from slowcat_memory.core.blocks.rules import stated_tones, tone_of
from slowcat_memory.core.language import ENGLISH
from tests.support.rows import each_row, listed

SAID = listed("tones")


@each_row(("tone", "said"), SAID)
def test_a_tone_is_what_somebody_says_to_feel_and_not_its_word(tone: str, said: str) -> None:
    assert stated_tones(said) == {tone} - {"none"}


def test_one_turn_is_no_tone_of_a_conversation() -> None:
    nervous = "I'm nervous about the exam."
    assert tone_of([nervous]) == ""
    assert tone_of([nervous, "What time is it?"]) == ""
    assert tone_of([nervous, "I'm still so worried."]) == "anxious"


def test_where_two_tones_are_said_neither_is_told() -> None:
    mixed = ["I'm sad.", "I feel so lonely.", "I'm happy again.", "I am so glad."]
    assert tone_of(mixed) == "" and tone_of([*mixed, "I'm thrilled."]) == "happy"


def test_a_fond_reunion_and_a_good_day_are_not_sad() -> None:
    reunion = ["Hana is here, we both cried at the station.", "I was crying so much I missed the tram.",
               "Happy tears, and heartbroken when she left."]  # fmt: skip
    assert tone_of(reunion) == ""


def test_every_tone_can_be_stated() -> None:
    said = {"proud": "confident"}
    assert {tone for tone, _ in SAID} | {*said.values()} == {*ENGLISH.tones, "none"}
    assert stated_tones("I'm so proud.") == {"confident"}
