"""Checks that forgetting survives a ``kill -9``, and leaves no byte behind.

A child appends turns and forgets some, reporting both, and is killed: at a random moment, or at one
of the steps of an erasure. Meanwhile a thread moves the tiers, another one writes exports elsewhere,
indexes are sealed (also from what was read before a forget), and backups are made, in the folder or,
every other time, behind a link; a forget deletes them or rewrites them.

What was reported as saved must be there and be recalled. What was reported as hidden by a forget
must be gone from every later snapshot. What is gone must be gone from every file once the store is
open again: from the store's own, from unpacked blocks, from index files, from backups and from
unfinished files elsewhere; and no index may find it. The same is required of what idle jobs make of
the turns, before and too late.
"""

import os
import random
import struct
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest import mock

from slowcat_memory.records import Forget, Forgotten, WriteBatch
from slowcat_memory.store import Store, backups_of, forget
from slowcat_memory.store.care import copy, health
from tests.harness import forgetting, samples, thinking, tiers
from tests.harness.children import Child
from tests.harness.command import Harness, main

SAID = struct.Struct(">cQ")
FIRST = 80  # turns before the first forget, so that some are in blocks


def work(path: Path, into: int, seed: int, control: str) -> None:
    """Append, age, seal, back up and forget for ever."""
    rng = random.Random(seed)
    with ExitStack() as stack:
        stack.enter_context(fault(control))
        # Nothing damages files here, and a canary takes longer than everything else.
        stack.enter_context(mock.patch.object(health, "is_whole", lambda file: True))
        store = Store.open(path)
        tiers.age_for_ever(store)
        with store.snapshot() as snapshot:
            live = [turn.id for turn in snapshot.turns()]
            last = int(snapshot.meta("next_id")) - 1
        while last < FIRST:
            last = _append(store, last + 1, into)
            live.append(last)
        tiers.age(store)
        if rng.random() < 0.4:
            forgetting.gather(store)()
            store.backup()
        forgetting.export_for_ever(store, elsewhere(path))
        os.write(into, SAID.pack(b"U", 0))
        if rng.random() < 0.6:
            point = rng.choice(list(forgetting.POINTS))
            dying = forgetting.death(point, rng.randint(1, 6), before=rng.random() < 0.5)
            stack.enter_context(dying)
        while True:
            last = _append(store, last + 1, into)
            live.append(last)
            if rng.random() < 0.05:
                forgetting.backup(store, rng, elsewhere(path))
            if rng.random() < 0.25:
                n = rng.choice(live)
                live.remove(n)
                seal = forgetting.gather(store) if rng.random() < 0.3 else None
                _forget(store, n, into, keep_backups=rng.random() < 0.3)
                thinking.think(store, n)  # a step that began before the forget
                if seal:
                    (seal if rng.random() < 0.5 else forgetting.gather(store))()


def elsewhere(path: Path) -> Path:
    """Return the folder of exports, and of backups behind a link."""
    return path.parent / "elsewhere"


@contextmanager
def fault(control: str) -> Iterator[None]:
    """Plant the fault to be found."""
    stay = dict.fromkeys(forget.TESTS, lambda record, gone: False)
    planted = {
        "erase": lambda: mock.patch.object(copy, "rewrite", lambda env: True),
        "thoughts": lambda: mock.patch.dict(forget.TESTS, stay),
        "tiers": tiers.blocks_stay,
        "index": forgetting.index_stays,
        "backups": forgetting.backups_stay,
        "drafts": forgetting.drafts_stay,
        "state": forgetting.state_is_lost,
    }
    with planted[control]() if control else ExitStack():
        yield


def _append(store: Store, n: int, into: int) -> int:
    ack = store.append(samples.turn(n))
    assert ack.id == n, "an id was used twice"
    made = samples.memory(f"fact/{n}", sources=(n,), text=samples.text(n))
    store.apply("facts", WriteBatch(memories=(made,)))
    thinking.think(store, n).wait()
    os.write(into, SAID.pack(b"A", n))
    return n


