"""Kills the owner of a memory again and again, while its clients append and recall.

Some processes use one store: one owns it, the others are its clients. Each appends numbered turns
and writes down, in a file of its own, which were acknowledged under which id. The owner is killed
(SIGKILL), another takes over, and a new process joins. At the end the log must hold each
acknowledged turn once, under its id, and no turn twice.

    python -m tests.harness.failover --count 20 [--store FOLDER] [--pace 0.02]
    python -m tests.harness.failover --what starters|stopped
    python -m tests.harness.failover --count 20 --plant   # a fault that must be found
"""

import argparse
import asyncio
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from datetime import UTC, datetime
from itertools import takewhile
from pathlib import Path
from typing import Any

from msgspec import Struct

from benchmarks import common

ROOT = Path(__file__).parents[2]
WAIT_S = 60.0
CLIENTS = 4
SCOPE = "anna"
QUESTION, ANSWER = "where is my violin?", "my violin is in the attic of my sister"
VECTORS = "FAILOVER_VECTORS"  # set in the environment of processes that embed


class Acked(Struct, frozen=True):
    """A turn that a process was told is durable."""

    text: str
    id: int


class Verdict(Struct, frozen=True):
    """What the log says of the acknowledged turns."""

    acked: int
    lost: list[str]
    doubled: list[str]
    moved: list[str]  # under another id than was acknowledged

    @property
    def holds(self) -> bool:
        return not (self.lost or self.doubled or self.moved)


def judge(logged: Iterable[tuple[int, str]], acked: Iterable[Acked]) -> Verdict:
    """Compare the log, as (id, text), with what was acknowledged."""
    rows = list(logged)
    ids = dict((text, id_) for id_, text in rows)
    told = list(acked)
    return Verdict(
        acked=len(told),
        lost=[one.text for one in told if one.text not in ids],
        doubled=[text for text, n in Counter(text for _, text in rows).items() if n > 1],
        moved=[one.text for one in told if ids.get(one.text, one.id) != one.id],
    )


# ------------------------------------------------------------------- one process


def work(folder: Path, name: str, notes: Path, pace_s: float, *, plant: bool) -> None:
    """Append and recall until standard input ends; write down what happened."""
    from slowcat_memory.owner.member import Member
    from slowcat_memory.records import Turn

    if plant:
        _forget_what_was_saved()
    file = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def note(what: str, **more: Any) -> None:
        row = {"what": what, "at": time.monotonic(), **more}
        os.write(file, json.dumps(row).encode() + b"\n")  # survives a kill of this process

    member = Member(_config(folder), name=name)
    member.prepare(SCOPE)
    member.start(WAIT_S)
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()

    def append(n: int) -> None:
        turn = Turn(
            session=name, scope=SCOPE, speaker="Anna", role="user",
            text=f"{name} says number {n}", at=datetime.now(UTC),
        )  # fmt: skip
        ack = member.append(turn)

        def settled(future: Any) -> None:
            if future.exception() is None:
                note("acked", text=turn.text, id=ack.id)
            elif not ended.is_set():
                note("refused", text=turn.text, error=str(future.exception()))

        ack.future.add_done_callback(settled)

    async def talk() -> None:
        n, was = 0, ""
        while not ended.is_set():
            n += 1
            append(n)
            role = "owner" if member.engine else "client" if member.owner else "none"
            if role != was:
                note("role", role=role)
                was = role
            if n % 3 == 0:
                began = time.monotonic()
                found = await member.recall(QUESTION, SCOPE)
                took = (time.monotonic() - began) * 1e3
                note("recalled", began=began, stage=found.stage, hits=len(found.hits), ms=took)
            await asyncio.sleep(pace_s)

    print("up", flush=True)
    asyncio.run(talk())
    member.flush(WAIT_S)
    member.release()


def _forget_what_was_saved() -> None:
    """Plant a fault: an owner does not know what an earlier one saved, and says so twice."""
    from slowcat_memory.owner import appends
    from slowcat_memory.owner.serving import intake

    def nothing(snapshot: object, client: str) -> tuple[int, dict[int, int]]:
        return 0, {}

    intake.saved_before = appends.saved_before = nothing


