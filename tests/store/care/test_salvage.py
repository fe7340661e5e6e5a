"""What is salvaged from a damaged file: everything whole, and nothing forgotten."""

import random
import shutil
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from slowcat_memory.core.retention import TierOptions
from slowcat_memory.errors import StoreFullError
from slowcat_memory.records import CommandEntry, Forget, Memory, WriteBatch
from slowcat_memory.store import Store, data_file
from slowcat_memory.store.care import health, salvage
from slowcat_memory.store.disk.page_reader import (
    DAMAGED,
    LEAF,
    REACHED,
    WHOLE,
    WORD,
    PageMap,
    PageReader,
    check,
    tables,
)
from tests.harness import samples
from tests.harness.damage import WAYS, damage
from tests.harness.samples import memory, turn
from tests.support.memories import Look, ids
from tests.support.tiered_stores import SMALL, leave, say

PAGE = 4096
TURNS = 1300  # 23 of them are in one page
WORDS = "we went to the lake again and Anna said that the water was cold".split()


def text(n: int) -> str:
    rng = random.Random(n)
    return f"{samples.token(n)} {' '.join(rng.choices(WORDS, k=rng.randrange(4, 20)))}"


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store as a kill leaves it: turns in many transactions, notes, and some forgotten turns."""
    path = tmp_path_factory.mktemp("kept") / "store"
    store = Store.open(path, options=SMALL)
    for n in range(1, TURNS + 1):
        store.append(turn(n, text=text(n)))
        if n % 50 == 0:
            store.flush()
            store.apply("j", WriteBatch(memories=(memory(f"note/{n}", text=f"note {n}"),)))
    store.forget(Forget(turns=(500,)), erase=False)
    return leave(store)


@pytest.fixture
def copy(kept: Path, tmp_path: Path) -> Iterator[Path]:
    shutil.copytree(kept, tmp_path / "copy")
    yield tmp_path / "copy"


def rows(data: Path, into: Path) -> dict[str, int]:
    """Salvage a file; return how many rows each table got."""
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir()
    salvage.salvage(data, into, 1 << 26)
    with closing(PageReader(into / "data.mdb")) as reader:
        found, _ = tables(reader, PageMap(reader), reader.metas[0])
    return {name: tree.entries for name, tree in found.items()}


def zero(data: Path, *pages: int) -> None:
    with data.open("r+b") as file:
        for page in pages:
            file.seek(page * PAGE)
            file.write(bytes(PAGE))


def root_of(data: Path, table: str) -> int:
    with closing(PageReader(data)) as reader:
        if table == "main":
            return reader.metas[0].main.root
        if table == "free":
            return reader.metas[0].free.root
        return tables(reader, PageMap(reader), reader.metas[0])[0][table].root


def here(store: Store) -> dict[int, str]:
    return {one.id: one.text for one in Look(store).turns()}


# ------------------------------------------------------------------- single pages


@pytest.mark.parametrize(
    "lost", ["log", "log_by_scope", "memories", "main", "free", "meta", 0, 1], ids=str
)
def test_salvage_a_zeroed_root_or_meta_page_costs_no_turn(copy, lost):
    zero(data_file(copy), root_of(data_file(copy), lost) if isinstance(lost, str) else lost)
    with Store.open(copy, options=SMALL) as store:
        assert set(here(store)) == {*range(1, TURNS + 1)} - {500}
        assert all(said == text(n) for n, said in here(store).items())
        assert Look(store).session("s1").turns == TURNS - 1
        assert store.append(turn(0)).id == TURNS + 1


def test_salvage_no_single_zeroed_page_costs_two_percent_of_the_turns(kept, tmp_path):
    data = tmp_path / "data.mdb"
    whole = (kept / "data.mdb").read_bytes()
    lost = {}
    for page in range(len(whole) // PAGE):
        data.write_bytes(whole)
        zero(data, page)
        lost[page] = TURNS - 1 - rows(data, tmp_path / "into")["log"]
    assert max(lost.values()) <= 0.02 * TURNS, lost
    assert min(lost.values()) == 0, "nothing forgotten comes back"


def test_salvage_without_its_roots_it_costs_every_turn_control(kept, tmp_path):
    """The yield above is not the file's: reading what the trees reach loses everything."""
    data = tmp_path / "data.mdb"
    shutil.copy(kept / "data.mdb", data)
    zero(data, root_of(data, "log"))
    with closing(PageReader(data)) as reader:
        pages = PageMap(reader)
        found, _ = tables(reader, pages, reader.metas[0])
        assert list(pages.walk(found["log"])) == []


