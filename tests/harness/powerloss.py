"""Checks that an acknowledged exchange survives a power loss.

A traced child appends, derives, ages, forgets, and reports what is acknowledged. From its calls we
build what a disk may hold after a power loss at a random moment: what was flushed is there; of the
rest, each block of 4096 bytes is there, is lost, or is torn at a sector, in any order. Renames and
new names that no flush of the folder made durable keep some prefix. A store opened on such an image
must hold everything that was acknowledged and nothing that was forgotten.

``--what`` chooses another writer, each with a law of its own (see ``powerloss_scenes``): backup,
restore, salvage, index; or a store with relaxed durability, which may lose one transaction. The
control leaves flushes out.
"""

import os
import random
import shutil
import struct
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

from slowcat_memory.records import Forget, WriteBatch
from slowcat_memory.store import Store, StoreOptions
from slowcat_memory.store.disk import folder
from slowcat_memory.store.disk.page_reader import WHOLE, check
from tests.harness import powerloss_scenes, samples, tiers
from tests.harness.children import ask
from tests.harness.command import Harness, main
from tests.harness.tracing import Call, trace

SAID = struct.Struct(">cQ")
APPENDS = 72
FORGET_AT = (20, 45)
BLOCK, SECTOR = 4096, 512
STYLES = ("random", "torn", "none", "all")
OPTIONS = StoreOptions(map_size_gib=0.0625)
NOT_LAID_OUT = (folder.LOCK, folder.OPENING, folder.STATE)  # as after a restart


def work(path: Path, said: int, what: str, unflushed: bool) -> None:
    """Append, derive and forget, reporting what is acknowledged."""
    options = StoreOptions(
        map_size_gib=0.0625, durability="relaxed" if what == "relaxed" else "full"
    )
    with powerloss_scenes.in_one_process(unflushed):
        store = Store.open(path, options=options)
        os.write(said, SAID.pack(b"R", 0))
        for n in range(1, APPENDS + 1):
            _one(store, n, said)
        os._exit(0)


def _one(store: Store, n: int, said: int) -> None:
    store.append(samples.turn(n)).wait()
    os.write(said, SAID.pack(b"A", n))
    if n % 4 == 0:
        tiers.age(store)
    if n % 7 == 0:
        made = samples.memory(f"fact/{n}", sources=(n,), text=samples.text(n))
        store.apply("facts", WriteBatch(memories=(made,))).wait()
    if n in FORGET_AT:
        for old in (n - 3, n - 15):  # one with a row of its own, one in a block
            os.write(said, SAID.pack(b"B", old))
            store.forget(Forget(turns=(old,)))
            os.write(said, SAID.pack(b"F", old))


# ------------------------------------------------------------------- images


