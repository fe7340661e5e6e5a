"""A store and a config.toml of an earlier version go on under this one."""

import json
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import lmdb
import pytest
from loguru import logger

from slowcat_memory.config import Config, build, load
from slowcat_memory.config.loader import read
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.records import Forget
from slowcat_memory.store import Store
from slowcat_memory.testing import FixedClock, HashEmbedder
from tests.support.old_vectors import old_rows

OLD = Path(__file__).parent / "data/b5992f9"
SCOPES = ("anna", "ben")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the old store, and beside it what it holds."""
    with tarfile.open(OLD / "store.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / "store"


@pytest.fixture
def expected(folder: Path) -> dict[str, Any]:
    return json.loads((folder.parent / "expected.json").read_text())


ASKED_AT = datetime(2026, 3, 28, 9, 1, 20, tzinfo=UTC)  # when the expected answers were found


def configured(folder: Path) -> Config:
    values = read(OLD / "config.toml")
    values["memory"]["path"] = str(folder)
    return build(values | {"idle": {**values["idle"], "enabled": False}})


@contextmanager
def opened(folder: Path) -> Iterator[MemoryEngine]:
    made = MemoryEngine(configured(folder), embedder=HashEmbedder(), clock=FixedClock(ASKED_AT))
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def engine(folder: Path) -> Iterator[MemoryEngine]:
    with opened(folder) as made:
        yield made


def turns(engine: MemoryEngine) -> dict[str, list[str]]:
    with engine.snapshot() as snapshot:
        return {
            str(turn.id): [scope, turn.text] for scope in SCOPES for turn in snapshot.turns(scope)
        }


def rows(folder: Path, table: str) -> int:
    with lmdb.open(str(folder), max_dbs=64, readonly=True, lock=False) as env, env.begin() as txn:
        return txn.stat(env.open_db(table.encode(), txn, create=False))["entries"]


def test_store_every_turn_and_memory_reads_as_before(
    engine: MemoryEngine, expected: dict[str, Any]
) -> None:
    assert turns(engine) == expected["turns"]
    with engine.snapshot() as snapshot:
        kept = {m.id: m.text for scope in SCOPES for m in snapshot.memories(scope)}
        open_tasks = {task.id for task in snapshot.tasks()}
    assert kept == expected["memories"]
    assert open_tasks == set(expected["tasks"])


def test_compatibility_index_of_the_old_format_is_rebuilt_and_answers(
    engine: MemoryEngine, expected: dict[str, Any]
) -> None:
    for question, ids in expected["search"].items():
        found = [hit.memory.id for hit in engine.search(question, "anna", 5).hits]
        assert found[:1] == ids[:1], question
        assert len(set(found) & set(ids)) >= len(ids) - 1, question


def test_compatibility_tiers_old_dictionary_blocks_are_recompressed_and_the_dictionaries_go(
    folder: Path, expected: dict[str, Any]
) -> None:
    assert rows(folder, "dictionaries") == 2
    with opened(folder) as engine:
        for scope in SCOPES:
            engine.maintain("tidy", scope)
        assert turns(engine) == expected["turns"]
    assert rows(folder, "dictionaries") == 0


def test_compatibility_vectors_are_rewritten_in_bytes_and_find_the_same(
    folder: Path, expected: dict[str, Any]
) -> None:
    before = rows(folder, "vectors")
    with opened(folder) as engine:
        assert len(old_rows(engine.store)) == before > 0
        for scope in SCOPES:
            engine.upkeep.age(scope)
        assert not old_rows(engine.store)
    assert rows(folder, "vectors") == before
    with opened(folder) as engine:
        for question, ids in expected["search"].items():
            found = [hit.memory.id for hit in engine.search(question, "anna", 5).hits]
            assert found[:1] == ids[:1], question


def test_forget_reaches_into_old_dictionary_blocks(
    folder: Path, engine: MemoryEngine, expected: dict[str, Any]
) -> None:
    old = min(int(id_) for id_, (scope, _) in expected["turns"].items() if scope == "ben")
    text = expected["turns"][str(old)][1]
    engine.forget(Forget(turns=(old,)))
    assert str(old) not in turns(engine)
    assert text.encode() not in b"".join(p.read_bytes() for p in folder.rglob("*") if p.is_file())


def test_compatibility_backup_of_the_old_version_is_restored(
    folder: Path, expected: dict[str, Any]
) -> None:
    [backup] = (folder / "backups").glob("*.mdb")
    fresh = folder.parent / "fresh"
    fresh.mkdir()
    (fresh / "data.mdb").write_bytes(backup.read_bytes())
    with Store.open(fresh) as store, store.snapshot() as snapshot:
        kept = {str(turn.id) for scope in SCOPES for turn in snapshot.turns(scope)}
    last = {id_ for id_, (_, text) in expected["turns"].items() if "tax adviser Ruben" in text}
    assert kept == set(expected["turns"]) - last


def test_config_old_keys_are_read_and_name_their_successors() -> None:
    lines: list[str] = []
    sink = logger.add(
        lambda line: lines.append(str(line).strip()), level="WARNING", format="{message}"
    )
    try:
        config = load(OLD / "config.toml", {})
    finally:
        logger.remove(sink)
    assert config.pack.memories == 7 and config.pack.memory_token_budget == 300
    assert config.memory.user_id == "anna" and config.idle.from_hour == 1
    assert config.tiers.warm == 60 and config.thinking.temperature == 0.1
    assert config.idle.jobs["episodes"].enabled is False
    assert "pack.memories is called recall.memories now" in lines
    assert "index.language is called memory.language now" in lines
    assert 'tiers.warm is an expert option now: write "tiers.warm" under [expert]' in lines
    assert any(line.startswith("links.hop was removed and is ignored") for line in lines)
