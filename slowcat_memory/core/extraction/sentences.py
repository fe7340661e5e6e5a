"""Which sentences that an LLM wrote about a conversation can be kept."""

import re

from slowcat_memory.core.extraction.grounding import Ground, strays
from slowcat_memory.core.language import of_any
from slowcat_memory.core.text.normalize import clean

_SENTENCE = re.compile(r"(?<=[.!?…。！？])\s+(?=[^\W\d_a-z]|[\"“(])")
_LABEL = re.compile(r"^(?:\[\d+\]|(?:context|question|note|summary)\s*\d*:)\s*", re.IGNORECASE)
_LINK = re.compile(r"\b(?:https?:|www\.)|://", re.IGNORECASE)
# What no description says, and an injected instruction does.
_TO_THE_READER = re.compile(of_any(lambda one: one.facts.to_reader), re.IGNORECASE)


def holds(text: str, ground: Ground) -> bool:
    """Return whether a tidy sentence is harmless, and names nothing that was not said."""
    return harmless(text) and not strays(text, ground)


def harmless(text: str) -> bool:
    """Return whether a tidy text holds neither a link nor an order to the reader."""
    return not (_LINK.search(text) or _TO_THE_READER.search(text))


def sentences(text: str) -> list[str]:
    """Split what an LLM wrote into tidy sentences: at least one, which may be empty."""
    return _SENTENCE.split(tidy(text))


def tidy(text: str) -> str:
    """Return a text as one clean line, without a label that the LLM put in front."""
    return _LABEL.sub("", " ".join(clean(text)[0].split()))
