"""Entities and relations of facts without a turn: imported ones, and those of notes.

The entity graph is built from readings of turns. A fact that no turn states has no reading; its
subject, predicate and object are added to a graph when it is read, and stored nowhere.
"""

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.extraction.predicates import canonical, object_type
from slowcat_memory.core.facts.fact import is_fact
from slowcat_memory.core.graph.build import names_of
from slowcat_memory.core.graph.readings import PASSING
from slowcat_memory.core.memory import ENTITY
from slowcat_memory.core.text.normalize import fold
from slowcat_memory.records import Disclosed, Memory


class GraphPart(Struct, frozen=True):
    """Entities, as memories that are not stored, and relations between them."""

    entities: tuple[Memory, ...] = ()
    relations: tuple[Disclosed, ...] = ()


def graph_of(
    facts: Iterable[Disclosed], known: Iterable[Memory], relations: Iterable[Memory]
) -> GraphPart:
    """Return what facts without a turn add to a graph.

    Args:
        facts: Any memories that the reader may see; others than such facts are skipped.
        known: The graph's entities.
        relations: The graph's relations; what they state is not added again.
    """
    unsourced = [one for one in facts if _is_triple(one)]
    if not unsourced:
        return GraphPart()
    ids = {fold(name): one.id for one in known for name in names_of(one)}
    known_rows = (one.statement for one in relations)
    stated = {(one.subject, one.predicate, fold(one.object)) for one in known_rows}
    entities, added = dict[str, Memory](), []
    for fact in unsourced:
        predicate = canonical(fact.statement.predicate)
        if not predicate or predicate in PASSING:
            continue
        subject = _entity(fact, fact.statement.subject, "person", ids, entities)
        object_ = fact.statement.object
        if kind := object_type(predicate):
            object_ = _entity(fact, object_, kind, ids, entities)
        if (subject, predicate, fold(object_)) not in stated:
            triple = {"subject": subject, "predicate": predicate, "object": object_}
            # One that was superseded was true until its end.
            added.append(
                replace(fact, retired_at=None, statement=replace(fact.statement, **triple))
            )
    return GraphPart(tuple(entities.values()), tuple(added))


def _is_triple(memory: Memory) -> bool:
    if not is_fact(memory) or memory.sources or memory.facets.get("why") == "same":
        return False
    stays = memory.retired_at is None or memory.valid_to is not None
    said = memory.statement
    named = bool(said.subject and said.predicate and said.object)
    return stays and named and said.confidence != "low"


def _entity(
    fact: Memory, name: str, kind: str, ids: dict[str, str], made: dict[str, Memory]
) -> str:
    """Return the id of an entity by its name; one that is unknown is made, and added."""
    if (id_ := ids.get(fold(name))) is None:
        id_ = ids[fold(name)] = f"{ENTITY}/fact:{fold(name)}"
        made[id_] = Memory(
            id=id_,
            kind=f"{ENTITY}/{kind}",
            scope=fact.scope,
            speaker=fact.speaker,
            text=f"{name} ({kind})",
            valid_from=fact.valid_from,
            facets={"name": name, "type": kind},
        )
    return id_
