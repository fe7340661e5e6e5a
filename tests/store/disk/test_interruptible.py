"""Reads that can be interrupted: the same rows, and every read can end them."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from slowcat_memory.records import SessionEdge, WriteBatch
from slowcat_memory.store import Snapshot, Store, StoreOptions
from tests.support.said import memory_at, turn_at

AT = datetime(2026, 5, 12, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    path: Path = tmp_path_factory.mktemp("interruptible") / "store"
    with Store.open(path, options=StoreOptions(map_size_gib=1 / 16)) as made:
        for n in range(6):
            made.append(turn_at(f"{n}", AT)).wait()
        made.append(SessionEdge(session="s", scope="anna", kind="end", at=AT)).wait()
        note = memory_at("note/a", "a", AT)
        made.apply("test", WriteBatch(memories=(note,))).wait()
        yield made


READS: dict[str, Callable[[Snapshot], Any]] = {
    "turn": lambda s: s.turn(2),
    "events": lambda s: list(s.events()),
    "turns of a scope": lambda s: list(s.turns("anna", after=2)),
    "latest turns": lambda s: list(s.latest_turns("anna")),
    "turn before": lambda s: s.turn_before("anna", "s", 4),
    "last id": lambda s: s.last_id(),
    "sessions": lambda s: s.sessions(),
    "memories": lambda s: list(s.memories("anna")),
    "memory": lambda s: s.memory("anna", "note/a"),
    "read": lambda s: s.read("anna", "turn/2"),
    "scopes": lambda s: s.scopes(),
    "tasks": lambda s: s.tasks(),
    "runs": lambda s: list(s.runs()),
    "vectors": lambda s: list(s.vectors("e/4", "anna")),
    "tokens": lambda s: s.tokens("e/4", "anna", ["note/a"]),
    "changed": lambda s: s.changed("anna", 0),
    "tiers": lambda s: s.tiers(),
    "unended": lambda s: s.unended(),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_interruptible_a_watched_snapshot_reads_the_same_and_any_read_ends_it(store, read):
    reads: list[None] = []
    with store.snapshot() as plain, store.snapshot(lambda: reads.append(None)) as watched:
        reads.clear()
        assert read(watched) == read(plain)
    assert reads, "nothing could end it"
    for last in range(1, len(reads) + 1):
        with pytest.raises(InterruptedError):
            _read_until(store, read, last)


def _read_until(store: Store, read: Callable[[Snapshot], Any], last: int) -> None:
    left = -1  # opening a snapshot reads a row too

    def before_read() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            raise InterruptedError

    with store.snapshot(before_read) as watched:
        left = last
        read(watched)
