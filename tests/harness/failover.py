"""Kills the owner of a memory again and again, while its clients append, recall and forget.

Some processes use one store: one owns it, the others are its clients. Each appends numbered turns
and writes down, in a file of its own, which were acknowledged under which id, and which it forgot.
The owner is killed (SIGKILL), another takes over, and a new process joins. The laws:

- *lost*, *doubled*, *moved*: the log has each acknowledged turn once, under its id;
- *unanswered*: a process that ended in order was told of each of its turns;
- *undead*: what was forgotten is in no log and no file of the folder, in no object of a process, and
  in no file that a process has open or mapped, deleted or not.

Nothing is judged by time: how long a recall or an end takes on a busy machine is no law.
"""

import asyncio
import json
import os
import random
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from tests.harness.command import Harness, main
from tests.harness.process_search import held, open_files

ROOT = Path(__file__).parents[2]
HANGS_S = 600.0  # after so long, a process hangs, on whatever machine
GONE_S = 60.0  # so long a busy machine may take to let go of what is forgotten
CLIENTS = 3
MOST, PACE_S = 100, 0.01  # turns of a process, three each time
SCOPE = "anna"
WORD = re.compile(r"turn-(p\d+n\d+[abc])q")  # notes have the group alone: they are no residue


def word(key: str) -> str:
    return f"turn-{key}q"


# ------------------------------------------------------------------- one process


def work(folder: Path, name: str, notes: Path, control: str) -> None:
    """Append, recall and forget until told to be quiet; write down what happened.

    Each further line of standard input asks for the words that this process holds; then it ends.
    """
    from slowcat_memory.owner.member import Member

    kept = PLANTS[control]()
    member = Member(_config(folder), name=name)
    member.prepare(SCOPE)
    member.start(HANGS_S)
    quiet = threading.Event()
    talk = threading.Thread(target=lambda: asyncio.run(_talk(member, name, notes, quiet, kept)))
    talk.start()
    print("up", flush=True)
    for n, _ in enumerate(sys.stdin):
        quiet.set()
        talk.join()
        if not n:
            member.flush(HANGS_S)
        print(json.dumps(held(WORD)), flush=True)
    member.release()


async def _talk(member: Any, name: str, notes: Path, quiet: threading.Event, kept: Any) -> None:
    from slowcat_memory.records import Forget, Turn

    file = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    known: dict[str, int] = {}

    def note(what: str, key: str, **more: Any) -> None:
        os.write(file, json.dumps({"what": what, "key": key, **more}).encode() + b"\n")

    def settled(key: str, ack: Any, future: Any) -> None:
        if future.exception() is None:
            known[key] = ack.id
            note("acked", key, id=ack.id)
        else:
            note("refused", key, error=type(future.exception()).__name__)

    def forget(key: str) -> None:
        note("forgetting", key)
        try:
            if member.forget(Forget(turns=(known.pop(key),))).erased:
                note("forgotten", key)
        except Exception as error:
            note("failed", key, error=type(error).__name__)

    for n in range(1, MOST + 1):
        if quiet.is_set():
            break
        for part in "abc":  # some share a transaction
            key = f"{name}n{n}{part}"
            note("said", key)
            turn = Turn(
                session=name, scope=SCOPE, speaker="Anna", role="user", at=datetime.now(UTC),
                text=f"My violin {word(key)} is in the attic.",
            )  # fmt: skip
            ack = member.append(turn)
            del turn
            ack.future.add_done_callback(partial(settled, key, ack))
        if n % 15 == 0 and known:
            key = random.choice(list(known))
            kept((await member.recall(word(key), SCOPE)).hits)
            await asyncio.to_thread(forget, key)
        await asyncio.sleep(PACE_S)


def _config(folder: Path) -> Any:
    from slowcat_memory.testing import memory_config

    return memory_config(folder, recall={"deadline_ms": 2000.0, "floor": 0.0})


