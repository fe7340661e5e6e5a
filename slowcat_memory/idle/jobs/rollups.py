"""Summaries of summaries: of a day, a week, and the windows of a long conversation; and topics.

Sessions separated only by a dropped connection count as one conversation, which belongs to the day on
which it began. An outdated summary is replaced (see ``core.summaries.summary``). A topic is made of
sessions whose summaries share a subject, a name or a thing: it is called by it, and has the sentences
about it, so that no LLM is asked.
"""

import hashlib
from collections import defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.extraction.options import TopicsOptions
from slowcat_memory.core.language.english.vocabulary import STOP_WORDS
from slowcat_memory.core.memory import SESSION_SUMMARY, SUMMARY
from slowcat_memory.core.summaries import by_rule, prompt
from slowcat_memory.core.summaries import summary as summaries
from slowcat_memory.core.summaries.prompt import VERSION
from slowcat_memory.core.summaries.summary import DAY, META, TOPIC, WEEK, WINDOW, Coverage
from slowcat_memory.core.text.normalize import Tokenizer, fold
from slowcat_memory.core.text.numerals import is_value
from slowcat_memory.core.time.expressions import PeriodKind, day_of, period_of
from slowcat_memory.idle.job import JobContext, Trigger
from slowcat_memory.idle.jobs.session_log import ScopeJob, may_see
from slowcat_memory.idle.jobs.summaries import SummaryInput, SummaryJob, summaries_mark
from slowcat_memory.records import Made, Memory, Task, WriteBatch
from slowcat_memory.store import Snapshot

RANKS = {"meta": 48, "day": 55, "week": 60}
MIN_WINDOWS = 2  # fewer get no summary of their own


class Rollup(Struct, frozen=True):
    """What one summary joins, from when to when, the end excluded, and whether that is over."""

    parts: list[Memory]
    start: datetime
    end: datetime
    over: bool = True


class Rollups(SummaryJob, ScopeJob):
    """Days and weeks that have ended, of their sessions; and long sessions, of their windows."""

    name, writes, wording = "rollups", (META, DAY, WEEK), prompt.ROLLUP

    def mark(self, snapshot: Snapshot, context: JobContext) -> str:
        """Return what makes all namespaces due: also the end of a day, in which a week may end."""
        day = day_of(context.now, context.zone).name
        return f"{summaries_mark(snapshot, context)} {context.zone} {day}"

    def due(self, snapshot: Snapshot, scope: str, context: JobContext) -> Iterator[tuple[str, int]]:
        """Yield what is missing, out of date, or no longer wanted."""
        chosen = {"meta": True, "day": context.options.days, "week": context.options.weeks}
        for kind, rank in RANKS.items():
            if chosen[kind]:
                wanted = rollups_of(snapshot, scope, kind, context)
                every = snapshot.memories(scope, f"{SUMMARY}/{kind}/")
                stored = {m.id.removeprefix(f"{SUMMARY}/"): m for m in summaries.current(every)}
                yield from ((key, rank) for key in stored if key not in wanted)
                for key, rollup in wanted.items():
                    parts = may_see(rollup.parts, context)
                    digest = summaries.digest_of(VERSION, summaries.of_summaries(parts))
                    old, llm = stored.get(key), context.llm is not None
                    if parts and rollup.over and summaries.is_stale(old, digest, llm=llm):
                        yield key, rank

    def read(self, snapshot: Snapshot, task: Task, context: JobContext) -> SummaryInput | None:
        kind, id = task.key.partition("/")[0], f"{SUMMARY}/{task.key}"
        rollup = rollups_of(snapshot, task.scope, kind, context).get(task.key)
        old = snapshot.memory(task.scope, id)
        if rollup is None:  # its sessions are gone, or now belong to another period
            return SummaryInput(None, [], old)
        parts = may_see(rollup.parts, context)
        if not (parts and rollup.over):
            return None
        subject = subject_of(id, f"{SUMMARY}/{kind}", parts, rollup.start, rollup.end)
        turns = [summaries.as_turn(memory, number) for number, memory in enumerate(parts, start=1)]
        return SummaryInput(subject, turns, old, tuple(memory.id for memory in parts))


