"""What else writes in a store's folder, for the power-loss harness, and the law of each.

A scene's ``work`` runs in the traced child and reports each promise as a word; its ``judge`` opens
an image and counts what breaks the law, given the words that were reported before the power loss.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from slowcat_memory.errors import IndexDamagedError
from slowcat_memory.index import generation
from slowcat_memory.records import Forget, Manifest
from slowcat_memory.store import Store, StoreOptions, restore
from slowcat_memory.store.care import copies, health
from slowcat_memory.store.disk import environment, folder
from slowcat_memory.store.disk.page_reader import WHOLE, check
from tests.harness import samples
from tests.harness.command import around

OPTIONS = StoreOptions(map_size_gib=0.0625, backups_keep=100)
FORGOTTEN = 5


class Scene(NamedTuple):
    work: Callable[[Path, int, bool], None]
    judge: Callable[[Path, set[str]], dict[str, int]]


@contextmanager
def in_one_process(unflushed: bool) -> Iterator[None]:
    """Judge and salvage in this process, which is the traced one; leave flushes out if asked."""

    def unsynced(real: Any, *given: Any, **named: Any) -> Any:
        return real(*given, **named | {"sync": False})

    with ExitStack() as patches:
        patches.enter_context(mock.patch.object(health, "_run", lambda *a, **k: None))
        if unflushed:
            patches.enter_context(around(environment.lmdb, "open", unsynced))
            patches.enter_context(mock.patch.object(os, "fsync", lambda fd: None))
        yield


def report(said: int, word: str) -> None:
    os.write(said, word.encode())


def talk(path: Path, first: int, last: int) -> Store:
    store = Store.open(path, options=OPTIONS)
    for n in range(first, last + 1):
        # One commit each: the pages of a file are always alike.
        store.append(samples.turn(n)).wait()
    return store


def turns(path: Path) -> set[int]:
    with Store.open(path, options=OPTIONS) as store, store.snapshot() as snapshot:
        here = {turn.id: turn.text for turn in snapshot.turns()}
    assert all(text == samples.text(n) for n, text in here.items())
    return set(here)


def verdict(lost: int = 0, corrupt: int = 0, undead: int = 0) -> dict[str, int]:
    return {"lost": lost, "corrupt": int(corrupt), "undead": undead}


# ------------------------------------------------------------------- backup


def back_up(path: Path, said: int, control: bool) -> None:
    with in_one_process(control):
        for number in range(1, 7):
            store = talk(path, number * 10 - 9, number * 10)
            report(said, "opened")
            report(said, f"{number * 10} {store.backup().name}")
            store.close()
    os._exit(0)


def judge_backup(path: Path, said: set[str]) -> dict[str, int]:
    """A backup that was reported is there and whole; none has its name before it is whole."""
    lost = 0
    made = {file.name: file for file in (path / folder.BACKUPS).glob("*.mdb")}
    corrupt = sum(check(file) != WHOLE for file in made.values())
    for word in said - {"opened"}:
        upto, name = word.split()
        whole = name in made and check(made[name]) == WHOLE
        lost += not whole or copies.count_rows(made[name], "log") != int(upto)
    return verdict(lost=lost, corrupt=corrupt)


# ------------------------------------------------------------------- restore


def put_back(path: Path, said: int, control: bool) -> None:
    with in_one_process(False):
        store = talk(path, 1, 30)
        backup = store.backup(path / "kept.mdb")
        for n in range(31, 61):
            store.append(samples.turn(n))
        store.forget(Forget(turns=(FORGOTTEN,)))
        store.close()
        with backup.open("rb") as kept:
            os.fsync(kept.fileno())
        folder.sync_dir(path)
    report(said, "ready")
    with in_one_process(control):
        restore(path, backup, options=OPTIONS)
    report(said, "restored")
    os._exit(0)


def judge_restore(path: Path, said: set[str]) -> dict[str, int]:
    """The folder has the old memory or the new one; the old one stays, without what was forgotten."""
    new = {*range(1, 31)} - {FORGOTTEN}
    old = {*range(1, 61)} - {FORGOTTEN}
    corrupt = check(folder.data_file(path)) != WHOLE
    here = turns(path)
    lost = here not in (old, new) or ("restored" in said and here != new)
    aside = [*path.glob(f"{folder.REPLACED}*/{folder.DATA}")]
    if here == new:
        lost = lost or all(copies.count_rows(file, "log") != len(old) for file in aside)
    token = samples.token(FORGOTTEN).encode()
    undead = sum(token in file.read_bytes() for file in (folder.data_file(path), *aside))
    return verdict(lost=int(lost), corrupt=corrupt, undead=undead)


# ------------------------------------------------------------------- salvage


def mend(path: Path, said: int, control: bool) -> None:
    with in_one_process(False):
        talk(path, 1, 60).close()
    data = folder.data_file(path)
    with data.open("r+b") as file:  # every page that is not a meta page loses its header
        file.seek(8192)
        body = bytearray(file.read())
        for at in range(0, len(body), 8 * 4096):
            body[at : at + 16] = bytes(16)
        file.seek(8192)
        file.write(body)
        file.flush()
        os.fsync(file.fileno())
    folder.sync_dir(path)
    report(said, "damaged")
    with in_one_process(control):
        (path / folder.STATE).touch()
        Store.open(path, options=OPTIONS)
        report(said, "opened")
        os._exit(0)


def judge_salvage(path: Path, said: set[str]) -> dict[str, int]:
    """What can be read is there, and the damaged file is never lost."""
    before = [folder.data_file(path), *path.glob(f"{folder.CORRUPT}*/{folder.DATA}")]
    damaged = [file for file in before if file.exists() and check(file) != WHOLE]
    whole_now = folder.data_file(path).exists() and check(folder.data_file(path)) == WHOLE
    corrupt = "opened" in said and not whole_now
    here = turns(path)
    return verdict(lost=(not damaged) + (len(here) < 20), corrupt=corrupt)


# ------------------------------------------------------------------- index


def seal(path: Path, said: int, control: bool) -> None:
    with in_one_process(False):
        store = talk(path, 1, 20)
    report(said, "ready")
    root = folder.index_folder(path, "anna")
    with in_one_process(control), mock.patch.object(generation.Build, "_run", _write_files):
        for number in range(1, 5):
            name, made = generation.Build().run(root, "", [str(number)], Manifest)
            store.publish(Manifest(**{**_fields(made), "generation": name})).wait(10)
            report(said, f"published {number}")
            generation.sweep(root, keep=name)
    os._exit(0)


def _fields(made: Manifest) -> dict[str, Any]:
    return {name: getattr(made, name) for name in made.__struct_fields__}


def _write_files(self: Any, module: str, arguments: list[str], errors: Any) -> None:
    into = Path(arguments[0])
    built = into / generation.BUILT
    built.mkdir(mode=0o700)
    for name in ("words.npy", "vectors.index"):
        (built / name).write_bytes(samples.text(int(arguments[1]) + len(name)).encode() * 20)
    given = {"documents": 20, "embedder": "", "dim": 0, "upto": 20, "tokenizer": 1}
    generation.finish(
        into,
        lambda files: Manifest(scope="anna", generation="", files=files, forget_epoch=0, **given),
    )


def judge_index(path: Path, said: set[str]) -> dict[str, int]:
    """The index that the manifest names is whole, from the first publication on."""
    with Store.open(path, options=OPTIONS) as store, store.snapshot() as snapshot:
        manifest = snapshot.manifest("anna")
    published = any(word.startswith("published") for word in said)
    if manifest is None:
        return verdict(lost=int(published))
    try:
        generation.check(folder.index_folder(path, "anna"), manifest)
    except IndexDamagedError:
        return verdict(corrupt=1)
    return verdict()


SCENES = {
    "backup": Scene(back_up, judge_backup),
    "restore": Scene(put_back, judge_restore),
    "salvage": Scene(mend, judge_salvage),
    "index": Scene(seal, judge_index),
}
