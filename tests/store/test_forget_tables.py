"""Forgetting leaves no row of any table that names what is gone, and no word of it."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from msgspec import Struct

from slowcat_memory.core.memory import chunk_id
from slowcat_memory.core.retention import TierOptions
from slowcat_memory.records import (
    CallEntry,
    CommandEntry,
    Context,
    Cursor,
    Forget,
    Key,
    LedgerEntry,
    LeftOut,
    Offer,
    Run,
    Task,
    TokenCodes,
    Vector,
    WriteBatch,
)
from slowcat_memory.store import Store, StoreOptions, blocks, forget
from slowcat_memory.store.blocks import BlockReader
from slowcat_memory.store.disk import codec
from slowcat_memory.store.disk.tables import NEXT_ID, TABLES, NamedBy
from slowcat_memory.store.disk.transaction import Transaction, transact
from tests.harness.samples import at, edge, manifest, memory, token, turn
from tests.support.memories import Look

BASE = 0xA1B2C3  # ids whose bytes occur nowhere else
TURNS = 96
TIERS = TierOptions(warm=30, block_exchanges=4, block_bytes=1_000_000)
LONELY = "tokLONELYen"  # the word of a session with one turn, and in its id
KEPT_TABLES = {table.name for table in TABLES if table.named_by == (NamedBy.NOTHING,)}


class Scene(Struct):
    store: Store
    requests: list[Forget]
    gone: list[int]  # log ids
    words: list[str]
    texts: list[str]  # ids of memories


@pytest.fixture
def scene(path: Path) -> Iterator[Scene]:
    """A store with rows in every table that name a hot, a warm and a cold turn, or a memory."""
    options = StoreOptions(map_size_gib=1 / 16)
    with Store.open(path, options=options) as store:
        store._writer.call(lambda: transact(store._env, lambda tx: tx.set_meta(NEXT_ID, BASE)))
    with Store.open(path, options=options) as store:
        for n in range(TURNS):
            store.append(turn(n, session=f"s{n // 24}"))
        store.append(edge(session=LONELY))
        lonely = store.append(turn(TURNS, session=LONELY, text=LONELY)).id
        store.append(turn(TURNS + 1, session="last"))
        store.flush()
        store.age("anna", hot=20, options=TIERS)
        cold, warm = (_victim(store, table) for table in (blocks.COLD, blocks.WARM))
        hot = BASE + TURNS - 1
        for id in (cold, warm, hot, lonely):
            _derive(store, id, token(id - BASE) if id != lonely else LONELY)
        _derive(store, 0, "tokNAMEDen")
        store.flush()
        published = manifest(generation=" ".join(map(token, range(TURNS))), upto=lonely)
        change = f"fact/{token(hot - BASE)}"
        store.publish(published).wait()
        store.apply("job", WriteBatch(memories=(memory(change, sources=(hot,)),))).wait()
        requests = [
            Forget(turns=(cold, hot)),
            Forget(scope="anna", memories=(chunk_id(warm),)),
            Forget(scope="anna", memories=("fact/tokNAMEDen",)),
            Forget(session=LONELY),
        ]
        gone = [cold, warm, hot, lonely]
        words = [*(token(id - BASE) for id in (cold, warm, hot)), LONELY]
        yield Scene(store, requests, gone, words, [*map(chunk_id, gone), "fact/tokNAMEDen"])


def _victim(store: Store, table: str) -> int:
    """Return an event in the middle of a block of a table."""
    with store._env.reading() as (txn, handles):
        tx = Transaction(txn, handles)
        number = codec.id_of(list(tx.keys(table))[1])
        return BlockReader(tx).block(number).ids[2]


def _derive(store: Store, id: int, word: str) -> None:
    """Write a row into every other table that names a turn, or a memory without one."""
    sources = (id,) if id else ()
    own = memory(f"fact/{word}", text=word, sources=sources)
    about = {"scope": "anna", "memory": chunk_id(id) if id else own.id, "sources": sources}
    task = Task(
        id=f"job/anna/{own.id}", job="job", scope="anna", key=own.id, created=at(), sources=sources
    )
    key = Key(**about, id=f"{about['memory']}?q", kind="question", text=f"why {word}")
    ids = (about["memory"], key.id, own.id)
    batch = WriteBatch(
        memories=(own,),
        contexts=(Context(**about, text=word),),
        keys=(key,),
        vectors=tuple(Vector(scope="anna", memory=i, values=np.ones(2, np.float32)) for i in ids),
        embedder="e",
        tokens=(TokenCodes(scope="anna", memory=own.id, codes=np.ones((1, 1), np.uint8)),),
        token_key="t",
        tasks=(task,),
        run=Run(task=task.id, job="job", at=at(), ms=1.0, outcome="done"),
        cursor=Cursor(name="job", position=id),
        command=CommandEntry(
            id=id - BASE if id else 1, scope="anna", kind="remember", at=at(), turn=id, made=(own.id,),
            hidden=(about["memory"],), turns=sources,
        ),
    )  # fmt: skip
    store.apply("job", batch)
    shown = (own.id, about["memory"])
    call = CallEntry(scope="anna", client="a host", tool="search", at=at(), memories=shown)
    store.apply("job", WriteBatch(call=call))
    last = BASE + TURNS + 2
    for at_turn in (id, last) if id else (last - 1,):
        offers = (Offer(own.id, 1.0), Offer(about["memory"], 0.5))
        shares = {"offers": offers, "left_out": (LeftOut(own.id, "share", 0.1),)}
        row = {"scope": "anna", "session": "s1", "at": at(), **shares}
        store.write_ledger(LedgerEntry(turn=at_turn, **row, visible=(own.id,)))


def dump(store: Store, table: str) -> list[bytes]:
    """Return all rows of a table: keys, and values unpacked."""
    with store._env.reading() as (txn, handles):
        tx = Transaction(txn, handles)
        return [
            key
            + (
                blocks.read_block(key, value).plain
                if table in blocks.TABLES
                else codec.unseal(key, value)
            )
            for key, value in tx.rows(table)
        ]


def residue(scene: Scene) -> dict[str, set[str]]:
    """Return, by table, the words and ids of what is forgotten that its rows hold."""
    found: dict[str, set[str]] = {}
    for table in (table.name for table in TABLES):
        wanted = {word: word.encode() for word in scene.words}
        if table not in KEPT_TABLES:  # these may name log ids and ids of memories
            wanted |= {text: text.encode() for text in scene.texts}
            wanted |= {hex(id): id.to_bytes(3, "big") for id in scene.gone}
        rows = dump(scene.store, table)
        hits = {name for name, word in wanted.items() if any(word in row for row in rows)}
        if hits:
            found[table] = hits
    return found


def test_forget_tables_every_table_declares_how_its_rows_name_their_sources():
    for table in TABLES:
        ways = set(table.named_by)
        assert ways, f"{table.name} declares nothing"
        if NamedBy.NOTHING in ways:
            assert ways == {NamedBy.NOTHING} and table.reason, table.name
        else:
            assert ways <= {*forget.TESTS, *forget.RULES}, table.name
            assert table.name in forget.RECORDS or not ways & {*forget.TESTS}, table.name
    assert {*forget.TESTS}.isdisjoint(forget.RULES)
    assert {*forget.TESTS, *forget.RULES, NamedBy.NOTHING} == set(NamedBy)


def test_forget_leaves_nothing_of_it_in_any_table(scene):
    before = residue(scene)
    named = {table.name for table in TABLES} - KEPT_TABLES | {"meta"}  # the list of open sessions
    assert set(before) == named, "else it proves nothing"
    gone = scene.store.forget(scene.requests)
    assert sorted(gone.turns) == sorted(scene.gone) and gone.erased
    assert residue(scene) == {}
    assert Look(scene.store).forget_epoch() == 1
    assert Look(scene.store).ledger(BASE + TURNS + 2) is not None, "only its offers are gone"


@pytest.mark.parametrize("left_out", [table for table in TABLES if table.name not in KEPT_TABLES],
                         ids=lambda table: table.name)  # fmt: skip
def test_forget_control_a_table_that_is_left_out_keeps_rows(scene, left_out, monkeypatch):
    kept = tuple(table for table in TABLES if table.name != left_out.name)
    monkeypatch.setattr(forget, "TABLES", kept)
    scene.store.forget(scene.requests)
    assert left_out.name in residue(scene)


def test_forget_several_requests_is_one_pass(scene, monkeypatch):
    passes = []
    real = forget.select
    monkeypatch.setattr(forget, "select", lambda *given: passes.append(given) or real(*given))
    scene.store.forget(scene.requests)
    assert len(passes) == 1


def test_forget_together_is_as_one_by_one(path, tmp_path):
    def filled(folder: Path) -> Store:
        store = Store.open(folder, options=StoreOptions(map_size_gib=1 / 16))
        for n in range(1, 41):
            speaker, scope = ("bob", "pool") if n % 3 == 0 else ("anna", "anna")
            given = {"session": f"s{n // 7}", "scope": scope, "speaker": speaker}
            store.append(turn(n, **given))
            own = memory(f"fact/{n}", scope=scope, speaker=speaker, sources=(n,) if n % 2 else ())
            store.apply("job", WriteBatch(memories=(own,)))
        store.flush()
        return store

    requests = [
        Forget(turns=(3, 4, 5)),
        Forget(scope="anna", memories=("fact/8", "chunk/10")),
        Forget(speaker="bob", since=at(20)),
        Forget(session="s2"),
        Forget(scope="anna", speaker="anna", until=at(3)),
    ]
    with filled(path) as together, filled(tmp_path / "single") as single:
        at_once = together.forget(requests)
        gone = [single.forget(request) for request in requests]
        assert set(at_once.turns) == {id for one in gone for id in one.turns}
        assert set(at_once.memories) == {which for one in gone for which in one.memories}
        for table in ("log", "log_by_scope", "sessions", "memories"):
            assert dump(together, table) == dump(single, table)
        marks = [
            sorted(row for row in dump(store, "tombstones") if row[:1] in b"tm")
            for store in (together, single)
        ]
        assert marks[0] == marks[1]


@pytest.mark.parametrize("nothing", [[], [Forget()], [Forget(turns=(1,)), Forget(scope="anna")]])
def test_forget_refuses_requests_without_a_condition(store, nothing):
    store.append(turn(1))
    with pytest.raises(ValueError, match="forget"):
        store.forget(nothing)
    with pytest.raises(ValueError, match="forget"):
        store.covered(nothing)