def rollups_of(snapshot: Snapshot, scope: str, kind: str, context: JobContext) -> dict[str, Rollup]:
    """Return what the summaries of a kind are to join, by the keys of their tasks.

    These are their ids without "summary/". The last windows of a session wait until they are as many
    as a summary joins.
    """
    rollups = dict[str, Rollup]()
    if kind == "meta":
        windows = sorted(
            summaries.current(snapshot.memories(scope, f"{WINDOW}/")), key=lambda m: m.sources
        )
        of_session = defaultdict[str, list[Memory]](list)
        for memory in windows:
            of_session[memory.id.rpartition("/")[0].removeprefix(f"{WINDOW}/")].append(memory)
        size = max(MIN_WINDOWS, context.options.meta_windows)
        for id, every in of_session.items():
            session = snapshot.session(id)
            if session is None or session.turns < context.options.meta_turns:
                continue
            for at in range(0, len(every) - size + 1, size):
                parts = every[at : at + size]
                key = f"meta/{id}/{parts[0].sources[0]}"
                rollups[key] = Rollup(parts, parts[0].valid_from, summaries.until(parts[-1]))
        return rollups
    gap = timedelta(seconds=context.options.heal_s)
    length: PeriodKind = "day" if kind == "day" else "week"
    for conversation in summaries.conversations(session_summaries(snapshot, scope), gap):
        period = period_of(length, conversation[0].valid_from, context.zone)
        new = Rollup([], period.start, period.end, period.end <= context.now)
        rollups.setdefault(f"{kind}/{period.name}", new).parts.extend(conversation)
    return rollups


def session_summaries(snapshot: Snapshot, scope: str) -> list[Memory]:
    """Return the current summaries of a scope's sessions, the earliest first."""
    every = summaries.current(snapshot.memories(scope, f"{SESSION_SUMMARY}/"))
    return sorted(every, key=lambda memory: (memory.valid_from, memory.id))


def subject_of(
    id: str, kind: str, parts: Sequence[Memory], start: datetime, end: datetime
) -> Coverage:
    sources = tuple(sorted({turn for memory in parts for turn in memory.sources}))
    return Coverage(
        id=id,
        kind=kind,
        scope=parts[0].scope,
        start=start,
        until=end,
        sources=sources,
        digest=summaries.digest_of(VERSION, summaries.of_summaries(parts)),
        covers=tuple(memory.id for memory in parts),
        turns=len(sources),
        local_only=any(memory.local_only for memory in parts),
    )


# ------------------------------------------------------------------- topics

PARTS = 24  # the latest sessions of a topic used for its summary
LATEST = 50  # turns whose speakers are no subjects


class Topics(ScopeJob):
    """The subjects that sessions come back to."""

    name, version, rank, writes = "topics", VERSION, 70, f"{TOPIC}/"
    needs = "nothing"
    trigger = Trigger(session_end=True, every_s=3600.0)
    Options = TopicsOptions

    async def step(self, task: Task, context: JobContext) -> WriteBatch:
        """Write new and changed topics, and drop those that are gone."""
        scope = task.scope
        with context.snapshot() as snapshot:
            sessions = session_summaries(snapshot, scope)
            old = {m.id: m for m in summaries.current(snapshot.memories(scope, f"{TOPIC}/"))}
            latest = islice(snapshot.latest_turns(scope), LATEST)
            speakers = {word for turn in latest for word in fold(turn.speaker).split()}
        topics = shared_subjects(sessions, old, speakers, context.options)
        now, memories = context.now, list[Memory]()
        live = {_id(name): (name, parts) for name, parts in topics.items()}
        gone = [memory for id, memory in old.items() if id not in live]
        for id, (name, parts) in context.pausing(live.items()):
            subject = subject_of(
                id, TOPIC, parts, parts[0].valid_from, max(map(summaries.until, parts))
            )
            before = old.get(id)
            if summaries.is_stale(before, subject.digest, llm=False):
                lines = [summaries.as_turn(row, n) for n, row in enumerate(parts[-PARTS:], start=1)]
                text = by_rule.of_summaries(lines, context.zone, Tokenizer(), about=name)
                summary = summaries.summary(
                    replace(subject, name=name), text, Made(job=self.name, version=VERSION), now
                )
                if summary.text:
                    memories += (summary, *summaries.archived(before, now))
                elif before is not None:  # what it says is of other sessions
                    gone.append(before)
        memories += [history for memory in gone for history in summaries.archived(memory, now)]
        return WriteBatch(
            memories=tuple(memories), drop=tuple((memory.scope, memory.id) for memory in gone)
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
        named = (*summaries.items(memory, "topics"), *summaries.items(memory, "entities"))
        for subject, name in {fold(text): text for text in named}.items():
            words = (word for word in subject.split() if not is_value(word))
            if any(word not in STOP_WORDS and word not in speakers for word in words):
                having.setdefault(subject, (name, []))[1].append(memory)
    topics = dict[str, list[Memory]]()
    for name, parts in sorted(
        having.values(), key=lambda item: (_id(item[0]) not in known, -len(item[1]))
    ):
        ids = {part.id for part in parts}
        if len(ids) >= options.least and not _is_known(ids, topics):
            topics[name] = parts
    return dict(islice(topics.items(), options.most))


def _is_known(ids: set[str], topics: Mapping[str, Sequence[Memory]]) -> bool:
    """Return whether a topic has most of the sessions of a subject, and few others."""
    every = ({part.id for part in parts} for parts in topics.values())
    return any(2 * len(ids & other) > len(ids | other) for other in every)


def _id(name: str) -> str:
    return f"{TOPIC}/{hashlib.blake2b(fold(name).encode(), digest_size=6).hexdigest()}"
