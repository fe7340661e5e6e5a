"""Checks that every damaged file is recognised, and no healthy one is reported.

Files are cut, zeroed and flipped; the check judges, and a reader that knows the contents, in a child
that may die of it, judges the verdict. Healthy stores are churned (puts, deletes, overflow pages,
forgetting) and left without a close.

With ``--what yield`` single pages of a store of 2,000 turns are zeroed, and it is cut. No zeroed page may cost more than 2 percent of the turns, a cut none that is in a whole
page which is not free, and nothing forgotten may come back: neither what is deleted and not erased yet, nor what an
erasure hides that was killed before it deleted anything. The control *trees* salvages only what the
trees reach, which must be found too little; *undead* takes what is in free pages for
live, and knows nothing of what was forgotten.
"""

import random
import shutil
from collections import Counter
from collections.abc import Iterable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any
from unittest import mock

from slowcat_memory.records import Forget, WriteBatch
from slowcat_memory.store import Store, StoreOptions
from slowcat_memory.store.care import health, salvage
from slowcat_memory.store.care.salvage import identify
from slowcat_memory.store.disk import folder
from slowcat_memory.store.disk.page_reader import (
    UNSEEN,
    WHOLE,
    PageMap,
    PageReader,
    Row,
    check,
)
from tests.harness import samples, tiers
from tests.harness.children import Child, ask
from tests.harness.command import Harness, around, main

OPTIONS = StoreOptions(map_size_gib=1 / 16)
WAYS = ("cut", "zero", "flip")


def churn(path: Path, seed: int, rounds: int) -> None:
    """Fill a store and leave it as a kill would; run in a child."""
    rng = random.Random(seed)
    store = Store.open(path, options=OPTIONS)
    for n in range(1, rounds + 1):
        store.append_all([samples.turn(n * 2 - 1), samples.turn(n * 2)])
        made = [samples.memory(f"fact/{rng.randrange(40)}", text=samples.text(n)) for _ in range(3)]
        away = (("anna", f"fact/{rng.randrange(40)}"),)
        store.apply("churn", WriteBatch(memories=tuple(made), drop=away))
        if rng.random() < 0.05:
            tiers.age(store)
        if rng.random() < 0.01:
            store.forget(Forget(turns=(rng.randint(1, n),)), erase=rng.random() < 0.5)
    store.flush()


def make(path: Path, seed: int, rounds: int) -> None:
    said, died = Child(lambda into: churn(path, seed, rounds)).finish()
    assert not died, said
    (path / folder.STATE).unlink()


