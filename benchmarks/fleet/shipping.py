"""What does a turn ship to the log, and how long does it take to fill another worker's store?

A part of ``benchmarks.fleet_queues``, over a made-up store of 10,000 memories.

- *shipped*: both halves of a turn are said to an engine without idle work, until their vectors are
  saved. ``rows``: keys and values that its transactions changed, as MessagePack, and packed by
  zstd. ``pages``: pages of the data file that differ afterwards, 4,096 bytes each, and packed by
  zstd: what shipping the file's changes would send if it sent once a turn.
- *filled*: another worker's LMDB file, from parts in the database. ``words``: the rows of a
  snapshot, all tables but vectors; ``rows``: all of them. ``file``: a compacted copy of the file,
  in parts of the same size, also packed by zstd. ``copy``: the same file copied on this disk,
  without a database. Each ends when it is on the disk, and has as many rows as the first store.
"""

import importlib
import os
import shutil
import time
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import lmdb
import msgspec
import numpy as np
import zstandard

from benchmarks import common, corpus, stores
from benchmarks.common import percentiles
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.records import Event
from slowcat_memory.store.disk.environment import Environment, map_bytes
from slowcat_memory.store.disk.folder import DATA
from slowcat_memory.store.disk.tables import NAMES

SIZE, TAIL = 10_000, 200
PAGE = 4096
PART_BYTES = 4 << 20
LEVEL = 3  # of zstd
FILLS = 9
VECTORS = "vectors"

Row = tuple[str, bytes, bytes]

SCHEMA = """
CREATE TABLE snapshot (kind text, part int, body bytea, PRIMARY KEY (kind, part));
ALTER TABLE snapshot ALTER body SET STORAGE EXTERNAL
"""


async def measure(uri: str, turns: int, cache: Path | None, folder: Path) -> dict[str, Any]:
    """Measure both parts.

    Args:
        uri: Of a database that may be written.
        turns: How many are shipped.
        cache: Where made stores are kept; None keeps none.
        folder: A new one, on the disk that is measured.

    Returns:
        ``shipped`` and ``filled``; ``skipped`` when there is no embedding model.
    """
    try:
        stores.build(folder / "store", SIZE, TAIL, cache)
    except SystemExit as error:
        return {"skipped": str(error)}
    shipped = _shipped(folder / "store", turns)
    return {"memories": SIZE, "shipped": shipped, "filled": await _filled(uri, folder)}


def _shipped(path: Path, count: int) -> dict[str, Any]:
    engine = MemoryEngine(common.configuration(path))
    names = ("rows", "rows_zstd", "pages", "pages_zstd", "transactions")
    sizes: dict[str, list[float]] = {name: [] for name in names}
    pack = zstandard.ZstdCompressor(LEVEL).compress
    try:
        engine.prepare(corpus.SCOPE)
        _say(engine, next(_pairs(2, SIZE)))
        before = _pages(path)
        for events in _pairs(2 * count, SIZE + 2):
            with engine.store._env.recording() as record:
                _say(engine, events)
            after = _pages(path)
            rows = msgspec.msgpack.encode(
                [
                    (name, key, value)
                    for changes in record
                    for name, changed in changes.items()
                    for key, value in changed.items()
                ]
            )
            pages = _differing(before, after)
            sizes["rows"].append(len(rows))
            sizes["rows_zstd"].append(len(pack(rows)))
            sizes["pages"].append(len(pages))
            sizes["pages_zstd"].append(len(pack(pages)))
            sizes["transactions"].append(sum(map(bool, record)))
            before = after
    finally:
        engine.close()
    return {name: percentiles(values) for name, values in sizes.items()}


def _pairs(count: int, after: int) -> Iterator[list[Event]]:
    """Make so many turns of talk, what the person says with what the agent answers."""
    events = [event for _, each in corpus.turns(count, common.SEED, after) for event in each]
    said = [event for event in events if getattr(event, "text", None)]
    while pair := said[:2]:
        said = said[2:]
        yield list[Event](pair)


def _say(engine: MemoryEngine, events: list[Event]) -> None:
    engine.append_all(events, draft=True)
    engine.drain()
    engine.store.flush(None)


