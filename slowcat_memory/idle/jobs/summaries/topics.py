"""Recurring topics: the sessions whose summaries share a subject, a name or a thing.

A topic is called by its subject, and has the sentences about it of these summaries: no LLM is asked.
"""

import hashlib
from collections.abc import Container, Mapping, Sequence
from itertools import islice

from slowcat_memory.core.language.english.vocabulary import DAYS, MONTHS, STOP_WORDS
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
)
from slowcat_memory.core.text.normalize import Tokenizer, fold
from slowcat_memory.idle.job import JobContext
from slowcat_memory.idle.jobs.summaries.purposes import session_summaries, topic_subject
from slowcat_memory.records import Made, Memory, WriteBatch

PARTS = 24  # the latest sessions of a topic used for its summary
LATEST = 50  # turns whose speakers are no subjects
_NO_SUBJECTS = STOP_WORDS.union(DAYS, MONTHS)


def group_sessions(scope: str, context: JobContext) -> WriteBatch:
    """Find the topics of a scope's sessions.

    The batch has new and changed topics, and those that are gone.
    """
    with context.snapshot() as snapshot:
        sessions = session_summaries(snapshot, scope)
        old = {m.id: m for m in current(snapshot.memories(scope, f"{TOPIC}/"))}
        latest = islice(snapshot.latest_turns(scope), LATEST)
        speakers = {word for turn in latest for word in fold(turn.speaker).split()}
    found = shared_subjects(sessions, old, speakers, context.options)
    now, memories = context.now, list[Memory]()
    live = {_id(name): (name, parts) for name, parts in found.items()}
    for id, (name, parts) in live.items():
        subject = topic_subject(id, name, parts)
        before = old.get(id)
        if is_stale(before, subject.digest, llm=False):
            made = _summary_by_rule(subject, parts, context)
            memories += replacing(made, before, now) if made.text else ()
    gone = [memory for id, memory in old.items() if id not in live]
    memories += [history for memory in gone for history in archived(memory, now)]
    return WriteBatch(
        memories=tuple(memories),
        drop=tuple((memory.scope, memory.id) for memory in gone),
    )


def shared_subjects(
    sessions: Sequence[Memory],
    known: Container[str],
    speakers: Container[str],
    options: TopicsOptions,
) -> dict[str, list[Memory]]:
    """Return the sessions of each topic, by its name.

    Of subjects that mostly share their sessions one is a topic: a known one, else the most frequent.

    Args:
        sessions: Summaries, the earliest first.
        known: Ids of the topics there are.
        speakers: Folded words of the names of those who speak, who are no subjects.
    """
    having: dict[str, tuple[str, list[Memory]]] = {}
    for memory in sessions:
        named = (*items(memory, "topics"), *items(memory, "entities"))
        for subject, name in {fold(one): one for one in named}.items():
            words = (word for word in subject.split() if not word.isdigit())
            if any(word not in _NO_SUBJECTS and word not in speakers for word in words):
                having.setdefault(subject, (name, []))[1].append(memory)
    found = dict[str, list[Memory]]()
    for name, parts in sorted(
        having.values(), key=lambda one: (_id(one[0]) not in known, -len(one[1]))
    ):
        ids = {one.id for one in parts}
        if len(ids) >= options.least and not _is_known(ids, found):
            found[name] = parts
    return dict(islice(found.items(), options.most))


def _is_known(ids: set[str], found: Mapping[str, Sequence[Memory]]) -> bool:
    """Return whether a topic has most of the sessions of a subject, and few others."""
    every = ({one.id for one in parts} for parts in found.values())
    return any(2 * len(ids & other) > len(ids | other) for other in every)


def _summary_by_rule(subject: Subject, parts: Sequence[Memory], context: JobContext) -> Memory:
    lines = [as_turn(memory, n) for n, memory in enumerate(parts[-PARTS:], start=1)]
    text = by_rule.of_summaries(lines, context.zone, Tokenizer(), about=subject.name)
    made = Made(job="topics", version=VERSION)
    return summary(subject, text, made, context.now)


def _id(name: str) -> str:
    return f"{TOPIC}/{hashlib.blake2b(fold(name).encode(), digest_size=6).hexdigest()}"
