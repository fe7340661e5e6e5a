"""Prepares what the first turn needs and every later one has: compiled patterns, read weights.

They are compiled when they are first used, so that no command, child process or other language
pays for them. A conversation compiles them as it begins, in the background: a turn that made them
itself would take 20 to 100 ms longer.
"""

import gc
from functools import cache

from slowcat_memory.core.commands import grammar
from slowcat_memory.core.language import LANGUAGES
from slowcat_memory.core.language.data import compile_lazy_patterns
from slowcat_memory.core.query import recall_gate


@cache
def compile_patterns(language: str, agent_name: str) -> None:
    """Compile the patterns that every turn is matched with; once in a process."""
    recall_gate.compile_patterns(language)
    grammar.compile_patterns(language, (agent_name,))
    grammar.prepare(language)
    _read_statements(language)
    compile_lazy_patterns()


def _read_statements(language: str) -> None:
    """Import and compile the rules that read each turn of the user once it is over."""
    from slowcat_memory.core.extraction.stated import stated

    for one in LANGUAGES:  # a turn is searched for orders in every language
        _ = one.orders.compiled
    stated("I moved to Porto in May.", "User", language)


def rehearsed(language: str) -> tuple[str, ...]:
    """Return questions that use every table that recall makes when it is first needed.

    For a fact, with a name that nobody has; for a day; for somebody else; for an overview.
    """
    return _REHEARSED.get(language, _REHEARSED["english"])


_REHEARSED = {
    "english": (
        "What is the name of Saoirse's dog?",
        "What did I do yesterday at three?",
        "Where did Wojciech work before he moved, and when is his next appointment?",
        "What have we talked about lately?",
    ),
    "german": (
        "Wie heißt der Hund von Saoirse?",
        "Was habe ich gestern um drei gemacht?",
        "Wo hat Wojciech vor dem Umzug gearbeitet, und wann ist sein nächster Termin?",
        "Worüber haben wir in letzter Zeit gesprochen?",
    ),
}


@cache
def collect_garbage() -> None:
    """Run a full collection, once in a process: 20 to 70 ms that would stop a turn otherwise.

    All that was imported and opened counts as new objects until then, so the next full collection
    would come within the first turns. Afterwards it comes when a quarter more has been made. The
    objects are not frozen: they are the application's too, and what it drops must be freed.
    """
    gc.collect()