def _pages(path: Path) -> np.ndarray[Any, Any]:
    data = (path / DATA).read_bytes()
    return np.frombuffer(data, np.uint64).reshape(-1, PAGE // 8)


def _differing(before: np.ndarray[Any, Any], after: np.ndarray[Any, Any]) -> bytes:
    both = min(len(before), len(after))
    changed = np.flatnonzero((before[:both] != after[:both]).any(axis=1))
    return after[changed].tobytes() + after[both:].tobytes()


async def _filled(uri: str, folder: Path) -> dict[str, Any]:
    connection = await importlib.import_module("asyncpg").connect(uri)
    await connection.execute(SCHEMA)
    source = Environment(folder / "store", map_size=map_bytes(1), readonly=True)
    try:
        with source.reading() as (txn, handles):
            rows = [
                (name, key, value)
                for name in sorted(handles, key=lambda name: (name == VECTORS, NAMES.index(name)))
                for key, value in txn.cursor(handles[name])
            ]
        (folder / "compact").mkdir()
        source.env.copy(str(folder / "compact"), compact=True)
    finally:
        source.close()
    file = folder / "compact" / DATA
    sizes = {
        "words": await _store(connection, "words", _parts(rows, vectors=False)),
        "vectors": await _store(connection, "vectors", _parts(rows, vectors=True)),
        "file": await _store(connection, "file", _pieces(file)),
    }
    raw = sum(len(key) + len(value) for name, key, value in rows if name != VECTORS)
    took: dict[str, list[float]] = {"words": [], "rows": [], "file": [], "copy": []}
    for turn in range(FILLS + 1):  # the first one warms up
        arms = ["rows", "file", "copy"]
        for name in arms[turn % 3 :] + arms[: turn % 3]:
            made = folder / "filled"
            began = time.perf_counter()
            if name == "rows":
                words = await _from_rows(connection, made)
                took["words"].append((words - began) * 1e3)
            elif name == "file":
                await _from_file(connection, made)
            else:
                _copied(file, made)
            took[name].append((time.perf_counter() - began) * 1e3)
            assert _count(made) == len(rows), name
            shutil.rmtree(made)
    await connection.close()
    return {
        **{name: percentiles(ms[1:]) for name, ms in took.items()},
        "rows_in_all": len(rows),
        "bytes": {**sizes, "words_raw": raw, "file_raw": file.stat().st_size},
    }


def _parts(rows: list[Row], *, vectors: bool) -> Iterator[bytes]:
    """Pack rows, with as many in a part as have ``PART_BYTES``; a part may hold several tables."""
    part, size = list[Row](), 0
    for row in rows:
        if (row[0] == VECTORS) is vectors:
            part.append(row)
            size += len(row[1]) + len(row[2])
        if size >= PART_BYTES:
            yield msgspec.msgpack.encode(part)
            part, size = [], 0
    yield msgspec.msgpack.encode(part)


def _pieces(file: Path) -> Iterator[bytes]:
    with file.open("rb") as opened:
        while piece := opened.read(PART_BYTES):
            yield piece


async def _store(connection: Any, kind: str, parts: Iterator[bytes]) -> int:
    packed = [zstandard.ZstdCompressor(LEVEL).compress(part) for part in parts]
    await connection.executemany(
        "INSERT INTO snapshot VALUES ($1, $2, $3)",
        [(kind, place, body) for place, body in enumerate(packed)],
    )
    return sum(map(len, packed))


async def _read(connection: Any, kind: str) -> list[bytes]:
    found = await connection.fetch("SELECT body FROM snapshot WHERE kind = $1 ORDER BY part", kind)
    return [row["body"] for row in found]


async def _from_rows(connection: Any, path: Path) -> float:
    """Fill a store; return when its words were on the disk."""
    path.mkdir(mode=0o700)
    decode = msgspec.msgpack.Decoder(list[Row]).decode
    env = Environment(path, map_size=map_bytes(1))
    try:
        for kind in ("words", "vectors"):
            packed = await _read(connection, kind)
            with env.begin_write() as txn:
                for body in packed:
                    rows = decode(zstandard.ZstdDecompressor().decompress(body))
                    for name, each in groupby(rows, key=lambda row: row[0]):
                        items = [(key, value) for _, key, value in each]
                        txn.cursor(env.handles[name]).putmulti(items, append=True)
            if kind == "words":
                words = time.perf_counter()
    finally:
        env.close()
    return words


async def _from_file(connection: Any, path: Path) -> None:
    path.mkdir(mode=0o700)
    packed = await _read(connection, "file")
    with (path / DATA).open("wb") as made:
        for body in packed:
            made.write(zstandard.ZstdDecompressor().decompress(body))
        made.flush()
        os.fsync(made.fileno())


def _copied(file: Path, path: Path) -> None:
    path.mkdir(mode=0o700)
    shutil.copyfile(file, path / DATA)
    with (path / DATA).open("rb") as made:
        os.fsync(made.fileno())


def _count(path: Path) -> int:
    with lmdb.open(str(path), readonly=True, lock=False, max_dbs=64) as env:
        with env.begin() as txn:
            tables = [env.open_db(name.encode(), txn=txn, create=False) for name in NAMES]
            return sum(int(txn.stat(table)["entries"]) for table in tables)


def show(found: dict[str, Any]) -> None:
    if why := found.get("skipped"):
        print(f"skipped the log: {why}")
        return
    parts = ("n", "p50", "p95", "p99", "max")
    rows = [[name, *(one[part] for part in parts)] for name, one in found["shipped"].items()]
    common.table("a turn's bytes", ("", *parts), rows)
    filled = found["filled"]
    rows = [
        [name, *(filled[name][part] for part in parts)]
        for name in ("words", "rows", "file", "copy")
    ]
    common.table(f"{found['memories']} memories, ms; bytes: {filled['bytes']}", ("", *parts), rows)