class Process:
    """A worker; its notes are read after its end too."""

    def __init__(self, folder: Path, name: str, notes: Path, pace_s: float, *, plant: bool) -> None:
        arguments = [str(folder), name, str(notes), str(pace_s), *(["--plant"] if plant else [])]
        self.name, self.notes = name, notes
        self._read, self._rows = 0, list[dict[str, Any]]()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.harness.failover", "--worker", *arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT), "LOGURU_LEVEL": "ERROR"},
        )  # fmt: skip

    def wait_up(self) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "up\n", f"{self.name} did not start"

    def rows(self, what: str) -> list[dict[str, Any]]:
        """Return its notes of a kind, in their order; only what is new is read."""
        if self.notes.exists():
            with self.notes.open("rb") as file:
                file.seek(self._read)
                whole = file.read().rpartition(b"\n")[0]  # a line may be half written
            if whole:
                self._read += len(whole) + 1
                self._rows += map(json.loads, whole.split(b"\n"))
        return [row for row in self._rows if row["what"] == what]

    def end(self) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        try:
            self.process.stdin.close()
            self.process.wait(WAIT_S)
        finally:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()


def end_all(processes: Iterable[Process]) -> None:
    """End each, also after one that does not end; raises what the first of those raised."""
    with ExitStack() as stack:
        for one in processes:
            stack.callback(one.end)


# ------------------------------------------------------------------- the rounds


class Result(Struct, frozen=True):
    """What some kills showed; times in milliseconds after a kill."""

    kills: int
    verdict: Verdict
    refused: int
    owned_ms: list[float]
    words_ms: list[float]
    full_ms: list[float]


def until(holds: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + WAIT_S
    while not (found := holds()):
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.005)
    return found


def kills(
    count: int,
    folder: Path,
    *,
    clients: int = CLIENTS,
    pace_s: float = 0.02,
    seed: int = 1,
    plant: bool = False,
) -> Result:
    """Kill the owner some times; the folder may hold a store already."""
    from slowcat_memory.owner import who_owns

    rng, notes = random.Random(seed), Path(tempfile.mkdtemp(prefix="failover-"))
    born = 0
    _plant_an_answer(folder)

    def start() -> Process:
        nonlocal born
        born += 1
        return Process(folder, f"p{born}", notes / f"p{born}", pace_s, plant=plant)

    running = [start() for _ in range(clients + 1)]
    everybody = list(running)
    whole = "full" if os.environ.get(VECTORS) else "lexical"
    owned, words, full = list[float](), list[float](), list[float]()
    try:
        for one in running:
            one.wait_up()
        for _ in range(count):
            owner = until(lambda: who_owns(folder))
            victim = next(one for one in running if one.process.pid == owner.pid)
            until(lambda victim=victim: victim.rows("acked"))
            time.sleep(rng.random() * 0.1)  # at another moment of its work each time
            killed = time.monotonic()
            victim.process.kill()
            victim.process.wait(WAIT_S)
            running = [one for one in running if one is not victim]
            heirs = tuple(running)
            owned.append(_first(heirs, "role", killed, lambda row: row["role"] == "owner"))
            words.append(_first(heirs, "recalled", killed, lambda row: row["hits"]))
            full.append(_first(heirs, "recalled", killed, lambda row: row["stage"] == whole))
            running.append(start())
            everybody.append(running[-1])
            running[-1].wait_up()
    finally:
        end_all(running)
    verdict = judge(_logged(folder), _acked(everybody))
    refused = sum(len(one.rows("refused")) for one in everybody)
    if verdict.holds or plant:
        shutil.rmtree(notes, ignore_errors=True)
    else:
        shutil.copytree(folder, notes / "memory")
        print(f"{verdict.lost} {verdict.doubled} {verdict.moved}: the evidence is in {notes}")
    return Result(count, verdict, refused, owned, words, full)


def _plant_an_answer(folder: Path) -> None:
    """Log a turn that the processes ask for."""
    from slowcat_memory.owner.member import Member
    from slowcat_memory.records import Turn

    member = Member(_config(folder))
    member.start(WAIT_S)
    turn = Turn(
        session="before",
        scope=SCOPE,
        speaker="Anna",
        role="user",
        text=ANSWER,
        at=datetime.now(UTC),
    )
    member.append(turn).wait(WAIT_S)
    member.flush(WAIT_S, indexed=True)
    member.release()


def _config(folder: Path) -> Any:
    from slowcat_memory.testing import memory_config

    kind = "local" if os.environ.get(VECTORS) else "none"
    return memory_config(
        folder, recall={"deadline_ms": 50.0, "settle_ms": 5.0}, embedding={"kind": kind}
    )


