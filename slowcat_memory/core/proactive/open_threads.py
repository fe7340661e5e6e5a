"""Finds open threads: unfinished matters of a user, dated events to ask about, and reminders.

An event is asked about once it is over, and only if it lay ahead when it was told: somebody who
told how it was need not be asked. A reminder comes on its day. What a later statement closed, moved
or called off is not brought up (``closed_by``).
"""

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, time, timedelta, tzinfo
from os.path import commonprefix
from typing import Literal

from msgspec import Struct

from slowcat_memory.core.blocks.statements import EVENT, THREAD, SourcedLine, days_of, valid_of_kind
from slowcat_memory.core.extraction.derived_text import keepable
from slowcat_memory.core.extraction.evidence import words_of
from slowcat_memory.core.extraction.grounding import sentences
from slowcat_memory.core.language import ENGLISH, LANGUAGES, Language, of_any, words_of_any
from slowcat_memory.core.language.table import ProactiveWords
from slowcat_memory.core.memory import FACT, ICEBREAKER
from slowcat_memory.core.proactive.policy import BringUpOptions
from slowcat_memory.core.render.head_blocks import shorten_to_chars
from slowcat_memory.core.render.speech import full_date
from slowcat_memory.core.text.normalize import fingerprint, hex_digest, neutralise
from slowcat_memory.records import Made, Memory, Turn

# Whether a later statement closes an open matter: it is done, called off, or moved.
#
# "I've spoken to the landlord" closes "Anna has to ask the landlord about her deposit": it shares the
# words that the matter is about, and says in the first person that something was done, or a result.
# What is denied or still open ("I still haven't …") closes nothing.

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


def _likeness(word: str, other: str) -> float:
    """Return 1 for forms or parts of one word, 1/2 if only their stem is common: passed, passport."""
    shorter, longer = sorted((word, other), key=len)
    common = len(commonprefix((word, other)))
    return 1.0 if common == len(shorter) or common >= len(longer) - MOST_ENDING else 0.5


def _subject_words(text: str) -> dict[str, str]:
    """Return the words that tell what a matter is about, by stem."""
    stems = words_of(text).items()
    return {stem: word for stem, word in stems if word not in _EMPTY and not word.isdigit()}


VERSION = 2
PLAN = "fact/plan"
DAYS = timedelta(days=2)
QUOTE_CHARS = 160
PRIORITY = {"reminder": 0.9, "event": 0.7, "thread": 0.5}
WANTS_REMINDER = "wants_reminder"  # predicate

_REMINDS = re.compile(rf"\b(?:{of_any(lambda table: table.proactive.reminds)})\b", re.IGNORECASE)


What = Literal["event", "thread", "reminder"]


class OpenThread(Struct, frozen=True, kw_only=True):
    """A matter that the agent may ask about.

    Attributes:
        source: Id of the fact it is about.
        what: Its origin.
        said: The fact as a line.
        due: Earliest time to bring it up.
        until: Latest time to bring it up.
    """

    source: str
    what: What
    said: SourcedLine
    due: datetime
    until: datetime

    def id(self, scope: str) -> str:
        """Return the icebreaker's id, one per source."""
        digest = hex_digest(f"{scope}\0{self.source}")
        return f"{ICEBREAKER}/{digest}"


def of_facts(
    memories: Iterable[Memory],
    now: datetime,
    zone: tzinfo,
    options: BringUpOptions,
    later: Sequence[Later] = (),
) -> list[OpenThread]:
    """Find the open threads in facts: the most important first, without expired or closed ones.

    Args:
        later: What may have closed them; see ``closed_by``.
    """
    facts = [m for m in memories if m.kind in (THREAD, EVENT, PLAN) and keepable(m.text)]
    still_open = (m for m in valid_of_kind(facts, "fact") if not closed(m, later))
    threads = (_open_thread(memory, zone, options) for memory in still_open)
    fresh = [thread for thread in threads if thread and thread.until > now]
    return sorted(fresh, key=lambda thread: _rank(thread, now))


def closed(fact: Memory, later: Sequence[Later]) -> tuple[Outcome, Later] | None:
    """Return how a later statement closed the matter of a fact, and which; None if none did.

    That something was told ("the dentist was fine") closes an event, and no task.
    """
    turn = fact.sources[0] if fact.sources else 0
    about = f"{fact.speaker} {fact.statement.subject}"
    end = closed_by(fact.text, about, turn, later)
    return None if end and end[0] == "told" and fact.kind == THREAD else end


def _open_thread(memory: Memory, zone: tzinfo, options: BringUpOptions) -> OpenThread | None:
    """Return what a fact is brought up as, and when; None for one that may not be."""
    said = first = at = memory.valid_from
    days = days_of(memory)
    if days:
        first, last = (datetime.combine(day, time(), zone) for day in days)
        at = last + timedelta(days=1)
    if (first <= said and at <= said + DAYS) if days else memory.kind != THREAD:
        return None
    what: What = "event" if days else "thread"
    if memory.statement.predicate == WANTS_REMINDER or _REMINDS.search(memory.text):
        what, at = "reminder", first
    rests = what != "event" and at == said
    due = at + timedelta(hours=options.rest_h if rests else 0)
    until = due + timedelta(days=1 if what == "reminder" and not rests else options.expire_days)
    line = SourcedLine.stated(memory, memory.text)
    return OpenThread(source=memory.id, what=what, said=line, due=due, until=until)


def _rank(thread: OpenThread, now: datetime) -> tuple[bool, float, float, str]:
    """Sort by importance what may be brought up already, and the rest by when it may."""
    ahead = thread.due > now
    priority, due = PRIORITY[thread.what], thread.due.timestamp()
    return ahead, due if ahead else -priority, -priority if ahead else -due, thread.source


def repeats(thread: OpenThread, text: str, due: datetime) -> bool:
    """Return whether a matter is one that was brought up as ``text`` already, due at ``due``."""
    mine, theirs = (set(_subject_words(words)) for words in (thread.said.text, text))
    alike = bool(mine) and len(mine & theirs) >= len(mine) / 2
    return alike and (thread.what == "thread" or abs(thread.due - due) <= DAYS)


def phrase(thread: OpenThread, zone: tzinfo, language: Language = ENGLISH) -> str:
    """Return the question for the agent."""
    words = language.icebreakers
    template = {"thread": words.open_thread, "reminder": words.reminder}.get(
        thread.what, words.event
    )
    quote = shorten_to_chars(neutralise(thread.said.text).rstrip(". "), QUOTE_CHARS)
    return template.format(quote=quote, day=full_date(thread.said.at, zone, language.dates))


def icebreaker(
    thread: OpenThread, text: str, *, scope: str, speaker: str, now: datetime, made: Made
) -> Memory:
    """Return an open thread as an icebreaker; its id depends on its source alone."""
    return Memory(
        id=thread.id(scope),
        kind=ICEBREAKER,
        scope=scope,
        speaker=speaker,
        text=text,
        valid_from=thread.due,
        valid_to=thread.until,
        recorded_at=now,
        sources=thread.said.sources,
        importance=PRIORITY[thread.what],
        trust="agent",
        facets={"source": thread.source},
        made=made,
    )
