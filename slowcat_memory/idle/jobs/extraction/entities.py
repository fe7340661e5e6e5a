"""Keeps the register of people and things: who is mentioned, and how they stand to one another.

Reads sessions that have ended or rest: by an LLM, a few turns a call, and without one by rules. What
is read in a turn is kept as its *reading*; entities and relations are what the readings add up to (see
``core.graph``). After something was forgotten all of that is worked out anew from what is left.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct

from slowcat_memory.core.extraction.descriptions import asking
from slowcat_memory.core.extraction.prompt_record import line
from slowcat_memory.core.extraction.windows import groups, small_talk, windows
from slowcat_memory.core.graph.build import names_of
from slowcat_memory.core.graph.dedup import DedupOptions, Similar
from slowcat_memory.core.graph.diff import Kept, changes, taken
from slowcat_memory.core.graph.entity_index import EntityIndex
from slowcat_memory.core.graph.prompt import TYPES, VERSION, Read, Register, checked, system
from slowcat_memory.core.graph.readings import Reading
from slowcat_memory.core.graph.relations import fold
from slowcat_memory.core.graph.resolve import resolved
from slowcat_memory.core.graph.rules import read_by_rule
from slowcat_memory.core.memory.kinds import ENTITY, READING, RELATION
from slowcat_memory.core.text.normalize import estimate_tokens
from slowcat_memory.idle.job import JobContext, Needs, Plan, Trigger
from slowcat_memory.idle.jobs.extraction.due import (
    FRAME_TOKENS,
    LEAST_TOKENS,
    goes_on,
    news,
    visible,
)
from slowcat_memory.providers import Prompt
from slowcat_memory.records import Cursor, Made, Memory, Session, Task, Turn, WriteBatch
from slowcat_memory.store import Snapshot

NAME = "entities"
ANEW = "anew"  # key of the task that works everything out anew
RANK = 60  # of tasks: what places a turn comes first
RULED = 64  # turns a step without an LLM
SHARED_TURNS = 8  # of two stretches of a long session
ANSWER_TOKENS = 120  # for what is written about one turn, its JSON included


class EntityOptions(DedupOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How people and things are told apart, and which ones are kept.

    Attributes:
        types: Types of entities; a shop adds "order" and "product".
        turns: How many turns a call of the LLM. More make it read less in all; a weak model leaves
            fewer out with fewer.
        turn_chars: Characters of a turn that the LLM sees; of a longer one both ends.
        record_tokens: Most tokens of a conversation in one prompt, 0 for as many as the LLM reads.
        exact: Whether equal names mean one entity.
        fuzzy: Whether spellings of one name do.
        embedding: Whether near vectors do, for what is no person.
        rule: Whether the same e-mail, telephone or number does.
        fuzzy_at: Levenshtein similarity of two words from which they are spellings of one.
        embedding_at: Cosine of two names from which they mean the same.
    """

    types: tuple[str, ...] = TYPES
    turns: int = 12
    turn_chars: int = 800
    record_tokens: int = 0


class _Looked(Struct, frozen=True, omit_defaults=True):
    """What the cursor's note says.

    Attributes:
        version: Of the prompt, and who reads: where it differs, all is read anew.
        epoch: How often something had been forgotten.
        open: The first turn that was not planned for, by session that went on at the time.
    """

    version: str
    epoch: int = 0
    open: dict[str, int] = {}


