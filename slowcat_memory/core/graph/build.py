"""Builds the register of entities from readings: a pure function, independent of the order of work."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from slowcat_memory.core.extraction.mentions import Mention
from slowcat_memory.core.graph.names import names
from slowcat_memory.core.graph.readings import TurnReading
from slowcat_memory.core.memory import ENTITY
from slowcat_memory.core.text.normalize import fold
from slowcat_memory.records import Memory

SEPARATOR = "; "
ATTRIBUTE = "attr."
CONFIDENCE = ("high", "medium", "low")


def entities(readings: Iterable[TurnReading], only: set[str] | None = None) -> dict[str, Memory]:
    """Return the entities that readings mention, as memories, by id.

    The newest value of each attribute counts; all names are kept, and the highest confidence.

    Args:
        readings: All of a namespace, in any order.
        only: Ids of the wanted entities; None for all.
    """
    found: dict[str, list[tuple[Mention, TurnReading]]] = defaultdict(list)
    for reading in sorted(readings, key=lambda one: (one.said, one.turn, one.id)):
        for mention in reading.mentions:
            if mention.entity and (only is None or mention.entity in only):
                found[mention.entity].append((mention, reading))
    return {id: _entity(id, mentions) for id, mentions in found.items()}


def _entity(id: str, mentions: Sequence[tuple[Mention, TurnReading]]) -> Memory:
    first, reading = mentions[0]
    name, aliases, attributes = first.name, dict[str, str](), dict[str, str]()
    sources, made = dict[int, None](), reading.made
    tried = set[tuple[str, str]]()  # a name that is not longer now will not be later
    for mention, source in mentions:
        if fold(mention.name) not in aliases or _adds_attributes(mention, attributes):
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


def _adds_attributes(mention: Mention, known: Mapping[str, str]) -> bool:
    return any(known.get(key) != value for key, value in mention.attributes.items())


def _words(mention: Mention) -> int:
    """Return the number of words of a full name; 0 for a description ("my sister Anna")."""
    reduced = names(mention.name, mention.type)[0]
    return 0 if reduced.roles or "of" in reduced.words else len(reduced.words)


def attributes_of(entity: Memory) -> dict[str, str]:
    return {
        name.removeprefix(ATTRIBUTE): value
        for name, value in entity.facets.items()
        if name.startswith(ATTRIBUTE)
    }


def names_of(entity: Memory) -> tuple[str, ...]:
    """Return an entity's names, the fullest first."""
    also = entity.facets.get("also", "")
    return (entity.facets.get("name", ""), *(also.split(SEPARATOR) if also else ()))
