"""Finds open threads: unfinished matters of a user, dated events to ask about, and reminders.

An event is asked about once it is over, and only if it lay ahead when it was told: somebody who
told how it was need not be asked. A reminder comes on its day. What a later statement closed, moved
or called off is not brought up (``closing``).
"""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime, time, timedelta, tzinfo
from typing import Literal

from msgspec import Struct

from slowcat_memory.core.blocks.near_days import EVENT, THREAD, days_of
from slowcat_memory.core.blocks.statements import SourcedLine, valid_of_kind
from slowcat_memory.core.extraction.derived_text import keepable
from slowcat_memory.core.extraction.grounding import sentences
from slowcat_memory.core.extraction.quoted import reads_aloud
from slowcat_memory.core.language import ENGLISH, Language, of_any
from slowcat_memory.core.memory import ICEBREAKER
from slowcat_memory.core.proactive import closing
from slowcat_memory.core.proactive.policy import BringUpOptions
from slowcat_memory.core.render.head_blocks import shorten_to_chars
from slowcat_memory.core.render.speech import full_date
from slowcat_memory.core.text.normalize import hex_digest, neutralise
from slowcat_memory.core.time import expressions
from slowcat_memory.core.time.expressions import Interval
from slowcat_memory.records import Made, Memory, Turn

VERSION = 2
PLAN = "fact/plan"
DAYS = timedelta(days=2)
QUOTE_CHARS = 160
PRIORITY = {"reminder": 0.9, "event": 0.7, "thread": 0.5, "said": 0.4}
WANTS_REMINDER = "wants_reminder"  # predicate

_DATED = re.compile(rf"\b(?:{of_any(lambda table: table.proactive.dated)})\b", re.IGNORECASE)
_REMINDS = re.compile(rf"\b(?:{of_any(lambda table: table.proactive.reminds)})\b", re.IGNORECASE)
_OWN = re.compile(rf"\b(?:{of_any(lambda table: table.proactive.own)})\b", re.IGNORECASE)


What = Literal["event", "thread", "said", "reminder"]


class OpenThread(Struct, frozen=True, kw_only=True):
    """A matter that the agent may ask about.

    Attributes:
        source: Id of the fact or chunk it is about.
        what: Its origin.
        said: The user's words.
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
    later: Sequence[closing.Later] = (),
) -> list[OpenThread]:
    """Find the open threads in facts: the most important first, without expired or closed ones.

    Args:
        later: What may have closed them; see ``closing``.
    """
    facts = [m for m in memories if m.kind in (THREAD, EVENT, PLAN) and keepable(m.text)]
    threads = list[OpenThread]()
    for memory in valid_of_kind(facts, "fact"):
        if closed(memory, later):
            continue
        if (when := _when(memory, zone)) is not None:
            line = SourcedLine.stated(memory, memory.text)
            threads.append(_open_thread(memory.id, when[0], line, when[1], options))
    return _ranked(threads, now)


def closed(
    fact: Memory, later: Sequence[closing.Later]
) -> tuple[closing.Outcome, closing.Later] | None:
    """Return how a later statement closed the matter of a fact, and which; None if none did.

    That something was told ("the dentist was fine") closes an event, and no task.
    """
    turn = fact.sources[0] if fact.sources else 0
    about = f"{fact.speaker} {fact.statement.subject}"
    end = closing.closed_by(fact.text, about, turn, later)
    return None if end and end[0] == "told" and fact.kind == THREAD else end


def _when(memory: Memory, zone: tzinfo) -> tuple[What, datetime] | None:
    """Return as what, and since when, a fact may be brought up; None for one that may not be."""
    days = _days(memory, zone)
    reminds = memory.statement.predicate == WANTS_REMINDER or _REMINDS.search(memory.text)
    if memory.kind == THREAD and days is None:
        return "reminder" if reminds else "thread", memory.valid_from
    if days is None or days[0] <= memory.valid_from and days[1] <= memory.valid_from + DAYS:
        return None
    return ("reminder", days[0]) if reminds else ("event", days[1])


def of_turns(
    turns: Iterable[Turn],
    now: datetime,
    zone: tzinfo,
    options: BringUpOptions,
    language: str = "english",
    later: Sequence[closing.Later] = (),
) -> list[OpenThread]:
    """Find users' plans in turns, for use without extracted facts; sorted as by ``of_facts``."""
    threads = list[OpenThread]()
    for turn in (turn for turn in turns if turn.role == "user" and not turn.aside):
        for sentence in sentences(turn.text):
            what = _what(sentence)
            if what is None or closing.closed_by(sentence, turn.speaker, turn.id, later):
                continue
            ahead = _ahead(sentence, turn.at, zone, language)
            if ahead is not None:
                line = SourcedLine(text=sentence, at=turn.at, sources=(turn.id,))
                day = ahead.start if what == "reminder" else ahead.end
                threads.append(_open_thread(f"chunk/{turn.id}", what, line, day, options))
    return _ranked(threads, now)


def _what(sentence: str) -> What | None:
    """Return as what a sentence may be brought up; None for one that may not be."""
    if not keepable(sentence) or reads_aloud(sentence):
        return None
    if _REMINDS.search(sentence):
        return "reminder"
    plain = not sentence.endswith("?") and _DATED.search(sentence) and _OWN.search(sentence)
    return "said" if plain else None


def _ahead(sentence: str, at: datetime, zone: tzinfo, language: str) -> Interval | None:
    """Return the first day or two days that a sentence names and that lie ahead.

    Of a sentence that moves something, or calls it off, only a day behind another counts: "Thursday
    is off, they want me on the 17th".
    """
    every = expressions.statement_times(sentence.rstrip("?"), at, zone, language)
    days = [span for span in every if span.end - span.start <= DAYS and not span.vague]
    days = [span for span in days if span.end > at]
    change = closing.change_of(sentence)
    if change == "off" and len(days) < 2:
        return None
    return next(iter(days[-1:] if change else days), None)


def _open_thread(
    source: str,
    what: What,
    line: SourcedLine,
    at: datetime,
    options: BringUpOptions,
) -> OpenThread:
    rests = what == "thread" or (what == "reminder" and at == line.at)
    due = at + timedelta(hours=options.rest_h if rests else 0)
    days = 1 if what == "reminder" and not rests else options.expire_days
    until = due + timedelta(days=days)
    return OpenThread(source=source, what=what, said=line, due=due, until=until)


def _days(memory: Memory, zone: tzinfo) -> tuple[datetime, datetime] | None:
    """Return the beginning and end of a fact's days; None if it has no date, or only a year."""
    days = days_of(memory)
    if days is None:
        return None
    first, last = (datetime.combine(day, time(), zone) for day in days)
    return first, last + timedelta(days=1)


def _ranked(threads: Iterable[OpenThread], now: datetime) -> list[OpenThread]:
    fresh = {thread.source: thread for thread in threads if thread.until > now}
    return sorted(fresh.values(), key=lambda m: _rank(m, now))


def _rank(thread: OpenThread, now: datetime) -> tuple[bool, float, float, str]:
    """Sort by importance what may be brought up already, and the rest by when it may."""
    ahead = thread.due > now
    priority, due = PRIORITY[thread.what], thread.due.timestamp()
    return ahead, due if ahead else -priority, -priority if ahead else -due, thread.source


def repeats(thread: OpenThread, text: str, due: datetime) -> bool:
    """Return whether a matter is one that was brought up as ``text`` already, due at ``due``."""
    mine, theirs = closing.subject_matter(thread.said.text), closing.subject_matter(text)
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