class Entities:
    """The job; see ``idle.job.Job``."""

    name = NAME
    version = VERSION
    needs: Needs = "nothing"
    trigger = Trigger(session_end=True, every_s=300.0)
    Options: type[Struct] = EntityOptions

    def plan(self, context: JobContext) -> Plan | None:
        """Say which turns are to be read; see ``idle.job.Job``."""
        version = f"{VERSION}.{'llm' if context.llm else 'rule'}"
        with context.snapshot() as snapshot:
            before, epoch = snapshot.cursor(NAME), snapshot.forget_epoch()
            looked = _looked(before)
            anew = looked.version != version
            after = 0 if before is None or anew else before.position
            scopes = set(context.scopes())
            upto, first = news(snapshot, after, {} if anew else looked.open, scopes)
            due, still = list[Task](), dict[str, int]()
            for id, turn in first.items():
                session = snapshot.session(id)
                if session is not None and goes_on(session, context):
                    still[id] = turn
                elif session is not None:
                    due += _tasks(snapshot, session, range(turn, upto + 1), context)
        if looked.version and looked.epoch != epoch:
            due += [_task(scope, ANEW, (), (), context.now) for scope in sorted(scopes)]
        note = msgspec.json.encode(_Looked(version, epoch, still)).decode()
        cursor = Cursor(name=NAME, position=upto, note=note)
        return None if cursor == before else Plan(tasks=tuple(due), cursor=cursor)

    async def step(self, task: Task, context: JobContext) -> WriteBatch:
        """Read a few turns of a session; see ``idle.job.Job``."""
        if task.key == ANEW:
            return _written(context, task.scope, None)
        asked = set(msgspec.json.decode(task.note, type=list[int]))
        with context.snapshot() as snapshot:
            turns = _visible(snapshot, task, context)
            known = list(snapshot.memories(task.scope, f"{ENTITY}/"))
        due = {turn.id: turn for turn in turns if turn.id in asked}
        if not due:
            return WriteBatch()
        types = {fold(name): one.facets.get("type", "") for one in known for name in names_of(one)}
        read, model = await _read(due, turns, types, context)
        made = Made(job=NAME, version=VERSION, model=model)
        index = EntityIndex(
            task.scope, (one for one in known if not one.retired_at), context.options
        )
        similar = await _similar(read, index, context)
        found = [resolved(one, due[id], index, made, similar) for id, one in sorted(read.items())]
        return _written(context, task.scope, [one for one in found if one is not None])

    def split(self, task: Task) -> tuple[Task, ...]:
        """Ask for less with less around it.

        Args:
            task: One that is more than the LLM reads at once.

        Returns:
            Two tasks for several turns, one for one; none when nothing can be left out any more.
        """
        asked = msgspec.json.decode(task.note or "[]", type=list[int])
        half = len(asked) // 2
        parts = [asked[:half], asked[half:]] if half else [asked]
        if not asked or len(task.sources) <= len(parts[-1]):
            return ()
        session = task.key.rpartition(":")[0]
        return tuple(_nearer(task, session, part) for part in parts)


def _looked(cursor: Cursor | None) -> _Looked:
    try:
        return msgspec.json.decode(cursor.note, type=_Looked) if cursor else _Looked("")
    except msgspec.DecodeError:  # another version's: all is read anew
        return _Looked("")


# ------------------------------------------------------------------- what is due


def _tasks(snapshot: Snapshot, session: Session, new: range, context: JobContext) -> Iterator[Task]:
    turns = visible(snapshot, session, context)
    wanted = [
        place
        for place, turn in enumerate(turns)
        if turn.id in new and turn.role == "user" and not small_talk(turn.text)
    ]
    if context.llm is None:
        stretches, most = [range(len(turns))], RULED
    else:
        sizes = [estimate_tokens(line(turn, context.options.turn_chars)) + 1 for turn in turns]
        stretches, most = list(windows(sizes, _room(context), SHARED_TURNS)), context.options.turns
    for stretch, places in groups(wanted, stretches, most) if wanted else ():
        asked = [turns[place].id for place in places]
        seen = asked if context.llm is None else [turns[place].id for place in stretch]
        yield _task(session.scope, _key(session.id, asked, seen), asked, seen, session.last)


def _key(session: str, asked: Sequence[int], seen: Sequence[int]) -> str:
    return f"{session}:{asked[0]}-{asked[-1]}/{len(seen)}"


