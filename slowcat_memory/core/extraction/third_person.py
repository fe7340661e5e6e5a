"""Reads a plain sentence about somebody: predicate, object, and whether it is over.

Facts by rule come with both. An LLM writes sentences alone, and files hold sentences: they must
obey the same slots (see `slots`), so their predicate is read here.
"""

import re
from collections.abc import Sequence
from functools import cache
from itertools import product

from msgspec import Struct

from slowcat_memory.core.extraction.clauses import compiled_signs
from slowcat_memory.core.extraction.predicates import canonical
from slowcat_memory.core.extraction.slots import is_exclusive
from slowcat_memory.core.language import LANGUAGES, of_any
from slowcat_memory.core.language.sentences import SentenceRule, SentenceWords
from slowcat_memory.core.text.normalize import clean
from slowcat_memory.records import Ending, Statement

MOST_OBJECT = 60  # characters
_POSSESSIVE = re.compile(r"(?:['’]s?|s) ")


_CORRECTS = re.compile(rf"^(?:{of_any(lambda one: one.facts.corrects)})", re.IGNORECASE)


class Sentence(Statement, frozen=True, kw_only=True):
    """A sentence in parts; ``ahead`` is whether it is only planned."""

    ahead: bool = False


class _Reader(Struct, frozen=True):
    """The compiled patterns of a language."""

    words: SentenceWords
    rules: Sequence[tuple[SentenceRule, re.Pattern[str]]]
    before: re.Pattern[str]
    inverse: tuple[tuple[re.Pattern[str], str], ...]
    over: re.Pattern[str]
    ahead: re.Pattern[str]
    past: re.Pattern[str]
    denied: re.Pattern[str]
    object_ends: re.Pattern[str]


def read_sentence(content: str, subject: str) -> Sentence | None:
    """Return what a sentence about a subject states; None if no rule reads it."""
    text = " ".join(clean(content)[0].split())
    if not subject:
        return None
    for reader in _readers():
        said = text if _begins_with(text, subject) else _turned_round(text, reader)
        if _begins_with(said, subject) and (found := _read(said[len(subject) :], subject, reader)):
            return found
    return None


def stated_change(content: str, subject: str, date: str) -> Sentence | None:
    """Return the change that a sentence announces for a day: "is moving to Cardiff on Friday".

    Args:
        date: Its day, "" for none: then nothing is known to change.
    """
    read = read_sentence(content, subject) if date else None
    return read if read is not None and read.ahead and is_exclusive(read) else None


def is_correction(text: str) -> bool:
    """Return whether a turn corrects what was said before, rather than reporting a change."""
    return bool(_CORRECTS.search(text.strip()))


def _begins_with(text: str, subject: str) -> bool:
    return text.casefold().startswith(subject.casefold())


def _turned_round(text: str, reader: _Reader) -> str:
    """Return a sentence with its subject first: "Anna's mother is called Marta"; "" for none."""
    for pattern, form in reader.inverse:
        if match := pattern.match(text.rstrip(".")):
            return form.format(**match.groupdict())
    return ""


def _read(rest: str, subject: str, reader: _Reader) -> Sentence | None:
    plain = _without_auxiliaries(rest, reader)
    for text, (rule, pattern) in product((plain, rest), reader.rules):
        if (match := pattern.match(text)) is None:
            continue
        groups = match.groupdict(default="")
        said = groups.pop("thing", "") or groups.pop("o")
        object_ = reader.object_ends.split(said.strip(), maxsplit=1)[0].strip(" .,;:!?")
        if (object_ or rule.over) and len(object_) <= MOST_OBJECT:
            predicate, over = _polarity(rule, rest, reader)
            return Sentence(
                subject=subject,
                predicate=canonical(predicate.format(**groups)),
                object=object_,
                over=over,
                ends=(Ending(subject, rule.ends, object_),) if rule.ends else (),
                ahead=bool(reader.ahead.search(rest)),
            )
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
    if rule.firm or rule.ends or not reader.denied.search(rest):
        return rule.predicate, False
    opposite = reader.words.opposites.get(rule.predicate)
    return (opposite, False) if opposite else (rule.predicate, True)


@cache
def _readers() -> tuple[_Reader, ...]:
    return tuple(_reader(one.sentences) for one in LANGUAGES)


def _reader(words: SentenceWords) -> _Reader:
    rules = [
        (rule, re.compile(rf"\s*(?:{rule.pattern})(?P<o>[^.,;!?]*)", re.IGNORECASE))
        for rule in words.rules
    ]
    own = {"words": words, "before": rf"^(?:{words.before}\s+)*"}
    return compiled_signs(_Reader, words, rules=rules, **own)
