"""Draws facts from what people said: by an LLM where there is one, by rules where there is none.

See ``core.fact_prompts`` for what is asked and what is kept of an answer. Two marks in the log tell
how far either has read: what the rules read is read again when an LLM comes, whose facts then take
the place of theirs.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import chain

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.extraction.evidence import words_of
from slowcat_memory.core.extraction.prompt_record import line
from slowcat_memory.core.extraction.windows import groups, small_talk, windows
from slowcat_memory.core.facts import prompt as fact_prompts
from slowcat_memory.core.facts.fact import (
    Drawn,
    fact_key,
    fact_memory,
    is_fact,
    key_id,
    revived,
    superseded,
)
from slowcat_memory.core.facts.prompt import SYSTEM, VERSION
from slowcat_memory.core.memory.chunk import chunk_id
from slowcat_memory.core.memory.kinds import FACT
from slowcat_memory.core.text.normalize import estimate_tokens
from slowcat_memory.errors import BadAnswerError, EndpointError, EndpointRefusedError
from slowcat_memory.idle.job import JobContext, Needs, Plan, Trigger
from slowcat_memory.idle.jobs.extraction.due import (
    FRAME_TOKENS,
    LEAST_TOKENS,
    SHARED_TURNS,
    goes_on,
    may_see,
    news,
    visible,
)
from slowcat_memory.providers import Prompt
from slowcat_memory.records import (
    Cursor,
    Key,
    Made,
    Memory,
    Session,
    Task,
    Turn,
    Vector,
    WriteBatch,
)
from slowcat_memory.store import Snapshot

NAME, MERGE = "facts", "merge"
ANSWER_TOKENS = 90  # for a fact
RANK, MERGE_RANK = 45, 44
LAST_ATTEMPT = 2  # of an LLM whose answers cannot be used
AWAY = timedelta(minutes=5)  # until a server that is away is asked again for what rules have read


class FactsOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How facts are drawn from what people say.

    Attributes:
        turns: Turns of people a call of the LLM. With fewer, less is lost when somebody speaks,
            and a weak model misses less.
        known: Facts that are known already and shown to the LLM, the nearest ones; they keep it
            from writing the same again, and cost about 15 tokens each.
        turn_chars: Characters of a turn that the LLM sees; of a longer one both ends.
        record_tokens: Most tokens of a conversation in one prompt, 0 for as many as the LLM reads.
        recalled: Whether a fact may be offered to a conversation in its own words. Otherwise it
            only leads to the turn that says it, whose words are offered.
    """

    turns: int = 8
    known: int = 12
    turn_chars: int = 800
    record_tokens: int = 0
    recalled: bool = False


class Reach(Struct, frozen=True, omit_defaults=True):
    """How far the log was read.

    Attributes:
        upto: Log id.
        open: The first turn that was not planned for, by session that went on at the time.
    """

    upto: int = 0
    open: dict[str, int] = {}


class Looked(Struct, frozen=True, omit_defaults=True):
    """What the cursor's note says.

    Attributes:
        version: Of the prompt and the rules: where it differs, all is read anew.
        rules: How far rules, or an LLM, have read.
        llm: How far an LLM has.
    """

    version: int = 0
    rules: Reach = Reach()
    llm: Reach = Reach()


