import pytest

from slowcat_memory.idle.jobs.feedback import reaction
from tests.support.rows import each_row

WRONG = {
    "No, I said Anna.": "anna",
    "no i meant the dentist in Porto": "the dentist in porto",
    "That's not what I meant": "",
    "No, it was Anna": "anna",
    "no, the other one": "",
    "No, I asked about Ben": "ben",
    "Oh no, that's wrong": "",
    "You misunderstood me, I live in Rome": "i live in rome",
    "Nein, ich meinte die andere Anna": "die andere anna",
    "nein das war gestern": "gestern",
    "Das habe ich nicht gemeint.": "",
}
RIGHT = ("Yes, exactly!", "that's right", "exactly", "Genau", "ja, das stimmt", "you're right")
NOTHING = (
    "no idea", "No, thanks", "I said hello to her", "no, it's fine", "no, that's all",
    "Nein danke", "Nein, ich habe keine Zeit", "nein das ist okay", "right", "no", "yes", "",
    "No, I said Anna, didn't I?", "that's right around the corner from my house",
    "exactly one year ago we met", "no, I mean, it's fine", "no, it's okay", "I meant to call you",
    "no I don't think so", "no one said that", "nothing", "no worries", "nein, alles gut",
    "no, it was " + "very " * 50 + "good",
)  # fmt: skip


@each_row("text", WRONG)
def test_reaction_a_correction_is_heard(text: str) -> None:
    found = reaction(text)
    assert found is not None and found.verdict == "wrong" and found.instead == WRONG[text]


@pytest.mark.parametrize("text", RIGHT)
def test_reaction_a_confirmation_is_heard(text: str) -> None:
    found = reaction(text)
    assert found is not None and found.verdict == "right"


@each_row("text", NOTHING)
def test_reaction_what_says_nothing_about_a_reply_is_let_pass(text: str) -> None:
    assert reaction(text) is None
