"""Readings: the people, places and things that a turn mentions, and which entity each one is.

A *reading* is everything that the register of entities keeps of one turn. Entities are derived from
readings alone (see `entities`): when a turn is forgotten its reading is deleted, and the register
follows from the others. What relates two entities is a fact (see `relations`).
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

import msgspec
from msgspec import Struct

from slowcat_memory.core.extraction.mentions import Mention, tidy
from slowcat_memory.core.extraction.prompt_injection import injected
from slowcat_memory.core.extraction.slots import canonical, object_type
from slowcat_memory.core.facts.fact import ExtractedFact
from slowcat_memory.core.graph.names import names
from slowcat_memory.core.memory import ENTITY, READING, SEPARATOR
from slowcat_memory.core.text.normalize import fingerprint, fold, hex_digest
from slowcat_memory.records import Made, Memory, Statement, Turn

# Past actions, plans and former possessions are no relations.
PASSING = frozenset(
    """achieved appointment bought called_off decided died event finished gave_up goal has_to plans
    sold wants_reminder""".split()
)


class TurnReading(Struct, frozen=True, kw_only=True):
    """What a turn mentions.

    Attributes:
        turn: The turn's log id.
        said: When the turn was said.
        made: The job and model that made it.
        sources: Log ids of all turns that it depends on, its own first.
    """

    scope: str
    turn: int
    speaker: str
    said: datetime
    made: Made
    mentions: tuple[Mention, ...] = ()
    sources: tuple[int, ...] = ()

    @property
    def id(self) -> str:
        """The memory id: one per turn and maker."""
        made = self.made
        tag = hex_digest(f"{made.version}/{made.model}", 4) if made.model else "rule"
        return f"{READING}/{self.turn}/{tag}"

    def memory(self) -> Memory:
        return Memory(
            id=self.id,
            kind=READING,
            scope=self.scope,
            speaker=self.speaker,
            text="",
            valid_from=self.said,
            recorded_at=self.said,
            sources=self.sources or (self.turn,),
            facets={"mentions": msgspec.json.encode(self.mentions).decode()},
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
                made=memory.made or Made(job=""),
                mentions=msgspec.json.decode(memory.facets["mentions"], type=tuple[Mention, ...]),
                sources=memory.sources,
            )
        except (KeyError, IndexError, msgspec.DecodeError) as error:
            raise ValueError(f"no reading: {type(error).__name__}") from error


def relates(claim: Statement) -> bool:
    """Return whether a statement relates its subject to something for more than a moment."""
    predicate = canonical(claim.predicate)
    stated = bool(claim.subject and (claim.object or claim.over))
    return stated and bool(predicate) and predicate not in PASSING


def read_names(
    turn: Turn,
    facts: Sequence[ExtractedFact],
    made: Made,
    known: Mapping[str, str] = {},
    named: Iterable[Mention] | None = None,
) -> TurnReading | None:
    """Return the names that a turn mentions, as yet of no entity; None for none.

    Args:
        facts: The turn's facts that relate somebody to something.
        known: Types of known entities, by folded name.
        named: What an LLM lists as named, also in other turns. None for facts by rule, whose
            subjects are people.
    """
    if turn.role != "user" or injected(turn.text):
        return None
    kinds = {**known, fold(turn.speaker): "person"} | {fold(m.name): m.type for m in named or ()}
    words = f" {fingerprint(turn.text)} "
    mentions = {fold(row.name): row for row in named or () if f" {fingerprint(row.name)} " in words}
    for fact in facts:
        subject, object_ = tidy(fact.subject), tidy(fact.object)
        if named is not None and fold(subject) not in kinds:
            continue
        mentions.setdefault(fold(subject), Mention(subject, kinds.get(fold(subject), "person")))
        kind = object_type(canonical(fact.predicate))
        kind = kind or (kinds.get(fold(object_), "") if named else "")
        if object_ and kind:
            mentions.setdefault(fold(object_), Mention(object_, kinds.get(fold(object_), kind)))
    if not mentions:
        return None
    sources = dict.fromkeys((turn.id, *(id for fact in facts for id in fact.sources)))
    return TurnReading(
        scope=turn.scope,
        turn=turn.id,
        speaker=turn.speaker,
        said=turn.at,
        made=made,
        mentions=tuple(mentions.values()),
        sources=tuple(sources),
    )


ATTRIBUTE = "attr."
CONFIDENCE = ("high", "medium", "low")


def entities(readings: Iterable[TurnReading], only: set[str] | None = None) -> dict[str, Memory]:
    """Return the entities that readings mention, as memories, by id.

    The newest value of each attribute counts; all names are kept, and the highest confidence.

    Args:
        readings: All of a namespace, in any order.
        only: Ids of the wanted entities; None for all.
    """
    groups: dict[str, list[tuple[Mention, TurnReading]]] = defaultdict(list)
    for reading in sorted(readings, key=lambda row: (row.said, row.turn, row.id)):
        for mention in reading.mentions:
            if mention.entity and (only is None or mention.entity in only):
                groups[mention.entity].append((mention, reading))
    return {id: _entity(id, mentions) for id, mentions in groups.items()}


def _entity(id: str, mentions: Sequence[tuple[Mention, TurnReading]]) -> Memory:
    first, reading = mentions[0]
    name, aliases, attributes = first.name, dict[str, str](), dict[str, str]()
    sources, made = dict[int, None](), reading.made
    tried = set[tuple[str, str]]()  # a name that is not longer now will not be later
    for mention, source in mentions:
        if (
            fold(mention.name) not in aliases
            or not mention.attributes.items() <= attributes.items()
        ):
            sources |= dict.fromkeys(source.sources or (source.turn,))
        aliases.setdefault(fold(mention.name), mention.name)
        attributes |= mention.attributes
        if (spoken := (mention.name, mention.type)) not in tried:
            tried.add(spoken)
            if _words(mention) > len(names(name, first.type)[0].words):
                name = mention.name
        made = source.made if source.made.model else made
    others = [alias for key, alias in aliases.items() if key != fold(name)]
    facets = {"name": name, "type": first.type}
    facets |= {"also": SEPARATOR.join(others)} if others else {}
    sure = {mention.confidence for mention, _ in mentions} - {""}
    facets |= {"confidence": min(sure, key=CONFIDENCE.index)} if sure else {}
    facets |= {f"{ATTRIBUTE}{key}": value for key, value in sorted(attributes.items())}
    return Memory(
        id=id,
        kind=f"{ENTITY}/{first.type}",
        scope=reading.scope,
        speaker=reading.speaker,
        text=f"{name} ({first.type})",
        valid_from=reading.said,
        recorded_at=reading.said,
        sources=tuple(sources),
        facets=facets,
        made=made,
    )


def _words(mention: Mention) -> int:
    """Return the number of words of a full name; 0 for a description ("my sister Anna")."""
    reduced = names(mention.name, mention.type)[0]
    return 0 if reduced.roles or "of" in reduced.words else len(reduced.words)
