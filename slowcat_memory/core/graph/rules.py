"""Extraction for the entity graph without an LLM: the speaker and explicit statements."""

from collections.abc import Mapping
from datetime import tzinfo

from msgspec.structs import replace

from slowcat_memory.core.extraction.evidence import dated
from slowcat_memory.core.extraction.grounding import ground
from slowcat_memory.core.extraction.predicates import canonical, object_type
from slowcat_memory.core.extraction.stated import StatedFact, stated_by
from slowcat_memory.core.extraction.third_person import is_correction, stated_change
from slowcat_memory.core.graph.endings import endings_of, since_of
from slowcat_memory.core.graph.prompt import tidy
from slowcat_memory.core.graph.readings import Mention, ReadStatement, TurnExtract
from slowcat_memory.core.text.normalize import fold
from slowcat_memory.records import Turn

# Past actions, plans and former possessions are no relations.
PASSING = frozenset(
    """achieved appointment bought called_off decided died event finished gave_up goal has_to plans
    sold wants_reminder""".split()
)


def read_by_rule(turn: Turn, zone: tzinfo, known: Mapping[str, str] = {}) -> TurnExtract | None:
    """Return a user's statements in a turn; ``known`` has entity types by folded name.

    None if there are none, for the agent's turns, and for a turn that contains an order.
    """
    if turn.role != "user":
        return None
    kinds = {**known, fold(turn.speaker): "person"}
    mentions = {fold(turn.speaker): Mention(turn.speaker, "person")}
    statements = list[ReadStatement]()
    for one in (_as_change(said, turn, zone) for said in stated_by(turn)):
        predicate, object_ = canonical(one.predicate), tidy(one.object)
        statements += endings_of(one, turn, zone)
        if not predicate or predicate in PASSING or not (object_ or one.over):
            continue
        if object_ and (kind := object_type(predicate)):
            kinds.setdefault(fold(object_), kind)
            mentions.setdefault(fold(object_), Mention(object_, kind))
        statements.append(_statement(one, predicate, object_, turn, zone))
    for statement in statements:
        if statement.is_ending:
            continue
        name = statement.subject
        mentions.setdefault(fold(name), Mention(name, kinds.get(fold(name), "person")))
    return (
        TurnExtract(tuple(mentions.values()), tuple(statements), (turn.id,)) if statements else None
    )


def _as_change(one: StatedFact, turn: Turn, zone: tzinfo) -> StatedFact:
    """Return a plan with a day as the change that it announces."""
    day = dated(one.quote, turn, "", ground((turn,), zone), zone).day
    change = stated_change(one.content, one.subject, day)
    return replace(one, predicate=change.predicate, object=change.object) if change else one


def _statement(
    one: StatedFact, predicate: str, object_: str, turn: Turn, zone: tzinfo
) -> ReadStatement:
    since = since_of(one, turn, zone)
    return ReadStatement(
        subject=tidy(one.subject),
        predicate=predicate,
        object=object_,
        text=one.content,
        quote=one.quote,
        since=None if one.over else since,
        until=since if one.over else None,
        over=one.over,
        corrects=is_correction(turn.text),
        confidence="medium",
    )
