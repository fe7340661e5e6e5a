"""Which of two facts holds: the rules that end one when another is stated.

What excludes what is decided by `core.extraction.slots`; here it is applied to stored facts. The
later statement wins, whichever was extracted first. A fact of somebody ends only facts of the same
speaker: what Ben says about Anna does not change what Anna said.
"""

from collections.abc import Iterator
from datetime import timedelta

import msgspec

from slowcat_memory.core.extraction.predicates import Ending, Triple, canonical
from slowcat_memory.core.extraction.slots import (
    Slot,
    content,
    ending_of,
    ends,
    exclude,
    implied_endings,
    slot_of,
)
from slowcat_memory.core.extraction.third_person import Sentence, read_sentence
from slowcat_memory.core.facts.fact import subject_name, type_of
from slowcat_memory.core.language import LANGUAGES
from slowcat_memory.core.text.normalize import fold
from slowcat_memory.records import Memory

# As in `core.graph.build`: a start this long before a conflicting fact belongs to the past.
NEWS = timedelta(days=60)
COMING = frozenset({"event", "plan", "appointment", "open_thread"})  # types of what lies ahead
LEAST = 3  # letters of a word that names what takes place, at least one more
SOON = timedelta(days=1)  # within which a correction is about what was said before


class Claim(Triple, frozen=True, kw_only=True):
    """What a fact states, in parts; ``predicate`` is "" if that is unknown.

    Attributes:
        over: Whether it says that this holds no longer.
        ends: What it ends, by its own words or because they imply it.
        corrects: Whether its turn corrects an earlier one.
    """

    over: bool = False
    ends: tuple[Ending, ...] = ()
    corrects: bool = False

    @property
    def slot(self) -> Slot:
        return slot_of(self) if self.predicate else ()


def claim_of(fact: Memory) -> Claim:
    """Return what a fact states, by its facets, else by its sentence."""
    facets, subject = fact.facets, subject_name(fact)
    predicate = canonical(facets.get("predicate", ""))
    read = read_sentence(fact.text, subject)
    over = facets.get("over") == "yes"
    if predicate:
        over = over or (read is not None and read.over and read.predicate == predicate)
        said = Triple(subject=subject, predicate=predicate, object=facets.get("object", ""))
    elif read is not None and not read.ahead:
        said, over = read, over or read.over
    else:
        said = Triple(subject=subject, predicate="", object="")
    told = f"{fact.text} {facets.get('quote', '')}"
    stated = _ends_of(fact) + (implied_endings(said, told) if said.predicate else ())
    if over and said.predicate:
        stated = (*stated, *_ended_by(said, read))
    return Claim(
        subject=subject,
        predicate=said.predicate,
        object=said.object,
        quote=facets.get("quote", ""),
        over=over,
        ends=stated,
        corrects=facets.get("corrects") == "yes" or _changes_day(fact),
    )


def _ended_by(said: Triple, read: Sentence | None) -> tuple[Ending, ...]:
    """Return what a statement ends that says to be over."""
    if read is None or not read.ends or read.predicate != said.predicate:
        return (ending_of(said),)
    return (Ending(said.subject, read.ends, said.object),) if said.object else ()


def _ends_of(fact: Memory) -> tuple[Ending, ...]:
    try:
        return msgspec.json.decode(fact.facets.get("ends", "[]"), type=tuple[Ending, ...])
    except msgspec.DecodeError:
        return ()


def ended_subjects(claim: Claim) -> Iterator[str]:
    """Yield the folded subjects whose facts a claim may end."""
    yield from dict.fromkeys(fold(one) for one in (claim.subject, *(e.subject for e in claim.ends)))


def ends_fact(new: Claim, old: Claim, text: str) -> bool:
    """Return whether a fact ends an earlier one, whose sentence is ``text``."""
    same_subject = fold(new.subject) == fold(old.subject)
    if old.over:  # "no longer works at Acme" is over when she works there again
        again = same_subject and not new.over and new.predicate == old.predicate
        return again and fold(new.object) == fold(old.object)
    if same_subject and new.predicate and old.predicate and not new.over and exclude(new, old):
        return True
    if new.quote and new.quote == old.quote:  # said together
        return False
    return any(fold(one.subject) == fold(old.subject) and ends(one, old, text) for one in new.ends)


def _corrects(newer: Memory, new: Claim, older: Memory, old: Claim) -> bool:
    """Return whether a fact gives another value for one that was stated shortly before."""
    soon = newer.valid_from - older.valid_from <= SOON
    same = new.predicate == old.predicate and fold(new.subject) == fold(old.subject)
    one = new.predicate.startswith(("has_", "favourite_")) and not old.over
    value = same and one and not new.over and soon
    return new.corrects and (value or _moves(newer, new, older, old))


def _moves(newer: Memory, new: Claim, older: Memory, old: Claim) -> bool:
    """Return whether a fact gives another day for what was still ahead: an appointment was moved."""
    day, other = newer.facets.get("date", ""), older.facets.get("date", "")
    ahead = other >= newer.valid_from.date().isoformat()
    if not day or not other or day == other or not ahead or new.over or old.over:
        return False
    same = fold(new.subject) == fold(old.subject)
    return same and not _event_words(new).isdisjoint(_event_words(old))


def _event_words(claim: Claim) -> frozenset[str]:
    """Return the words for what takes place, without those for its day."""
    text = fold(f"{claim.object} {claim.quote}")
    for one in LANGUAGES:
        text = one.talk.value.sub(" ", one.talk.ahead_words.sub(" ", text))
        text = one.talk.change.sub(" ", text)
    empty = frozenset[str]().union(*(one.talk.empty for one in LANGUAGES))
    return frozenset(word for word in content(text) if len(word) > LEAST) - empty


def _changes_day(fact: Memory) -> bool:
    """Return whether a dated fact was said to be a change: "the dentist moved me to Friday"."""
    quote = fact.facets.get("quote", "").replace("’", "'")
    dated = bool(fact.facets.get("date")) and type_of(fact) in COMING
    return dated and any(one.talk.change.search(fold(quote)) for one in LANGUAGES)


def loser(newer: Memory, older: Memory, *, one_subject: bool = False) -> Memory | None:
    """Return the one of two facts that the other ends; None if both can hold.

    An uncertain fact ends no certain one. What is said later to have begun long before an
    exclusive fact was stated belongs to the past: "I moved to Rome in 2019".

    Args:
        one_subject: Whether two names of their subjects are known to be of one.
    """
    new, old = claim_of(newer), claim_of(older)
    if one_subject and fold(new.subject) != fold(old.subject):
        old = msgspec.structs.replace(old, subject=new.subject)
    if not ends_fact(new, old, older.text) and not _corrects(newer, new, older, old):
        return None
    if newer.facets.get("confidence") == "low" and older.facets.get("confidence") != "low":
        return None
    story = not new.over and older.valid_from - newer.valid_from > NEWS
    return newer if story else older
