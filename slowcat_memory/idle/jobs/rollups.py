"""Summaries of summaries: of a day, a week, and the windows of a long conversation; and topics.

Sessions separated only by a dropped connection count as one conversation, which belongs to the day on
which it began. An outdated summary is replaced (see ``core.summaries.summary``). A topic is made of
sessions whose summaries share a subject, a name or a thing: it is called by it, and has the sentences
about it, so that no LLM is asked.
"""

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
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
from slowcat_memory.core.text.normalize import Tokenizer, fold, hex_digest
from slowcat_memory.core.text.numerals import DATED
from slowcat_memory.core.time.expressions import PeriodKind, day_of, period_of
from slowcat_memory.idle.job import JobContext, Trigger
from slowcat_memory.idle.jobs.session_log import ScopeJob, may_see
from slowcat_memory.idle.jobs.summaries import Content, SummaryJob
from slowcat_memory.records import Memory, Task, Turn, WriteBatch
from slowcat_memory.store import Snapshot

RANKS = {"meta": 48, "day": 55, "week": 60}


class Rollup(Struct, frozen=True):
    """What one summary joins, from when to when, the end excluded."""

    parts: list[Memory]
    start: datetime
    end: datetime


class Rollups(SummaryJob, ScopeJob):
    """Days and weeks that have ended, of their sessions; and long sessions, of their windows."""

    name, writes, wording = "rollups", (META, DAY, WEEK), prompt.ROLLUP
    beginning = SUMMARY

    def mark(self, snapshot: Snapshot, context: JobContext) -> str:
        """Return what makes all namespaces due: also the end of a day, in which a week may end."""
        day = day_of(context.now, context.zone).name
        return f"{super().mark(snapshot, context)} {context.zone} {day}"

    def due(self, snapshot: Snapshot, scope: str, context: JobContext) -> Iterator[tuple[str, int]]:
        """Yield what is missing, out of date, or no longer wanted."""
        chosen = {"meta": True, "day": context.options.days, "week": context.options.weeks}
        for kind, rank in RANKS.items():
            if chosen[kind]:
                wanted = rollups_of(snapshot, scope, kind, context)
                stored = summaries.current(snapshot.memories(scope, f"{SUMMARY}/{kind}/"))
                digests = {key: _digest(rollup.parts) for key, rollup in wanted.items()}
                yield from ((key, rank) for key in self.changed(stored, digests, context))

    def read(self, snapshot: Snapshot, task: Task, context: JobContext) -> Content:
        kind = task.key.partition("/")[0]
        rollup = rollups_of(snapshot, task.scope, kind, context).get(task.key)
        if not (rollup and rollup.parts):  # its sessions are gone, or belong to another period now
            return None, ()
        subject = subject_of(f"{SUMMARY}/{task.key}", f"{SUMMARY}/{kind}", rollup)
        return subject, _as_turns(rollup.parts)


def rollups_of(snapshot: Snapshot, scope: str, kind: str, context: JobContext) -> dict[str, Rollup]:
    """Return what the summaries of a kind are to join, by the keys of their tasks.

    These are their ids without "summary/". One that is not over joins nothing yet. The last windows
    of a session wait until they are as many as a summary joins.
    """
    rollups, options = dict[str, Rollup](), context.options
    if kind == "meta":
        of_session, size = defaultdict[str, list[Memory]](list), options.meta_windows
        windows = summaries.current(snapshot.memories(scope, f"{WINDOW}/"))
        for memory in sorted(windows, key=lambda m: m.sources):
            of_session[memory.id.rpartition("/")[0].removeprefix(f"{WINDOW}/")].append(memory)
        for id, every in of_session.items():
            session = snapshot.session(id)
            long = session is not None and session.turns >= options.meta_turns
            for at in range(0, len(every) - size + 1, size) if long else ():
                parts = every[at : at + size]
                span = parts[0].valid_from, summaries.until(parts[-1])
                rollups[f"{kind}/{id}/{parts[0].sources[0]}"] = Rollup(parts, *span)
    else:
        length: PeriodKind = "day" if kind == "day" else "week"
        gap = timedelta(seconds=options.heal_s)
        for conversation in summaries.conversations(session_summaries(snapshot, scope), gap):
            period = period_of(length, conversation[0].valid_from, context.zone)
            new = Rollup([], period.start, period.end)
            rollups.setdefault(f"{kind}/{period.name}", new).parts.extend(conversation)
    return {
        key: replace(row, parts=may_see(row.parts, context) if row.end <= context.now else [])
        for key, row in rollups.items()
    }


def session_summaries(snapshot: Snapshot, scope: str) -> list[Memory]:
    """Return the current summaries of a scope's sessions, the earliest first."""
    every = summaries.current(snapshot.memories(scope, f"{SESSION_SUMMARY}/"))
    return sorted(every, key=lambda memory: (memory.valid_from, memory.id))


def _digest(parts: Sequence[Memory]) -> str:
    return summaries.digest_of(VERSION, summaries.of_summaries(parts)) if parts else ""


def _as_turns(parts: Iterable[Memory]) -> list[Turn]:
    return [summaries.as_turn(part, number) for number, part in enumerate(parts, start=1)]


def subject_of(id: str, kind: str, rollup: Rollup) -> Coverage:
    parts = rollup.parts
    sources = tuple(sorted({turn for memory in parts for turn in memory.sources}))
    return Coverage(
        id=id,
        kind=kind,
        scope=parts[0].scope,
        start=rollup.start,
        until=rollup.end,
        sources=sources,
        digest=_digest(parts),
        covers=tuple(memory.id for memory in parts),
        turns=len(sources),
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
            span = Rollup(parts, parts[0].valid_from, max(map(summaries.until, parts)))
            subject, before = subject_of(id, TOPIC, span), old.get(id)
            if summaries.is_stale(before, subject.digest, llm=False):
                lines = _as_turns(parts[-PARTS:])
                text = by_rule.of_summaries(lines, context.zone, Tokenizer(), about=name)
                subject = replace(subject, name=name)
                summary = summaries.summary(subject, text, context.made(), now)
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
            words = {word for word in subject.split() if not word.isdigit()} - STOP_WORDS - DATED
            if any(word not in speakers for word in words):
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
    return f"{TOPIC}/{hex_digest(fold(name), 6)}"
