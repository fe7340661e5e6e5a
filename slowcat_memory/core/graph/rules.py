"""Extraction for the entity graph without an LLM: the speaker and explicit statements."""

import re
from collections.abc import Mapping
from datetime import datetime, tzinfo

from slowcat_memory.core.extraction.predicates import canonical, object_type
from slowcat_memory.core.extraction.stated import StatedFact, stated_by
from slowcat_memory.core.graph.prompt import tidy
from slowcat_memory.core.graph.readings import Mention, ReadStatement, TurnExtract
from slowcat_memory.core.language import of_any
from slowcat_memory.core.text.normalize import fold
from slowcat_memory.core.time import expressions
from slowcat_memory.records import Turn

# Past actions, plans and former possessions are no relations.
PASSING = frozenset({"appointment", "decided", "finished", "has_to", "wants_reminder"})
_CORRECTS = re.compile(rf"^(?:{of_any(lambda one: one.facts.corrects)})", re.IGNORECASE)
_NEXT = re.compile(
    rf"^[\s,]*(?:{of_any(lambda one: one.facts.before_date)})?[\s,]*$", re.IGNORECASE
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
    for one in stated_by(turn):
        predicate = canonical(one.predicate)
        if not predicate or predicate in PASSING:
            continue
        object_ = tidy(one.object)
        if kind := object_type(predicate):
            kinds.setdefault(fold(object_), kind)
            mentions.setdefault(fold(object_), Mention(object_, kind))
        statements.append(_statement(one, predicate, object_, turn, zone))
    for statement in statements:
        name = statement.subject
        mentions.setdefault(fold(name), Mention(name, kinds.get(fold(name), "person")))
    return (
        TurnExtract(tuple(mentions.values()), tuple(statements), (turn.id,)) if statements else None
    )


def _statement(
    one: StatedFact, predicate: str, object_: str, turn: Turn, zone: tzinfo
) -> ReadStatement:
    since = _since(one.quote, turn, zone)
    return ReadStatement(
        subject=tidy(one.subject),
        predicate=predicate,
        object=object_,
        text=one.content,
        quote=one.quote,
        since=None if one.over else since,
        until=since if one.over else None,
        over=one.over,
        corrects=bool(_CORRECTS.search(turn.text.strip())),
        confidence="medium",
    )


def _since(quote: str, turn: Turn, zone: tzinfo) -> datetime | None:
    """Return the start date directly after the quote: "I moved to Rome last May"."""
    text = " ".join(turn.text.split())
    _, found, rest = text.partition(" ".join(quote.split()))
    sentence = re.split(r"[.!?;]", rest, maxsplit=1)[0]
    every = expressions.statement_times(text, turn.at, zone) if found else ()
    times = [one for one in every if one.words in sentence and not one.vague]
    if len(times) != 1:
        inside = [one for one in every if one.words in quote and not one.vague]
        return inside[0].start if len(inside) == 1 else None
    near = _NEXT.match(sentence.partition(times[0].words)[0])
    return times[0].start if near else None
