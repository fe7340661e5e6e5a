"""Which of two facts holds: the rules that end one when another is stated.

What excludes what is decided by `core.extraction.slots`; here it is applied to stored facts. The
later statement wins, whichever was extracted first. A fact of somebody ends only facts of the same
speaker: what Ben says about Anna does not change what Anna said.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import TypeVar

from msgspec.structs import replace

from slowcat_memory.core.disclosure import is_uncertain
from slowcat_memory.core.extraction.slots import (
    canonical,
    content,
    ending_of,
    ends,
    exclude,
    implied_endings,
)
from slowcat_memory.core.facts.fact import order_of, subject_name, type_of
from slowcat_memory.core.language import LANGUAGES, words_of_any
from slowcat_memory.core.memory import ALWAYS
from slowcat_memory.core.text.normalize import WORD, fold
from slowcat_memory.core.text.numerals import is_value
from slowcat_memory.records import Memory, Statement

M = TypeVar("M", bound=Memory)
COMING = frozenset({"event", "plan", "appointment", "open_thread"})  # types of what lies ahead
LEAST = 3  # letters of a word that names what takes place, at least one more
# A start this long before a conflicting statement belongs to the past: "I moved to Rome in 2019".
# One that is nearer is news: the later statement holds from when it was said.
NEWS = timedelta(days=60)
SOON = timedelta(days=1)  # within which a correction is about what was said before


def claim_of(fact: Memory) -> Statement:
    """Return the statement of a fact, with all that it ends."""
    own, predicate = fact.statement, canonical(fact.statement.predicate)
    claim = replace(own, subject=subject_name(fact), predicate=predicate)
    ends = own.ends
    if predicate:
        ends += implied_endings(claim, f"{fact.text} {own.quote}")
        ends += (ending_of(claim),) if own.over else ()
    return replace(claim, ends=ends, corrects=own.corrects or _changes_day(fact))


def ended_subjects(claim: Statement) -> Iterator[str]:
    """Yield the folded subjects whose facts a claim may end."""
    yield from dict.fromkeys(fold(who) for who in (claim.subject, *(e.subject for e in claim.ends)))


def ends_fact(new: Statement, old: Statement, text: str) -> bool:
    """Return whether a fact ends an earlier one, whose sentence is ``text``."""
    same_subject = fold(new.subject) == fold(old.subject)
    if old.over:  # "no longer works at Acme" is over when she works there again
        again = same_subject and not new.over and new.predicate == old.predicate
        return again and fold(new.object) == fold(old.object)
    if same_subject and new.predicate and old.predicate and not new.over and exclude(new, old):
        return True
    if new.quote and new.quote == old.quote:  # said together
        return False
    return any(fold(end.subject) == fold(old.subject) and ends(end, old, text) for end in new.ends)


def _corrects(newer: Memory, new: Statement, older: Memory, old: Statement) -> bool:
    """Return whether a fact gives another value for one that was stated shortly before."""
    soon = newer.valid_from - older.valid_from <= SOON
    same = new.predicate == old.predicate and fold(new.subject) == fold(old.subject)
    single = new.predicate.startswith(("has_", "favourite_")) and not old.over
    value = same and single and not new.over and soon
    return new.corrects and (value or _moves(newer, new, older, old))


def _moves(newer: Memory, new: Statement, older: Memory, old: Statement) -> bool:
    """Return whether a fact gives another day for what was still ahead: an appointment was moved."""
    day, other = newer.statement.date, older.statement.date
    ahead = other >= newer.valid_from.date().isoformat()
    if not day or not other or day == other or not ahead or new.over or old.over:
        return False
    same = fold(new.subject) == fold(old.subject)
    return same and not _event_words(new).isdisjoint(_event_words(old))


def _event_words(claim: Statement) -> frozenset[str]:
    """Return the words for what takes place, without those for its day."""
    text = fold(f"{claim.object} {claim.quote}")
    for language in LANGUAGES:
        text = language.talk.change.sub(" ", language.talk.ahead_words.sub(" ", text))
    empty = words_of_any(lambda language: language.talk.empty)
    text = " ".join(word for word in WORD.findall(text) if not is_value(word))
    return frozenset(word for word in content(text) if len(word) > LEAST) - empty


def _changes_day(fact: Memory) -> bool:
    """Return whether a dated fact was said to be a change: "the dentist moved me to Friday"."""
    quote = fact.statement.quote.replace("’", "'")
    dated = fact.statement.date and type_of(fact) in COMING
    return bool(dated) and any(language.talk.change.search(fold(quote)) for language in LANGUAGES)


def loser(newer: Memory, older: Memory, *, one_subject: bool = False) -> Memory | None:
    """Return the one of two facts that the other ends; None if both can hold.

    An uncertain fact ends no certain one. What is said later to have begun long before an
    exclusive fact was stated belongs to the past: "I moved to Rome in 2019".

    Args:
        one_subject: Whether two names of their subjects are known to be of one.
    """
    new, old = claim_of(newer), claim_of(older)
    if one_subject and fold(new.subject) != fold(old.subject):
        old = replace(old, subject=new.subject)
    if not ends_fact(new, old, older.text) and not _corrects(newer, new, older, old):
        return None
    if is_uncertain(newer) and not is_uncertain(older):
        return None
    story = not new.over and older.valid_from - newer.valid_from > NEWS
    return newer if story else older


def history(facts: Iterable[M]) -> list[M]:
    """Return facts in one slot of one subject with their intervals, as believed now and before.

    What another fact ended was believed to hold until that was known; what a correction took back
    never held.
    """
    rows, held = list[M](), list[M]()
    every = {row.id: row for row in facts}
    for fact in sorted(every.values(), key=order_of):
        if fact.retired_at is not None:
            by = every.get(fact.facets.get("superseded_by", ""))
            wrong = by is not None and by.statement.corrects
            rows += _ended(fact, None if wrong else fact.valid_to, fact.retired_at)
            continue
        for older in list(held):
            lost = loser(fact, older, one_subject=True)
            if lost is fact:
                fact = replace(fact, valid_to=older.valid_from)
            elif lost is older:
                held.remove(older)
                wrong = fact.statement.corrects
                until = None if wrong else max(older.valid_from, fact.valid_from)
                rows += _ended(older, until, fact.recorded_at or fact.valid_from)
                since = min(older.valid_from, fact.valid_from) if wrong else fact.valid_from
                fact = replace(fact, valid_from=since)
        if again := next((row for row in held if _says_same(fact, row)), None):
            if fact.valid_from < again.valid_from:  # it began earlier than was believed
                held.remove(again)
                rows += _ended(again, None, fact.recorded_at or fact.valid_from)
                held.append(fact)
        elif not fact.statement.over:
            held.append(fact)
        elif fact.statement.object and not any(_same_object(fact, row) for row in rows):
            rows.append(replace(fact, valid_from=ALWAYS, valid_to=fact.valid_from))
    return [*rows, *held]


def _ended(fact: M, until: datetime | None, at: datetime) -> list[M]:
    """Return a fact as it was believed until a moment, and as ended, if it ever held."""
    rows = [replace(fact, valid_to=None, retired_at=at)]
    if until is not None and until > fact.valid_from:
        rows.append(replace(fact, valid_to=until, recorded_at=at, retired_at=None))
    return rows


def _same_object(fact: Memory, other: Memory) -> bool:
    return fold(fact.statement.object) == fold(other.statement.object)


def _says_same(fact: Memory, other: Memory) -> bool:
    mine, theirs = fact.statement, other.statement
    alike = (mine.predicate, mine.over) == (theirs.predicate, theirs.over)
    return alike and _same_object(fact, other)