def _first(
    heirs: tuple[Process, ...], what: str, since: float, fits: Callable[[dict[str, Any]], Any]
) -> float:
    """Return when something that began after a kill first happened, in milliseconds."""

    def found() -> list[float]:
        newest = (reversed(one.rows(what)) for one in heirs)
        later = [
            takewhile(lambda row: row.get("began", row["at"]) > since, rows) for rows in newest
        ]
        return [row["at"] for rows in later for row in rows if fits(row)]

    return float((min(until(found)) - since) * 1e3)


def _acked(processes: Iterable[Process]) -> list[Acked]:
    return [Acked(row["text"], row["id"]) for one in processes for row in one.rows("acked")]


def _logged(folder: Path) -> list[tuple[int, str]]:
    from slowcat_memory.store import Store

    with Store.open(folder) as store, store.snapshot() as snapshot:
        turns = snapshot.turns(SCOPE)
        return [(turn.id, turn.text) for turn in turns if " says number " in turn.text]


# ------------------------------------------------------------------- other rounds


def starters(folder: Path, count: int = 20) -> Counter[str]:
    """Start many processes at once; return how many have which role."""
    notes = Path(tempfile.mkdtemp(prefix="failover-"))
    started = [Process(folder, f"p{n}", notes / f"p{n}", 0.2, plant=False) for n in range(count)]
    try:
        for one in started:
            one.wait_up()
        return Counter(until(lambda one=one: one.rows("role"))[-1]["role"] for one in started)
    finally:
        end_all(started)


def stopped(folder: Path, turns: int = 20) -> list[float]:
    """Stop an owner; return how long its client's turns waited, in milliseconds."""
    from slowcat_memory.owner import who_owns

    notes = Path(tempfile.mkdtemp(prefix="failover-"))
    started = [Process(folder, f"p{n}", notes / f"p{n}", 0.02, plant=False) for n in range(2)]
    owner = 0
    try:
        for one in started:
            one.wait_up()
        until(lambda: all(one.rows("recalled") for one in started))
        owner = until(lambda: who_owns(folder)).pid
        client = next(one for one in started if one.process.pid != owner)
        os.kill(owner, signal.SIGSTOP)
        since = time.monotonic()
        rows = until(
            lambda: (
                len(found := [r for r in client.rows("recalled") if r["at"] > since]) >= turns
                and found
            )
        )
    finally:
        if owner:
            os.kill(owner, signal.SIGCONT)
        end_all(started)
    assert judge(_logged(folder), _acked(started)).holds
    return [float(row["ms"]) for row in rows]


# ------------------------------------------------------------------- command line


def _summary(times: list[float]) -> str:
    if not times:
        return "-"
    p95 = sorted(times)[int(0.95 * (len(times) - 1))]
    return f"median {statistics.median(times):.0f} ms, p95 {p95:.0f}, worst {max(times):.0f}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--what", choices=("kills", "starters", "stopped"), default="kills")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--store", type=Path, help="a store to copy; a new one by default")
    parser.add_argument("--pace", type=float, default=0.02, help="seconds between two turns")
    parser.add_argument("--plant", action="store_true", help="plant a fault: it must be found")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the counts as JSON")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made, "memory")
        if given.store:
            shutil.copytree(given.store, folder)
            os.environ[VECTORS] = "1"
        if given.what == "starters":
            roles = starters(folder, given.count)
            print(dict(roles))
            return 0 if roles["owner"] == 1 and not roles["none"] else 1
        if given.what == "stopped":
            waits = stopped(folder)
            print(f"{len(waits)} turns beside a stopped owner: {_summary(waits)}")
            return 0
        result = kills(given.count, folder, pace_s=given.pace, plant=given.plant)
    verdict = result.verdict
    print(
        f"{result.kills} kills, {verdict.acked} acknowledged: {len(verdict.lost)} lost, "
        f"{len(verdict.doubled)} doubled, {len(verdict.moved)} under another id, "
        f"{result.refused} refused"
    )
    broken = len(verdict.lost) + len(verdict.doubled) + len(verdict.moved)
    counts = {"kills": result.kills, "acknowledged": verdict.acked, "broken": broken}
    common.write_json(given.json, counts)
    for name, times in (
        ("a new owner", result.owned_ms),
        ("recall by words", result.words_ms),
        ("recall in full", result.full_ms),
    ):
        print(f"  {name}: {_summary(times)}")
    return 0 if verdict.holds != given.plant else 1


if __name__ == "__main__":
    if "--worker" in sys.argv:
        _, _, folder_, name_, notes_, pace_, *rest = sys.argv
        work(Path(folder_), name_, Path(notes_), float(pace_), plant="--plant" in rest)
    else:
        sys.exit(main())
