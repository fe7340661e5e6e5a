"""The sessions that an overview looks at are those of the store, whatever was said or forgotten."""

import random
from datetime import timedelta
from pathlib import Path

from msgspec.structs import replace

from slowcat_memory.records import Forget
from slowcat_memory.runtime.recall import pipeline
from slowcat_memory.runtime.recall.pipeline import SessionTimes
from slowcat_memory.store import Snapshot, Store
from tests.harness.samples import turn


def latest_in(snapshot: Snapshot) -> list[str]:
    rows = snapshot.sessions("anna")
    return [row.id for row in sorted(rows, key=lambda row: (row.last, row.started), reverse=True)]


def test_session_times_are_the_stores_after_every_change(tmp_path: Path) -> None:
    rng, known = random.Random(5), SessionTimes()
    with Store.open(tmp_path / "memory") as store:
        for n in range(1, 80):
            said = turn(n, session=f"s{rng.randrange(12)}")
            store.append(replace(said, at=said.at + timedelta(minutes=n))).wait(30)
            if rng.random() < 0.1:
                store.forget(Forget(turns=(rng.randint(1, n),)), erase=False)
            with store.snapshot() as snapshot:
                assert [one.id for one in known.latest(snapshot, "anna")] == latest_in(snapshot)


def test_session_times_read_only_what_was_said_since(tmp_path: Path, monkeypatch) -> None:
    known, read = SessionTimes(), []
    monkeypatch.setattr(Snapshot, "sessions", lambda self, scope: read.append(scope) or [])
    with Store.open(tmp_path / "memory") as store:
        for n in range(1, 6):
            store.append(turn(n, session=f"s{n}")).wait(30)
            with store.snapshot() as snapshot:
                known.latest(snapshot, "anna")
        assert read == ["anna"]
        monkeypatch.setattr(pipeline, "MOST_NEW", 0)
        store.append(turn(6)).wait(30)
        with store.snapshot() as snapshot:
            known.latest(snapshot, "anna")
        assert read == ["anna", "anna"], "after a long while all are read again"
