"""German: sentences in ``sentences.toml``, words in ``words.toml``, patterns in the modules."""

from slowcat_memory.core.language.data import read_words
from slowcat_memory.core.language.extracts import read_extracts
from slowcat_memory.core.language.facts import read_persons
from slowcat_memory.core.language.german import (
    gate,
    patterns,
    statements,
    talk,
    tense,
    time,
)
from slowcat_memory.core.language.table import Language, read_sentences

LANGUAGE = Language(
    name="german",
    code="de",
    native="Deutsch",
    other_names=("deu",),
    commands=patterns.COMMANDS,
    gate=gate.GATE,
    tense=tense.TENSE,
    time=time.TIME,
    statements=statements.STATEMENTS,
    facts=statements.FACTS,
    persons=read_persons(__name__),
    names=statements.NAMES,
    reactions=patterns.REACTIONS,
    tones=read_words(__name__)["tones"],
    overview=patterns.OVERVIEW,
    orders=patterns.ORDERS,
    importance=patterns.IMPORTANCE,
    proactive=patterns.PROACTIVE,
    summary=patterns.SUMMARY,
    extracts=read_extracts(read_words(__name__)),
    noted=patterns.NOTED,
    talk=talk.TALK,
    **read_sentences(__name__),
)