# ------------------------------------------------------------------- what is forgotten


def test_salvage_what_was_forgotten_and_not_erased_yet_stays_forgotten(kept, tmp_path):
    token = samples.token(500).encode()
    whole = (kept / "data.mdb").read_bytes()
    assert token in whole, "the text is in a free page"
    data, into = tmp_path / "data.mdb", tmp_path / "into"
    rng = random.Random(7)
    for _ in range(40):
        data.write_bytes(whole)
        pages = rng.sample(range(2, len(whole) // PAGE), 3)
        if root_of(data, "tombstones") in pages:
            continue
        zero(data, *pages)
        rows(data, into)
        assert token not in (into / "data.mdb").read_bytes(), pages


def test_salvage_a_memory_that_was_replaced_does_not_come_back_as_it_was(store):
    made = tuple(memory(f"note/{n}", text=f"first {n} {'x' * 60}") for n in range(200))
    store.apply("j", WriteBatch(memories=made)).wait(30)
    later = tuple(memory(f"note/{n}", text=f"second {n} {'y' * 60}") for n in range(200))
    store.apply("j", WriteBatch(memories=later)).wait(30)
    store.apply("j", WriteBatch(drop=(("anna", "note/7"),))).wait(30)
    killed = leave(store)
    zero(data_file(killed), root_of(data_file(killed), "memories"))
    with Store.open(killed, options=SMALL) as again, again.snapshot() as snapshot:
        found: list[Memory] = list(snapshot.memories("anna"))
    assert len(found) == 199
    assert all(one.text.startswith("second") for one in found)


def test_salvage_a_voice_command_that_hides_something_is_kept(store):
    for n in range(1, 60):
        store.append(turn(n))
        entry = CommandEntry(
            id=n, scope="anna", kind="forget", at=samples.at(n), turns=(n,), due=samples.at(99)
        )
        store.apply("j", WriteBatch(command=entry)).wait(30)
    killed = leave(store)
    zero(data_file(killed), root_of(data_file(killed), "main"))
    with Store.open(killed, options=SMALL) as again, again.snapshot() as snapshot:
        assert [entry.id for entry in snapshot.commands()] == [*range(59, 0, -1)]


# ------------------------------------------------------------------- blocks


def test_salvage_blocks_whose_leaf_is_lost_are_found_again(store):
    say(store, 400)  # long, and not to be compressed well
    while not store.age("anna", hot=50, options=TierOptions(warm=100)):
        pass
    killed = leave(store)
    data = data_file(killed)
    with closing(PageReader(data)) as reader:
        pages = PageMap(reader)
        found, _ = tables(reader, pages, reader.metas[0])
        assert [*pages.walk(found["warm"]), *pages.walk(found["cold"])]
        leaves = dict(pages.leaves(REACHED))
        runs = {n: len(list(reader.overflow_runs(page))) for n, page in leaves.items()}
        large = [n for n in leaves if runs[n] and runs[n] == len(reader.leaf(leaves[n])[0])]
    assert large, "all blocks of these are on pages of their own"
    zero(data, large[0])
    with Store.open(killed, options=SMALL) as again:
        assert set(here(again)) == {*range(1, 401)}


# ------------------------------------------------------------------- the reader and the judge


def test_salvage_no_damage_stops_the_reader(kept, tmp_path):
    data, rng = tmp_path / "data.mdb", random.Random(3)
    for number in range(30):
        shutil.copy(kept / "data.mdb", data)
        for _ in range(rng.randrange(1, 9)):
            with suppress(ValueError):  # cut to nothing
                damage(data, WAYS[rng.randrange(3)], rng)
        check(data)
        if number % 3 == 0:
            rows(data, tmp_path / "into")


def test_salvage_without_another_process_damage_is_still_found(copy, monkeypatch):
    monkeypatch.setattr("sys.executable", "")
    assert health.is_whole(data_file(copy))
    zero(data_file(copy), root_of(data_file(copy), "log"))
    assert not health.is_whole(data_file(copy))
    with Store.open(copy, options=SMALL) as store:
        assert store.opened.trouble
        assert len(here(store)) == TURNS - 1


def test_salvage_a_page_that_is_free_and_in_use_is_damage(copy):
    data = data_file(copy)
    assert check(data) == WHOLE
    with closing(PageReader(data)) as reader:
        free = next(node.value for node in reader.leaf(reader.page(root_of(data, "free")))[0])
    used = WORD.pack(root_of(data, "log"))
    data.write_bytes(data.read_bytes().replace(free, free[: -WORD.size] + used))
    assert check(data) == DAMAGED


def test_salvage_a_full_disk_leaves_the_damaged_store_where_it_is(copy):
    data = data_file(copy)
    zero(data, root_of(data, "log"))
    before = data.read_bytes()
    run = health._run

    def full_at_salvage(program: str, *args: Any) -> int | None:
        return salvage.FULL if program == salvage.__name__ else run(program, *args)

    with patch.object(health, "_run", full_at_salvage), pytest.raises(StoreFullError):
        Store.open(copy, options=SMALL)
    assert data.read_bytes() == before
    assert not list(copy.glob("corrupt-*"))
    with Store.open(copy, options=SMALL) as store:
        assert len(here(store)) == TURNS - 1


def test_salvage_two_damaged_stores_at_the_same_moment_are_both_kept(copy):
    for _ in range(2):
        data = data_file(copy)
        zero(data, root_of(data, "log"))
        (copy / "running").touch(mode=0o600)
        Store.open(copy, options=SMALL, now=lambda: samples.at()).close()
    assert len(list(copy.glob("corrupt-*"))) == 2


@pytest.mark.parametrize("lost", ["meta", "main", "log", "whole file"])
def test_salvage_what_is_forgotten_and_not_erased_yet_does_not_come_back(store, lost):
    """A kill comes between the deletion and the erasure; then damage."""
    for n in range(1, 60):
        store.append(turn(n, text=f"{n}"))
    store.flush()
    made = [memory("note/1", sources=(7,)), memory("note/2"), memory("note/3", sources=(8,))]
    store.apply("j", WriteBatch(memories=tuple(made))).wait(30)
    if lost == "whole file":
        store.backup()
    store.forget([Forget(turns=(7,)), Forget(scope="anna", memories=("note/2",))], erase=False)
    killed = leave(store)
    data = data_file(killed)
    if lost == "whole file":
        data.write_bytes(bytes(50_000))
    elif lost == "meta":  # and with it, every row that names the erasure
        zero(data, *pages_with(data, b"erasure"))
    else:
        zero(data, root_of(data, lost))
    with Store.open(killed, options=SMALL) as again:
        assert again.opened.moved_aside
        assert set(here(again)) == {*range(1, 60)} - {7}
        assert ids(Look(again).memories("anna")) == ["note/3"]
    assert not (killed / "forgotten").exists()


def pages_with(data: Path, key: bytes) -> list[int]:
    with closing(PageReader(data)) as reader:
        leaves = [n for n in range(reader.pages) if reader.flags(reader.page(n), n) == LEAF]
        return [n for n in leaves if any(x.key == key for x in reader.leaf(reader.page(n))[0])]


def test_salvage_a_forget_that_was_never_committed_is_not_carried_out(store, path):
    say(store, 8)
    store.forget(Forget(turns=(3,)), erase=False)
    assert (path / "forgotten").stat().st_mode & 0o777 == 0o600
    stale = (path / "forgotten").read_bytes()
    assert store.erase() and not (path / "forgotten").exists(), "the list goes with the erasure"
    store.close()
    (path / "forgotten").write_bytes(stale)
    with Store.open(path, options=SMALL) as again:
        assert set(here(again)) == {1, 2, 4, 5, 6, 7, 8}
        assert not (path / "forgotten").exists()
