"""A search that reads memories one by one: for what no index holds, or cannot filter by.

Retired memories are in no index, and an index proposes the best of all times, not of one week. This
reads texts, for up to a fifth of a second: never on the frame path.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from heapq import nlargest
from itertools import islice

import numpy as np

from slowcat_memory.core.memory import chunk, chunk_id, findable, indexed_text, searchable, turn_of
from slowcat_memory.core.ranking.offering import probability
from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.core.validity import held_at
from slowcat_memory.records import Disclosed, Hit, Memory
from slowcat_memory.store import Snapshot

MOST = 5000  # turns that are read
Keep = Callable[[Memory], bool]


def scan(
    memories: Iterable[Disclosed], words: Mapping[str, float], tokenizer: Tokenizer, k: int
) -> list[Hit]:
    """Return the memories that match a query best, best first.

    The score, above 0, is the share of the query's weight (``words``, by token) in a memory.
    """
    total = sum(words.values())
    if not total:
        return [Hit(memory=memory, score=0.0) for memory in islice(memories, k)]
    scored = (
        (
            sum(words.get(token, 0.0) for token in set(tokenizer(indexed_text(memory)))) / total,
            memory,
        )
        for memory in memories
    )
    best = nlargest(k, (pair for pair in scored if pair[0] > 0), key=lambda pair: pair[0])
    likely = probability(np.array([share for share, _ in best]))
    return [
        Hit(memory=memory, score=round(share, 4), coverage=round(share, 4), probability=float(p))
        for (share, memory), p in zip(best, likely, strict=True)
    ]


def merged(found: Sequence[Hit], read: Sequence[Hit], k: int) -> list[Hit]:
    """Return the best ``k`` distinct hits of an index and of a scan, best first."""
    known = {hit.memory.id for hit in found}
    every = [*found, *(hit for hit in read if hit.memory.id not in known)]
    return sorted(every, key=lambda hit: -hit.score)[:k]


def said_between(
    snapshot: Snapshot, scope: str, since: datetime | None, until: datetime | None
) -> Iterator[Memory]:
    """Yield notes, then the chunks of a time span, the latest session first.

    Only memories that are not retired, and the chunks of about ``MOST`` turns. ``since`` is
    included, ``until`` excluded.
    """
    notes = (m for m in snapshot.memories(scope) if not turn_of(m.id) and findable(m))
    yield from (m for m in notes if not m.retired_at)
    read = 0
    for session in sorted(snapshot.sessions(scope), key=lambda one: one.last, reverse=True):
        if until and session.started >= until or since and session.last < since:
            continue
        for turn in snapshot.turns(scope, after=session.first_turn - 1, upto=session.last_turn):
            if turn.session == session.id and not turn.aside:
                memory = snapshot.memory(scope, chunk_id(turn.id)) or chunk(turn)
                if not memory.retired_at:
                    yield snapshot.in_context(memory)
                read += 1
        if read >= MOST:
            return


def retired(snapshot: Snapshot, scope: str, at: datetime) -> Iterator[Memory]:
    """Yield memories that were valid at a moment and are retired since.

    Excludes those forgotten by a voice command and waiting to be erased.
    """
    forgotten = waiting_to_be_erased(snapshot, scope)
    for memory in filter(searchable, snapshot.memories(scope)):
        if memory.retired_at is not None and memory.id not in forgotten and held_at(memory, at):
            yield memory


def waiting_to_be_erased(snapshot: Snapshot, scope: str) -> frozenset[str]:
    """Return the ids of memories forgotten by a voice command that can still be undone."""
    pending = (entry for entry in snapshot.commands() if entry.state == "done" and entry.due)
    return frozenset(id_ for entry in pending for where, id_ in entry.all_hidden if where == scope)


def within(speaker: str, since: datetime | None, until: datetime | None) -> Keep:
    """Return a filter by speaker and time.

    ``speaker`` is a name, or a word of it, in any case; ``since`` is included, ``until`` excluded.
    """
    name = speaker.casefold().strip()

    def keep(memory: Memory) -> bool:
        whose = memory.speaker.casefold()
        return (
            (not name or name == whose or name in whose.split())
            and (since is None or memory.valid_from >= since)
            and (until is None or memory.valid_from < until)
        )

    return keep
