"""English: sentences in ``sentences.toml``, words in ``words.toml``, patterns in the modules."""

from msgspec.structs import asdict

from slowcat_memory.core.language.data import filled, read_toml, read_words
from slowcat_memory.core.language.english import gate, patterns, statements, talk, time
from slowcat_memory.core.language.facts import PersonWords
from slowcat_memory.core.language.table import ExtractWords, Language, Sentences

_WORDS = read_words(__name__)

LANGUAGE = Language(
    name="english",
    code="en",
    native="English",
    other_names=("eng",),
    commands=patterns.COMMANDS,
    gate=gate.GATE,
    tense=time.TENSE,
    time=time.TIME,
    statements=statements.STATEMENTS,
    facts=statements.FACTS,
    persons=read_toml(__name__, "persons.toml", PersonWords),
    names=statements.NAMES,
    reactions=patterns.REACTIONS,
    tones=_WORDS["tones"],
    overview=patterns.OVERVIEW,
    orders=patterns.ORDERS,
    importance=patterns.IMPORTANCE,
    proactive=patterns.PROACTIVE,
    summary=patterns.SUMMARY,
    extracts=filled(ExtractWords, _WORDS["extracts"]),
    noted=patterns.NOTED,
    talk=talk.TALK,
    **asdict(read_toml(__name__, "sentences.toml", Sentences)),
)
