"""The register of entities: which ones are mentioned, and how they relate to one another.

Each turn's `TurnReading` is stored; entities and relations are derived from the readings
(see ``core.graph``). After a forget they are derived again from the rest.
"""

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.extraction.prompt_record import groups
from slowcat_memory.core.graph.build import (
    Changes,
    Group,
    StoredGraph,
    graph_changes,
    group_of_relation,
    groups_of,
    names_of,
    new_readings,
    touches,
)
from slowcat_memory.core.graph.dedup import Similarity
from slowcat_memory.core.graph.entity_index import EntityIndex, resolve_turn
from slowcat_memory.core.graph.prompt import (
    VERSION,
    RegisterReply,
    build_prompt,
    check_reply,
    system,
)
from slowcat_memory.core.graph.readings import ReadStatement, TurnExtract, TurnReading
from slowcat_memory.core.graph.rules import read_by_rule
from slowcat_memory.core.memory import ENTITY, READING, RELATION
from slowcat_memory.core.text.normalize import estimate_tokens, fold
from slowcat_memory.idle.job import JobContext, llm_of, new_task, payload_of
from slowcat_memory.idle.jobs.extraction.session_extractor import (
    TURN_CHARS,
    OverlookedError,
    Request,
    SessionExtractor,
    SessionsCursor,
)
from slowcat_memory.idle.jobs.options import EntityOptions
from slowcat_memory.idle.prompt_gate import names_of as names_in_prompt
from slowcat_memory.providers import Prompt
from slowcat_memory.records import Cursor, Made, Memory, Task, Turn, WriteBatch
from slowcat_memory.store import Snapshot

NAME = "entities"
REBUILD = "anew"  # key of the task that derives everything again
RULED_TURNS = 64  # per step without an LLM
ANSWER_TOKENS = 120  # of the reply for one turn, its JSON included


class Entities(SessionExtractor):
    """The job; see ``idle.job.Job``."""

    name = NAME
    version = VERSION
    Options: type[Struct] = EntityOptions
    rank = 46  # after the facts, before old sessions are described, which show whom they name
    shared_turns = 8

    def cursor_version(self, snapshot: Snapshot, context: JobContext) -> str:
        """Read everything again with another prompt, and when an LLM is added or removed."""
        return f"{self.version}.{'llm' if context.llm else 'rule'}"

    def extra_tasks(
        self, before: Cursor | None, snapshot: Snapshot, context: JobContext
    ) -> Sequence[Task]:
        """Return the tasks that derive everything again after a forget."""
        note = payload_of(before, SessionsCursor)
        if note is None or not note.version or note.epoch == snapshot.forget_epoch():
            return ()
        return [
            new_task(NAME, scope, REBUILD, context.now, self.rank)
            for scope in sorted(set(context.scopes()))
        ]

    def prompt_overhead(self, context: JobContext) -> int:
        options = context.options
        return estimate_tokens(system(options.types)) + ANSWER_TOKENS * options.turns

    def calls(
        self, turns: Sequence[Turn], wanted: Sequence[int], context: JobContext
    ) -> Iterator[tuple[Collection[int], list[int]]]:
        """Without an LLM there is no prompt: a step reads only the turns it is asked about."""
        if context.llm is not None:
            return super().calls(turns, wanted, context)
        shares = groups(wanted, [range(len(turns))], RULED_TURNS)
        return ((places, places) for _, places in shares)

    async def step(self, task: Task, context: JobContext) -> WriteBatch:
        if task.key == REBUILD:
            return _derive_again(context, task.scope)
        return await super().step(task, context)

    async def read_by_llm(self, request: Request, context: JobContext) -> WriteBatch:
        due, seen, types = request.due, request.seen, context.options.types
        prompt = Prompt(
            job=NAME,
            version=self.version,
            system=system(types),
            user=build_prompt(seen, due, context.zone, TURN_CHARS, request.known),
            made_from=names_in_prompt(
                seen[0].scope, (turn.id for turn in seen), request.known.memories
            ),
            max_tokens=ANSWER_TOKENS * (len(due) + 2),
        )
        known = _known(request, context)
        answer = await llm_of(context).complete(prompt, RegisterReply)
        reply = answer.value
        if not (reply.entities or reply.relations) and _has_statements(
            _read_by_rule(request, known, context)
        ):
            raise OverlookedError
        read = check_reply(reply, due, seen, context.zone, _types_of(known), types, request.known)
        batch = await self._write(request, read, answer.model, known, context)
        if answer.whole:
            return batch
        rest = self.rest_of(request, {one.turn for one in reply.relations})
        return replace(batch, tasks=(*batch.tasks, *rest))

    async def read_by_rule(self, request: Request, context: JobContext) -> WriteBatch:
        known = _known(request, context)
        read = _read_by_rule(request, known, context)
        return await self._write(request, read, "", known, context)

    async def _write(
        self,
        request: Request,
        read: Mapping[int, TurnExtract],
        model: str,
        known: Iterable[Memory],
        context: JobContext,
    ) -> WriteBatch:
        made = Made(job=NAME, version=self.version, model=model)
        scope, present = request.task.scope, (one for one in known if not one.retired_at)
        index = EntityIndex(scope, present, context.options)
        similarity = await _name_similarity(read, index, context)
        found = [
            resolve_turn(one, request.due[id], index, made, similarity)
            for id, one in sorted(read.items())
        ]
        return _batch(context, scope, [one for one in found if one is not None])


