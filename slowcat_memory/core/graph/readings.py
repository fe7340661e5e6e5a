"""What was read in a turn: the names that it mentions, and what it says of them.

A *reading* is all that is kept of one turn for the graph of people and things. Entities and
relations derive from readings alone (see `build`): when a turn is forgotten its reading goes, and
what the others say is what holds. So nothing outlives what it was made from, and what a forgotten
turn had ended is believed again.
"""

import hashlib
from datetime import datetime

import msgspec
from msgspec import Struct

from slowcat_memory.core.extraction.predicates import Triple
from slowcat_memory.core.memory import READING
from slowcat_memory.records import Made, Memory


class Mention(Struct, frozen=True, omit_defaults=True):
    """A name that a turn holds.

    Attributes:
        name: As it was said.
        type: "person", "pet", "place", "organisation", …
        attributes: What the turn says of it that is no relation: "email", "phone", "breed", …
        entity: Its entity's id, "" until it is resolved.
    """

    name: str
    type: str
    attributes: dict[str, str] = {}
    entity: str = ""


class ReadStatement(Triple, frozen=True, kw_only=True, omit_defaults=True):
    """What a turn says of somebody or something.

    Attributes:
        text: The same as a sentence.
        since: Since when, None where that was not said.
        until: Until when, None where that was not said.
        over: Whether it is said to be over.
        corrects: Whether it takes back what was said before, rather than that things have changed.
    """

    text: str
    since: datetime | None = None
    until: datetime | None = None
    over: bool = False
    corrects: bool = False


class TurnExtract(Struct, frozen=True):
    """What was read in a turn, its names not resolved.

    Attributes:
        mentions: The names.
        statements: What is said of them, by name.
        sources: Log ids of the turns that it needs, its own first.
    """

    mentions: tuple[Mention, ...]
    statements: tuple[ReadStatement, ...]
    sources: tuple[int, ...]


class TurnReading(Struct, frozen=True, kw_only=True):
    """What one turn says, its names resolved.

    Attributes:
        scope: Its namespace.
        turn: The turn's log id.
        speaker: The turn's speaker.
        said: When it was said.
        at: Since when it is believed: when it was said, or when it replaced another reading.
        made: Which job and model made it.
        mentions: The names.
        statements: What is said of them.
        sources: Log ids of all turns that it needs, its own first.
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
        """Return it as a memory."""
        facets = {
            "mentions": msgspec.json.encode(self.mentions).decode(),
            "statements": msgspec.json.encode(self.statements).decode(),
        }
        return Memory(
            id=self.id,
            kind=READING,
            scope=self.scope,
            speaker=self.speaker,
            text=" ".join(one.text for one in self.statements),
            valid_from=self.said,
            recorded_at=self.at,
            retired_at=self.retired_at,
            sources=self.sources or (self.turn,),
            facets=facets,
            made=self.made,
        )

    @classmethod
    def of(cls, memory: Memory) -> "TurnReading":
        """Return the reading that a memory holds.

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
