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
    ending_of,
    ends,
    exclude,
    implied_endings,
    slot_of,
)
from slowcat_memory.core.extraction.third_person import read_sentence
from slowcat_memory.core.text.normalize import fold
from slowcat_memory.records import Memory

# As in `core.graph.build`: a start this long before a conflicting fact belongs to the past.
NEWS = timedelta(days=60)


class Claim(Triple, frozen=True, kw_only=True):
    """What a fact states, in parts; ``predicate`` is "" if that is unknown.

    Attributes:
        over: Whether it says that this holds no longer.
        ends: What it ends, by its own words or because they imply it.
    """

    over: bool = False
    ends: tuple[Ending, ...] = ()

    @property
    def slot(self) -> Slot:
        return slot_of(self) if self.predicate else ()


def claim_of(fact: Memory) -> Claim:
    """Return what a fact states, by its facets, else by its sentence."""
    facets, subject = fact.facets, fact.facets.get("subject", "")
    predicate = canonical(facets.get("predicate", ""))
    read = read_sentence(fact.text, subject)
    over = facets.get("over") == "yes"
    if predicate:
        over = over or (read is not None and read.over and read.predicate == predicate)
        said = Triple(subject=subject, predicate=predicate, object=facets.get("object", ""))
    elif read is not None:
        said, over = read, over or read.over
    else:
        said = Triple(subject=subject, predicate="", object="")
    told = f"{fact.text} {facets.get('quote', '')}"
    stated = _ends_of(fact) + (implied_endings(said, told) if said.predicate else ())
    if over and said.predicate:
        stated = (*stated, ending_of(said))
    return Claim(
        subject=subject, predicate=said.predicate, object=said.object, over=over, ends=stated
    )


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
    if not old.predicate:
        return False
    same_subject = fold(new.subject) == fold(old.subject)
    if old.over:  # "no longer works at Acme" is over when she works there again
        again = same_subject and not new.over and new.predicate == old.predicate
        return again and fold(new.object) == fold(old.object)
    if same_subject and new.predicate and not new.over and exclude(new, old):
        return True
    return any(fold(one.subject) == fold(old.subject) and ends(one, old, text) for one in new.ends)


def loser(newer: Memory, older: Memory) -> Memory | None:
    """Return the one of two facts that the other ends; None if both can hold.

    An uncertain fact ends no certain one. What is said later to have begun long before an
    exclusive fact was stated belongs to the past: "I moved to Rome in 2019".
    """
    new, old = claim_of(newer), claim_of(older)
    if not ends_fact(new, old, older.text):
        return None
    if newer.facets.get("confidence") == "low" and older.facets.get("confidence") != "low":
        return None
    story = not new.over and newer.valid_from < older.valid_from - NEWS
    return newer if story else older
