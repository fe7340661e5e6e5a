"""German: one module for each kind of words or sentences."""

from slowcat_memory.core.language.german.commands import COMMANDS
from slowcat_memory.core.language.german.gate import GATE
from slowcat_memory.core.language.german.patterns import (
    IMPORTANCE,
    INJECTION,
    OVERVIEW,
    PROACTIVE,
    REACTIONS,
    SUMMARY,
    TONES,
)
from slowcat_memory.core.language.german.sentences import (
    BLOCKS,
    DATES,
    ICEBREAKERS,
    MEMORY_BLOCK,
    PREAMBLE,
    REPLIES,
)
from slowcat_memory.core.language.german.statements import STATEMENTS
from slowcat_memory.core.language.german.time import TIME
from slowcat_memory.core.language.table import Language

LANGUAGE = Language(
    name="german",
    code="de",
    native="Deutsch",
    other_names=("deu",),
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