# ------------------------------------------------------------------- planted faults


def _sound() -> Callable[[Any], None]:
    return lambda hits: None


def _twice() -> Callable[[Any], None]:
    """Let no owner know what an earlier one saved."""
    from slowcat_memory.owner import appends
    from slowcat_memory.owner.serving import intake

    intake.saved_before = appends.saved_before = lambda snapshot, client: (0, {})
    return _sound()


def _dropped() -> Callable[[Any], None]:
    """Drop one of five turns that wait at a change of the owner, and tell nobody."""
    from slowcat_memory.owner.backlog import Backlog, Entry

    pending = Backlog.pending

    def careless(self: Backlog) -> list[Entry]:
        waiting = pending(self)
        for entry in waiting[4::5]:
            self._remove(entry.counter)
        return [entry for n, entry in enumerate(waiting) if n % 5 != 4]

    Backlog.pending = careless  # type: ignore[method-assign]
    return _sound()


def _kept() -> Callable[[Any], None]:
    """Keep whatever was recalled."""
    return list[Any]().append


PLANTS = {"": _sound, "twice": _twice, "dropped": _dropped, "kept": _kept}


# ------------------------------------------------------------------- the rounds


class Process:
    """A worker; its notes are read after its end too."""

    def __init__(self, folder: Path, name: str, control: str) -> None:
        self.name, self.notes = name, folder / f"{name}.notes"
        self._is_up, self._read, self._rows = False, 0, list[dict[str, Any]]()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.harness.failover", "--worker",
             str(folder / "memory"), name, str(self.notes), control],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT), "LOGURU_LEVEL": "CRITICAL"},
        )  # fmt: skip

    @property
    def pid(self) -> int:
        return self.process.pid

    def wait_up(self) -> None:
        assert self.process.stdout is not None
        if not self._is_up:
            assert self.process.stdout.readline() == "up\n", f"{self.name} did not start"
        self._is_up = True

    def holds(self) -> list[tuple[str, str]]:
        """Let it be quiet; return the words that its objects hold, and the ways to them."""
        self.wait_up()
        assert self.process.stdin is not None and self.process.stdout is not None
        print("look", file=self.process.stdin, flush=True)
        return [(key, way) for key, way in json.loads(self.process.stdout.readline())]

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

    def keys(self, *kinds: str) -> set[str]:
        return {row["key"] for kind in kinds for row in self.rows(kind)}

    def end(self) -> bool:
        """End it; return whether it ended in order."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        try:
            return self.process.wait(HANGS_S) == 0
        except subprocess.TimeoutExpired:
            return False
        finally:
            self.kill()

    def kill(self) -> None:
        assert self.process.stdout is not None
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def until(holds: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + HANGS_S
    while not (found := holds()):
        assert time.monotonic() < deadline, f"nothing for {HANGS_S:g} s"
        time.sleep(0.002)
    return found


def kills(folder: Path, count: int, seed: int, control: str) -> dict[str, Any]:
    """Kill the owner some times."""
    from slowcat_memory.owner import who_owns

    rng, memory = random.Random(seed), folder / "memory"
    everybody = [Process(folder, f"p{n}", control) for n in range(CLIENTS + 1)]
    running = list(everybody)
    try:
        for _ in range(count):
            owner = until(lambda: next(
                (one for one in running if (at := who_owns(memory)) and one.pid == at.pid), None
            ))  # fmt: skip
            enough = min(len(owner.rows("acked")) + rng.randint(1, 20), 3 * MOST)
            until(lambda one=owner, enough=enough: len(one.rows("acked")) >= enough)
            time.sleep(rng.random() * 0.004)
            owner.kill()
            running.remove(owner)
            running[-1].wait_up()
            everybody.append(Process(folder, f"p{len(everybody)}", control))
            running.append(everybody[-1])
        residue = _residue(memory, everybody, running)
        ended = [one for one in running if one.end()]
    finally:
        for one in running:
            one.kill()
    found = judge(_logged(memory), everybody, ended)
    return found | {"kills": count, "ended": len(ended), "undead": found["undead"] + residue}


def _residue(memory: Path, everybody: list[Process], running: list[Process]) -> list[str]:
    """Return where forgotten words are, once everybody is quiet."""
    for one in running:
        one.holds()
    gone = {key for one in everybody for key in one.keys("forgotten")}
    deadline = time.monotonic() + GONE_S
    while True:
        places = [(key, f"{p.name}: {way}") for p in running for key, way in p.holds()]
        files = [(str(path), path.read_bytes()) for path in memory.rglob("*") if path.is_file()]
        files += [row for p in running for row in open_files(p.pid, memory)]
        for where, data in files:
            places += [(key.decode(), where) for key in re.findall(WORD.pattern.encode(), data)]
        found = sorted({f"{key} in {where}" for key, where in places if key in gone})
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(1.0)


def _logged(memory: Path) -> list[tuple[int, str]]:
    from slowcat_memory.store import Store

    with Store.open(memory) as store, store.snapshot() as snapshot:
        return [(turn.id, WORD.findall(turn.text)[0]) for turn in snapshot.turns(SCOPE)]


def judge(
    logged: Iterable[tuple[int, str]], everybody: list[Process], ended: list[Process]
) -> dict[str, Any]:
    """Compare the log, as (id, key), with what the processes were told."""
    rows = list(logged)
    ids = {key: id_ for id_, key in rows}
    acked = {row["key"]: row["id"] for one in everybody for row in one.rows("acked")}
    gone = {key for one in everybody for key in one.keys("forgotten")}
    doubtful = {key for one in everybody for key in one.keys("forgetting")}
    return {
        "acked": len(acked),
        "refused": sum(len(one.rows("refused")) for one in everybody),
        "forgotten": len(gone),
        "lost": sorted(acked.keys() - ids.keys() - doubtful),
        "doubled": [key for key, n in Counter(key for _, key in rows).items() if n > 1],
        "moved": sorted(key for key, id_ in acked.items() if ids.get(key, id_) != id_),
        "unanswered": sorted(
            key for one in ended for key in one.keys("said") - one.keys("acked", "refused")
        ),
        "undead": sorted(gone & ids.keys()),
    }


def starters(folder: Path, count: int, seed: int, control: str) -> dict[str, Any]:
    """Start many processes at once: one owns the memory, and all use it."""
    from slowcat_memory.owner import who_owns

    started = [Process(folder, f"p{n}", control) for n in range(count)]
    try:
        for one in started:
            one.wait_up()
            until(lambda one=one: one.rows("acked"))
        owned = any(one.pid == who_owns(folder / "memory").pid for one in started)
        ended = [one for one in started if one.end()]
    finally:
        for one in started:
            one.kill()
    found = judge(_logged(folder / "memory"), started, ended)
    return found | {"ended": len(ended), "ownerless": not owned}


LAWS = ("lost", "doubled", "moved", "unanswered", "undead")
HARNESSES = {
    "kills": Harness(
        run=kills, count=20, night=300, laws=LAWS,
        least={"kills": 1.0, "acked": 20.0, "forgotten": 0.2, "ended": 0.01},
        controls={
            "twice": ("doubled", 6), "dropped": ("unanswered", 6), "kept": ("undead", 2),
        },
    ),
    "starters": Harness(
        run=starters, count=8, night=20, laws=(*LAWS, "ownerless"), least={"ended": 1.0},
        controls={"dropped": ("unanswered", 8)},
    ),
}  # fmt: skip

if __name__ == "__main__":
    if "--worker" in sys.argv:
        _, _, folder_, name_, notes_, control_ = sys.argv
        work(Path(folder_), name_, Path(notes_), control_)
    else:
        main(HARNESSES, __doc__)
