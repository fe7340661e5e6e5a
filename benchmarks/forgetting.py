"""How long the store's writer is busy while a speaker is forgotten, and how long a turn waits.

A store of many sessions, in which two people and the agent speak, forgets one of them. Meanwhile a
turn is said every 50 ms. Prints seconds of the writer's thread, and milliseconds until a turn was
durable::

    python -m benchmarks.forgetting --turns 100000 --sessions 5000
"""

import argparse
import json
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest import mock

from slowcat_memory.records import Forget, SessionEdge, Turn
from slowcat_memory.store import Store
from slowcat_memory.store.writer.writer import Writer

BEGAN = datetime(2024, 1, 1, 8, tzinfo=UTC)
EVERY_S = 0.05
SPEAKERS = ("Anna", "agent", "Ben", "agent")


def session(number: int, turns: int) -> list[Turn | SessionEdge]:
    """Return the events of a session, ended."""
    name, began = f"s{number}", BEGAN + timedelta(hours=number)

    def edge(kind: Any) -> SessionEdge:
        return SessionEdge(session=name, scope="anna", kind=kind, at=began)

    said = [
        Turn(
            session=name,
            scope="anna",
            speaker=SPEAKERS[i % 4],
            role="assistant" if i % 2 else "user",
            text=f"In session {number} the sentence {i} is about the harbour of town {i * number}.",
            at=began + timedelta(seconds=10 * i),
        )
        for i in range(turns)
    ]
    return [edge("start"), *said, edge("end")]


def fill(store: Store, turns: int, sessions: int) -> None:
    for number in range(sessions):
        acks = store.append_all(session(number, turns // sessions))
        if number % 20 == 19:
            acks[0].wait()
    store.flush()


@contextmanager
def watched() -> Iterator[dict[str, float]]:
    """Measure the writer's thread: seconds in all, and in the longest piece of work."""
    seen, work = {"writer_s": 0.0, "longest_s": 0.0}, Writer._work

    def timed(self: Writer, batch: Any) -> None:
        begun = time.perf_counter()
        try:
            work(self, batch)
        finally:
            took = time.perf_counter() - begun
            seen["writer_s"] += took
            seen["longest_s"] = max(seen["longest_s"], took)

    with mock.patch.object(Writer, "_work", timed):
        yield seen


@contextmanager
def talking(store: Store) -> Iterator[list[float]]:
    """Say a turn every 50 ms; collect how long each took to be durable, in seconds."""
    waits: list[float] = []
    stop = threading.Event()

    def talk() -> None:
        while not stop.is_set():
            said = Turn(
                session="live", scope="anna", speaker="Anna", role="user", text="hello", at=BEGAN
            )
            begun = time.perf_counter()
            store.append(said).wait()
            waits.append(time.perf_counter() - begun)
            stop.wait(EVERY_S)

    thread = threading.Thread(target=talk)
    thread.start()
    try:
        yield waits
    finally:
        stop.set()
        thread.join()


def run(turns: int, sessions: int, folder: Path, *, aged: bool) -> dict[str, Any]:
    with watched() as seen, Store.open(folder / "store") as store:
        fill(store, turns, sessions)
        if aged:
            store.age("anna")
        seen |= {"writer_s": 0.0, "longest_s": 0.0}
        with talking(store) as waits:
            begun = time.perf_counter()
            gone = store.forget(Forget(speaker="Ben"))
            took = time.perf_counter() - begun
    return {
        "turns": turns,
        "sessions": sessions,
        "aged": aged,
        "forgotten": len(gone.turns),
        "erased": gone.erased,
        "seconds": round(took, 2),
        "writer_s": round(seen["writer_s"], 2),
        "longest_ms": round(1e3 * seen["longest_s"]),
        "said": len(waits),
        "durable_ms_max": round(1e3 * max(waits)),
        "durable_ms_p50": round(1e3 * sorted(waits)[len(waits) // 2]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=100_000)
    parser.add_argument("--sessions", type=int, default=5000)
    parser.add_argument("--aged", action="store_true", help="Most turns are in compressed blocks.")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="forgetting-") as folder:
        print(json.dumps(run(args.turns, args.sessions, Path(folder), aged=args.aged)))


if __name__ == "__main__":
    main()
