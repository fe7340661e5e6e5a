"""Checks that every damaged file is recognised, and no healthy one is reported.

Files are cut, zeroed and flipped; in a child that may die of it, the canary judges, and a reader
that knows the contents checks the verdict. Healthy stores are churned (puts, deletes, overflow
pages, forgetting) and left without a close.
"""

import argparse
import json
import random
import shutil
import tempfile
from collections import Counter
from pathlib import Path

from slowcat_memory.records import Forget, WriteBatch
from slowcat_memory.store import Store, StoreOptions
from slowcat_memory.store.disk import canary, folder
from tests.harness import samples, tiers
from tests.harness.children import Child, ask

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
    (path / folder.RUNNING).unlink()


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


def verdict(path: Path) -> int:
    return canary.main(["check", str(path / folder.DATA)])


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


def run(damaged: int, healthy: int, seed: int, scratch: Path) -> dict:
    rng, tally = random.Random(seed), Counter()
    for number in range(healthy):
        path = scratch / f"healthy{number}"
        make(path, seed + number, rng.randrange(20, 120))
        tally["accused"] += ask(lambda path=path: verdict(path)) != canary.WHOLE
        if number:
            shutil.rmtree(path)
    base, copy = scratch / "healthy0", scratch / "copy"
    right, every = ask(lambda: contents(base)), ask(lambda: rows(base))
    assert right and every
    for number in range(damaged):
        way = WAYS[number % len(WAYS)]
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(base, copy)
        damage(copy / folder.DATA, way, rng)
        passed = ask(lambda: verdict(copy)) == canary.WHOLE
        tally[f"{way}_{'passed' if passed else 'caught'}"] += 1
        tally["missed"] += passed and ask(lambda: contents(copy)) != right
        if passed and way == "cut":
            tally["missed"] += ask(lambda: rows(copy)) != every
    return {"seed": seed, "damaged": damaged, "healthy": healthy, "accused": 0, "missed": 0} | tally


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--damaged", type=int, default=60)
    parser.add_argument("--healthy", type=int, default=60)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    args = parser.parse_args()
    scratch = Path(tempfile.mkdtemp(prefix="damage-"))
    try:
        print(json.dumps(run(args.damaged, args.healthy, args.seed, scratch)))
    finally:
        shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
