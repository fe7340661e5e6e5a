"""Readings: the entities that a turn mentions, and what it states about them.

A *reading* is everything that the entity graph keeps of one turn. Entities and relations are
derived from readings alone (see `build`): when a turn is forgotten its reading is deleted, and the
graph follows from the others. So no derived data outlives its source, and a relation that a
forgotten turn had ended is believed again.
"""

import hashlib
from datetime import datetime

import msgspec
from msgspec import Struct

from slowcat_memory.core.memory import READING
from slowcat_memory.records import Ending, Made, Memory, Statement


class Mention(Struct, frozen=True, omit_defaults=True):
    """A name in a turn, as spoken; ``entity`` is its entity's id, "" until it is resolved.

    ``type`` is "person", "pet", "place", "organisation", …; ``attributes`` are stated values that
    are no relation: "email", "phone", "breed", ….
    """

    name: str
    type: str
    attributes: dict[str, str] = {}
    entity: str = ""
    confidence: str = ""


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
