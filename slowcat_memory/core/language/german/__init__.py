"""German: what it says in ``sentences.toml``, what it looks for in ``words.toml`` and the modules."""

from slowcat_memory.core.language.data import read_words
from slowcat_memory.core.language.german.commands import COMMANDS
from slowcat_memory.core.language.german.gate import GATE
from slowcat_memory.core.language.german.patterns import (
    IMPORTANCE,
    INJECTION,
    OVERVIEW,
    PROACTIVE,
    REACTIONS,
    SUMMARY,
)
from slowcat_memory.core.language.german.statements import FACTS, NAMES, STATEMENTS
from slowcat_memory.core.language.german.time import TIME
from slowcat_memory.core.language.table import Language, read_sentences

LANGUAGE = Language(
    name="german",
    code="de",
    native="Deutsch",
    other_names=("deu",),
    commands=COMMANDS,
    gate=GATE,
    time=TIME,
    statements=STATEMENTS,
    facts=FACTS,
    names=NAMES,
    reactions=REACTIONS,
    tones=read_words(__name__)["tones"],
    overview=OVERVIEW,
    injection=INJECTION,
    importance=IMPORTANCE,
    proactive=PROACTIVE,
    summary=SUMMARY,
    **read_sentences(__name__),
)
