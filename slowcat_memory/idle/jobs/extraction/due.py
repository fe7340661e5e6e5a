"""Which chunks want a description: what `contextualize` finds to be due, and what it asks about them."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import islice

import msgspec
from msgspec import Struct

from slowcat_memory.core.extraction.descriptions import SYSTEM, VERSION
from slowcat_memory.core.extraction.prompt_record import line
from slowcat_memory.core.extraction.windows import (
    AFTER,
    BEFORE,
    digest,
    groups,
    small_talk,
    windows,
)
from slowcat_memory.core.memory.chunk import chunk_id
from slowcat_memory.core.text.normalize import estimate_tokens
from slowcat_memory.idle.job import JobContext
from slowcat_memory.records import Memory, Session, Task, Turn
from slowcat_memory.store import Snapshot

SESSION_REST = timedelta(seconds=300)  # of silence: then a session that has not ended is read
NAME = "contextualize"
LOOKED_AT = 1000  # events of the log that one plan reads: some 20 ms
RECALLED = 500  # turns of the ledger that tell what is recalled often
FRAME_TOKENS = 400  # of a prompt's words around the record, and of a server's around the prompt
LEAST_TOKENS = 256  # of a record, whatever the LLM says that it reads
SHARED_TURNS = 12  # of two stretches of a long session
RANK, FRESH_RANK = 50, 40  # of tasks; what is recalled often comes between


class ContextualizeOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How an LLM describes what was said.

    Attributes:
        chunks: How many a call. More make the LLM read less in all; with fewer, less is lost when
            somebody speaks, and a weak model leaves fewer out.
        questions: How many questions are kept of a chunk, 0 for none.
        notes: How many notes are kept of a chunk, 0 for none.
        chunk_chars: Characters of a chunk that the LLM sees; of a longer one both ends.
        record_tokens: Most tokens of a conversation in one prompt, 0 for as many as the LLM reads.
            A small model understands a short one better.
        fresh_h: Hours for which a session comes before older ones that are recalled often.
    """

    chunks: int = 8
    questions: int = 3
    notes: int = 3
    chunk_chars: int = 800
    record_tokens: int = 0
    fresh_h: float = 24.0


class Asked(Struct, frozen=True, omit_defaults=True):
    """What a task's note says.

    Attributes:
        turns: Log ids of the turns that are asked about; the task's sources are what the LLM sees.
        again: For the second time, and the last.
    """

    turns: list[int]
    again: bool = False


class Looked(Struct, frozen=True, omit_defaults=True):
    """What the cursor's note says.

    Attributes:
        version: Of the prompt, and of what was forgotten: where it differs, all is looked at anew.
        open: The first turn that was not planned for, by session that went on at the time.
    """

    version: str
    open: dict[str, int] = {}


def visible(snapshot: Snapshot, session: Session, context: JobContext) -> list[Turn]:
    """Read what the LLM may see of a session.

    Args:
        snapshot: To read from.
        session: The session.
        context: What the job may use.

    Returns:
        Its turns in order, without what was said to the memory, what was taken out of recall, and
        what may not leave this machine when the LLM is on another.
    """
    events = snapshot.turns(session.scope, session.first_turn - 1, session.last_turn)
    turns = (turn for turn in events if turn.session == session.id and not turn.aside)
    return [turn for turn in turns if not _withheld(snapshot, turn, is_remote(context))]


def _withheld(snapshot: Snapshot, turn: Turn, remote: bool) -> bool:
    memory = snapshot.memory(turn.scope, chunk_id(turn.id))
    if memory is None:
        return False
    return memory.retired_at is not None or (remote and memory.local_only)


def may_see(memories: Sequence[Memory], context: JobContext) -> list[Memory]:
    """Leave out what may not be told to an LLM on another machine.

    Args:
        memories: Any.
        context: What the job may use.

    Returns:
        Those that it may be asked about.
    """
    return [memory for memory in memories if not (is_remote(context) and memory.local_only)]


def is_remote(context: JobContext) -> bool:
    """Tell whether there is an LLM, and it is on another machine."""
    return context.llm is not None and context.llm.remote


def stale(snapshot: Snapshot, turns: Sequence[Turn], place: int, context: JobContext) -> bool:
    """Tell whether a turn's description is missing, or was made of other words.

    Args:
        snapshot: To read from.
        turns: From `visible`.
        place: Which of them.
        context: What the job may use.

    Returns:
        Whether it is.
    """
    made = snapshot.context(turns[place].scope, chunk_id(turns[place].id))
    return made is None or made.digest != digest(VERSION, turns, place, context.zone)


