"""Whether a later statement closes an open matter: it is done, called off, or moved.

"I've spoken to the landlord" closes "Anna has to ask the landlord about her deposit": it shares the
words that the matter is about, and says in the first person that something was done, or a result.
What is denied or still open ("I still haven't …") closes nothing.
"""

import re
from collections.abc import Callable, Iterable
from datetime import datetime
from os.path import commonprefix
from typing import Literal

from msgspec import Struct

from slowcat_memory.core.extraction.evidence import words_of
from slowcat_memory.core.extraction.grounding import sentences
from slowcat_memory.core.language import LANGUAGES, of_any, words_of_any
from slowcat_memory.core.language.table import ProactiveWords
from slowcat_memory.core.memory import FACT
from slowcat_memory.core.text.normalize import fingerprint
from slowcat_memory.records import Memory, Turn

COMPLETED = f"{FACT}/task_completed"
LEAST_SHARED = 1 / 3  # of the words that a matter is about
LEAST_VERB = 3  # letters of a verb
MOST_ENDING = 3  # letters in which two forms of a word differ

Outcome = Literal["done", "off", "moved", "told"]


_NAME = re.compile(r"(?<=\s)[A-ZÄÖÜ][\w'-]+")  # not the first word, which is the subject
_BREAK = re.compile(r"[,;:.!–-]")  # between two parts of a sentence


def _any(words: Callable[[ProactiveWords], str]) -> re.Pattern[str]:
    pattern = of_any(lambda table: words(table.proactive))
    return re.compile(rf"(?:(?<!\w)|(?=['’]))(?:{pattern})(?!\w)", re.IGNORECASE)


_OFF, _MOVED = _any(lambda words: words.off), _any(lambda words: words.moved)
_DONE, _DID = _any(lambda words: words.done), _any(lambda words: words.did)
_ARRIVED, _AWAITED = _any(lambda words: words.arrived), _any(lambda words: words.awaited)
_OPEN, _HELPERS = _any(lambda words: words.still_open), _any(lambda words: words.helpers)
_EMPTY = words_of_any(
    lambda table: table.tense.marks.union(
        table.proactive.generic.split(), *(phrase.split() for phrase in table.time.table)
    )
)


class Later(Struct, frozen=True):
    """A sentence that was said later; ``completed`` if a fact has it as a completed task."""

    text: str
    at: datetime
    turn: int
    completed: bool = False


def later_of(turns: Iterable[Turn], facts: Iterable[Memory]) -> list[Later]:
    """Return what may close a matter: the sentences of users, and completed tasks."""
    statements = [
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
    return sorted([*statements, *done], key=lambda later: (later.at, later.turn))


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
    for later in every:
        if later.turn > turn and wanted and (outcome := _outcome(text, wanted, later)):
            return outcome, later
    return None


def _outcome(matter: str, wanted: dict[str, str], later: Later) -> Outcome | None:
    words = _subject_words(later.text)
    shared = sum(_likeness(word, words[stem]) for stem, word in wanted.items() if stem in words)
    if shared < LEAST_SHARED * len(wanted) or not shared:
        return None
    if _OFF.search(later.text):
        return "off"
    if _MOVED.search(later.text):
        return "moved"
    if _is_open(later.text):
        return None
    if later.completed or _DONE.search(later.text) or _DID.search(later.text):
        return "done"
    arrived = _AWAITED.search(matter) and _ARRIVED.search(later.text)
    by_verb = _HELPERS.search(later.text) and _has_own_verb(matter, later.text)
    names = words_of(" ".join(_NAME.findall(matter))).keys()  # of two answers, one is not both
    if (arrived or by_verb) and names <= words_of(later.text).keys():
        return "done"
    tenses = (v.lastgroup for table in LANGUAGES for v in table.tense.verbs.finditer(later.text))
    return "told" if "back" in tenses else None


def _is_open(text: str) -> bool:
    """Return whether a sentence says that something is not done.

    What is done may follow: "the money comes next week: settled"; but not "it is not yet settled".
    """
    still = _OPEN.search(text)
    done = _DONE.search(text, still.end()) if still else None
    return bool(still) and not (done and still and _BREAK.search(text[still.end() : done.start()]))


def _has_own_verb(matter: str, text: str) -> bool:
    """Return whether a sentence has the participle of a verb of a matter: train, trained."""
    verbs = [word for word in fingerprint(matter).split() if len(word) >= LEAST_VERB]
    words = [word for word in fingerprint(text).split() if word not in verbs]
    return any(_is_participle(word, verb) for word in words for verb in verbs)


def _is_participle(word: str, verb: str) -> bool:
    """Return whether a word is a regular participle: train, trained; ausfüllen, ausgefüllt."""
    if word.endswith("ed") and len(commonprefix((word, verb))) >= len(verb) - 1:
        return True
    stem = verb.removesuffix("n").removesuffix("e") if verb.endswith("n") else ""
    forms = (f"{stem}t", f"{stem}et", verb)
    return len(stem) >= LEAST_VERB and "ge" in word and word.replace("ge", "", 1) in forms


def change_of(sentence: str) -> Outcome | None:
    """Return whether a sentence says that something is called off or moved."""
    return "off" if _OFF.search(sentence) else "moved" if _MOVED.search(sentence) else None


def _likeness(word: str, other: str) -> float:
    """Return 1 for forms or parts of one word, 1/2 if only their stem is common: passed, passport."""
    shorter, longer = sorted((word, other), key=len)
    common = len(commonprefix((word, other)))
    return 1.0 if common == len(shorter) or common >= len(longer) - MOST_ENDING else 0.5


def subject_matter(text: str) -> set[str]:
    """Return the stems of the words that tell what a matter is about."""
    return set(_subject_words(text))


def _subject_words(text: str) -> dict[str, str]:
    stems = words_of(text).items()
    return {stem: word for stem, word in stems if word not in _EMPTY and not word.isdigit()}
