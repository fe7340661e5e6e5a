"""An erasure is complete after any interruption, and reaches every copy of the bytes."""

import os
from pathlib import Path
from typing import Any
from unittest.mock import Mock, patch

import pytest

from slowcat_memory.records import Forget, WriteBatch
from slowcat_memory.store import Store, StoreOptions, data_file, drafting, forget
from slowcat_memory.store.care import copies
from slowcat_memory.store.disk import transaction
from slowcat_memory.store.disk.folder import index_folder
from slowcat_memory.store.disk.transaction import Transaction
from tests.harness.samples import manifest, memory, token, traces, turn
from tests.support.memories import Look, ids

SMALL = StoreOptions(map_size_gib=1 / 16)
TURNS = 600  # of which two thirds are forgotten


class Dead(BaseException):
    """The process was killed."""


DIES = Mock(side_effect=Dead)


def filled(path: Path, turns: int = TURNS) -> Store:
    store = Store.open(path, options=SMALL)
    for n in range(1, turns + 1):
        who = "bob" if n % 3 else "anna"
        store.append(turn(n, session=f"s{n // 10}", speaker=who, text=f"{token(n)} said {who}"))
    store.flush()
    made = memory("fact/1", text=f"from {token(1)}", sources=(1,))
    store.apply("job", WriteBatch(memories=(made, memory("fact/3", sources=(3,))))).wait()
    return store


def data_name(path: Path) -> str:
    return str(data_file(path).relative_to(path))


def sealed(store: Store, words: str) -> Path:
    """Publish a sealed index that has some words; return its folder."""
    folder = index_folder(store.path, "anna") / "generation"
    folder.mkdir(parents=True)
    (folder / "words").write_text(words)
    epoch = Look(store).forget_epoch()
    store.publish(manifest(generation="generation", forget_epoch=epoch)).wait()
    return folder


STEPS = ("remove", "remove_drafts", "erase_backups", "sync_dir", "rewrite", "unconfirmed")


@pytest.mark.parametrize("name", STEPS)
def test_erasure_killed_at_any_step_the_next_start_completes_it(path, monkeypatch, name):
    store = filled(path)
    store.backup()
    folder = sealed(store, token(1))
    with monkeypatch.context() as deadly, pytest.raises(Dead):
        deadly.setattr(copies, name, DIES)
        store.forget(Forget(speaker="bob"))
    assert {seen.speaker for seen in Look(store).turns()} == {"anna"}, "gone at once"
    assert Look(store).memory("anna", "fact/1") is None
    store.close()
    with Store.open(path, options=SMALL) as store, store.snapshot() as snapshot:
        left = list(snapshot.turns())
        assert [one.id for one in left] == [n for n in range(1, TURNS + 1) if n % 3 == 0]
        assert [one.id for one in snapshot.memories("anna")] == ["fact/3"]
        assert sum(session.turns for session in snapshot.sessions()) == len(left)
        assert snapshot.meta("erasure") is None and not snapshot.meta("erase_due")
        assert snapshot.counts()["log"] == len(left)
    gone = [n for n in range(1, TURNS + 1) if n % 3]
    assert traces(path, *gone) == [] and not folder.exists()
    assert traces(path, 3) == [(3, data_name(path))]


def test_erasure_killed_before_the_rows_are_gone_nothing_is_forgotten(path, monkeypatch):
    store = filled(path, 9)
    with monkeypatch.context() as deadly, pytest.raises(Dead):
        deadly.setattr(forget, "delete", DIES)
        store.forget(Forget(speaker="bob"))
    store.close()
    with Store.open(path, options=SMALL) as store, store.snapshot() as snapshot:
        assert len(list(snapshot.turns())) == 9 and not snapshot.meta("erase_due")


def test_erasure_control_without_the_state_the_words_stay(path, monkeypatch):
    """Else the test of its moments proves nothing."""
    store = filled(path)
    with pytest.raises(Dead):
        monkeypatch.setattr(copies, "rewrite", DIES)
        store.forget(Forget(speaker="bob"))
    store.close()
    monkeypatch.setattr(copies, "is_due", lambda env: False)
    with Store.open(path, options=SMALL):
        pass
    assert traces(path, 598) == [(598, data_name(path))]


@pytest.mark.parametrize("times", [1, transaction.TRIES])
def test_erasure_what_is_written_while_it_is_selected_is_kept_whole(path, monkeypatch, times):
    """A forget that was made beside the writers is made again, at last under their lock."""
    with filled(path) as store:
        select, said = forget.select, []

        def talking(*given: Any) -> Any:
            gone = select(*given)
            if len(said) < times:
                ack = store.append(turn(9000 + len(said), session="s1", speaker="anna"))
                late = memory(f"fact/{ack.id}", text=token(1), sources=(1,))
                store.apply("job", WriteBatch(memories=(late,))).wait()
                said.append(ack.id)
            return gone

        monkeypatch.setattr(forget, "select", talking)
        assert store.forget(Forget(speaker="bob")).erased
        kept = [one.id for one in Look(store).turns() if one.session == "s1"]
        assert set(said) < set(kept) and len(said) == times
        assert Look(store).session("s1").turns == len(kept)
        assert ids(Look(store).memories("anna")) == ["fact/3"]
    assert traces(path, 1) == []


