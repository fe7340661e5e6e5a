"""Indexes a namespace's entities by name, to find the entity that a new name means.

A name with a known reduced form is found in microseconds; any other is compared with all entities
of its type, cheapest stage first (see `dedup`).
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from slowcat_memory.core.extraction.mentions import Mention, tidy
from slowcat_memory.core.extraction.options import DedupOptions
from slowcat_memory.core.extraction.slots import object_type
from slowcat_memory.core.facts.fact import ExtractedFact
from slowcat_memory.core.graph.dedup import IDENTIFYING, Candidate, Similarity, resolve, same
from slowcat_memory.core.graph.names import names, same_given
from slowcat_memory.core.graph.readings import ATTRIBUTE, TurnReading
from slowcat_memory.core.memory import ENTITY, names_of
from slowcat_memory.core.text.normalize import fold, hex_digest
from slowcat_memory.records import Memory


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
