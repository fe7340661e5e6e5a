"""Reads a plain sentence about somebody: predicate, object, and whether it is over.

Facts by rule come with both. An LLM writes sentences alone, and files hold sentences: they must
obey the same slots (see `slots`), so their predicate is read here.
"""

import re
from functools import cache

from msgspec import Struct

from slowcat_memory.core.extraction.predicates import Triple
from slowcat_memory.core.language import LANGUAGES
from slowcat_memory.core.language.sentences import SentenceRule, SentenceWords
from slowcat_memory.core.text.normalize import clean

MOST_OBJECT = 60  # characters
_POSSESSIVE = re.compile(r"(?:['’]s?|s) ")


class Sentence(Triple, frozen=True, kw_only=True):
    """A sentence in parts; ``over`` is whether it says that it holds no longer."""

    over: bool = False


class _Reader(Struct, frozen=True):
    """The compiled patterns of a language."""

    words: SentenceWords
    rules: tuple[tuple[SentenceRule, re.Pattern[str]], ...]
    before: re.Pattern[str]
    over: re.Pattern[str]
    past: re.Pattern[str]
    denied: re.Pattern[str]
    object_ends: re.Pattern[str]


def read_sentence(content: str, subject: str) -> Sentence | None:
    """Return what a sentence about a subject states; None if no rule reads it."""
    text = " ".join(clean(content)[0].split())
    if not subject or not text.casefold().startswith(subject.casefold()):
        return None
    rest = text[len(subject) :]
    found = (_read(rest, subject, reader) for reader in _readers())
    return next((one for one in found if one), None)


def _read(rest: str, subject: str, reader: _Reader) -> Sentence | None:
    plain = _without_auxiliaries(rest, reader)
    for rule, pattern in reader.rules:
        match = pattern.match(plain)
        if match is None:
            continue
        object_ = reader.object_ends.split(match["o"].strip(), maxsplit=1)[0].strip(" .,;:!?")
        if (object_ or rule.over) and len(object_) <= MOST_OBJECT:
            predicate, over = _polarity(rule, rest, reader)
            return Sentence(subject=subject, predicate=predicate, object=object_, over=over)
    return None


def _without_auxiliaries(rest: str, reader: _Reader) -> str:
    """Return the words behind a subject without negations, auxiliaries and adverbs."""
    if _POSSESSIVE.match(rest):
        return rest
    bare = reader.denied.sub("", reader.over.sub("", rest))
    return reader.before.sub("", " ".join(bare.split()))


def _polarity(rule: SentenceRule, rest: str, reader: _Reader) -> tuple[str, bool]:
    """Return the predicate of a rule and whether it is over, by the negations in a sentence."""
    if rule.over or reader.past.search(rest) or (reader.over.search(rest) and not rule.firm):
        return rule.predicate, True
    if rule.firm or not reader.denied.search(rest):
        return rule.predicate, False
    opposite = reader.words.opposites.get(rule.predicate)
    return (opposite, False) if opposite else (rule.predicate, True)


@cache
def _readers() -> tuple[_Reader, ...]:
    return tuple(_reader(one.sentences) for one in LANGUAGES)


def _reader(words: SentenceWords) -> _Reader:
    def compiled(pattern: str) -> re.Pattern[str]:
        return re.compile(pattern, re.IGNORECASE)

    return _Reader(
        words=words,
        rules=tuple(
            (one, compiled(rf"\s*(?:{one.pattern})(?P<o>[^.,;!?]*)")) for one in words.rules
        ),
        before=compiled(rf"^(?:{words.before}\s+)*"),
        over=compiled(words.over),
        past=compiled(words.past),
        denied=compiled(words.denied),
        object_ends=compiled(words.object_ends),
    )
