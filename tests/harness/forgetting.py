"""What forgetting must reach besides the store's file: sealed indexes, backups, unfinished files."""

import os
import random
import shutil
import signal
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from unittest import mock

from slowcat_memory.core.memory import chunk_id
from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.core.time.calendar import zone_of
from slowcat_memory.errors import StoreError
from slowcat_memory.index import IndexOptions, generation
from slowcat_memory.records import Forgotten
from slowcat_memory.runtime.namespaces.documents import DateLocale, Space, all_documents
from slowcat_memory.runtime.namespaces.registry import Namespaces
from slowcat_memory.runtime.namespaces.sealing import SealOrder
from slowcat_memory.store import Store, drafting
from slowcat_memory.store.care import copy, erasure
from slowcat_memory.store.disk import transaction
from slowcat_memory.store.disk.folder import index_folder
from tests.harness.command import around
from tests.harness.samples import manifest
from tests.support.index_oracle import build

SCOPE = "anna"
PAUSE_S = 0.02  # between two exports
LINE_S = 0.002  # for each turn, so that a kill often comes while one is written
TOKENIZER = Tokenizer("english", "en")
READING = DateLocale(zone_of("UTC"), "en")

# Where a child may be killed: a module or class, and the name of the function.
POINTS: dict[str, tuple[Any, str]] = {
    "the deletion": (transaction, "transact"),
    "a copy": (erasure, "remove"),
    "rewriting a backup": (erasure, "delete_forgotten"),
    "a rewritten backup": (erasure, "created"),
    "an unfinished file": (erasure, "remove_drafts"),
    "the new file": (copy, "_swap"),
    "an index": (generation, "finish"),
    "publishing": (Store, "publish"),
}


def death(point: str, after: int, *, before: bool) -> Any:
    """Kill this process at the ``after``th call of a function, before or after it."""
    left = after

    def deadly(real: Any, *given: Any, **named: Any) -> Any:
        nonlocal left
        left -= 1
        if left == 0 and before:
            os.kill(os.getpid(), signal.SIGKILL)
        result = real(*given, **named)
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    return around(*POINTS[point], deadly)


# ------------------------------------------------------------------- sealed indexes


def gather(store: Store) -> Callable[[], None]:
    """Read the namespace now; the result builds and publishes an index of what was read."""
    with store.snapshot() as snapshot:
        upto, epoch = snapshot.last_id(), snapshot.forget_epoch()
        changes = snapshot.last_change()
    documents = list(all_documents(store.snapshot, SCOPE, READING, upto))

    def seal() -> None:
        root = index_folder(store.path, SCOPE)
        temporary = root / f"tmp-{uuid.uuid4().hex}"
        built = temporary / generation.BUILT
        built.mkdir(parents=True)
        try:
            header = build(documents, {}, 0, built, TOKENIZER, IndexOptions())
            made = []
            generation.finish(temporary, lambda files: made.extend(files) or "")
            name = uuid.uuid4().hex
            os.rename(built, root / name)
        except OSError:
            return  # its folder was deleted meanwhile
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
        read = {"upto": upto, "forget_epoch": epoch, "changes": changes}
        found = {"documents": header.documents, "tokenizer": TOKENIZER.version, **read}
        try:
            store.publish(manifest(generation=name, files=tuple(made), **found)).wait()
        except StoreError:
            shutil.rmtree(root / name, ignore_errors=True)
        else:
            generation.sweep(root, keep=name)

    return seal


def recalled(store: Store, ids: set[int]) -> set[int]:
    """Return which of the turns the namespace's index finds, loaded as for a recall."""
    order = SealOrder(
        scope=SCOPE, space=Space(), zone="UTC", language=TOKENIZER.language, options=IndexOptions()
    )
    found = Namespaces(store, lambda scope: order, TOKENIZER, 10)
    namespace = found.get(SCOPE)
    return {id for id in ids if chunk_id(id) in namespace.searcher}


# ------------------------------------------------------------------- files elsewhere


def export_for_ever(store: Store, folder: Path) -> None:
    """Write exports on a thread of its own until the process ends."""

    def run() -> None:
        while True:
            to = folder / f"{uuid.uuid4().hex}.txt"
            with suppress(StoreError):  # something was forgotten meanwhile
                _export(store, to)
            to.unlink(missing_ok=True)  # finished, so it is the user's own
            time.sleep(PAUSE_S)

    threading.Thread(target=run, daemon=True).start()


def _export(store: Store, to: Path) -> None:
    draft = to.with_name(f".{to.name}.unfinished")
    writing = drafting(store.path, store.snapshot, draft, to)
    with writing, store.snapshot() as snapshot, draft.open("w") as file:
        for turn in snapshot.turns():
            file.write(f"{turn.text}\n")
            file.flush()
            time.sleep(LINE_S)


def backup(store: Store, rng: random.Random, elsewhere: Path) -> None:
    """Make a backup, in the folder or elsewhere; one elsewhere is the user's own."""
    if rng.random() < 0.7:
        store.backup()
        return
    to = elsewhere / "memory.mdb"
    to.unlink(missing_ok=True)
    with suppress(StoreError):
        store.backup(to)
        to.unlink()


def words(files: Iterator[Path]) -> bytes:
    return b"".join(file.read_bytes() for file in files if file.is_file())


# ------------------------------------------------------------------- faults


def index_stays() -> Any:
    """Leave sealed indexes: the fault of a version that deleted them only while it ran."""
    return around(erasure, "remove", lambda real, path: "index" in path.parts or real(path))


def backups_stay() -> Any:
    return mock.patch.object(erasure, "erase_backups", lambda env, found: Forgotten())


def drafts_stay() -> Any:
    return mock.patch.object(erasure, "remove_drafts", lambda path, running: [])


@contextmanager
def state_is_lost() -> Iterator[None]:
    """Be killed before the bytes go, and do not continue at the next start."""
    stay = mock.patch.object(erasure, "is_due", lambda env: False)
    with stay, death("the new file", 1, before=True):
        yield
