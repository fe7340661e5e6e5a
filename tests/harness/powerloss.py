"""Checks that an acknowledged exchange survives a power loss.

A traced child appends, derives, ages, forgets, and reports what is acknowledged. From its calls we
build what a disk may hold after a power loss at a random moment: what was flushed is there; of the
rest, each block of 4096 bytes is there, is lost, or is torn at a sector, in any order. Renames and
new names that no flush of the folder made durable keep some prefix. A store opened on such an image
must hold everything that was acknowledged and nothing that was forgotten.
"""

import argparse
import json
import os
import random
import shutil
import struct
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from unittest import mock

from slowcat_memory.records import Forget, WriteBatch
from slowcat_memory.store import Store, StoreOptions
from slowcat_memory.store.disk import canary, environment, folder
from tests.harness import samples, tiers
from tests.harness.children import ask
from tests.harness.tracing import Call, TracingRefused, trace

SAID = struct.Struct(">cQ")
APPENDS = 72
FORGET_AT = (20, 45)
BLOCK, SECTOR = 4096, 512
STYLES = ("random", "torn", "none", "all")
OPTIONS = StoreOptions(map_size_gib=0.0625)


def work(path: Path, said: int, mode: str) -> None:
    """Append, derive and forget, reporting what is acknowledged."""
    options = StoreOptions(
        map_size_gib=0.0625, durability="relaxed" if mode == "relaxed" else "full"
    )
    really_open = environment.lmdb.open
    flags = {"sync": False} if mode == "control" else {}
    with mock.patch.object(environment.lmdb, "open", lambda *a, **k: really_open(*a, **k | flags)):
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
        self._calls = calls
        self._folder = inode
        self._rng = rng
        self._style = style
        self._synced = {c.inode: at for at, c in enumerate(calls) if c.kind == "sync"}

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
        return {name: bytes(contents.get(inode, b"")) for name, inode in names.items()}

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
        """Apply the folder's changes: those before its last flush, and some of those after."""
        flushed = self._synced.get(self._folder, -1)
        changes = [(at, c) for at, c in enumerate(self._calls) if c.kind in NAMING]
        sure = sum(at < flushed for at, _ in changes)
        names: dict[str, int] = {}
        for _, call in changes[: self._rng.randint(sure, len(changes))]:
            NAMING[call.kind](names, call)
        return names


def _rename(names: dict[str, int], call: Call) -> None:
    if call.name in names:
        names[call.to] = names.pop(call.name)


NAMING: dict[str, Callable[[dict[str, int], Call], object]] = {
    "name": lambda names, call: names.setdefault(call.name, call.inode),
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
    if canary.main(["check", str(path / folder.DATA)]) != canary.WHOLE:
        return {"corrupt": 1, "lost": 0, "undead": 0}
    with Store.open(path, options=OPTIONS) as store:
        with store.snapshot() as snapshot:
            here = {turn.id: turn.text for turn in snapshot.turns()}
        unpacked, torn = tiers.contents(store)
        corrupt = bool(store.opened.moved_aside or store.quarantined or torn)
    lost = promise.kept - promise.doubtful - set(here)
    bytes_left = (path / folder.DATA).read_bytes() + unpacked
    undead = [n for n in promise.gone if n in here or samples.token(n).encode() in bytes_left]
    wrong = any(text != samples.text(n) for n, text in here.items())
    return {"corrupt": int(corrupt or wrong), "lost": len(lost), "undead": len(undead)}


def _lay_out(files: dict[str, bytes], path: Path) -> None:
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    for name in (folder.DATA, folder.FRESH):  # locks and marks are as after a restart
        if name in files:
            (path / name).write_bytes(files[name])


def run(images: int, seed: int, mode: str, scratch: Path) -> dict:
    store = scratch / "store"
    store.mkdir()
    calls = trace(lambda said: work(store, said, mode), store)
    ready = next(at for at, call in enumerate(calls) if call.kind == "say")
    rng, tally = random.Random(seed), Counter()
    for number in range(images):
        upto = calls[: rng.randrange(ready + 1, len(calls) + 1)]
        disk = Disk(upto, store.stat().st_ino, rng, STYLES[number % len(STYLES)])
        _lay_out(disk.files(), scratch / "image")
        found = ask(lambda upto=upto: judge(scratch / "image", Promise(upto)))
        tally.update(found if found is not None else {"died": 1})
        tally["bad"] += found is None or any(found.values())
        tally["max_lost"] = max(tally["max_lost"], found["lost"] if found else 0)
    kinds = Counter(call.kind for call in calls)
    names = ("bad", "lost", "max_lost", "corrupt", "undead", "died")
    trace_size = {"writes": kinds["write"], "syncs": kinds["sync"], "renames": kinds["rename"]}
    return {
        "mode": mode, "images": images, "seed": seed, **{n: tally[n] for n in names}, **trace_size
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=100)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--mode", choices=("full", "relaxed", "control"), default="full")
    args = parser.parse_args()
    scratch = Path(tempfile.mkdtemp(prefix="powerloss-"))
    try:
        print(json.dumps(run(args.images, args.seed, args.mode, scratch)))
    except TracingRefused as error:
        print(json.dumps({"skipped": str(error)}))
    finally:
        shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