def _task(scope: str, key: str, asked: Sequence[int], seen: Sequence[int], created: Any) -> Task:
    return Task(
        id=f"{NAME}/{scope}/{key}",
        job=NAME,
        key=key,
        scope=scope,
        created=created,
        rank=RANK,
        note=msgspec.json.encode(list(asked)).decode() if asked else "",
        sources=tuple(seen),
    )


def _nearer(task: Task, session: str, asked: Sequence[int]) -> Task:
    """Halve what the LLM sees around what it is asked about."""
    middle = (asked[0] + asked[-1]) / 2
    near = sorted(task.sources, key=lambda id: abs(id - middle))[: (len(task.sources) + 1) // 2]
    seen = sorted({*near, *asked})
    return _task(task.scope, _key(session, asked, seen), asked, seen, task.created)


def _room(context: JobContext) -> int:
    reads = context.llm.prompt_tokens if context.llm else 0
    words = estimate_tokens(system(context.options.types))
    answer = ANSWER_TOKENS * context.options.turns
    room = max(LEAST_TOKENS, reads - words - FRAME_TOKENS - answer)
    return min(room, context.options.record_tokens or room)


# ------------------------------------------------------------------- reading


def _visible(snapshot: Snapshot, task: Task, context: JobContext) -> list[Turn]:
    first = snapshot.turn(task.sources[0]) if task.sources else None
    session = snapshot.session(first.session) if first else None
    seen = set(task.sources)
    return (
        [turn for turn in visible(snapshot, session, context) if turn.id in seen] if session else []
    )


async def _read(
    due: dict[int, Turn], seen: Sequence[Turn], known: dict[str, str], context: JobContext
) -> tuple[dict[int, Read], str]:
    """Read turns by whoever can: the LLM, or rules. Returns what was read, and the LLM's name."""
    if context.llm is None:
        made = {id: read_by_rule(turn, context.zone, known) for id, turn in due.items()}
        return {id: read for id, read in made.items() if read is not None}, ""
    prompt = Prompt(
        job=NAME,
        version=VERSION,
        system=system(context.options.types),
        user=asking(seen, due, context.zone, context.options.turn_chars),
        max_tokens=ANSWER_TOKENS * (len(due) + 2),
    )
    answer = await context.llm.complete(prompt, Register)
    types = context.options.types
    return checked(answer.value, due, seen, context.zone, known, types), answer.model


async def _similar(
    read: dict[int, Read], index: EntityIndex, context: JobContext
) -> Similar | None:
    """Embed the names that only a vector could tell to mean the same."""
    if not context.options.embedding or not context.space:
        return None
    names = dict[str, None]()
    for mention in (one for found in read.values() for one in found.mentions):
        if unsure := index.unsure(mention):
            names |= dict.fromkeys((mention.name, *unsure))
    if not names:
        return None
    embedded = await context.embed(list(names))
    vectors = dict(zip(names, embedded.vectors, strict=False))

    def similar(one: str, other: str) -> float:
        first, second = vectors.get(one), vectors.get(other)
        return 0.0 if first is None or second is None else float(np.dot(first, second))

    return similar


# ------------------------------------------------------------------- writing


def _written(context: JobContext, scope: str, found: Sequence[Reading] | None) -> WriteBatch:
    with context.snapshot() as snapshot:
        kept = kept_graph(snapshot, scope)
    now = context.now
    new = None if found is None else taken(kept, found, now)
    if new is not None and not new:
        return WriteBatch()
    made = changes(kept, new, now)
    return WriteBatch(memories=made.put, drop=made.drop)


def kept_graph(snapshot: Snapshot, scope: str) -> Kept:
    """Read the register of a namespace.

    Args:
        snapshot: To read from.
        scope: The namespace.

    Returns:
        What is kept.
    """

    def every(kind: str) -> Iterator[Memory]:
        return snapshot.memories(scope, f"{kind}/")

    return Kept(
        readings=[Reading.of(one) for one in every(READING)],
        entities=list(every(ENTITY)),
        relations=list(every(RELATION)),
    )
