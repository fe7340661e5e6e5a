"""Derived text in prompts: sentences that may be orders are given as somebody's words, or left out.

A rule or an LLM may repeat what was ordered. A sentence that is an order (see `prompt_injection`)
is left out, also if it was stored by an earlier version; one with anything of an order in it is
quoted, so that the LLM reads it as what somebody said and not as a fact about the user.
"""

import re
from collections.abc import Collection, Iterator
from functools import cache
from itertools import groupby

from slowcat_memory.core.extraction.derived_text import keepable
from slowcat_memory.core.extraction.prompt_injection import ENOUGH, doubt
from slowcat_memory.core.language import LANGUAGES, Language
from slowcat_memory.core.language.names import is_given_name

_SENTENCE = re.compile(r"(?<=[.!?…])(?<!\b\d\.)(?<!\b\d\d\.)\s+")  # not within "11. Mai"
# The speaker in a rule's summary; ``neutralise`` writes a dash after what may be a role.
_LABEL = re.compile(
    r"^(?P<who>[^\W\d_][\w .'’-]{0,30}(?=: \S)|(?:Assistant|User|System)(?= - ))(?:: | - )"
)
_SUBJECTS = ("they", "them", "it", "the", "user")  # classes of `OrderWords`
_TALK = ("first", "me", "my", "you", "your", "agent")
_WORD = re.compile(r"[^\W\d_]+")
_DATED = re.compile(r"[^:]{0,20}\d[^:]{0,20}: ")
_INNER = str.maketrans('“”„"', "''''")  # quotation marks that would end the quote


def attributed(text: str, speaker: str, language: Language) -> str:
    """Return a line with its doubtful sentences quoted, and without orders.

    Args:
        text: One line. A rule's summary names a speaker in front of their words ("Anna: ..."):
            there, all that one speaker says in a row is quoted or not.
        speaker: Who said what has no name in front.
    """
    heading, text = _heading(text, language)
    told = [part for part in _said(text) if _points(part[1]) < ENOUGH]
    parts = list[str]()
    for who, same in groupby(told, key=lambda part: part[0]):
        lines = [sentence for _, sentence in same]
        if not who:
            parts += [_quote(line, speaker, language) if _points(line) else line for line in lines]
        elif any(map(_points, lines)):
            parts.append(_quote(" ".join(lines), who, language))
        else:
            parts.append(f"{who}: {' '.join(lines)}")
    return heading + " ".join(parts) if parts else ""


def stated(text: str, names: Collection[str], language: Language, *, of_agent: bool = False) -> str:
    """Return the sentences of a line that state something: no order, and nobody's own words.

    They begin with their subject (a name, an article, a pronoun), and name neither the agent nor
    who speaks or listens. So an imperative that no signal finds is left out too.

    Args:
        text: One line, as in ``attributed``.
        names: Names with which a sentence may begin, folded, besides given names.
        of_agent: The line describes the agent, to whom it speaks ("You are dry-humoured").
    """
    heading, text = _heading(text, language)
    told = (sentence for who, sentence in _said(text) if not who)
    kept = [line for line in told if _states(line, names, of_agent) and not _points(line)]
    return heading + " ".join(kept) if kept else ""


def _states(sentence: str, names: Collection[str], of_agent: bool) -> bool:
    words = _WORD.findall(sentence.casefold())
    first = words[0] if words else ""
    if of_agent:
        return first in _of_classes(("you",))
    begins = first in _of_classes(_SUBJECTS) or any(
        word in names or is_given_name(word) for word in (first, first.removesuffix("s"))
    )
    return begins and _of_classes(_TALK).isdisjoint(words)


@cache
def _of_classes(classes: tuple[str, ...]) -> frozenset[str]:
    """Return the words of some classes of ``OrderWords``, in all languages."""
    known = (language.orders.classes.get(name, "") for language in LANGUAGES for name in classes)
    return frozenset(word for words in known for word in words.split())


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
    """Split off that with which a rule begins a line: "Recent: ", "- ", "11 May 2026: "."""
    for begins in (language.blocks.recent.partition("{")[0], "- "):
        if text.startswith(begins):
            return begins, text.removeprefix(begins)
    dated = _DATED.match(text)
    return (dated[0], text[dated.end() :]) if dated else ("", text)


def _quote(text: str, who: str, language: Language) -> str:
    return language.preamble.said.format(who=who, text=text.translate(_INNER))
