"""What people say to their memory, and what it answers: one table of values for each language."""

from slowcat_memory.core.language.commands import Kind, Phrases, Rule
from slowcat_memory.core.language.english.commands import ENGLISH
from slowcat_memory.core.language.german.commands import GERMAN

LANGUAGES = {"english": ENGLISH, "german": GERMAN}

__all__ = ["LANGUAGES", "Kind", "Phrases", "Rule", "phrases"]


def phrases(language: str) -> Phrases:
    """Find a language's table.

    Args:
        language: Its Snowball name ("english"), as in ``index.language``.

    Returns:
        Its table, the English one where there is none.
    """
    return LANGUAGES.get(language, ENGLISH)
