"""What a command is about, where no pattern tells."""

from slowcat_memory.core.commands.intent import Utterance, find_argument
from slowcat_memory.core.language import language_of
from tests.support.rows import each_row, listed


@each_row(("language", "kind", "said", "expected"), listed("commands/arguments"))
def test_arguments_are_the_words_of_the_user(language, kind, said, expected):
    table = language_of(language).commands.intents
    span = find_argument(kind, Utterance(said, table))
    assert (said[slice(*span)] if span else "") == expected