class Disk:
    """What the calls up to a moment may have left on disk."""

    def __init__(self, calls: list[Call], inode: int, rng: random.Random, style: str) -> None:
        """Take the calls in a folder with this inode."""
        self._calls, self._rng, self._style = calls, rng, style
        self._synced = {c.inode: at for at, c in enumerate(calls) if c.kind == "sync"}
        self._folders = {"": inode} | {c.name: c.inode for c in calls if c.kind == "mkdir"}

    def files(self) -> dict[str, bytes]:
        contents: dict[int, bytearray] = {}
        live: dict[str, int] = {}
        for at, call in enumerate(self._calls):
            if call.kind == "name" and live.get(call.name) != call.inode:
                contents[call.inode] = bytearray()  # a new file; the inode may have been another's
            if call.kind in NAMING:
                NAMING[call.kind](live, call)
            elif call.kind == "truncate":
                body = contents.setdefault(call.inode, bytearray())
                body[:] = body[: call.offset].ljust(call.offset, b"\0")
            elif call.kind == "write":
                self._write(contents.setdefault(call.inode, bytearray()), at, call)
        names = self._names()
        folders = {name for name, inode in names.items() if inode < 0}
        return {
            name: bytes(contents.get(inode, b""))
            for name, inode in names.items()
            if inode > 0 and all(folder in folders for folder in above(name))
        }

    def _write(self, body: bytearray, at: int, call: Call) -> None:
        flushed = self._synced.get(call.inode, -1) > at
        in_flight = at == len(self._calls) - 1
        whole = flushed or (call.durable and not (in_flight and self._rng.random() < 0.5))
        body.extend(bytes(max(0, call.offset + len(call.data) - len(body))))
        for start in range(0, len(call.data), BLOCK):
            block = call.data[start : start + BLOCK]
            kept = block if whole else self._kept(block)
            body[call.offset + start : call.offset + start + len(kept)] = kept

    def _kept(self, block: bytes) -> bytes:
        if self._style in ("all", "none"):
            return block if self._style == "all" else b""
        if self._style == "torn" and self._rng.random() < 0.3:
            return block[: SECTOR * self._rng.randrange(1 + len(block) // SECTOR)]
        return block if self._rng.random() < 0.5 else b""

    def _names(self) -> dict[str, int]:
        """Apply each folder's changes: those before its last flush, and some of those after."""
        changes: dict[str, list[int]] = {}
        for at, call in enumerate(self._calls):
            if call.kind in NAMING:
                changes.setdefault(parent(call.to or call.name), []).append(at)
        kept: set[int] = set()
        for into, places in changes.items():
            flushed = self._synced.get(self._folders.get(into, 0), -1)
            sure = sum(at < flushed for at in places)
            kept.update(places[: self._rng.randint(sure, len(places))])
        for at in sorted(kept, reverse=True):  # what is renamed was made
            if self._calls[at].kind == "rename":
                kept.update(self._making(self._calls[at].name, at))
        names: dict[str, int] = {}
        for at in sorted(kept):
            call = self._calls[at]
            NAMING[call.kind](names, call)
        return names

    def _making(self, name: str, before: int) -> list[int]:
        """Return the call that last gave a name, if any."""
        made = [
            at
            for at, call in enumerate(self._calls[:before])
            if call.kind in NAMING and call.kind != "unlink" and (call.to or call.name) == name
        ]
        return made[-1:]


def parent(name: str) -> str:
    return name.rpartition("/")[0]


def above(name: str) -> list[str]:
    """Return the folders that a file is in."""
    parts = name.split("/")
    return ["/".join(parts[:end]) for end in range(1, len(parts))]


def _rename(names: dict[str, int], call: Call) -> None:
    for name in [name for name in names if name == call.name or name.startswith(f"{call.name}/")]:
        names[call.to + name.removeprefix(call.name)] = names.pop(name)


def _link(names: dict[str, int], call: Call) -> None:
    if call.name in names:
        names[call.to] = names[call.name]


NAMING: dict[str, Callable[[dict[str, int], Call], object]] = {
    "name": lambda names, call: names.setdefault(call.name, call.inode),
    "mkdir": lambda names, call: names.setdefault(call.name, -1),
    "link": _link,
    "rename": _rename,
    "unlink": lambda names, call: names.pop(call.name, None),
}


# ------------------------------------------------------------------- verdict


class Promise:
    """What was reported up to a moment."""

    def __init__(self, calls: list[Call]) -> None:
        said = [SAID.unpack(call.data) for call in calls if call.kind == "say"]
        self.kept = {n for what, n in said if what == b"A"}
        self.doubtful = {n for what, n in said if what == b"B"}
        self.gone = {n for what, n in said if what == b"F"}


def judge(path: Path, promise: Promise) -> dict:
    """Open and check an image, in a child that may die of it."""
    if check(folder.data_file(path)) != WHOLE:
        return {"corrupt": 1, "lost": 0, "undead": 0}
    with Store.open(path, options=OPTIONS) as store:
        with store.snapshot() as snapshot:
            here = {turn.id: turn.text for turn in snapshot.turns()}
        unpacked, torn = tiers.contents(store)
        corrupt = bool(store.opened.moved_aside or store.quarantined or torn)
    lost = promise.kept - promise.doubtful - set(here)
    bytes_left = folder.data_file(path).read_bytes() + unpacked
    undead = [n for n in promise.gone if n in here or samples.token(n).encode() in bytes_left]
    wrong = any(text != samples.text(n) for n, text in here.items())
    return {"corrupt": int(corrupt or wrong), "lost": len(lost), "undead": len(undead)}


def _lay_out(files: dict[str, bytes], path: Path) -> None:
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    path.chmod(0o700)
    for name, body in files.items():
        if Path(name).name in NOT_LAID_OUT:
            continue
        (path / name).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        (path / name).write_bytes(body)
        (path / name).chmod(0o600)
    (path / folder.STATE).touch(mode=0o600)


def run(what: str, scratch: Path, images: int, seed: int, control: str) -> dict[str, int]:
    store = scratch / "store"
    store.mkdir()
    scene = powerloss_scenes.SCENES.get(what)
    if scene is None:
        calls = trace(lambda said: work(store, said, what, bool(control)), store)
    else:
        calls = trace(lambda said: scene.work(store, said, bool(control)), store)
    ready = next(at for at, call in enumerate(calls) if call.kind == "say")
    rng, tally = random.Random(seed), Counter[str]()
    for number in range(images):
        at_end = scene is not None and number % 3 == 0  # where everything is promised
        upto = calls[: len(calls) if at_end else rng.randrange(ready + 1, len(calls) + 1)]
        disk = Disk(upto, store.stat().st_ino, rng, STYLES[number % len(STYLES)])
        _lay_out(disk.files(), scratch / "image")
        if scene is None:
            found = ask(lambda upto=upto: judge(scratch / "image", Promise(upto)))
        else:
            said = {call.data.decode() for call in upto if call.kind == "say"}
            found = ask(lambda said=said: scene.judge(scratch / "image", said))
        tally.update(found if found is not None else {"died": 1})
        tally["images"] += found is not None
        tally["more_than_one"] += found is not None and found["lost"] > 1
        if control and not HARNESSES[what].judge(tally, 0, control):
            break
        if found is None or any(found.values()):
            shutil.copytree(scratch / "image", scratch / f"bad{number}", symlinks=True)
    kinds = Counter(call.kind for call in calls)
    figures = {"writes": kinds["write"], "syncs": kinds["sync"], "renames": kinds["rename"]}
    return figures | {name: tally[name] for name in ("images", "more_than_one", *LAWS)}


LAWS = ("lost", "corrupt", "undead", "died")


def harness(what: str, count: int, night: int, laws: tuple[str, ...] = LAWS) -> Harness:
    return Harness(
        run=partial(run, what), count=count, night=night, laws=laws,
        least={"images": 1.0},
        controls={"no-fsync": (f"{laws[0]} or corrupt", 30)},
    )  # fmt: skip


HARNESSES = {
    "store": harness("store", 100, 800),
    "relaxed": harness("relaxed", 40, 300, ("more_than_one", "corrupt", "undead", "died")),
    "backup": harness("backup", 24, 400),
    "restore": harness("restore", 24, 400),
    "salvage": harness("salvage", 9, 200),
    "index": harness("index", 24, 400),
}

if __name__ == "__main__":
    main(HARNESSES, __doc__)
