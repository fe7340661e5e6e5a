"""Prepares what the first turn needs and every later one has: compiled patterns, read weights.

They are compiled when they are first used, so that no command, child process or other language
pays for them. A conversation compiles them ahead, beside its first words.
"""

from functools import cache

from slowcat_memory.core.commands import grammar
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

    stated("I moved to Porto in May.", "User", language)
