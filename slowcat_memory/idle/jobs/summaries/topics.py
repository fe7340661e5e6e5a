"""Recurring topics: incremental clusters of session summaries, with names.

Grouping needs no LLM: it compares vectors, or words without a model. A topic gets a name and a
summary by rule at once; with an LLM, its summary becomes due when the topic changed. Sessions
without a topic are clustered again with every new session, in the order of time.
"""

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec.structs import replace

from slowcat_memory.core.summaries import by_rule
from slowcat_memory.core.summaries.options import TopicsOptions
from slowcat_memory.core.summaries.prompt import VERSION
from slowcat_memory.core.summaries.summary import (
    TOPIC,
    Subject,
    archived,
    as_turn,
    current,
    is_stale,
    items,
    replacing,
    summary,
    topic_name,
)
from slowcat_memory.core.summaries.topics import Topic, bags, grow_topics
from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.idle.job import JobContext, OverBudgetError
from slowcat_memory.idle.jobs.summaries.purposes import (
    PURPOSES,
    TOPIC_PARTS,
    session_summaries,
    topic_subject,
)
from slowcat_memory.records import Made, Memory, Task, WriteBatch

# Cosines of bags of words are smaller than those of sentences.
WORDS_JOIN_AT, WORDS_MERGE_AT = 0.4, 0.6  # fraction of the options' values


async def group_sessions(scope: str, context: JobContext) -> WriteBatch:
    """Add the sessions of a scope to its topics.

    The batch has new and changed topics with a summary by rule, removed topics, and the tasks for
    the summaries by an LLM.
    """
    with context.snapshot() as snapshot:
        sessions = session_summaries(snapshot, scope)
        old = {m.id: m for m in current(snapshot.memories(scope, f"{TOPIC}/"))}
        known = {
            m.id: kept.values
            for m in sessions
            if context.space and (kept := snapshot.vector(context.space, scope, m.id))
        }
    vectors, options = await _vectors(sessions, known, context)
    by_id = {memory.id: (memory, row) for memory, row in zip(sessions, vectors, strict=True)}
    grown = grow_topics(_topics_of(old, by_id), list(by_id), vectors, options)
    now, llm = context.now, context.llm is not None
    memories, tasks, live = list[Memory](), list[Task](), set[str]()
    for topic in grown:
        if len(topic.members) < context.options.least:
            continue
        parts = sorted((by_id[id][0] for id in topic.members), key=lambda m: m.valid_from)
        subject = topic_subject(_id(topic), topic.members, parts)
        live.add(subject.id)
        before = old.get(subject.id)
        if is_stale(before, subject.digest, llm=False):
            made = _summary_by_rule(subject, parts, context)
            memories += replacing(made, before, now) if made.text else ()
        elif not is_stale(before, subject.digest, llm=llm):
            continue
        if llm:
            tasks.append(PURPOSES["topic"].task(scope, subject.id.rpartition("/")[2], now))
    gone = [memory for id, memory in old.items() if id not in live]
    memories += [history for memory in gone for history in archived(memory, now)]
    return WriteBatch(
        memories=tuple(memories),
        drop=tuple((memory.scope, memory.id) for memory in gone),
        tasks=tuple(tasks),
    )


async def _vectors(
    sessions: Sequence[Memory], known: dict[str, np.ndarray], context: JobContext
) -> tuple[np.ndarray, TopicsOptions]:
    """Return a vector per summary, shape (n, dim): the model's, or a bag of words without one."""
    options: TopicsOptions = context.options
    missing = [memory for memory in sessions if memory.id not in known]
    if missing and context.space and not context.may_embed:
        raise OverBudgetError("topics wait for the embedding model", "embedder")
    made = (await context.embed([m.text for m in missing])).vectors if context.space else None
    if made is not None and len(made) == len(missing) and sessions:
        known = known | {memory.id: row for memory, row in zip(missing, made, strict=True)}
        return np.stack([known[memory.id] for memory in sessions]), options
    words = Tokenizer()
    looser = replace(
        options,
        join_at=WORDS_JOIN_AT * options.join_at,
        merge_at=WORDS_MERGE_AT * options.merge_at,
    )
    return bags([words(memory.text) for memory in sessions]), looser


def _topics_of(
    old: Mapping[str, Memory], by_id: Mapping[str, tuple[Memory, np.ndarray]]
) -> list[Topic]:
    """Return the stored topics, in the order in which they began."""
    topics = list[Topic]()
    for memory in sorted(old.values(), key=lambda m: (m.valid_from, m.id)):
        members = tuple(id for id in items(memory, "covers") if id in by_id)
        if members:
            topics.append(Topic(members, np.sum([by_id[id][1] for id in members], axis=0)))
    return topics


def _summary_by_rule(subject: Subject, parts: Sequence[Memory], context: JobContext) -> Memory:
    lines = [as_turn(memory, n) for n, memory in enumerate(parts[-TOPIC_PARTS:], start=1)]
    text = by_rule.of_summaries(lines, context.zone, Tokenizer())
    made = Made(job=PURPOSES["topic"].job, version=VERSION)
    return summary(replace(subject, name=topic_name(text)), text, made, context.now)


def _id(topic: Topic) -> str:
    digest = hashlib.blake2b(topic.members[0].encode(), digest_size=6).hexdigest()
    return f"{TOPIC}/{digest}"
