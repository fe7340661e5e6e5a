"""What must hold of a fleet after faults, read from its database and from its workers' caches."""

import contextlib
import os
import re
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import lmdb
import zstandard
from msgspec import Struct, field

from slowcat_memory.store import data_file
from slowcat_memory.store.disk.codec import name_key
from slowcat_memory.store.disk.outbox import COPY
from slowcat_memory.store.disk.tables import COUNTS
from tests.harness.children import ask
from tests.harness.fleet_server import TENANT, Server
from tests.harness.puppet_life import Orders, worker_config
from tests.harness.puppets import WAIT_S, Puppet, until

WORD = re.compile(r"x[a-z]+w\d+[nm]\d+x")
ZSTD = b"\x28\xb5\x2f\xfd"  # begins a frame
MOST = 64 << 20  # of a frame, unpacked
LOCAL = ("outbox", "manifest", "changes")  # tables that are each copy's own
LOCAL_META = tuple(map(name_key, (COUNTS, COPY)))


class Said(Struct):
    """What workers noted: words, by what became of them."""

    people: dict[str, str] = field(default_factory=dict)  # of each word
    acked: set[str] = field(default_factory=set)
    forgetting: set[str] = field(default_factory=set)
    forgotten: set[str] = field(default_factory=set)
    refused: set[str] = field(default_factory=set)
    kept: set[str] = field(default_factory=set)  # said by workers that released the memory then

    def add(self, puppet: Puppet) -> None:
        unreleased = dict[str, set[str]]()
        for row in puppet.rows:
            match row["what"]:
                case "said":
                    self.people[row["word"]] = row["person"]
                    if "raises" not in row:  # else who said it knows whether it is kept
                        unreleased.setdefault(row["person"], set()).add(row["word"])
                case "released":
                    self.kept |= unreleased.pop(row["person"], set())
                case "refused" if row["error"] in ("LeaseLostError", "StoreClosedError"):
                    pass  # it is stored late: another worker appends it
                case "acked" | "forgetting" | "forgotten" | "refused" as what:
                    getattr(self, what).add(row["word"])


def of(puppets: Iterable[Puppet]) -> Said:
    said = Said()
    for one in puppets:
        said.add(one)
    return said


# ------------------------------------------------------------------- turns


def memories(server: Server, people: Iterable[str], plant: str = "") -> dict[str, list[str]]:
    """Return every text of every person, as a worker with an empty cache finds them."""
    with tempfile.TemporaryDirectory(prefix="fleet-fresh-") as made:
        fresh = Puppet(Orders(dsn=server.dsn, name="fresh", cache=Path(made), plant=plant))
        try:
            found = {}
            for person in people:
                why = fresh.ask("hold", person=person, wait_s=WAIT_S)
                assert not why, f"{person} cannot be opened: {why}"
                found[person] = fresh.ask("texts", person=person)
                fresh.ask("release", person=person)
            return found
        finally:
            fresh.end()


def turns(said: Said, found: dict[str, list[str]], expected: Iterable[str] = ()) -> list[str]:
    """Return what is wrong with the turns.

    Args:
        expected: Words that must be there besides those that were acknowledged.
    """
    wrong = list[str]()
    seen: dict[str, Counter[str]] = {
        person: Counter(WORD.findall(" ".join(texts))) for person, texts in found.items()
    }
    for person, words in seen.items():
        wrong += [f"doubled: {word}" for word, n in words.items() if n > 1]
        wrong += [f"another's: {word}" for word in words if said.people.get(word) != person]
        wrong += [f"came back: {word}" for word in words if word in said.forgotten]
    kept = said.kept - said.refused
    for word in sorted({*said.acked, *kept, *expected} - said.forgetting):
        if not seen[said.people[word]][word]:
            wrong.append(f"lost: {word}")
    return wrong


# ------------------------------------------------------------------- the log


def log(server: Server) -> list[str]:
    """Return what is wrong with what was ever appended."""
    wrong = []
    rows = server.rows("SELECT person, seq, epoch, lease, body FROM audit.appended ORDER BY n")
    for person in sorted({row[0] for row in rows}):
        own = [row[1:] for row in rows if row[0] == person]
        for (seq, epoch, _, _), (seq2, epoch2, _, _) in pairwise([(0, 0, 0, ""), *own]):
            if seq2 != seq + 1:
                wrong.append(f"{person}: {seq2} follows {seq}")
            if epoch2 < epoch:
                wrong.append(f"{person}: epoch {epoch2} appended {seq2} after epoch {epoch}")
        wrong += [f"{person}: {s} by epoch {e} in epoch {now}" for s, e, now, _ in own if e != now]
        bodies = Counter(row[3] for row in own if row[3])  # of turns: each is one of its kind
        wrong += [f"{person}: a change set was sent {n} times" for n in bodies.values() if n > 1]
    return wrong


# ------------------------------------------------------------------- copies


