"""Whether a later statement closes an open matter: it is done, called off, or moved.

"I've spoken to the landlord" closes "Anna has to ask the landlord about her deposit": it shares the
words that the matter is about, and says in the first person that something was done, or a result.
What is denied or still open ("I still haven't …") closes nothing.
"""

import re
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import cache
from os.path import commonprefix
from typing import Literal

from msgspec import Struct

from slowcat_memory.core.extraction.evidence import words_of
from slowcat_memory.core.extraction.grounding import sentences
from slowcat_memory.core.language import LANGUAGES, of_any
from slowcat_memory.core.language.table import Language, ProactiveWords
from slowcat_memory.core.memory import FACT
from slowcat_memory.records import Memory, Turn

COMPLETED = f"{FACT}/task_completed"
LEAST_SHARED = 1 / 3  # of the words that a matter is about
MOST_ENDING = 3  # letters in which two forms of a word differ

Outcome = Literal["done", "off", "moved", "told"]


def _any(words: Callable[[ProactiveWords], str]) -> re.Pattern[str]:
    pattern = of_any(lambda one: words(one.proactive))
    return re.compile(rf"(?<!\w)(?:{pattern})(?!\w)", re.IGNORECASE)


_OFF, _MOVED, _DONE = (
    _any(lambda words: words.off),
    _any(lambda words: words.moved),
    _any(lambda words: words.done),
)
_OPEN, _DID = _any(lambda words: words.still_open), _any(lambda words: words.did)


class Later(Struct, frozen=True):
    """A sentence that was said later; ``completed`` if a fact has it as a completed task."""

    text: str
    at: datetime
    turn: int
    completed: bool = False


def later_of(turns: Iterable[Turn], facts: Iterable[Memory]) -> list[Later]:
    """Return what may close a matter: the sentences of users, and completed tasks."""
    said = [
        Later(sentence, turn.at, turn.id)
        for turn in turns
        if turn.role == "user" and not turn.aside
        for sentence in sentences(turn.text)
        if not sentence.endswith("?")
    ]
    done = [
        Later(fact.text, fact.valid_from, fact.sources[0] if fact.sources else 0, True)
        for fact in facts
        if fact.kind == COMPLETED and fact.retired_at is None
    ]
    return sorted([*said, *done], key=lambda one: (one.at, one.turn))


def closed_by(
    text: str, about: str, turn: int, every: Iterable[Later]
) -> tuple[Outcome, Later] | None:
    """Return how a matter was closed, and by what; None while it is open.

    Args:
        text: The matter, as a sentence.
        about: Names that do not tell what it is about: its subject's.
        turn: Log id of the turn that states it; only what was said later can close it.
    """
    wanted = {
        stem: word for stem, word in _subject_words(text).items() if stem not in words_of(about)
    }
    for one in every:
        if one.turn > turn and wanted and (outcome := _outcome(wanted, one)):
            return outcome, one
    return None


def _outcome(wanted: dict[str, str], later: Later) -> Outcome | None:
    said = _subject_words(later.text)
    shared = sum(_likeness(word, said[stem]) for stem, word in wanted.items() if stem in said)
    if shared < LEAST_SHARED * len(wanted) or not shared:
        return None
    if _OFF.search(later.text):
        return "off"
    if _MOVED.search(later.text):
        return "moved"
    still = _OPEN.search(later.text)
    if still and not _DONE.search(later.text, still.end()):  # "the money comes next week: settled"
        return None
    if later.completed or _DONE.search(later.text) or _DID.search(later.text):
        return "done"
    return "told" if _is_past(later.text) else None


def change_of(sentence: str) -> Outcome | None:
    """Return whether a sentence says that something is called off or moved."""
    return "off" if _OFF.search(sentence) else "moved" if _MOVED.search(sentence) else None


def _likeness(one: str, other: str) -> float:
    """Return 1 for forms or parts of one word, 1/2 if only their stem is common: passed, passport."""
    shorter, longer = sorted((one, other), key=len)
    common = len(commonprefix((one, other)))
    return 1.0 if common == len(shorter) or common >= len(longer) - MOST_ENDING else 0.5


def _is_past(text: str) -> bool:
    tenses = (match.lastgroup for one in LANGUAGES for match in one.tense.verbs.finditer(text))
    return "back" in tenses


def subject_matter(text: str) -> set[str]:
    """Return the stems of the words that tell what a matter is about."""
    return set(_subject_words(text))


def _subject_words(text: str) -> dict[str, str]:
    stems = words_of(text).items()
    return {stem: word for stem, word in stems if word not in _empty() and not word.isdigit()}


@cache
def _empty() -> frozenset[str]:
    return frozenset().union(*(_empty_of(one) for one in LANGUAGES))


def _empty_of(language: Language) -> set[str]:
    generic = set(language.proactive.generic.split()) | language.tense.marks
    return generic | {word for phrase in language.time.table for word in phrase.split()}
