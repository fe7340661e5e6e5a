"""What the jobs that sum up share: their knobs, both tiers, and which sessions have come to rest."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.extraction.grounding import ground
from slowcat_memory.core.extraction.prompt_record import fenced, fitting
from slowcat_memory.core.memory.chunk import chunk_id
from slowcat_memory.core.memory.kinds import SESSION_SUMMARY
from slowcat_memory.core.summaries.extractive import ExtractiveOptions
from slowcat_memory.core.summaries.prompt import (
    VERSION,
    Purpose,
    Reflection,
    by_rule,
    instruction,
    kept,
    said_lines,
)
from slowcat_memory.core.summaries.summary import Told, current
from slowcat_memory.core.text.normalize import Tokenizer, estimate_tokens
from slowcat_memory.errors import BadAnswerError, EndpointError, EndpointRefusedError
from slowcat_memory.idle.job import JobContext
from slowcat_memory.idle.jobs.extraction.due import goes_on, news
from slowcat_memory.providers import Prompt
from slowcat_memory.records import Cursor, Memory, Session, Task, Turn, WriteBatch
from slowcat_memory.store import Snapshot

Domain = Literal["", "support", "sales", "interview", "voice"]
WINDOWS: dict[Domain, int] = {"": 20, "support": 10, "sales": 20, "interview": 50, "voice": 5}
PERSONA = "block/persona"
TURN_CHARS = 800
FRAME_TOKENS, LEAST_TOKENS = 200, 256  # around a record, and of one whatever the LLM reads
AWAY = timedelta(minutes=10)  # after which an LLM that was away is asked again
# Jobs whose knobs are in [summaries]; any other job's section has its name.
SUMMING_UP = ("session_summary", "window_summary", "meta_summary", "rollups")


class SummariesOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How conversations are summed up.

    Attributes:
        domain: What the conversations are: support (10), sales (20), interview (50) or voice (5)
            set how many turns of a long one are summed up together; "" takes 20.
        window: The same as a number; 0 for that of the domain.
        meta_windows: So many of these summaries are summed up in turn.
        meta_turns: From so many turns of a session on.
        least_turns: Of a session that is summed up.
        heal_s: Sessions with less silence than this between them count as one conversation: the
            line broke, and they went on.
        days: Whether days are summed up.
        weeks: Whether weeks are.
        words: About how long a summary by rule is, in words, at most.
        share: And at most this share of the words that were said: 0.28 leaves out 72 %.
    """

    domain: Domain = ""
    window: int = 0
    meta_windows: int = 5
    meta_turns: int = 100
    least_turns: int = 2
    heal_s: float = 600.0
    days: bool = True
    weeks: bool = True
    words: int = 90
    share: float = 0.28

    @property
    def rule(self) -> ExtractiveOptions:
        """How a summary is made without an LLM."""
        return ExtractiveOptions(words=self.words, share=self.share)

    @property
    def window_turns(self) -> int:
        """How many turns of a long session are summed up together."""
        return max(2, self.window or WINDOWS[self.domain])


class Note(Struct, frozen=True, omit_defaults=True):
    """What a task's note says.

    Attributes:
        half: How often what the LLM reads was halved: it was too long.
        ruled: A rule has done it for now; the LLM is still to be asked.
    """

    half: int = 0
    ruled: bool = False


class Reading(Struct, frozen=True, omit_defaults=True):
    """What a cursor's note says.

    Attributes:
        mark: Of the prompts, of what was forgotten, and whether there is an LLM: where it differs,
            all is looked at anew.
        open: The first turn that was not planned for, by session that went on at the time.
    """

    mark: str = ""
    open: dict[str, int] = {}


# ------------------------------------------------------------------- what is due


def mark_of(snapshot: Snapshot, context: JobContext) -> str:
    """Write down what makes everything due anew when it changes."""
    return f"{VERSION}.{snapshot.forget_epoch()}.{context.llm is not None:d}"


def reading(cursor: Cursor | None) -> Reading:
    """Read a cursor's note; another version's is as good as none."""
    try:
        return msgspec.json.decode(cursor.note, type=Reading) if cursor else Reading()
    except msgspec.MsgspecError:
        return Reading()


def touched(
    snapshot: Snapshot, job: str, context: JobContext, *, rested: bool
) -> tuple[list[Session], Cursor]:
    """Find the sessions in which something was said since a job last looked.

    Args:
        snapshot: To read from.
        job: Its name, and its cursor's.
        context: What it may use.
        rested: Leave those that go on for later.

    Returns:
        The sessions, and the cursor to move.
    """
    before = snapshot.cursor(job)
    read, mark = reading(before), mark_of(snapshot, context)
    if before is None or read.mark != mark:
        after, read = 0, Reading(mark)
    else:
        after = before.position
    upto, first = news(snapshot, after, read.open, set(context.scopes()))
    found, still = list[Session](), dict[str, int]()
    for id, turn in first.items():
        session = snapshot.session(id)
        if session is None:
            continue
        if rested and goes_on(session, context):
            still[id] = turn
        else:
            found.append(session)
    note = msgspec.json.encode(Reading(mark, still)).decode()
    return found, Cursor(name=job, position=upto, note=note)


