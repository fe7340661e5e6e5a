"""Readings: the entities that a turn mentions, and what it states about them.

A *reading* is everything that the entity graph keeps of one turn. Entities and relations are
derived from readings alone (see `build`): when a turn is forgotten its reading is deleted, and the
graph follows from the others. So no derived data outlives its source, and a relation that a
forgotten turn had ended is believed again.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, tzinfo

import msgspec
from msgspec import Struct

from slowcat_memory.core.extraction.evidence import dated
from slowcat_memory.core.extraction.grounding import ground
from slowcat_memory.core.extraction.mentions import Mention, tidy
from slowcat_memory.core.extraction.predicates import canonical, object_type
from slowcat_memory.core.extraction.prompt_injection import injected
from slowcat_memory.core.extraction.slots import begins, implied_endings, is_exclusive
from slowcat_memory.core.facts.fact import ExtractedFact
from slowcat_memory.core.language import of_any
from slowcat_memory.core.memory import READING
from slowcat_memory.core.text.normalize import fingerprint, fold
from slowcat_memory.core.time import expressions
from slowcat_memory.records import Ending, Made, Memory, Statement, Turn

# Past actions, plans and former possessions are no relations.
PASSING = frozenset(
    """achieved appointment bought called_off decided died event finished gave_up goal has_to plans
    sold wants_reminder""".split()
)
_NEXT = re.compile(
    rf"^[\s,]*(?:{of_any(lambda one: one.facts.before_date)})?[\s,]*$", re.IGNORECASE
)


class ReadStatement(Statement, frozen=True, kw_only=True, omit_defaults=True):
    """A turn's statement about an entity; unknown times are None.

    With ``ends``, a single one, it states nothing else; its ``subject`` and ``object`` are those of
    the ending, and become an entity's id in place of these.
    """

    text: str
    since: datetime | None = None
    until: datetime | None = None

    @property
    def is_ending(self) -> bool:
        return bool(self.ends)


def ending(of: Ending, text: str, quote: str, until: datetime | None) -> ReadStatement:
    """Return what a turn ends as a statement; ``until`` None: when it was said."""
    return ReadStatement(
        subject=of.subject,
        object=of.object,
        text=text,
        quote=quote,
        until=until,
        over=True,
        ends=(of,),
    )


class TurnExtract(Struct, frozen=True):
    """An extraction of a turn, with unresolved names.

    ``sources`` are the log ids of the turns that it depends on, its own first.
    """

    mentions: tuple[Mention, ...]
    statements: tuple[ReadStatement, ...]
    sources: tuple[int, ...]


class TurnReading(Struct, frozen=True, kw_only=True):
    """A turn's extraction with resolved names.

    Attributes:
        turn: The turn's log id.
        said: When the turn was said.
        at: Since when it is believed: ``said``, or when it replaced another reading.
        made: The job and model that made it.
        sources: Log ids of all turns that it depends on, its own first.
        retired_at: Until when it was believed; None while it is.
    """

    scope: str
    turn: int
    speaker: str
    said: datetime
    at: datetime
    made: Made
    mentions: tuple[Mention, ...] = ()
    statements: tuple[ReadStatement, ...] = ()
    sources: tuple[int, ...] = ()
    retired_at: datetime | None = None

    @property
    def id(self) -> str:
        """The memory id: one per turn and maker."""
        maker = f"{self.made.version}/{self.made.model}".encode()
        tag = hashlib.blake2b(maker, digest_size=4).hexdigest() if self.made.model else "rule"
        return f"{READING}/{self.turn}/{tag}"

    def memory(self) -> Memory:
        facets = {
            "mentions": msgspec.json.encode(self.mentions).decode(),
            "statements": msgspec.json.encode(self.statements).decode(),
        }
        return Memory(
            id=self.id,
            kind=READING,
            scope=self.scope,
            speaker=self.speaker,
            text=" ".join(one.text for one in self.statements if not one.is_ending),
            valid_from=self.said,
            recorded_at=self.at,
            retired_at=self.retired_at,
            sources=self.sources or (self.turn,),
            facets=facets,
            made=self.made,
        )

    @classmethod
    def of(cls, memory: Memory) -> "TurnReading":
        """Return the reading stored in a memory.

        Raises:
            ValueError: It holds none.
        """
        try:
            return cls(
                scope=memory.scope,
                turn=memory.sources[0],
                speaker=memory.speaker,
                said=memory.valid_from,
                at=memory.recorded_at or memory.valid_from,
                made=memory.made or Made(job=""),
                mentions=msgspec.json.decode(memory.facets["mentions"], type=tuple[Mention, ...]),
                statements=msgspec.json.decode(
                    memory.facets["statements"], type=tuple[ReadStatement, ...]
                ),
                sources=memory.sources,
                retired_at=memory.retired_at,
            )
        except (KeyError, IndexError, msgspec.DecodeError) as error:
            raise ValueError(f"no reading: {type(error).__name__}") from error


# ------------------------------------------------------------------- from facts


def extract(
    turn: Turn,
    facts: Iterable[ExtractedFact],
    zone: tzinfo,
    known: Mapping[str, str] = {},
    named: Sequence[Mention] | None = None,
) -> TurnExtract | None:
    """Return what the graph keeps of a turn: its statements, and the names it has; None for nothing.

    Args:
        facts: The turn's facts.
        known: Types of known entities, by folded name.
        named: What an LLM lists as named, also in other turns: a relation of anybody else is none.
            None for facts by rule, whose subjects are people.
    """
    if turn.role != "user" or injected(turn.text):
        return None
    facts = [one for one in facts if not one.why and (one.confidence != "low" or one.reported)]
    kinds = {**known, fold(turn.speaker): "person"} | {fold(m.name): m.type for m in named or ()}
    words = f" {fingerprint(turn.text)} "
    found = {fold(one.name): one for one in named or () if f" {fingerprint(one.name)} " in words}
    statements = list[ReadStatement]()
    for one in facts:
        statements += _endings(one, turn, zone)
        subject, predicate, object_ = tidy(one.subject), canonical(one.predicate), tidy(one.object)
        passing = not predicate or predicate in PASSING or not (object_ or one.over)
        if passing or (named is not None and fold(subject) not in kinds):
            continue
        statements.append(_statement(one, subject, predicate, object_, turn, zone))
        found.setdefault(fold(subject), Mention(subject, kinds.get(fold(subject), "person")))
        kind = object_type(predicate) or (kinds.get(fold(object_), "") if named else "")
        if object_ and kind:
            found.setdefault(fold(object_), Mention(object_, kinds.get(fold(object_), kind)))
    if not statements and not found:
        return None
    sources = dict.fromkeys((turn.id, *(id for one in facts for id in one.sources)))
    return TurnExtract(tuple(found.values()), tuple(statements), tuple(sources))


def _statement(
    one: ExtractedFact, subject: str, predicate: str, object_: str, turn: Turn, zone: tzinfo
) -> ReadStatement:
    since = _since(one, turn, zone)
    return ReadStatement(
        subject=subject,
        predicate=predicate,
        object=object_,
        text=one.content,
        quote=one.quote,
        since=None if one.over else since,
        until=since if one.over else None,
        over=one.over,
        corrects=one.corrects,
        confidence=one.confidence,
    )


def _endings(one: ExtractedFact, turn: Turn, zone: tzinfo) -> list[ReadStatement]:
    """Return what one statement of a turn ends, by its own words or because it implies it."""
    said = (*one.ends, *implied_endings(one, f"{one.content} {one.quote}"))
    until = _since(one, turn, zone) if said else None
    return [ending(end, one.content, one.quote, until) for end in said]


def _since(one: ExtractedFact, turn: Turn, zone: tzinfo) -> datetime | None:
    """Return the start date that a statement names, in its quote or directly behind it."""
    when = dated(one.quote, turn, one.date, ground((turn,), zone), zone)
    if when.day:
        return begins(one, when.day, when.since)
    text = " ".join(turn.text.split())
    _, found, rest = text.partition(" ".join(one.quote.split()))
    sentence = re.split(r"[.!?;]", rest, maxsplit=1)[0]
    every = expressions.statement_times(text, turn.at, zone) if found else ()
    times = [when for when in every if when.words in sentence and not when.vague]
    if len(times) != 1:
        return None
    before = sentence.partition(times[0].words)[0]
    near = _NEXT.match(before) and (times[0].start <= turn.at or is_exclusive(one))
    return times[0].start if near else None
