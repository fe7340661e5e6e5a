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
import shutil
import signal
import struct
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any
from unittest import mock

from slowcat_memory.core.memory import chunk_id
from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.errors import StoreError
from slowcat_memory.index import IndexOptions, generation
from slowcat_memory.records import Forget, Forgotten, WriteBatch
from slowcat_memory.runtime.namespaces.live_index import SealOrder, Space, all_documents
from slowcat_memory.runtime.namespaces.registry import Namespaces
from slowcat_memory.store import Store, backups_of, drafting, forget
from slowcat_memory.store.care import copies, health
from slowcat_memory.store.disk import transaction
from slowcat_memory.store.disk.folder import index_folder
from tests.harness import samples, thinking, tiers
from tests.harness.children import Child
from tests.harness.command import Harness, around, main
from tests.harness.samples import manifest
from tests.support.index_oracle import build

# ---------------------------------------------------------------- what happens beside a forget, and ends it

SCOPE = "anna"
PAUSE_S = 0.02  # between two exports
LINE_S = 0.002  # for each turn, so that a kill often comes while one is written
TOKENIZER = Tokenizer("english", "en")
ORDER = SealOrder(
    scope=SCOPE, space=Space(), zone="UTC", language=TOKENIZER.language, options=IndexOptions()
)

# Where a child may be killed: a module or class, and the name of the function.
POINTS: dict[str, tuple[Any, str]] = {
    "the deletion": (transaction, "transact"),
    "a copy": (copies, "remove"),
    "an unfinished file": (copies, "remove_drafts"),
    "the new file": (copies, "_swap"),
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
    documents = list(all_documents(store.snapshot, ORDER, upto))

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
    found = Namespaces(store, lambda scope: ORDER, TOKENIZER, 10)
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
    return around(copies, "remove", lambda real, path: "index" in path.parts or real(path))


def backups_stay() -> Any:
    return mock.patch.object(copies, "erase_backups", lambda path: Forgotten())


def drafts_stay() -> Any:
    return mock.patch.object(copies, "remove_drafts", lambda path, running: [])


@contextmanager
def state_is_lost() -> Iterator[None]:
    """Be killed before the bytes go, and do not continue at the next start."""
    stay = mock.patch.object(copies, "is_due", lambda env: False)
    with stay, death("the new file", 1, before=True):
        yield


# ---------------------------------------------------------------- the kills

SAID = struct.Struct(">cQ")
FIRST = 80  # turns before the first forget, so that some are in blocks


def work(path: Path, into: int, seed: int, control: str) -> None:
    """Append, age, seal, back up and forget for ever."""
    rng = random.Random(seed)
    with ExitStack() as stack:
        stack.enter_context(fault(control))
        # Nothing damages files here, and a check takes longer than everything else.
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
            gather(store)()
            store.backup()
        export_for_ever(store, elsewhere(path))
        os.write(into, SAID.pack(b"U", 0))
        if rng.random() < 0.6:
            point = rng.choice(list(POINTS))
            dying = death(point, rng.randint(1, 6), before=rng.random() < 0.5)
            stack.enter_context(dying)
        while True:
            last = _append(store, last + 1, into)
            live.append(last)
            if rng.random() < 0.05:
                backup(store, rng, elsewhere(path))
            if rng.random() < 0.25:
                n = rng.choice(live)
                live.remove(n)
                seal = gather(store) if rng.random() < 0.3 else None
                _forget(store, n, into)
                thinking.think(store, n)  # a step that began before the forget
                if seal:
                    (seal if rng.random() < 0.5 else gather(store))()


def elsewhere(path: Path) -> Path:
    """Return the folder of exports, and of backups behind a link."""
    return path.parent / "elsewhere"


@contextmanager
def fault(control: str) -> Iterator[None]:
    """Plant the fault to be found."""
    stay = dict.fromkeys(forget.TESTS, lambda record, gone: False)
    planted = {
        "erase": lambda: mock.patch.object(copies, "rewrite", lambda env: True),
        "thoughts": lambda: mock.patch.dict(forget.TESTS, stay),
        "tiers": tiers.blocks_stay,
        "index": index_stays,
        "backups": backups_stay,
        "drafts": drafts_stay,
        "state": state_is_lost,
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


def _forget(store: Store, n: int, into: int) -> None:
    def hidden(_: Forgotten) -> None:
        os.write(into, SAID.pack(b"F", n))

    os.write(into, SAID.pack(b"B", n))
    store.forget(Forget(turns=(n,)), on_hidden=hidden)


class Ledger:
    """What the children reported."""

    def __init__(self) -> None:
        self.saved, self.begun, self.gone = set[int](), set[int](), set[int]()

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
        "residue": words(path.glob("*.mdb")) + unpacked,
        "index": words((path / "index").rglob("*")),
        "backups": words((path / "backups").resolve().rglob("*.mdb")),
        "drafts": words(elsewhere(path).glob("*.unfinished"))
        + words(elsewhere(path).glob("*.tmp")),
    }
    found = recalled(store, away | set(turns))
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
        bad_backups=sum(not copies.count_rows(one.file, "meta") for one in backups_of(path)),
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