def damage(file: Path, way: str, rng: random.Random) -> None:
    size = file.stat().st_size
    with file.open("r+b") as data:
        if way == "cut":
            data.truncate(rng.randrange(size))
        elif way == "zero":
            data.seek(rng.randrange(size // 4096) * 4096)
            data.write(bytes(4096))
        else:
            at = rng.randrange(size)
            data.seek(at)
            flipped = data.read(1)[0] ^ 1 << rng.randrange(8)
            data.seek(at)
            data.write(bytes([flipped]))


def rows(path: Path) -> list:
    """Every row of every table: a cut file may lack nothing but free pages."""
    with Store.open(path, options=OPTIONS, readonly=True) as store:
        with store._env.reading() as (txn, handles):
            return [repr(list(txn.cursor(handles[table]))) for table in sorted(handles)]


def contents(path: Path) -> list:
    """Everything that can be read, and the count of what could not."""
    with Store.open(path, options=OPTIONS, readonly=True) as store, store.snapshot() as snapshot:
        events = [repr(event) for event in snapshot.events()]
        by_scope = [event.id for event in snapshot.events("anna")]
        memories = [repr(memory) for memory in snapshot.memories("anna")]
        rows = [repr(row) for row in snapshot.sessions()]
        return [events, by_scope, memories, rows, len(store.quarantined)]


# ------------------------------------------------------------------- yield


TURNS, PER_FLUSH = 2000, 40
DELETED, LATER = (700, 1234), (333, 1750)
FORGOTTEN = (*DELETED, *LATER)
FORGOTTEN_NOTES = ("note/400", "note/720", "note/333", "note/1760")
MOST_LOST = 0.02
WORDS = "we went to the lake again and Anna said that the water was too cold for the dog".split()


def fill(path: Path, seed: int) -> None:
    """Fill a store with talk and notes; forget some of it, in two transactions."""
    rng = random.Random(seed)
    store = Store.open(path, options=OPTIONS)
    for n in range(1, TURNS + 1):
        said = " ".join(rng.choices(WORDS, k=rng.randrange(3, 25)))
        store.append(samples.turn(n, text=f"{samples.token(n)} {said}", session=f"s{n // 50}"))
        if n % PER_FLUSH == 0 or n in FORGOTTEN:
            store.flush()
            made = samples.memory(f"note/{n}", sources=(n,), text=samples.text(n)[:40])
            store.apply("notes", WriteBatch(memories=(made,)))
    notes = [Forget(scope="anna", memories=(id,)) for id in FORGOTTEN_NOTES if id != "note/333"]
    store.forget([Forget(turns=DELETED), *notes[:2]], erase=False)
    store.forget([Forget(turns=LATER), *notes[2:]], erase=False)
    store.flush()


def turns_in_whole_leaves(data: Path) -> set[int]:
    """Return the turns in the leaves of a cut file, except those that its free list names."""
    found = set()
    with closing(PageReader(data)) as reader:
        pages = PageMap(reader)
        for meta in reader.metas[:1]:
            pages.read_free_tree(meta)
        for _, page in pages.leaves(UNSEEN):
            nodes = [node for node in reader.leaf(page)[0] if node.value is not None]
            rows = (identify(node.key, node.value or b"") for node in nodes)
            found.update(row.record.id for row in rows if row and row.table == "log")
    return found


def _put_ignorantly(real: Any, salvage: Any, table: str, rows: Iterable[Row]) -> None:
    """Copy rows, but lose what the store knows of what is forgotten."""
    if table != "tombstones":
        real(salvage, table, rows)


def salvaged(path: Path, control: str) -> list[int | str]:
    """Salvage and open a store; return the ids of its turns and notes, in a child."""
    with ExitStack() as patches:

        def patch(*given: Any) -> None:
            patches.enter_context(mock.patch.object(*given))

        patch(health, "_run", lambda *args, **given: None)  # in this process: faster
        if control == "trees":
            for step in ("_copy_unreached", "_copy_earlier_turns", "_copy_large_values"):
                patch(salvage._Salvage, step, lambda self: None)
        if control == "undead":
            patches.enter_context(around(salvage._Salvage, "_put", _put_ignorantly))
            patch(folder, "read_unerased", lambda path: {})
            patch(PageMap, "read_free_tree", lambda self, meta: None)
        with Store.open(path, options=OPTIONS) as store, store.snapshot() as snapshot:
            notes = [one.id for one in snapshot.memories("anna")]
            return [*(turn.id for turn in snapshot.turns()), *notes]


def judge_yield(scratch: Path, pages: int, seed: int, control: str) -> dict[str, int]:
    rng, tally = random.Random(seed), Counter[str]()
    base, copy = scratch / "base", scratch / "copy"
    said, died = Child(lambda into: fill(base, seed)).finish()
    assert not died, said
    data = folder.data_file(base)
    size = data.stat().st_size
    every = {*range(1, TURNS + 1)} - {*FORGOTTEN}
    for number in range(pages):
        shutil.rmtree(copy, ignore_errors=True)
        copy.mkdir(mode=0o700)
        body = bytearray(data.read_bytes())
        if number % 10:
            at = rng.randrange(size // 4096) * 4096
            body[at : at + 4096] = bytes(4096)
        else:
            del body[rng.randrange(size // 10, size) :]
        (copy / folder.DATA).write_bytes(body)
        (copy / folder.STATE).touch()
        shutil.copy(base / folder.FORGOTTEN, copy)
        least = turns_in_whole_leaves(copy / folder.DATA) - {*FORGOTTEN}
        found = ask(lambda: salvaged(copy, control))
        if found is None:
            tally["died"] += 1
            continue
        here = set(found)
        tally["undead"] += bool(here & {*FORGOTTEN, *FORGOTTEN_NOTES})
        if number % 10:
            tally["poor"] += len(every - here) > MOST_LOST * TURNS
        else:
            tally["cut_lost"] += len(least - here)
        if control and not HARNESSES["yield"].judge(tally, 0, control):
            break
    return {"pages": pages, **{name: tally[name] for name in YIELD}}


# ------------------------------------------------------------------- verdicts


def run(scratch: Path, damaged: int, seed: int, control: str) -> dict[str, int]:
    rng, tally = random.Random(seed), Counter[str]()
    for number in range(max(1, damaged // 4)):
        make(scratch / f"healthy{number}", seed + number, rng.randrange(20, 120))
        judged = check(folder.data_file(scratch / f"healthy{number}"))
        tally["accused"] += judged != WHOLE
    base, copy = scratch / "healthy0", scratch / "copy"
    right, every = ask(lambda: contents(base)), ask(lambda: rows(base))
    assert right and every
    for number in range(damaged):
        way = WAYS[number % len(WAYS)]
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(base, copy)
        damage(folder.data_file(copy), way, rng)
        passed = control == "blind" or check(folder.data_file(copy)) == WHOLE
        tally[f"{way}_{'passed' if passed else 'caught'}"] += 1
        tally["missed"] += passed and ask(lambda: contents(copy)) != right
        if passed and way == "cut":
            tally["missed"] += ask(lambda: rows(copy)) != every
    return {"accused": 0, "missed": 0, "cut_caught": 0} | tally


YIELD = ("poor", "cut_lost", "undead", "died")
HARNESSES = {
    "verdicts": Harness(
        run=run, count=60, night=300, laws=("accused", "missed"), least={"cut_caught": 0.2},
        controls={"blind": ("missed", 10)},
    ),
    "yield": Harness(
        run=judge_yield, count=24, night=400, laws=YIELD, least={"pages": 1.0},
        controls={"trees": ("poor or cut_lost", 40), "undead": ("undead", 40)},
    ),
}  # fmt: skip

if __name__ == "__main__":
    main(HARNESSES, __doc__)