def test_erasure_is_linear_in_what_is_forgotten(path, tmp_path, monkeypatch):
    """Counted, not timed: the reads of rows, and the rows written."""
    counts = {"get": 0, "put": 0, "drop": 0}
    for name in counts:
        real = getattr(Transaction, name)

        def counted(self: Any, *given: Any, real: Any = real, name: str = name) -> Any:
            counts[name] += 1
            return real(self, *given)

        monkeypatch.setattr(Transaction, name, counted)
    totals = []
    for folder, turns in ((path, 1000), (tmp_path / "twice", 2000)):
        with filled(folder, turns) as store:
            counts |= dict.fromkeys(counts, 0)
            store.forget(Forget(speaker="bob"))
            totals.append(sum(counts.values()))
    assert totals[1] < 2.2 * totals[0], totals


# ------------------------------------------------------------------- index files


def test_erasure_an_index_of_a_killed_build_is_swept_at_the_next_start(path):
    with filled(path, 3) as store:
        kept = sealed(store, "kept")
    left = index_folder(path, "anna") / "tmp-dead"
    left.mkdir()
    (left / "words").write_text(token(1))
    unpublished = index_folder(path, "cleo") / "generation"
    unpublished.mkdir(parents=True)
    with Store.open(path, options=SMALL):
        assert kept.exists() and not left.exists() and not unpublished.exists()


# ------------------------------------------------------------------- backups


def test_erasure_reaches_backups_behind_a_link(path, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    with filled(path, 9) as store:
        (path / "backups").symlink_to(disk)
        store.backup()
        (disk / "holiday.jpg").write_text("not ours")
        assert traces(disk, 1)
        gone = store.forget(Forget(turns=(1,)))
        assert gone.erased and gone.backups_deleted == 1
        assert [file.name for file in disk.iterdir()] == ["holiday.jpg"]


def test_erasure_is_not_done_while_the_disk_of_the_backups_is_away(path, tmp_path):
    with filled(path, 9) as store:
        (path / "backups").symlink_to(tmp_path / "away")
        gone = store.forget(Forget(turns=(1,)))
        assert not gone.erased and "away" in gone.problems[0]
        (tmp_path / "away").mkdir()
        index = sealed(store, token(2))
        assert store.erase() and index.exists(), "it was built since"
    assert traces(path, 1) == []


# ------------------------------------------------------------------- damaged copies, other programs


def test_erasure_says_that_the_files_of_a_damaged_store_remain(path):
    with filled(path, 3) as store:
        aside = path / "corrupt-20260101T000000Z"
        aside.mkdir()
        gone = store.forget(Forget(turns=(1,)))
        assert not gone.erased and gone.remains == (str(aside),) and gone.problems == ()
        assert aside.exists()
        assert store.covered(Forget(turns=(2,))).remains == (str(aside),)


def test_erasure_on_a_full_disk_says_so(path):
    with filled(path, 3) as store:
        with patch.object(copies, "copy_out", side_effect=OSError(28, "No space left on device")):
            gone = store.forget(Forget(turns=(1,)))
        assert not gone.erased and "No space left" in gone.problems[0]
        assert store.erase()


# ------------------------------------------------------------------- unfinished files elsewhere


def test_erasure_the_file_of_a_killed_export_is_deleted_at_the_next_start(path, tmp_path):
    draft = tmp_path / ".export.unfinished"
    filled(path, 3).close()
    pid = os.fork()
    if not pid:
        try:
            with copies.noted(path, draft):
                draft.write_text(token(1))
                os._exit(9)
        finally:
            os._exit(1)
    os.waitpid(pid, 0)
    assert draft.exists()
    with Store.open(path, options=SMALL):
        assert not draft.exists() and not any((path / "unfinished").iterdir())


def test_erasure_an_export_that_runs_at_the_time_is_not_completed(path, tmp_path):
    draft, to = tmp_path / ".export.unfinished", tmp_path / "export"
    with filled(path, 3) as store:
        with (
            pytest.raises(Exception, match="forgotten meanwhile"),
            drafting(path, store.snapshot, draft, to),
        ):
            draft.write_text(token(1))
            store.forget(Forget(turns=(1,)))
        assert not draft.exists() and not to.exists()
        with drafting(path, store.snapshot, draft, to):
            draft.write_text("all that is left")
        assert to.read_text() == "all that is left"


def test_erasure_a_note_never_makes_it_delete_another_file(path, tmp_path):
    victim = tmp_path / "thesis.tex"
    victim.write_text("ours")
    with filled(path, 3) as store:
        (path / "unfinished").mkdir()
        (path / "unfinished" / "note").write_text(str(victim))
        store.forget(Forget(turns=(1,)))
    assert victim.exists()


# ------------------------------------------------------------------- ids and names that are words


def test_erasure_the_id_of_a_hand_made_memory_is_kept_as_a_hash_only(path):
    with filled(path, 3) as store:
        secret = memory("note/Zqxlover", text="secret")
        store.apply("job", WriteBatch(memories=(secret,))).wait()
        assert store.forget(Forget(memories=("note/Zqxlover",))).erased
        store.apply("job", WriteBatch(memories=(secret,))).wait()
        assert Look(store).memory("anna", "note/Zqxlover") is None, "it stays forgotten"
    assert b"Zqxlover" not in data_file(path).read_bytes()