def _forget(store: Store, n: int, into: int, *, keep_backups: bool) -> None:
    def hidden(_: Forgotten) -> None:
        os.write(into, SAID.pack(b"F", n))

    os.write(into, SAID.pack(b"B", n))
    store.forget(Forget(turns=(n,)), keep_backups=keep_backups, on_hidden=hidden)


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
    path, away = store.path, (told.begun | told.gone) - set(turns)
    unpacked, torn = tiers.contents(store)
    places = {
        "residue": forgetting.words(path.glob("*.mdb")) + unpacked,
        "index": forgetting.words((path / "index").rglob("*")),
        "backups": forgetting.words((path / "backups").resolve().rglob("*.mdb")),
        "drafts": forgetting.words(elsewhere(path).glob("*.unfinished"))
        + forgetting.words(elsewhere(path).glob("*.tmp")),
    }
    found = forgetting.recalled(store, away | set(turns))
    return Counter(
        {
            name: sum(samples.token(n).encode() in held for n in away)
            for name, held in places.items()
        },
        orphans=thinking.orphans(store),
        lost=len(told.saved - told.begun - set(turns)),
        corrupt=sum(text != samples.text(n) for n, text in turns.items()),
        undead=len(told.gone & (set(turns) | facts)),
        half=len(facts - set(turns)),
        torn=torn,
        recalled=len(found & away),
        unfound=len(set(turns) - found),
        accused=store.opened.moved_aside is not None,
        bad_backups=sum(not copy.count_rows(one.file, "meta") for one in backups_of(path)),
    )


def run(base: Path, kills: int, seed: int, control: str) -> dict[str, int]:
    rng, tally = random.Random(seed), Counter()
    stores = [_prepared(base / name, linked=name == "linked") for name in ("plain", "linked")]
    ledgers = [Ledger(), Ledger()]
    for kill in range(kills):
        path, told = stores[kill % 2], ledgers[kill % 2]
        child = Child(lambda into, path=path, kill=kill: work(path, into, seed + kill, control))
        child.wait_for(SAID.pack(b"U", 0))
        said, died = child.kill_after(SAID.size * rng.randrange(60), rng.uniform(0, 0.01))
        assert died, "the child ended by itself"
        told.hear(said)
        with fault(control), Store.open(path) as store:
            tally.update(look(store, told))
        if control and not HARNESSES["kills"].judge(tally, 0, control):
            break
    saved, begun, forgotten = (
        sum(len(getattr(told, name)) for told in ledgers) for name in ("saved", "begun", "gone")
    )
    counted = {"saved": saved, "begun": begun, "forgotten": forgotten}
    return counted | {name: tally[name] for name in LAWS}


def _prepared(folder: Path, *, linked: bool) -> Path:
    """Make the folders; return the store's."""
    path = folder / "store"
    path.mkdir(parents=True, mode=0o700)
    elsewhere(path).mkdir()
    if linked:
        (folder / "disk").mkdir()
        (path / "backups").symlink_to(folder / "disk")
    return path


LAWS = (
    *("lost", "corrupt", "undead", "half", "residue", "torn", "orphans", "accused"),
    *("index", "backups", "drafts", "recalled", "unfound", "bad_backups"),
)
HARNESSES = {
    "kills": Harness(
        run=run, count=40, night=100, laws=LAWS, least={"begun": 1.0, "forgotten": 0.3},
        controls={
            "erase": ("residue", 4),  # delete, but leave the bytes
            "tiers": ("residue", 6),  # leave its blocks
            "thoughts": ("undead or half", 6),  # leave contexts, keys and tasks
            "index": ("index", 40), "backups": ("backups", 40), "drafts": ("drafts", 40),
            "state": ("residue", 6),  # do not continue what was interrupted
        },
    )
}  # fmt: skip

if __name__ == "__main__":
    main(HARNESSES, __doc__)
