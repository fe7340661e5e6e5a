"""German: sentences in ``sentences.toml``, words in ``words.toml``, patterns in the modules."""

from slowcat_memory.core.language.table import language_of_tables

LANGUAGE = language_of_tables(
    __name__,
    name="german",
    code="de",
    native="Deutsch",
    other_names=("deu",),
    capital_nouns=True,
)
