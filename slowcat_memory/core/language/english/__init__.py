"""English: one module for each kind of words or sentences."""

from slowcat_memory.core.language.english.commands import COMMANDS
from slowcat_memory.core.language.english.gate import GATE
from slowcat_memory.core.language.english.patterns import (
    IMPORTANCE,
    INJECTION,
    OVERVIEW,
    PROACTIVE,
    REACTIONS,
    SUMMARY,
    TONES,
)
from slowcat_memory.core.language.english.sentences import (
    BLOCKS,
    DATES,
    ICEBREAKERS,
    MEMORY_BLOCK,
    PREAMBLE,
    REPLIES,
)
from slowcat_memory.core.language.english.statements import STATEMENTS
from slowcat_memory.core.language.english.time import TIME
from slowcat_memory.core.language.table import Language

LANGUAGE = Language(
    name="english",
    code="en",
    native="English",
    other_names=("eng",),
    commands=COMMANDS,
    replies=REPLIES,
    gate=GATE,
    time=TIME,
    dates=DATES,
    memory_block=MEMORY_BLOCK,
    preamble=PREAMBLE,
    blocks=BLOCKS,
    icebreakers=ICEBREAKERS,
    statements=STATEMENTS,
    reactions=REACTIONS,
    tones=TONES,
    overview=OVERVIEW,
    injection=INJECTION,
    importance=IMPORTANCE,
    proactive=PROACTIVE,
    summary=SUMMARY,
)