class NamespaceGraph:
    """The graph of a namespace, for all steps; see ``WorkingSet``."""

    beginnings = (f"{READING}/", f"{ENTITY}/", f"{RELATION}/")

    def __init__(self) -> None:
        self.index = GraphIndex()

    def put(self, memory: Memory, snapshot: Snapshot) -> None:
        self.index.put(memory)

    def drop(self, id: str) -> None:
        self.index.drop(id)


def _known(request: Request, context: JobContext) -> list[Memory]:
    with context.snapshot() as snapshot:
        view = context.view(NamespaceGraph, snapshot, request.task.scope)
    return list(view.index.entities.values())


def _read_by_rule(
    request: Request, known: Iterable[Memory], context: JobContext
) -> dict[int, TurnExtract]:
    types = _types_of(known)
    found = {id: read_by_rule(turn, context.zone, types) for id, turn in request.due.items()}
    return {id: one for id, one in found.items() if one is not None}


def _has_statements(read: Mapping[int, TurnExtract]) -> bool:
    return any(one.statements for one in read.values())


def _types_of(known: Iterable[Memory]) -> dict[str, str]:
    return {fold(name): one.facets.get("type", "") for one in known for name in names_of(one)}


async def _name_similarity(
    read: Mapping[int, TurnExtract], index: EntityIndex, context: JobContext
) -> Similarity | None:
    """Return a similarity of the names that only a vector could match; None if there are none."""
    if not context.options.embedding or not context.space:
        return None
    names = dict[str, None]()
    for mention in (one for found in read.values() for one in found.mentions):
        if unsure := index.only_by_vector(mention):
            names |= dict.fromkeys((mention.name, *unsure))
    if not names:
        return None
    embedded = await context.embed(list(names))
    vectors = dict(zip(names, embedded.vectors, strict=False))

    def similarity(one: str, other: str) -> float:
        first, second = vectors.get(one), vectors.get(other)
        return 0.0 if first is None or second is None else float(np.dot(first, second))

    return similarity


def _batch(context: JobContext, scope: str, found: Sequence[TurnReading]) -> WriteBatch:
    with context.snapshot() as snapshot:
        stored = context.view(NamespaceGraph, snapshot, scope).index.around(found)
    now = context.now
    new = new_readings(stored, found, now)
    return _as_batch(graph_changes(stored, new, now)) if new else WriteBatch()


