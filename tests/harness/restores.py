"""Checks that a restore that is killed leaves the old memory or the new one, and nothing forgotten.

A child restores a backup and is killed at a random moment. The store is then opened as after a
crash. ``--control swap`` writes the new file in place instead of renaming it, which must be found.
"""

import argparse
import json
import random
import shutil
import tempfile
import time
from collections import Counter
from pathlib import Path
from unittest import mock

from slowcat_memory.records import Forget
from slowcat_memory.store import Store, StoreOptions, restore
from slowcat_memory.store.disk import environment, folder
from tests.harness import samples
from tests.harness.children import Child, ask

OPTIONS = StoreOptions(map_size_gib=1 / 16)
BACKED_UP, TURNS, FORGOTTEN = 150, 220, (5, 200)
NEW = {*range(1, BACKED_UP + 1)} - {*FORGOTTEN}
OLD = {*range(1, TURNS + 1)} - {*FORGOTTEN}


def make(path: Path) -> None:
    """Fill a store with a backup beside it, and forget something since."""
    with Store.open(path, options=OPTIONS) as store:
        for n in range(1, TURNS + 1):
            store.append(samples.turn(n))
            if n == BACKED_UP:
                store.flush()
                store.backup(path.with_name("kept.mdb"))
        store.forget(Forget(turns=FORGOTTEN))


def put_back(path: Path, control: str) -> None:
    backup = path.with_name("kept.mdb")
    if control != "swap":
        restore(path, backup, options=OPTIONS)
        return
    with mock.patch.object(environment.os, "replace", _copy_slowly):
        restore(path, backup, options=OPTIONS)


def _copy_slowly(fresh: Path, name: str, *, dst_dir_fd: int) -> None:
    body = fresh.read_bytes()
    with fresh.parent.with_name(name).open("wb", buffering=0) as file:
        for at in range(0, len(body), 8192):
            file.write(body[at : at + 8192])
            time.sleep(0.005)


def judge(path: Path) -> dict[str, int]:
    with Store.open(path, options=OPTIONS) as store:
        with store.snapshot() as snapshot:
            here = {turn.id: turn.text for turn in snapshot.turns()}
        reused = store.append(samples.turn(1)).id <= TURNS
        store.flush()
        corrupt = bool(store.opened.moved_aside or store.quarantined)
    bytes_left = b"".join(file.read_bytes() for file in path.rglob("*.mdb"))
    return {
        "lost": int(set(here) not in (OLD, NEW)),
        "corrupt": int(corrupt or any(text != samples.text(n) for n, text in here.items())),
        "undead": sum(samples.token(n).encode() in bytes_left for n in FORGOTTEN),
        "reused": int(reused),
        "new": int(set(here) == NEW),
        "leftovers": int((path / folder.RESTORING).exists()),
    }


def run(restores: int, seed: int, control: str, scratch: Path) -> dict:
    rng, tally = random.Random(seed), Counter()
    base = scratch / "base"
    base.mkdir()
    said, died = Child(lambda into: make(base / "store")).finish()
    assert not died, said
    longest = _duration(base, scratch / "timed")
    for number in range(restores):
        work = (
            scratch / f"work{number}"
        )  # a process that the killed one started may still be in one
        shutil.copytree(base, work)
        child = Child(lambda into, work=work: put_back(work / "store", control))
        child.kill_after(rng.uniform(0, 1.1 * longest))
        child.finish()
        found = ask(lambda work=work: judge(work / "store"))
        tally.update(found if found is not None else {"died": 1})
        shutil.rmtree(work, ignore_errors=True)
    names = ("lost", "corrupt", "undead", "reused", "leftovers", "died", "new")
    return {"restores": restores, "seed": seed, "control": control} | {n: tally[n] for n in names}


def _duration(base: Path, work: Path) -> float:
    shutil.copytree(base, work)
    begin = time.monotonic()
    Child(lambda into: put_back(work / "store", "none")).finish()
    return time.monotonic() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--restores", type=int, default=40)
    parser.add_argument("--control", choices=("none", "swap"), default="none")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    args = parser.parse_args()
    scratch = Path(tempfile.mkdtemp(prefix="restores-"))
    try:
        print(json.dumps(run(args.restores, args.seed, args.control, scratch)))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
