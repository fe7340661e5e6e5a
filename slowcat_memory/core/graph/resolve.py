"""Names to entities: what was read in a turn, with ids in place of names."""

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from slowcat_memory.core.extraction.predicates import object_type
from slowcat_memory.core.graph.dedup import IDENTIFYING, Similar
from slowcat_memory.core.graph.entity_index import EntityIndex
from slowcat_memory.core.graph.prompt import Read
from slowcat_memory.core.graph.readings import Mention, Reading, Statement
from slowcat_memory.core.text.normalize import fold
from slowcat_memory.records import Made, Turn


def resolved(
    read: Read, turn: Turn, index: EntityIndex, made: Made, similar: Similar | None = None
) -> Reading | None:
    """Find whom a turn means.

    Args:
        read: What was read in it.
        turn: The turn.
        index: Who is known; takes up who is new.
        made: Who read it.
        similar: As in ``same_entity.same``.

    Returns:
        The reading, without what could mean two; None when nothing is left.
    """
    mentions, ids = list[Mention](), dict[str, str]()
    for one in read.mentions:
        met, _ = index.meet(_identified(one, read.statements), similar)
        if met.entity:
            mentions.append(met)
            ids[fold(one.name)] = met.entity
    statements = [made_ for one in read.statements if (made_ := _resolved(one, ids, index))]
    for statement in statements:
        if statement.predicate == "name":  # "my name is Anna", says who was "User" so far
            mentions.append(Mention(statement.object, "person", entity=statement.subject))
    if not mentions:
        return None
    return Reading(
        scope=turn.scope,
        turn=turn.id,
        speaker=turn.speaker,
        said=turn.at,
        at=turn.at,
        made=made,
        mentions=tuple(mentions),
        statements=tuple(statements),
        sources=read.sources,
    )


def _identified(mention: Mention, told: Iterable[Statement]) -> Mention:
    """Give a name what the same turn says that tells its bearer from others: an e-mail address."""
    own: Mapping[str, str] = {
        one.predicate: one.object
        for one in told
        if one.predicate in IDENTIFYING and fold(one.subject) == fold(mention.name) and not one.over
    }
    return replace(mention, attributes={**mention.attributes, **own}) if own else mention


def _resolved(one: Statement, ids: Mapping[str, str], index: EntityIndex) -> Statement | None:
    subject = ids.get(fold(one.subject)) or _known(one.subject, index)
    if not subject:
        return None
    object_ = "" if one.predicate == "name" else ids.get(fold(one.object), "")
    if not object_ and object_type(one.predicate):
        object_ = _known(one.object, index)
    if object_ == subject:
        return None
    return replace(one, subject=subject, object=object_ or one.object)


def _known(name: str, index: EntityIndex) -> str:
    found = index.named(name)
    return found[0] if found else ""
