"""What the store holds that an order is about. Reads, and changes nothing."""

import re
from collections.abc import Callable, Sequence
from typing import Protocol

from slowcat_memory.core.memory.chunk import CHUNK, chunk, chunk_id
from slowcat_memory.core.memory.kinds import QUARANTINED
from slowcat_memory.records import LedgerEntry, Memory, Turn
from slowcat_memory.runtime.commands.undo_log import last_exchange
from slowcat_memory.store import Snapshot

LATELY = 2000  # log positions among which a person's own statements are looked for
STATEMENT = range(4, 31)  # words of a turn that says something worth reading out

Why = Callable[[int], tuple[LedgerEntry, dict[str, Memory]] | None]
Tokenize = Callable[[str], list[str]]


class Here(Protocol):
    """Where in the log an order is given."""

    @property
    def scope(self) -> str:
        """The person's namespace."""
        ...

    @property
    def session(self) -> str:
        """The session."""
        ...

    @property
    def turn(self) -> int:
        """Log id of the turn that orders."""
        ...


def chunk_of(turn: Turn) -> str:
    """Name a turn's chunk.

    Args:
        turn: The turn.

    Returns:
        Its id.
    """
    return chunk_id(turn.id)


def question(said: Sequence[Turn]) -> Turn | None:
    """Find the person's last turn of an exchange.

    Args:
        said: From ``last_exchange``.

    Returns:
        The turn, None when the agent spoke first.
    """
    return next((turn for turn in reversed(said) if turn.role == "user"), None)


def made_from(snapshot: Snapshot, scope: str, said: Sequence[Turn]) -> list[str]:
    """List the memories of some turns: their chunks, and what was derived from them.

    Args:
        snapshot: The store.
        scope: Their namespace.
        said: The turns.

    Returns:
        Ids.
    """
    turns = {turn.id for turn in said}
    chunks = [chunk_of(turn) for turn in said if not turn.aside]
    derived = [m.id for m in snapshot.memories(scope) if turns.intersection(m.sources)]
    return list(dict.fromkeys((*chunks, *derived)))


def told_of(
    snapshot: Snapshot, scope: str, about: Callable[[str], bool], before: int
) -> tuple[list[str], list[int]]:
    """Find everything that speaks of something. Reads the whole log of the namespace.

    Args:
        snapshot: The store.
        scope: The namespace.
        about: Tells whether a text does.
        before: Log id of the turn that asks for it, which is not among them.

    Returns:
        Ids of memories that recall may find, and log ids of turns, orders of earlier days included.
    """
    derived = list(snapshot.memories(scope))
    retired = {memory.id for memory in derived if memory.retired_at}
    turns = [t for t in snapshot.turns(scope) if t.id != before and about(t.text)]
    found = [chunk_of(turn) for turn in turns if not turn.aside]
    found += [m.id for m in derived if about(m.text) or about(m.context)]
    return [id_ for id_ in dict.fromkeys(found) if id_ not in retired], [t.id for t in turns]


def meant(
    snapshot: Snapshot, why: Why, here: Here, right: str, tokenize: Tokenize
) -> Memory | None:
    """Find the memory that a correction is about.

    Of what was put before the LLM for the last answer, the one whose words the answer and the
    correction hold most of; else what the person said last.

    Args:
        snapshot: The store.
        why: Tells what was put before the LLM at a turn.
        here: Where the correction is.
        right: What is right instead.
        tokenize: Splits a text into stems.

    Returns:
        The memory, None when there is none.
    """
    said = last_exchange(snapshot, here.scope, here.session, here.turn)
    asked = question(said)
    if asked is None:
        return None
    heard = set(tokenize(" ".join([right, *(t.text for t in said if t.role == "assistant")])))
    told = why(asked.id)
    offered = [told[1].get(offer.memory) for offer in told[0].offers] if told else []
    current = [m for m in offered if m and not m.retired_at and m.scope == here.scope]
    if current:
        return max(current, key=lambda memory: len(heard.intersection(tokenize(memory.text))))
    return None if asked.text.rstrip().endswith("?") else snapshot.read(here.scope, chunk_of(asked))


def known_of(snapshot: Snapshot, scope: str, own: str) -> list[Memory]:
    """List what is known about a person.

    Args:
        snapshot: The store.
        scope: The person's namespace.
        own: Words by which people speak of themselves, a pattern.

    Returns:
        Pinned first, then notes, facts, other derived ones, then what the person lately said about
        themselves; within each the latest first.
    """
    kept = [memory for memory in snapshot.memories(scope) if memory.kind != QUARANTINED]
    retired = {memory.id for memory in kept if memory.retired_at}
    current = [m for m in kept if m.id not in retired and (m.pinned or m.kind != CHUNK)]
    derived = sorted(current, key=_standing)
    speaks = re.compile(rf"\b(?:{own})\b", re.IGNORECASE)
    after = max(0, snapshot.last_id() - LATELY)
    said = [
        chunk(turn)
        for turn in snapshot.turns(scope, after=after)
        if turn.role == "user" and not turn.aside and _states(turn.text, speaks)
    ]
    passed = retired | {memory.id for memory in derived}
    return [*derived, *(memory for memory in reversed(said) if memory.id not in passed)]


def _standing(memory: Memory) -> tuple[bool, int, float]:
    kinds = ("note", "fact")
    kind = memory.kind.partition("/")[0]
    place = kinds.index(kind) if kind in kinds else len(kinds)
    return not memory.pinned, place, -memory.valid_from.timestamp()


def _states(text: str, speaks: re.Pattern[str]) -> bool:
    return len(text.split()) in STATEMENT and "?" not in text and bool(speaks.search(text))