def _derive_again(context: JobContext, scope: str) -> WriteBatch:
    with context.snapshot() as snapshot:
        stored = stored_graph(snapshot, scope)
    return _as_batch(graph_changes(stored, None, context.now))


def _as_batch(changes: Changes) -> WriteBatch:
    return WriteBatch(memories=changes.put, drop=changes.drop)


def stored_graph(snapshot: Snapshot, scope: str) -> StoredGraph:
    readings, entities, relations = (
        list(snapshot.memories(scope, f"{kind}/")) for kind in (READING, ENTITY, RELATION)
    )
    return StoredGraph([TurnReading.of(one) for one in readings], entities, relations)


Keys = list[tuple[str, Hashable]]


class GraphIndex:
    """Readings, entities and relations, as stored. Not thread-safe."""

    def __init__(self) -> None:
        self.entities: dict[str, Memory] = {}
        self._readings: dict[str, TurnReading] = {}
        self._relations: dict[str, Memory] = {}
        self._ids: dict[tuple[str, Hashable], dict[str, None]] = {}
        self._keys: dict[str, Keys] = {}

    def put(self, memory: Memory) -> None:
        """Add or replace a memory; one that cannot be read is removed."""
        self.drop(memory.id)
        if memory.id.startswith(f"{ENTITY}/"):
            self.entities[memory.id] = memory
            return
        try:
            if memory.id.startswith(f"{READING}/"):
                reading = self._readings[memory.id] = TurnReading.of(memory)
                keys = list(_keys_of(reading))
            else:
                group = group_of_relation(memory)
                keys = [("relation", group), ("subject", group[0])]
                self._relations[memory.id] = memory
        except ValueError:
            return
        self._keys[memory.id] = keys
        for key in keys:
            self._ids.setdefault(key, {})[memory.id] = None

    def drop(self, id: str) -> None:
        self.entities.pop(id, None)
        self._readings.pop(id, None)
        self._relations.pop(id, None)
        for key in self._keys.pop(id, ()):
            self._ids[key].pop(id, None)
            if not self._ids[key]:
                del self._ids[key]

    def around(self, found: Sequence[TurnReading]) -> StoredGraph:
        """Return the part of the graph that new readings of turns can change."""
        turns = self._of(("turn", one.turn) for one in found)
        touched = [*found, *(self._readings[id] for id in turns)]
        said = [one for reading in touched for one in reading.statements]
        groups = groups_of(said) | self._ended_groups(one for one in said if one.is_ending)
        wanted = {one.entity for reading in touched for one in reading.mentions if one.entity}
        readings = turns | self._of(("entity", id) for id in wanted)
        readings |= self._of(("group", group) for group in groups)
        readings |= self._of(("ends", subject) for subject in {group[0] for group in groups})
        relations = self._of(("relation", group) for group in groups)
        return StoredGraph(
            [self._readings[id] for id in readings],
            [self.entities[id] for id in sorted(wanted) if id in self.entities],
            [self._relations[id] for id in relations],
        )

    def _ended_groups(self, endings: Iterable[ReadStatement]) -> set[Group]:
        """Return the groups of the relations that statements may end."""
        found = set[Group]()
        for one in endings:
            rows = (self._relations[id] for id in self._of([("subject", one.subject)]))
            groups = {group_of_relation(row) for row in rows}
            found |= {group for group in groups if touches(one, group)}
        return found

    def _of(self, keys: Iterable[tuple[str, Hashable]]) -> dict[str, None]:
        found: dict[str, None] = {}
        for key in keys:
            found |= self._ids.get(key, {})
        return found


def _keys_of(reading: TurnReading) -> Iterator[tuple[str, Hashable]]:
    yield "turn", reading.turn
    yield from (("group", group) for group in groups_of(reading.statements))
    yield from (
        ("ends", subject) for subject in {s.subject for s in reading.statements if s.is_ending}
    )
    yield from (("entity", id) for id in {one.entity for one in reading.mentions} if id)
