"""Checks that forgetting survives a ``kill -9``, and leaves no byte behind.

A child appends turns and forgets some, reporting both, and is killed at a random moment, often
during a compaction. What was reported as saved must be there; what was reported as forgotten must
be gone, from every snapshot and from every file of the folder; what was begun but not reported may
be either, but if it is gone its bytes must be gone too once the store is open again. Meanwhile a
thread moves the tiers: the bytes must not be in an unpacked block or a dictionary either. The same
is required of what idle jobs make of the turns, before and too late.
"""

import argparse
import json
import os
import random
import shutil
import struct
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from slowcat_memory.records import Forget, WriteBatch
from slowcat_memory.store import Store
from slowcat_memory.store.care import copy
from slowcat_memory.store.rows import forget
from tests.harness import samples, thinking, tiers
from tests.harness.children import Child
from tests.support.dictionary_blocks import pack_with_dictionary

SAID = struct.Struct(">cQ")
FIRST = 80  # turns before the first forget: enough to train a dictionary of an earlier version


def work(path: Path, into: int, seed: int, control: str) -> None:
    """Append, age and forget forever; ``control``: "erase" leaves bytes, "tiers" dictionaries."""
    rng = random.Random(seed)
    with fault(control):
        store = Store.open(path)
        tiers.age_for_ever(store)
        with store.snapshot() as snapshot:
            live = [turn.id for turn in snapshot.turns()]
            last = int(snapshot.meta("next_id")) - 1
        while last < FIRST:
            last = _append(store, last + 1, into)
            live.append(last)
        tiers.age(store)
        pack_with_dictionary(store, size=16_384, old_cursor=False)  # as earlier versions did
        os.write(into, SAID.pack(b"U", 0))
        while True:
            last = _append(store, last + 1, into)
            live.append(last)
            if rng.random() < 0.25:
                risky = sorted(tiers.trained_on(store) & set(live))
                n = rng.choice(risky if risky and rng.random() < 0.5 else live)
                live.remove(n)
                _forget(store, n, into)
                thinking.think(store, n)  # a step that began before the forget


@contextmanager
def fault(control: str) -> Iterator[None]:
    """Plant the fault to be found."""
    if control == "erase":
        with mock.patch.object(copy, "erase_if_due", lambda env: True):
            yield
    elif control == "thoughts":
        stay = dict.fromkeys(forget.TESTS, lambda record, gone: False)
        with mock.patch.dict(forget.TESTS, stay):
            yield
    elif control == "tiers":
        with tiers.dictionaries_stay():
            yield
    else:
        yield


def _append(store: Store, n: int, into: int) -> int:
    ack = store.append(samples.turn(n))
    assert ack.id == n, "an id was used twice"
    made = samples.memory(f"fact/{n}", sources=(n,), text=samples.text(n))
    store.apply("facts", WriteBatch(memories=(made,)))
    thinking.think(store, n).wait()
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
        facts |= thinking.sources(snapshot)
    files = b"".join(file.read_bytes() for file in store.path.glob("*.mdb"))
    unpacked, torn = tiers.contents(store)
    files += unpacked
    away = (told.begun | told.gone) - set(turns)
    return Counter(
        orphans=thinking.orphans(store),
        lost=len(told.saved - told.begun - set(turns)),
        corrupt=sum(text != samples.text(n) for n, text in turns.items()),
        undead=len(told.gone & (set(turns) | facts)),
        half=len(facts - set(turns)),
        residue=sum(samples.token(n).encode() in files for n in away),
        torn=torn,
        accused=store.opened.moved_aside is not None,
    )


def run(kills: int, seed: int, control: str, path: Path) -> dict:
    rng, tally, told = random.Random(seed), Counter(), Ledger()
    for kill in range(kills):
        child = Child(lambda into, kill=kill: work(path, into, seed + kill, control))
        child.wait_for(SAID.pack(b"U", 0))
        child.kill_after(rng.uniform(0.001, 0.25))
        said, died = child.finish()
        assert died, "the child ended by itself"
        told.hear(said)
        with fault(control), Store.open(path) as store:
            tally.update(look(store, told))
    names = ("lost", "corrupt", "undead", "half", "residue", "torn", "orphans", "accused")
    counted = {"saved": len(told.saved), "forgotten": len(told.gone), "begun": len(told.begun)}
    return {"kills": kills, "seed": seed, **counted, **{name: tally[name] for name in names}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=40)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument(
        "--control",
        choices=("erase", "tiers", "thoughts"),
        default="",
        help="erase: delete, but leave the bytes; tiers: leave dictionaries of what is forgotten; "
        "thoughts: leave contexts, keys and tasks of it",
    )
    args = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="forget9-"))
    try:
        print(json.dumps(run(args.kills, args.seed, args.control, folder / "store")))
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
