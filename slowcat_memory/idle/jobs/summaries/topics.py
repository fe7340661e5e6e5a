"""Finds the topics that sessions come back to: incremental clusters of their summaries, with names.

Grouping needs no LLM: vectors where there is a model, words where there is none. Each topic has a
rule's name and summary at once; with an LLM it is asked about each that has changed. What belongs
to no topic yet is looked at again with every new session, in the order of time.
"""

import hashlib
from collections.abc import Iterator, Sequence
from datetime import datetime

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.summaries.prompt import TOPIC, VERSION, by_rule, said_lines
from slowcat_memory.core.summaries.summary import TOPIC as KIND
from slowcat_memory.core.summaries.summary import (
    Subject,
    Told,
    as_turn,
    current,
    digest_of,
    items,
    of_summaries,
    stale,
    summary,
    superseded,
    superseding,
    until,
)
from slowcat_memory.core.summaries.topics import ClusterOptions, Topic, added
from slowcat_memory.core.text.bag_of_words import bags
from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.idle.job import JobContext, Needs, Plan, Trigger
from slowcat_memory.idle.jobs.extraction.due import may_see
from slowcat_memory.idle.jobs.summaries.shared import (
    mark_of,
    numbered,
    persona,
    session_summaries,
    split,
    sum_up,
    written,
)
from slowcat_memory.records import Cursor, Made, Memory, Task, WriteBatch

NAME = "topics"
RANK = 70  # of tasks
GROUP = "group"  # key of the task that clusters
PARTS = 24  # of a topic's sessions that its summary is made from: the latest
LOOSER_JOIN, LOOSER_MERGE = 0.4, 0.6  # cosines of bags of words are smaller than of sentences


class TopicsOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How topics are found.

    Attributes:
        join_at: Cosine with a topic's centroid from which a session joins it.
        merge_at: Cosine of two centroids from which two topics become one.
        least: Sessions from which a topic is worth telling.
        most: How many topics are kept apart; beyond it the nearest two are joined.
    """

    join_at: float = 0.45
    merge_at: float = 0.8
    least: int = 3
    most: int = 200

    @property
    def cluster(self) -> ClusterOptions:
        """The same for ``core.clusters``."""
        return ClusterOptions(
            join_at=self.join_at, merge_at=self.merge_at, least=self.least, most=self.most
        )


class Topics:
    """The job; see ``idle.job.Job``."""

    name = NAME
    version = VERSION
    needs: Needs = "nothing"
    trigger = Trigger(session_end=True, every_s=3600.0)
    Options: type[Struct] = TopicsOptions

    def plan(self, context: JobContext) -> Plan | None:
        """Look at all anew after something was forgotten, or an LLM came; see ``idle.job.Job``."""
        with context.snapshot() as snapshot:
            before, mark = snapshot.cursor(NAME), mark_of(snapshot, context)
        cursor = Cursor(name=NAME, position=0, note=mark)
        if before == cursor:
            return None
        tasks = tuple(_task(scope, GROUP, context.now) for scope in context.scopes())
        return Plan(tasks=tasks, cursor=cursor)

    async def step(self, task: Task, context: JobContext) -> WriteBatch:
        """Group sessions, or sum up one topic; see ``idle.job.Job``."""
        if task.key == GROUP:
            return await self._group(task, context)
        return await self._tell(task, context)

    async def _group(self, task: Task, context: JobContext) -> WriteBatch:
        with context.snapshot() as snapshot:
            sessions = session_summaries(snapshot, task.scope)
            old = {m.id: m for m in current(snapshot.memories(task.scope, f"{KIND}/"))}
            known = {
                m.id: kept.values
                for m in sessions
                if context.space and (kept := snapshot.vector(context.space, task.scope, m.id))
            }
        vectors, options = await _vectors(sessions, known, context)
        by_id = {memory.id: (memory, row) for memory, row in zip(sessions, vectors, strict=True)}
        grown = added(_begun(old, by_id), list(by_id), vectors, options)
        memories, more, live = list[Memory](), list[Task](), set[str]()
        for topic in grown:
            if len(topic.members) < options.least:
                continue
            parts = sorted((by_id[id][0] for id in topic.members), key=lambda m: m.valid_from)
            id = _id(topic)
            live.add(id)
            digest = digest_of(VERSION, of_summaries(parts))
            if stale(old.get(id), digest, llm=False):
                made = _made(id, topic.members, parts, _ruled(parts), digest, context.now)
                memories += superseding(made, old.get(id), context.now)
            elif not stale(old[id], digest, llm=context.llm is not None):
                continue
            if context.llm is not None:
                more.append(_task(task.scope, id.rpartition("/")[2], context.now))
        gone = [memory for id, memory in old.items() if id not in live]
        return WriteBatch(
            memories=(*memories, *(h for memory in gone for h in superseded(memory, context.now))),
            drop=tuple((memory.scope, memory.id) for memory in gone),
            tasks=tuple(more),
        )

    async def _tell(self, task: Task, context: JobContext) -> WriteBatch:
        with context.snapshot() as snapshot:
            old = snapshot.memory(task.scope, f"{KIND}/{task.key}")
            members = items(old, "covers") if old else ()
            read = (snapshot.memory(task.scope, id) for id in members)
            parts = [memory for memory in read if memory and memory.retired_at is None]
            who = persona(snapshot, task.scope)
        parts = sorted(parts, key=lambda memory: memory.valid_from)
        digest = digest_of(VERSION, of_summaries(parts))
        seen = may_see(parts, context)[-PARTS:]
        if old is None or not seen or not stale(old, digest, llm=context.llm is not None):
            return WriteBatch()
        lines = [as_turn(memory, n) for n, memory in numbered(seen)]
        told, again = await sum_up(task, TOPIC, lines, who, True, context)
        if told is None:
            return written((), again)
        made = _made(old.id, members, parts, told, digest, context.now)
        return written(superseding(made, old, context.now), again)

    def split(self, task: Task) -> tuple[Task, ...]:
        """Have the LLM read less of each summary; see ``summing_up.split``."""
        return split(task)


def after(made: Memory, context: JobContext) -> Iterator[Task]:
    """Make due that a session's summary joins a topic.

    Args:
        made: The summary, about to be written.
        context: What may be used.

    Yields:
        A task.
    """
    yield _task(made.scope, GROUP, context.now)


async def _vectors(
    sessions: Sequence[Memory], known: dict[str, np.ndarray], context: JobContext
) -> tuple[np.ndarray, ClusterOptions]:
    """Place summaries: by their vectors, or for want of a model by their words."""
    options: ClusterOptions = context.options.cluster
    missing = [memory for memory in sessions if memory.id not in known]
    made = (await context.embed([m.text for m in missing])).vectors if context.space else None
    if made is not None and len(made) == len(missing) and sessions:
        known = known | {memory.id: row for memory, row in zip(missing, made, strict=True)}
        return np.stack([known[memory.id] for memory in sessions]), options
    words = Tokenizer()
    looser = replace(
        options,
        join_at=LOOSER_JOIN * options.join_at,
        merge_at=LOOSER_MERGE * options.merge_at,
    )
    return bags([words(memory.text) for memory in sessions]), looser


def _begun(old: dict[str, Memory], by_id: dict[str, tuple[Memory, np.ndarray]]) -> list[Topic]:
    """Take up the topics as they were left, in the order in which they began."""
    begun = list[Topic]()
    for memory in sorted(old.values(), key=lambda m: (m.valid_from, m.id)):
        members = tuple(id for id in items(memory, "covers") if id in by_id)
        if members:
            begun.append(Topic(members, np.sum([by_id[id][1] for id in members], axis=0)))
    return begun


def _ruled(parts: Sequence[Memory]) -> Told:
    lines = [as_turn(memory, n) for n, memory in numbered(parts[-PARTS:])]
    return by_rule(lines, said_lines(lines), None, Tokenizer())


def _made(
    id: str,
    members: tuple[str, ...],
    parts: Sequence[Memory],
    told: Told,
    digest: str,
    now: datetime,
) -> Memory:
    subject = Subject(
        id=id,
        kind=KIND,
        scope=parts[0].scope,
        start=parts[0].valid_from,
        until=max(map(until, parts)),
        sources=tuple(sorted({turn for memory in parts for turn in memory.sources})),
        digest=digest,
        covers=members,
        turns=sum(int(memory.facets.get("turns", 0)) for memory in parts),
        name=told.topics[0] if told.model and told.topics else ", ".join(told.topics[:3]),
        local_only=any(memory.local_only for memory in parts),
    )
    return summary(subject, told, Made(job=NAME, version=VERSION), now)


def _id(topic: Topic) -> str:
    """Name a topic after what began it."""
    return f"{KIND}/{hashlib.blake2b(topic.members[0].encode(), digest_size=6).hexdigest()}"


def _task(scope: str, key: str, now: datetime) -> Task:
    return Task(
        id=f"{NAME}/{scope}/{key}", job=NAME, key=key, scope=scope, created=now,
        rank=RANK + (key != GROUP),
    )  # fmt: skip
