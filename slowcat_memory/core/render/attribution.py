"""Derived text in prompts: sentences that may be orders are given as somebody's words, or left out.

A rule or an LLM may repeat what was ordered. A sentence that is an order (see `prompt_injection`)
is left out, also if it was stored by an earlier version; one with anything of an order in it is
quoted, so that the LLM reads it as what somebody said and not as a fact about the user.
"""

import re
from collections.abc import Iterator
from itertools import groupby

from slowcat_memory.core.extraction.checks.derived_text import keepable
from slowcat_memory.core.extraction.prompt_injection import ENOUGH, doubt
from slowcat_memory.core.language import Language

DOUBTFUL = 1  # points of a sentence that is quoted
_SENTENCE = re.compile(r"(?<=[.!?…])\s+")
# The speaker in a rule's summary; ``neutralise`` writes a dash after what may be a role.
_LABEL = re.compile(
    r"^(?P<who>[^\W\d_][\w .'’-]{0,30}(?=: \S)|(?:Assistant|User|System)(?= - ))(?:: | - )"
)
_INNER = str.maketrans('“”„"', "''''")  # quotation marks that would end the quote


def attributed(text: str, speaker: str, language: Language) -> str:
    """Return a line with its doubtful sentences quoted, and without orders.

    Args:
        text: One line. A rule's summary names a speaker in front of their words ("Anna: ..."):
            there, all that one speaker says in a row is quoted or not.
        speaker: Who said what has no name in front.
    """
    heading, text = _heading(text, language)
    told = [one for one in _said(text) if _points(one[1]) < ENOUGH]
    parts = list[str]()
    for who, same in groupby(told, key=lambda one: one[0]):
        said = [sentence for _, sentence in same]
        if not who:
            parts += [_quoted(one, speaker, language) for one in said]
        elif any(map(_points, said)):
            parts.append(_quote(" ".join(said), who, language))
        else:
            parts.append(f"{who}: {' '.join(said)}")
    return heading + " ".join(parts) if parts else ""


def _said(text: str) -> Iterator[tuple[str, str]]:
    """Yield the sentences, each with the speaker named before it, or ""."""
    who = ""
    for sentence in _SENTENCE.split(text):
        if label := _LABEL.match(sentence):
            who, sentence = label["who"], sentence[label.end() :]
        yield who, sentence


def _points(sentence: str) -> int:
    return doubt(sentence) if keepable(sentence) else ENOUGH


def _heading(text: str, language: Language) -> tuple[str, str]:
    """Split off that with which a rule begins a line: "Recent: ", "- "."""
    for begins in (language.blocks.recent.partition("{")[0], "- "):
        if text.startswith(begins):
            return begins, text.removeprefix(begins)
    return "", text


def _quoted(sentence: str, who: str, language: Language) -> str:
    return sentence if _points(sentence) < DOUBTFUL else _quote(sentence, who, language)


def _quote(text: str, who: str, language: Language) -> str:
    return language.preamble.said.format(who=who, text=text.translate(_INNER))