class Facts:
    """The job; see ``idle.job.Job``."""

    name = NAME
    version = VERSION
    needs: Needs = "nothing"
    trigger = Trigger(session_end=True, every_s=300.0)
    Options: type[Struct] = FactsOptions

    def plan(self, context: JobContext) -> Plan | None:
        """Say which turns nobody has read yet; see ``idle.job.Job``."""
        due, still = list[Task](), dict[str, int]()
        with context.snapshot() as snapshot:
            before = snapshot.cursor(NAME)
            looked = _looked(before)
            reach = looked.rules if context.llm is None else looked.llm
            upto, first = news(snapshot, reach.upto, reach.open, set(context.scopes()))
            for id, turn in first.items():
                session = snapshot.session(id)
                if session is not None and goes_on(session, context):
                    still[id] = turn
                elif session is not None:
                    due += _tasks(snapshot, session, range(turn, upto + 1), context)
        now = Reach(upto, still)
        rules = now if looked.rules.upto <= upto else looked.rules
        after = Looked(VERSION, rules, looked.llm if context.llm is None else now)
        note = msgspec.json.encode(after).decode()
        cursor = Cursor(name=NAME, position=rules.upto, note=note)
        return None if cursor == before else Plan(tasks=tuple(due), cursor=cursor)

    async def step(self, task: Task, context: JobContext) -> WriteBatch:
        """Read a few turns of a session; see ``idle.job.Job``."""
        asked = frozenset(msgspec.json.decode(task.note, type=list[int]))
        with context.snapshot() as snapshot:
            said = snapshot.turn(min(asked))
            session = snapshot.session(said.session) if said else None
            turns = visible(snapshot, session, context) if session else []
        seen = [turn for turn in turns if turn.id in task.sources]
        due = {turn.id: turn for turn in seen if turn.id in asked}
        if not due:
            return WriteBatch()
        if context.llm is None:
            return await self._by_rule(due, context)
        try:
            return await self._by_llm(seen, due, context)
        except (EndpointError, EndpointRefusedError):  # not without anything meanwhile
            batch = await self._by_rule(due, context)
            later = replace(task, not_before=context.now + AWAY)
            return replace(batch, tasks=(*batch.tasks, later), retask=True)
        except BadAnswerError:
            if task.attempts < LAST_ATTEMPT:
                raise
            return await self._by_rule(due, context)  # better than nothing, and no dead letter

    def split(self, task: Task) -> tuple[Task, ...]:
        """Ask about fewer turns, with less around them.

        Args:
            task: One that is more than the LLM reads at once.

        Returns:
            Two tasks; none for a single turn that is seen alone.
        """
        asked = msgspec.json.decode(task.note, type=list[int])
        half = len(asked) // 2
        parts = [asked[:half], asked[half:]] if half else [asked]
        if len(task.sources) <= len(parts[-1]):
            return ()
        room = (len(task.sources) + 1) // 2
        return tuple(_task(task.scope, _session(task), part, _near(task, part, room), task.created)
                     for part in parts)  # fmt: skip

    async def _by_llm(
        self, seen: Sequence[Turn], due: dict[int, Turn], context: JobContext
    ) -> WriteBatch:
        """Ask the LLM, and put its facts in the place of those that rules found."""
        assert context.llm is not None
        scope = seen[0].scope
        with context.snapshot() as snapshot:
            every = [one for one in snapshot.memories(scope, f"{FACT}/") if is_fact(one)]
        ruled = [one for one in every if _is_ruled(one) and one.sources[0] in due]
        gone = {one.id for one in ruled}
        told = may_see([one for one in every if one.id not in gone], context)
        known = _nearest(told, due, context)
        prompt = Prompt(
            job=NAME,
            version=VERSION,
            system=SYSTEM,
            user=fact_prompts.asking(seen, due, known, context.zone, context.options.turn_chars),
            max_tokens=ANSWER_TOKENS * (len(due) + 2),
        )
        answer = await context.llm.complete(prompt, fact_prompts.Facts)
        own = [one.text for one in known if one.sources and one.sources[0] not in due]
        found = fact_prompts.checked(answer.value, due, seen, context.zone, own)
        made = Made(job=NAME, version=VERSION, model=answer.model)
        put = _memories(found.kept, made, context)
        return await _written(put, _replaced(ruled, every, put, context), context)

    async def _by_rule(self, due: dict[int, Turn], context: JobContext) -> WriteBatch:
        """Read by rules what no LLM has read."""
        found = chain.from_iterable(
            fact_prompts.drawn_by_rule(turn, context.zone) for turn in due.values()
        )
        put = _memories(found, Made(job=NAME, version=VERSION), context)
        return await _written(put, [], context)


def _looked(cursor: Cursor | None) -> Looked:
    try:
        looked = msgspec.json.decode(cursor.note, type=Looked) if cursor else Looked()
    except msgspec.DecodeError:
        looked = Looked()
    return looked if looked.version == VERSION else Looked()


# ------------------------------------------------------------------- from sessions to tasks


def _tasks(snapshot: Snapshot, session: Session, new: range, context: JobContext) -> Iterator[Task]:
    """Share out what people newly said among calls, each with what was said around it."""
    turns = visible(snapshot, session, context)
    wanted = [
        place
        for place, turn in enumerate(turns)
        if turn.id in new and turn.role == "user" and not small_talk(turn.text)
    ]
    sizes = [estimate_tokens(line(turn, context.options.turn_chars)) + 1 for turn in turns]
    stretches = list(windows(sizes, _room(context), SHARED_TURNS))
    for stretch, places in groups(wanted, stretches, context.options.turns):
        asked = [turns[place].id for place in places]
        seen = tuple(turns[place].id for place in stretch)
        yield _task(session.scope, session.id, asked, seen, session.last)


def _task(
    scope: str, session: str, asked: list[int], seen: tuple[int, ...], created: datetime
) -> Task:
    key = f"{session}:{asked[0]}-{asked[-1]}/{len(seen)}"
    return Task(
        id=f"{NAME}/{scope}/{key}",
        job=NAME,
        key=key,
        scope=scope,
        created=created,
        rank=RANK,
        note=msgspec.json.encode(asked).decode(),
        sources=seen,
    )


def _session(task: Task) -> str:
    return task.key.rpartition(":")[0]


def _near(task: Task, asked: Sequence[int], room: int) -> tuple[int, ...]:
    middle = (asked[0] + asked[-1]) / 2
    near = sorted(task.sources, key=lambda id: abs(id - middle))[:room]
    return tuple(sorted({*near, *asked}))


def _room(context: JobContext) -> int:
    """Return the tokens that a record may take in a prompt."""
    reads = context.llm.prompt_tokens if context.llm else 0
    frame = FRAME_TOKENS + estimate_tokens(SYSTEM) + 20 * context.options.known
    room = max(LEAST_TOKENS, reads - frame)
    return min(room, context.options.record_tokens or room)


