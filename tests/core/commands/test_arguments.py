"""What a command is about, where no pattern tells."""

from slowcat_memory.core.commands.arguments import find_argument
from slowcat_memory.core.commands.composition import Utterance
from slowcat_memory.core.language import language_of
from tests.support.rows import each_row


@each_row(
    ("language", "kind", "said", "expected"),
    [
        (
            "english",
            "forget_about",
            "it would be best if you discarded that quarrel with the builder from your records",
            "that quarrel with the builder",
        ),
        ("english", "remember", "make a mental note the gate squeaks", "the gate squeaks"),
        (
            "english",
            "remember",
            "The fuse box is in the hall. Save that for the household, please.",
            "The fuse box is in the hall",
        ),
        (
            "english",
            "remember",
            "commit to memory that the gate squeaks",
            "the gate squeaks",
        ),
        ("english", "forget_about", "delete it", None),
        (
            "german",
            "remember",
            "Denk in Zukunft daran, dass Ute jetzt in Wien lebt.",
            "Ute jetzt in Wien lebt",
        ),
        (
            "german",
            "remember",
            "behalt mal im kopf die leiter steht im schuppen",
            "die leiter steht im schuppen",
        ),
        ("german", "forget_span", "was gestern war, weg", "gestern"),
    ],
)
def test_arguments_are_the_words_of_the_user(language, kind, said, expected):
    table = language_of(language).commands.composed
    span = find_argument(kind, Utterance(said, table))
    assert (said[slice(*span)] if span else None) == expected