# ------------------------------------------------------------------- from the log to sessions


def news(
    snapshot: Snapshot, after: int, open: dict[str, int], scopes: set[str]
) -> tuple[int, dict[str, int]]:
    """Read on in the log.

    Args:
        snapshot: To read from.
        after: How far it was read.
        open: Sessions that went on then, and the first turn not planned for.
        scopes: Those of which anything may be thought.

    Returns:
        How far it is read now, and the first new turn by session.
    """
    upto, first = after, dict(open)
    for event in islice(snapshot.events(after=after), LOOKED_AT):
        upto = event.id
        if isinstance(event, Turn) and event.scope in scopes:
            first.setdefault(event.session, event.id)
    return upto, first


def goes_on(session: Session, context: JobContext) -> bool:
    """Tell whether somebody may still say something that the last turns lean on.

    Args:
        session: The session.
        context: What the job may use.

    Returns:
        False once it has ended, or rests.
    """
    return session.ended is None and context.now - session.last < SESSION_REST


# ------------------------------------------------------------------- from sessions to tasks


def tasks(
    snapshot: Snapshot, session: Session, new: range, recalled: Counter[str], context: JobContext
) -> Iterator[Task]:
    """Ask about what is new in a session, and about its neighbours if that changes them.

    Args:
        snapshot: To read from.
        session: The session.
        new: Log ids that were not planned for.
        recalled: How often a memory was recalled lately, by `recall_key`.
        context: What the job may use.

    Yields:
        A task for each call of the LLM.
    """
    turns = visible(snapshot, session, context)
    fresh = [place for place, turn in enumerate(turns) if turn.id in new]
    if not fresh:
        return
    wanted = [
        place
        for place in range(max(0, fresh[0] - AFTER), min(len(turns), fresh[-1] + BEFORE + 1))
        if not small_talk(turns[place].text) and stale(snapshot, turns, place, context)
    ]
    sizes = [estimate_tokens(line(turn, context.options.chunk_chars)) + 1 for turn in turns]
    stretches = list(windows(sizes, _room(context), SHARED_TURNS))
    for stretch, places in groups(wanted, stretches, context.options.chunks):
        asked = [turns[place].id for place in places]
        often = max(recalled[recall_key(session.scope, chunk_id(turn))] for turn in asked)
        yield task_of(
            session.scope,
            session.id,
            Asked(asked),
            tuple(turns[place].id for place in stretch),
            Task(
                id="", job=NAME, key="", created=session.last, rank=_rank(session, often, context)
            ),
        )


def task_of(scope: str, session: str, asked: Asked, seen: tuple[int, ...], like: Task) -> Task:
    """Write a task.

    Args:
        scope: The session's namespace.
        session: The session.
        asked: What is asked.
        seen: Log ids of the turns that the LLM sees.
        like: Where rank and time come from.

    Returns:
        The task; the same question has the same id.
    """
    key = f"{session}:{asked.turns[0]}-{asked.turns[-1]}/{len(seen)}{'!' * asked.again}"
    return Task(
        id=f"{NAME}/{scope}/{key}",
        job=NAME,
        key=key,
        scope=scope,
        created=like.created,
        rank=like.rank,
        note=msgspec.json.encode(asked).decode(),
        sources=seen,
    )


def recalls(snapshot: Snapshot) -> Counter[str]:
    """Count how often memories were recalled lately.

    Args:
        snapshot: To read from.

    Returns:
        Counts by `recall_key`.
    """
    rows = ((row.scope, offer) for row in snapshot.ledger_tail(RECALLED) for offer in row.offers)
    return Counter(recall_key(offer.scope or scope, offer.memory) for scope, offer in rows)


def recall_key(scope: str, memory: str) -> str:
    """Name a memory across namespaces."""
    return f"{scope} {memory}"


def _room(context: JobContext) -> int:
    """Return the tokens that a record may take in a prompt."""
    reads = context.llm.prompt_tokens if context.llm else 0
    room = max(LEAST_TOKENS, reads - estimate_tokens(SYSTEM) - FRAME_TOKENS)
    return min(room, context.options.record_tokens or room)


def _rank(session: Session, recalled: int, context: JobContext) -> int:
    fresh = context.now - session.last < timedelta(hours=context.options.fresh_h)
    return FRESH_RANK if fresh else max(FRESH_RANK + 1, RANK - recalled)
