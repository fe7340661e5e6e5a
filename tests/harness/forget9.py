"""Does forgetting survive a ``kill -9``, and does it leave no byte behind?

A child appends turns and forgets some, reporting both, and is killed at a random moment, often in
the middle of a compaction. What was reported as saved must be there, what was reported as forgotten
must be gone, from every snapshot and from every file of the folder; what was begun but not reported
may be either, but when it is gone its bytes must be gone too once the store is open again.
"""

import argparse
import json
import os
import random
import shutil
import struct
import tempfile
from collections import Counter
from pathlib import Path
from unittest import mock

from slowcat_memory.records import Forget, WriteBatch
from slowcat_memory.store import Store, copies
from tests.harness import samples
from tests.harness.children import Child

SAID = struct.Struct(">cQ")


def work(path: Path, into: int, seed: int, control: bool) -> None:
    """Append and forget for ever; ``control`` forgets without leaving the bytes behind."""
    rng = random.Random(seed)
    with mock.patch.object(copies, "erase_if_due", (lambda env: True) if control else _REAL):
        store = Store.open(path)
        with store.snapshot() as snapshot:
            live = [turn.id for turn in snapshot.turns()]
            last = int(snapshot.meta("next_id")) - 1
        os.write(into, SAID.pack(b"U", 0))
        while True:
            last = _append(store, last + 1, into)
            live.append(last)
            if rng.random() < 0.25:
                _forget(store, live.pop(rng.randrange(len(live))), into)


_REAL = copies.erase_if_due


def _append(store: Store, n: int, into: int) -> int:
    ack = store.append(samples.turn(n))
    assert ack.id == n, "an id was used twice"
    made = samples.memory(f"fact/{n}", sources=(n,), text=samples.text(n))
    ack = store.apply("facts", WriteBatch(memories=(made,)))
    ack.wait()
    os.write(into, SAID.pack(b"A", n))
    return n


def _forget(store: Store, n: int, into: int) -> None:
    os.write(into, SAID.pack(b"B", n))
    gone = store.forget(Forget(turns=(n,)))
    if gone.erased:
        os.write(into, SAID.pack(b"F", n))


class Ledger:
    """What the children reported."""

    def __init__(self) -> None:
        self.saved: set[int] = set()
        self.begun: set[int] = set()
        self.gone: set[int] = set()

    def hear(self, said: bytes) -> None:
        whole = said[: len(said) // SAID.size * SAID.size]
        for what, n in SAID.iter_unpack(whole):
            {b"A": self.saved, b"B": self.begun, b"F": self.gone, b"U": set()}[what].add(n)


def look(store: Store, told: Ledger) -> Counter:
    with store.snapshot() as snapshot:
        turns = {turn.id: turn.text for turn in snapshot.turns()}
        facts = {n for memory in snapshot.memories("anna") for n in memory.sources}
    files = b"".join(file.read_bytes() for file in store.path.glob("*.mdb"))
    away = (told.begun | told.gone) - set(turns)
    return Counter(
        lost=len(told.saved - told.begun - set(turns)),
        corrupt=sum(text != samples.text(n) for n, text in turns.items()),
        undead=len(told.gone & (set(turns) | facts)),
        half=len(facts - set(turns)),
        residue=sum(samples.token(n).encode() in files for n in away),
        accused=store.opened.moved_aside is not None,
    )


def run(kills: int, seed: int, control: bool, path: Path) -> dict:
    rng, tally, told = random.Random(seed), Counter(), Ledger()
    for kill in range(kills):
        child = Child(lambda into, kill=kill: work(path, into, seed + kill, control))
        child.wait_first()
        child.kill_after(rng.uniform(0.001, 0.15))
        said, died = child.finish()
        assert died, "the child ended by itself"
        told.hear(said)
        with mock.patch.object(copies, "erase_if_due", (lambda env: True) if control else _REAL):
            with Store.open(path) as store:
                tally.update(look(store, told))
    names = ("lost", "corrupt", "undead", "half", "residue", "accused")
    counted = {"saved": len(told.saved), "forgotten": len(told.gone), "begun": len(told.begun)}
    return {"kills": kills, "seed": seed, **counted, **{name: tally[name] for name in names}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=40)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--control", action="store_true", help="delete, but do not compact")
    args = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="forget9-"))
    try:
        print(json.dumps(run(args.kills, args.seed, args.control, folder / "store")))
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
