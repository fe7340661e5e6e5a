"""English: sentences in ``sentences.toml``, words in ``words.toml``, patterns in the modules."""

from slowcat_memory.core.language.table import language_of_tables

LANGUAGE = language_of_tables(
    __name__,
    name="english",
    code="en",
    native="English",
    other_names=("eng",),
)