# ------------------------------------------------------------------- from facts to what is written


def _is_ruled(fact: Memory) -> bool:
    """Tell whether a rule made a fact, which holds still."""
    ours = fact.made is not None and fact.made.job == NAME and not fact.made.model
    return ours and fact.retired_at is None and bool(fact.sources)


def _nearest(facts: Iterable[Memory], due: dict[int, Turn], context: JobContext) -> list[Memory]:
    """Choose the known facts that share the most words with what is asked about."""
    said = set[str]().union(*(words_of(f"{t.speaker} {t.text}") for t in due.values()))
    scored = [
        (len(said & words_of(one.text).keys()), one.recorded_at or one.valid_from, one.id, one)
        for one in facts
        if one.retired_at is None
    ]
    scored = [entry for entry in scored if entry[0]]
    scored.sort(key=lambda entry: entry[:3], reverse=True)
    return [entry[3] for entry in scored[: context.options.known]]


def _memories(found: Iterable[Drawn], made: Made, context: JobContext) -> list[Memory]:
    """Write facts down; those of turns that stay on this machine stay there too."""
    with context.snapshot() as snapshot:
        put = dict[str, Memory]()
        for drawn in found:
            chunks = (snapshot.memory(drawn.turn.scope, chunk_id(id)) for id in drawn.sources)
            local = any(one is not None and one.local_only for one in chunks)
            recalled = context.options.recalled
            one = fact_memory(drawn, context.now, made, recalled=recalled, local_only=local)
            there = snapshot.memory(one.scope, one.id)
            if there is None or _takes_over(one, there):
                put[one.id] = one if there is None else _as_of(one, there)
    return list(put.values())


def _takes_over(new: Memory, there: Memory) -> bool:
    """Tell whether the same words, read again, change anything: only as an LLM's after a rule's."""
    return bool(new.made and new.made.model and there.made and not there.made.model)


def _as_of(new: Memory, there: Memory) -> Memory:
    return replace(new, recorded_at=there.recorded_at, pinned=there.pinned)


def _replaced(
    ruled: Sequence[Memory], every: Sequence[Memory], put: Sequence[Memory], context: JobContext
) -> list[Memory]:
    """Take the rules' facts of a turn out of use where the LLM has facts of it, and undo theirs."""
    now = {one.id for one in put}
    by = {one.sources[0]: one for one in put if is_fact(one)}
    gone = {
        one.id: superseded(one, by[one.sources[0]], context.now, same=True)
        for one in ruled
        if one.id not in now and one.sources[0] in by
    }
    back = revived(every, frozenset(gone))
    return [*gone.values(), *(one for one in back if one.id not in now)]


async def _written(
    put: Sequence[Memory], changed: Sequence[Memory], context: JobContext
) -> WriteBatch:
    """Put facts down with their keys, and have those that are new compared with the known ones."""
    keys = [key for one in (*put, *changed) if (key := fact_key(one))]
    there = {key.id for key in keys}
    drop = tuple((one.scope, id_) for one in changed if (id_ := key_id(one)) not in there)
    batch = WriteBatch(
        memories=(*put, *changed),
        keys=tuple(keys),
        drop_keys=drop,
        tasks=_to_merge([one for one in (*put, *changed) if one.retired_at is None], context),
    )
    return await with_vectors(batch, keys, context)


def _to_merge(facts: Sequence[Memory], context: JobContext) -> tuple[Task, ...]:
    facts = [one for one in facts if is_fact(one)]
    if not facts:
        return ()
    return (merge_task(facts, context),)


def merge_task(facts: Sequence[Memory], context: JobContext) -> Task:
    """Ask for facts to be compared with those that are known.

    Args:
        facts: New ones of one namespace, at least one.
        context: What the job may use.

    Returns:
        The task, for ``merge``.
    """
    scope, ids = facts[0].scope, [one.id for one in facts]
    key = f"{ids[0].partition('/')[2]}+{len(ids)}"
    sources = tuple(sorted({source for one in facts for source in one.sources}))
    return Task(
        id=f"{MERGE}/{scope}/{key}",
        job=MERGE,
        key=key,
        scope=scope,
        created=context.now,
        rank=MERGE_RANK,
        note=msgspec.json.encode(ids).decode(),
        sources=sources,
    )


async def with_vectors(batch: WriteBatch, keys: Sequence[Key], context: JobContext) -> WriteBatch:
    """Add draft vectors of keys.

    Args:
        batch: What is to be written.
        keys: Those of its keys that are new.
        context: What the job may use.

    Returns:
        The batch; as it was without a model.
    """
    if not keys or not context.space:
        return batch
    made = await context.embed([key.text for key in keys])
    vectors = tuple(
        Vector(scope=key.scope, memory=key.id, values=row, draft=True)
        for key, row in zip(keys, made.vectors, strict=False)  # none without a model
    )
    return replace(batch, vectors=vectors, embedder=context.space)
