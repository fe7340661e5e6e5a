"""Derived text in prompts: sentences that may be orders are given as somebody's words, or left out.

A rule or an LLM may repeat what was ordered. A sentence that is an order (see `prompt_injection`)
is left out, also if it was stored by an earlier version; one with anything of an order in it is
quoted, so that the LLM reads it as what somebody said and not as a fact about the user.
"""

import re

from slowcat_memory.core.extraction.prompt_injection import ENOUGH, doubt
from slowcat_memory.core.language import Language

DOUBTFUL = 1  # points of a sentence that is quoted
_SENTENCE = re.compile(r"(?<=[.!?…])\s+")
_LABEL = re.compile(r"^(?P<who>[^\W\d_][\w .'’-]{0,30}): (?=\S)")  # of a rule's summary


def attributed(text: str, speaker: str, language: Language) -> str:
    """Return a line with its doubtful sentences quoted, and without orders.

    Args:
        text: One line.
        speaker: Who said what has no name in front.
    """
    heading, text = _heading(text, language)
    kept, who = list[str](), speaker
    for sentence in _SENTENCE.split(text):
        label = _LABEL.match(sentence)
        who = label["who"] if label else who
        bare = sentence[label.end() :] if label else sentence
        points = doubt(bare)
        if points >= ENOUGH:
            continue
        kept.append(sentence if points < DOUBTFUL else _quote(bare, who, language))
    return heading + " ".join(kept) if kept else ""


def _heading(text: str, language: Language) -> tuple[str, str]:
    """Split off the words with which a rule begins a line: "Recent: "."""
    recent = language.blocks.recent.partition("{")[0]
    return (recent, text.removeprefix(recent)) if text.startswith(recent) else ("", text)


def _quote(text: str, who: str, language: Language) -> str:
    return language.preamble.said.format(who=who, text=text.translate(_INNER))


_INNER = str.maketrans('“”„"', "''''")  # quotation marks that would end the quote