def copies_equal(server: Server, caches: Iterable[Path], people: Iterable[str]) -> list[str]:
    """Return the differences between copies that are here, brought up to date, and new ones."""
    wrong = []
    for person in people:
        with tempfile.TemporaryDirectory(prefix="fleet-fresh-") as made:
            expected = held(server, Path(made), person)
            assert expected is not None, f"the copy of {person} cannot be made"
        for cache in caches:
            if (found := held(server, cache, person)) is None:
                wrong.append(f"{person}: the copy in {cache.name} cannot be opened")
                continue
            for table in sorted({*expected, *found}):
                a, b = expected.get(table, {}), found.get(table, {})
                if a != b:
                    keys = sorted(key for key in {*a, *b} if a.get(key) != b.get(key))
                    wrong.append(f"{person}, {cache.name}: {table} differs at {keys[:3]}")
    return wrong


def held(server: Server, cache: Path, person: str) -> Any:
    """Return the rows of a copy that was just brought up to date, by table: key and checksum."""
    until(lambda: server.value(
        "SELECT count(*) = 0 FROM slowcat.owner WHERE person = $1 AND until > clock_timestamp()",
        person,
    ), "the end of a lease")  # fmt: skip

    def take() -> Any:
        from slowcat_memory.fleet import hydration, leases
        from slowcat_memory.fleet.copies import Copies, copy_name
        from slowcat_memory.fleet.fleet_process import Fleet

        fleet = Fleet(worker_config(Orders(dsn=server.dsn, name="fresh", cache=cache)))
        try:
            lease = fleet.database.run(leases.take, fleet.worker, person)
            place = Copies(cache, copy_name(TENANT, person))
            with place.locked():
                folder, _ = hydration.hydrate(fleet.worker, place, lease)
            rows = dump(data_file(folder))
            fleet.database.run(leases.release, lease, lease.last_seq)
            return rows
        finally:
            fleet.close()

    return ask(take)


def dump(file: Path) -> dict[str, dict[str, int]]:
    """Return the shared rows of a store's file."""
    found: dict[str, dict[str, int]] = {}
    for table, rows in _tables(file):
        if table not in LOCAL:
            found[table] = {
                key.hex(): zlib.crc32(value)
                for key, value in rows
                if not (table == "meta" and key in LOCAL_META)
            }
    return found


def _tables(file: Path) -> Iterator[tuple[str, list[tuple[bytes, bytes]]]]:
    size = file.stat().st_size + (1 << 20)
    env = lmdb.open(
        str(file), subdir=False, lock=False, readonly=True, map_size=size, max_dbs=64,
        lib_version=0,
    )  # fmt: skip
    with contextlib.closing(env), env.begin() as txn:
        for name in [bytes(key) for key, _ in txn.cursor()]:
            db = env.open_db(name, txn=txn, create=False)
            yield name.decode(), [(bytes(k), bytes(v)) for k, v in txn.cursor(db)]


# ------------------------------------------------------------------- what is forgotten


def rows_with(server: Server, words: Iterable[str]) -> list[str]:
    """Return where the database has one of some words, also compressed."""
    wanted, wrong = [word.encode() for word in words], []
    tables = server.rows("SELECT tablename FROM pg_tables WHERE schemaname = 'slowcat'")
    for (table,) in tables:
        for row in server.rows(f"SELECT * FROM slowcat.{table}"):
            for value in row:
                data = value if isinstance(value, bytes) else str(value).encode()
                if found := _first_in(data, wanted):
                    wrong.append(f"a row of {table} has {found}: {[v for v in row if v != value]}")
    return wrong


def files_with(cache: Path, words: Iterable[str]) -> list[str]:
    """Return the files of a cache that have one of some words, also compressed."""
    wanted, wrong = [word.encode() for word in words], []
    # Files and folders may be deleted meanwhile: ``os.walk`` passes over these.
    for path in sorted(Path(root, name) for root, _, names in os.walk(cache) for name in names):
        with contextlib.suppress(OSError):
            if found := _first_in(path.read_bytes(), wanted):
                wrong.append(f"{path.relative_to(cache.parent)} has {found}")
    return wrong


def _first_in(data: bytes, words: list[bytes]) -> str:
    """Return a word that bytes have, in plain or in a compressed frame in them; "" for none."""
    for piece in (data, *_frames(data)):
        for word in words:
            if word in piece:
                return word.decode()
    return ""


def _frames(data: bytes) -> Iterator[bytes]:
    at = data.find(ZSTD)
    while at >= 0:
        with contextlib.suppress(zstandard.ZstdError):
            yield zstandard.ZstdDecompressor().decompressobj().decompress(data[at : at + MOST])
        at = data.find(ZSTD, at + 1)


def within(seconds: float, look: Any) -> list[str]:
    """Look again until nothing is wrong; return what is after some seconds."""
    deadline = time.monotonic() + seconds
    while (wrong := look()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return list(wrong)
