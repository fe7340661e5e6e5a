"""The register of entities: readings, the entities that follow from them, and finding one by name.

A *reading* is everything that the register keeps of one turn: the people, places and things that it
mentions, and which entity each one is. Entities are derived from readings alone (see `entities`):
when a turn is forgotten its reading is deleted, and the register follows from the others. What
relates two entities is a fact (see `relates`).

A name with a known reduced form is found in microseconds; any other is compared with all entities
of its type, cheapest stage first (see `dedup`).
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.extraction.mentions import Mention, tidy
from slowcat_memory.core.extraction.options import DedupOptions
from slowcat_memory.core.extraction.prompt_injection import injected
from slowcat_memory.core.extraction.slots import canonical, object_type
from slowcat_memory.core.facts.fact import ExtractedFact
from slowcat_memory.core.graph.dedup import IDENTIFYING, Candidate, Similarity, resolve, same
from slowcat_memory.core.graph.names import names, same_given
from slowcat_memory.core.memory import ENTITY, READING, SEPARATOR, names_of
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


def entities(readings: Iterable[TurnReading], only: set[str] | None = None) -> dict[str, Memory]:
    """Return the entities that readings mention, as memories, by id.

    The newest value of each attribute counts; all names are kept.

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


# ------------------------------------------------------------------- by name


class EntityIndex:
    """Finds entities by name. Not thread-safe."""

    def __init__(self, scope: str, known: Iterable[Memory], options: DedupOptions) -> None:
        self._scope, self._options = scope, options
        self._known: dict[str, Candidate] = {}
        self._by_name: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
        self._types: dict[str, dict[str, None]] = defaultdict(dict)
        for entity in known:
            first, *also = names_of(entity)
            kind = entity.facets.get("type", entity.kind.partition("/")[2])
            self._put(entity.id, Candidate(first, kind, attributes_of(entity), tuple(also)))

    def find_or_add(self, mention: Mention, similar: Similarity | None = None) -> Mention:
        """Return a mention with its entity's id, creating one if needed; "" if ambiguous."""
        new = Candidate(mention.name, mention.type, mention.attributes)
        id = self._find(new, similar)
        if id is None and self._could_be_two(new):
            return mention
        if id is None:
            id = self._new_id(new)
        else:
            new = _grown(self._known[id], new)
        self._put(id, new)
        return replace(mention, entity=id)

    def resolve_turn(
        self, read: TurnReading, facts: Sequence[ExtractedFact], similar: Similarity | None = None
    ) -> tuple[TurnReading, dict[str, str]]:
        """Return a turn's reading with the entities of its names, and their ids by folded name.

        Ambiguous names are dropped, new entities added. ``similar`` is as in ``dedup.same``.
        """
        mentions, ids = list[Mention](), dict[str, str]()
        for mention in read.mentions:
            met = self.find_or_add(_identified(mention, facts), similar)
            if met.entity:
                mentions.append(met)
                ids[fold(mention.name)] = met.entity
        for fact in facts:
            if fact.predicate == "name" and (user := ids.get(fold(fact.subject))):
                mentions.append(Mention(fact.object, "person", entity=user))  # "my name is Anna"
        return replace(read, mentions=tuple(mentions)), ids

    def with_entities(self, fact: ExtractedFact, ids: Mapping[str, str]) -> ExtractedFact:
        """Return a fact with the entities that its turn means by the names of its two sides.

        Args:
            ids: Of the turn's names, folded.
        """
        name = tidy(fact.object)
        subject = ids.get(fold(tidy(fact.subject)), "")
        object_ = "" if fact.predicate == "name" else ids.get(fold(name), "")
        if not object_ and name and object_type(fact.predicate):
            object_ = self.find(name)
        if not subject or object_ == subject:
            return fact
        return replace(fact, subject_id=subject, object_id=object_)

    def find(self, name: str) -> str:
        """Return the id of the one entity with a name, of any type; "" for none or several."""
        types = self._types.get(fold(name), ())
        ids = {id for kind in types for id in self._by_name.get((kind, _key(name, kind)), ())}
        return ids.pop() if len(ids) == 1 else ""

    def only_by_vector(self, mention: Mention) -> list[str]:
        """Return the known names that only the embedding stage could match to a mention.

        None if another stage finds its entity, or its type has no embedding stage.
        """
        new = Candidate(mention.name, mention.type, mention.attributes)
        if mention.type in ("person", "pet", "order", "place") or self._find(new, None):
            return []
        return [entity.name for entity in self._known.values() if entity.kind == mention.type]

    def _find(self, new: Candidate, similar: Similarity | None) -> str | None:
        if self._options.exact:
            exact = list(self._by_name.get((new.kind, _key(new.name, new.kind)), ()))
            fits = [id for id in exact if same(new, self._known[id], None, self._options)]
            if len(fits) == 1:
                return fits[0]
        ids = [id for id, entity in self._known.items() if entity.kind == new.kind]
        match = resolve(new, [self._known[id] for id in ids], similar, self._options)
        return ids[match[0]] if match else None

    def _could_be_two(self, new: Candidate) -> bool:
        """Return whether several people have this lone given name."""
        name = names(new.name, new.kind)[0]
        if new.kind != "person" or len(name.words) != 1 or name.roles or new.attributes:
            return False
        firsts = (
            names(entity.name, entity.kind)[0].words
            for entity in self._known.values()
            if entity.kind == new.kind
        )
        return sum(same_given(name.words[0], words[0]) for words in firsts if words) > 1

    def _new_id(self, new: Candidate) -> str:
        id = entity_id(self._scope, new.kind, new.name)
        if id not in self._known:
            return id
        identified = (
            f"{key}={new.attributes[key]}" for key in IDENTIFYING if new.attributes.get(key)
        )
        return entity_id(
            self._scope, new.kind, f"{new.name} {' '.join(identified) or len(self._known)}"
        )

    def _put(self, id: str, entity: Candidate) -> None:
        self._known[id] = entity
        for name in (entity.name, *entity.also):
            self._by_name[entity.kind, _key(name, entity.kind)][id] = None
            self._types[fold(name)][entity.kind] = None


def _grown(known: Candidate, new: Candidate) -> Candidate:
    has = {fold(name) for name in (known.name, *known.also)}
    also = known.also if fold(new.name) in has else (*known.also, new.name)
    attributes: Mapping[str, str] = {**known.attributes, **new.attributes}
    return Candidate(known.name, known.kind, attributes, also)


def _key(name: str, kind: str) -> str:
    return names(name, kind)[0].joined


def entity_id(scope: str, kind: str, name: str) -> str:
    """Return the id of an entity, derived from its type and first name."""
    digest = hex_digest(f"{scope}\0{kind}\0{_key(name, kind)}")
    return f"{ENTITY}/{digest}"


def _identified(mention: Mention, facts: Iterable[ExtractedFact]) -> Mention:
    """Add an identifier stated in the same turn (an e-mail address) to a mention."""
    own: Mapping[str, str] = {
        row.predicate: row.object
        for row in facts
        if row.predicate in IDENTIFYING and fold(row.subject) == fold(mention.name) and not row.over
    }
    return replace(mention, attributes={**mention.attributes, **own}) if own else mention


def attributes_of(entity: Memory) -> dict[str, str]:
    return {
        name.removeprefix(ATTRIBUTE): value
        for name, value in entity.facets.items()
        if name.startswith(ATTRIBUTE)
    }
