"""What do you know about me? Blocks, facts, notes and people, each with the words that say it."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from slowcat_memory.core.blocks.block import history, label_of, owner_of
from slowcat_memory.core.catalogue import place
from slowcat_memory.core.memory import BLOCK, FACT, NOTE, SUMMARY, chunk_id, family, names_of
from slowcat_memory.core.text.normalize import fold
from slowcat_memory.records import Memory
from slowcat_memory.store import Snapshot
from slowcat_memory.web.catalogue import is_current, is_fact, newest, relations, stored
from slowcat_memory.web.catalogue import people as people_of
from slowcat_memory.web.context import PageContext
from slowcat_memory.web.replies import PAGE, Refusal
from slowcat_memory.web.shapes import memory_row, relation_words, time_of, turn_row

FACTS_OF_PERSON = 20
_MARKS: dict[str, Callable[[Memory], bool]] = {
    "pinned": lambda memory: memory.pinned,
    "muted": lambda memory: memory.muted,
    "local": lambda memory: memory.local_only,
}


def facts(page: PageContext, given: Mapping[str, str]) -> dict[str, Any]:
    """Return a page of facts or notes, or of what has a mark, the newest first.

    Parameters: ``kind`` (fact, note, summary, or fact/preference, …), ``mark`` (pinned, muted,
    local), ``past`` (1: also what no longer holds), ``after`` (a cursor).
    """
    scope = page.scope(given)
    with page.memory.snapshot() as snapshot:
        with page.catalogue(scope, snapshot) as catalogue:
            known = catalogue.in_order()
        wanted = _wanted(given.get("kind", FACT), given.get("mark", ""), bool(given.get("past")))
        memories, after = newest(known, wanted, PAGE, given.get("after", ""))
        rows = [memory_row(page, memory) for memory in stored(snapshot, scope, memories)]
    return {"rows": rows, "after": after, "counts": _by_kind(known)}


def _wanted(kind: str, mark: str, past: bool) -> Callable[[Memory], bool]:
    if mark and mark not in _MARKS:
        raise Refusal(400, "There is no such mark.")
    if mark:
        return _MARKS[mark]
    if family(kind) not in (FACT, NOTE, SUMMARY):
        raise Refusal(400, "There is no such kind.")

    def wanted(memory: Memory) -> bool:
        named = kind in (memory.kind, family(memory.kind))
        shown = is_fact(memory) if family(memory.kind) == FACT else True
        return named and shown and (past or is_current(memory))

    return wanted


def _by_kind(known: Sequence[Memory]) -> dict[str, int]:
    """Return how many current facts, notes and summaries there are of each kind."""
    shown = (memory.kind for memory in known if is_current(memory))
    counts = Counter(kind for kind in shown if family(kind) in (FACT, NOTE, SUMMARY))
    return dict(sorted(counts.items()))


def blocks(page: PageContext, given: Mapping[str, str]) -> dict[str, Any]:
    """Return what the agent always keeps in mind."""
    scope = page.scope(given)
    with page.memory.snapshot() as snapshot:
        versions = history(snapshot.memories(scope, f"{BLOCK}/"))
    rows = [
        {**memory_row(page, block), "label": label_of(block), "owner": owner_of(block)}
        for block in versions
        if block.retired_at is None
    ]
    return {"rows": rows}


def people(page: PageContext, given: Mapping[str, str]) -> dict[str, Any]:
    """Return a page of people, those with most known about them first.

    Parameters: ``every`` (1: also places, things and topics), ``after`` (an id).
    """
    scope = page.scope(given)
    with page.memory.snapshot() as snapshot:
        with page.catalogue(scope, snapshot) as catalogue:
            every = bool(given.get("every"))
            people, after = people_of(catalogue, PAGE, given.get("after", ""), every=every)
        rows = [
            {
                "id": id_,
                "name": page.name(scope, entity.facets.get("name", "")),
                "type": entity.kind.partition("/")[2],
                "relations": n,
            }
            for id_, n in people
            if (entity := snapshot.memory(scope, id_))
        ]
    return {"rows": rows, "after": after}


def person(page: PageContext, given: Mapping[str, str]) -> dict[str, Any]:
    """Return one person: names, what holds and what held, and facts about them.

    Parameters: ``id`` (an entity's).
    """
    scope = page.scope(given)
    with page.memory.snapshot() as snapshot:
        entity = snapshot.memory(scope, given.get("id", ""))
        if entity is None or entity.retired_at is not None:
            raise Refusal(404, "Nobody of this name is known any more.")
        names = names_of(entity)
        with page.catalogue(scope, snapshot) as catalogue:
            every = relations(catalogue, entity.id)
            said = sorted(catalogue.having(*(("about", fold(name)) for name in names)), key=place)
        related = stored(snapshot, scope, every[:PAGE])
        about, _ = newest(said, is_fact, FACTS_OF_PERSON)
        lines_of = {relation.id for relation in related}
        facts = [fact for fact in stored(snapshot, scope, about) if fact.id not in lines_of]
        rows = [memory_row(page, fact) for fact in facts]  # what no relation was read from
        lines = [_relation(page, relation, entity.id, snapshot) for relation in related]
    name, *also = dict.fromkeys(page.name(scope, name) for name in names)
    return {
        "name": name,
        "also": also,
        "relations": lines,
        "more": max(0, len(every) - PAGE),
        "facts": rows,
    }


def _relation(page: PageContext, memory: Memory, entity: str, snapshot: Snapshot) -> dict[str, Any]:
    statement = memory.statement
    return {
        "id": memory.id,
        "own": statement.subject_id == entity,
        **relation_words(page, memory, snapshot),
        "since": time_of(memory.valid_from),
        "until": time_of(memory.valid_to),
        "quote": statement.quote,
    }


def memory(page: PageContext, given: Mapping[str, str]) -> dict[str, Any]:
    """Return one memory with its proof: the turns it was made from, and what took its place.

    Parameters: ``id``.
    """
    scope, id_ = page.scope(given), given.get("id", "")
    with page.memory.snapshot() as snapshot:
        memory = snapshot.read(scope, id_) if id_ else None
        if memory is None:
            raise Refusal(404, "That is not remembered any more.")
        turns = [turn for n in memory.sources[:8] if (turn := snapshot.turn(n)) is not None]
        rows = [
            turn_row(page, turn, snapshot.memory(turn.scope, chunk_id(turn.id))) for turn in turns
        ]
        later = snapshot.memory(scope, memory.facets.get("superseded_by", "") or "-")
        origins = [snapshot.read(where or scope, key) for where, key in memory.derived_from[:8]]
        readable = [m for m in origins if m and page.shows(m.scope)]
    return {
        **memory_row(page, memory),
        "context": page.present(memory).context,
        "said": [row for row in rows if row["scope"] == scope or page.everyone],
        "replaced": memory_row(page, later) if later else None,
        "origins": [memory_row(page, origin) for origin in readable],
    }