def session_summaries(snapshot: Snapshot, scope: str) -> list[Memory]:
    """Read the summaries of a namespace's sessions that count, the earliest first."""
    every = current(snapshot.memories(scope, f"{SESSION_SUMMARY}/"))
    return sorted(every, key=lambda memory: (memory.valid_from, memory.id))


def is_private(snapshot: Snapshot, turns: Sequence[Turn]) -> bool:
    """Tell whether any turn must not leave this machine."""
    found = (snapshot.memory(turn.scope, chunk_id(turn.id)) for turn in turns)
    return any(memory is not None and memory.local_only for memory in found)


def persona(snapshot: Snapshot, scope: str) -> str:
    """Read who the agent is, in its own words; "" when nobody wrote that down for any LLM."""
    every = snapshot.memories(scope, PERSONA)
    found = [m for m in every if m.retired_at is None and not m.local_only]
    return max(found, key=lambda m: m.recorded_at or m.valid_from).text if found else ""


# ------------------------------------------------------------------- both tiers


async def sum_up(
    task: Task, purpose: Purpose, turns: Sequence[Turn], who: str, ruled: bool, context: JobContext
) -> tuple[Told | None, tuple[Task, ...]]:
    """Sum up by the LLM, or by a rule for as long as that does not work.

    Args:
        task: That asks for it.
        purpose: How.
        turns: What is summed up, at least one.
        who: Who the agent is.
        ruled: A rule has made this very summary already.
        context: What may be used.

    Returns:
        What it says, and the task again where the LLM is still to be asked; None when what is there
        stays.

    Raises:
        BadAnswerError: Nothing of the LLM's answer can be used, and a rule's summary is there.
    """
    if context.llm is None:
        return (None if ruled else await _by_rule(turns, context)), ()
    try:
        return await _by_llm(task, purpose, turns, who, context), ()
    except (EndpointError, EndpointRefusedError):
        again = replace(task, not_before=context.now + AWAY)
    except BadAnswerError:
        if ruled:
            raise
        again = replace(task, attempts=task.attempts + 1, not_before=context.now + AWAY / 10)
    return (None if ruled else await _by_rule(turns, context)), (again,)


def split(task: Task) -> tuple[Task, ...]:
    """Let the LLM read half as much of each turn; three times at most.

    Args:
        task: One that is more than it reads.

    Returns:
        The task, none once that does not help.
    """
    note = note_of(task)
    if note.half >= 3:
        return ()
    return (replace(task, note=msgspec.json.encode(replace(note, half=note.half + 1)).decode()),)


def note_of(task: Task) -> Note:
    """Read a task's note."""
    return msgspec.json.decode(task.note, type=Note) if task.note else Note()


def written(memories: Sequence[Memory], again: tuple[Task, ...], *more: Task) -> WriteBatch:
    """Gather what a step writes; a task that is put again replaces the one that is done."""
    return WriteBatch(memories=tuple(memories), tasks=(*again, *more), retask=bool(again))


async def _by_llm(
    task: Task, purpose: Purpose, turns: Sequence[Turn], who: str, context: JobContext
) -> Told:
    assert context.llm is not None
    system = instruction(purpose, who)
    room = context.llm.prompt_tokens - estimate_tokens(system) - FRAME_TOKENS - purpose.max_tokens
    room = max(LEAST_TOKENS, room) >> note_of(task).half
    prompt = Prompt(
        job=task.job,
        version=VERSION,
        system=system,
        user=fenced(turns, context.zone, fitting(turns, room, TURN_CHARS)),
        max_tokens=purpose.max_tokens,
        temperature=purpose.temperature,
    )
    answer = await context.llm.complete(prompt, Reflection)
    told = kept(answer.value, purpose, ground(turns, context.zone))
    if told is None:
        raise BadAnswerError("nothing of the summary holds")
    return replace(told, model=answer.model)


async def _by_rule(turns: Sequence[Turn], context: JobContext) -> Told:
    said = said_lines(turns)
    made = await context.embed([line.text for line in said]) if context.space else None
    vectors = made.vectors if made is not None and len(made.vectors) == len(said) else None
    rule = getattr(context.options, "rule", ExtractiveOptions())
    return by_rule(turns, said, vectors, Tokenizer(), rule)


def numbered(memories: Sequence[Memory]) -> Iterator[tuple[int, Memory]]:
    """Number summaries as they stand in a record."""
    return enumerate(memories, start=1)
