"""What a user feels is said by the user, in several turns, or nobody knows it."""

from slowcat_memory.core.blocks.rules import TONES, stated_tones, tone_of
from tests.support.rows import each_row

STATED = [
    ("anxious", "I'm really nervous about Friday."),
    ("anxious", "im so worried about mum"),
    ("anxious", "Ich habe solche Angst vor der Operation."),
    ("anxious", "ich mache mir große Sorgen um den Hund"),
    ("sad", "I feel so lonely since the move."),
    ("sad", "Ich bin gerade ziemlich traurig."),
    ("frustrated", "I’m just fed up with the landlord."),
    ("frustrated", "Ich bin echt genervt von der Bahn."),
    ("overwhelmed", "I am completely exhausted."),
    ("overwhelmed", "ich bin total überfordert im moment"),
    ("happy", "I'm so happy, he said yes!"),
    ("happy", "Ich bin so froh!"),
    ("calm", "I feel much calmer now."),
    ("calm", "Ich bin richtig erleichtert."),
    ("grateful", "I'm very grateful."),
    ("hopeful", "I'm quite hopeful about the new tablets"),
]
NOT_STATED = [
    "She was crying and I hugged her, seven years we hadn't met.",
    "I cried with joy, honestly the best day of my life.",
    "Biscuit cried all night.",
    "My sister is so worried about the exam.",
    "He's angry with his boss.",
    "That film was sad.",
    "It's an amazing soup.",
    "I'm not nervous at all.",
    "I'm not that worried any more.",
    "If I'm sad I bake.",
    "Would you be angry with me?",
    "Are you nervous?",
    "I'd be furious.",
    "The letter says I am overwhelmed.",
    "I'm happy to wait.",
    "I'm glad you asked, it's on Monday.",
    "I am ready to order now.",
    "The panic button is broken.",
    "Calm down, Pixel.",
    "The sea was calm and lovely.",
    "We read Anxious People in the book club.",
    "Lonely Planet has a page about it.",
    "Don't be sad.",
    "Tom said he is thrilled.",
    "It's promising rain.",
    "Meine Schwester ist ziemlich traurig.",
    "Er war wütend.",
    "Ich bin nicht nervös.",
    "Ich habe keine Angst.",
    "Wenn ich traurig bin, koche ich.",
    "Bist du sauer?",
    "Die Suppe ist mir zu sauer.",
    "Der Film war so traurig.",
    "Da hätte ich Angst.",
    "Meine Mutter sagt, ich bin gestresst.",
    "Es war ganz ruhig am See.",
    "Ich war am Donnerstag froh, dass es regnete.",
    "Die Kinder sind begeistert.",
    "I was so anxious back then, in 2019.",
    "Nora is proud of her dad.",
]


@each_row(("tone", "said"), STATED)
def test_a_tone_is_what_somebody_says_to_feel(tone: str, said: str) -> None:
    assert stated_tones(said) == {tone}


@each_row("said", NOT_STATED)
def test_a_word_of_feeling_is_no_feeling(said: str) -> None:
    assert stated_tones(said) == set()


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
    assert {tone for tone, _ in STATED} | {*said.values()} == {*TONES}
    assert stated_tones("I'm so proud.") == {"confident"}
