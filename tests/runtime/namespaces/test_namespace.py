"""One namespace: its index, its files, and the pages that it gives back."""

import hashlib
import json
import shutil
from pathlib import Path
from unittest.mock import patch

import pytest
from msgspec.structs import replace

from slowcat_memory.core.memory import chunk_id
from slowcat_memory.errors import IndexDamagedError, StoreError
from slowcat_memory.index import generation
from slowcat_memory.index.format import FORMAT, HEADER
from slowcat_memory.index.generation import BUILT
from slowcat_memory.records import Forget, IndexFile, Turn, Vector, WriteBatch
from slowcat_memory.runtime.namespaces import live_index
from slowcat_memory.runtime.namespaces.live_index import Space
from slowcat_memory.testing import HashEmbedder
from tests.support.engine_home import stalled
from tests.support.memories import Look, residue
from tests.support.namespace_scene import Scene, answers, check_alike, from_scratch, meanwhile

# ------------------------------------------------------------------- forgetting


def forget(scene: Scene, turn: Turn) -> None:
    gone = scene.store.forget(Forget(turns=(turn.id,)))
    scene.namespace.forget([id_ for _, id_ in gone.memories])


def test_namespace_what_is_forgotten_is_gone_at_once(scene):
    turns = scene.talk(6)
    forget(scene, turns[3])
    assert chunk_id(turns[3].id) not in answers(scene.namespace)["max dog"]
    assert scene.namespace.fetch([chunk_id(turns[3].id)]) == {}
    check_alike(scene.load(), scene.namespace)


def test_namespace_a_build_reads_no_time_again_in_a_text_that_is_the_same(scene):
    scene.talk(12)
    scene.namespace.reseal()
    order, sealed = scene.namespace._order.in_store(scene.store), scene.namespace.sealed
    scene.store.close()  # a process opens it once

    def built(name: str, former: str) -> dict[str, bytes]:
        folder = scene.root / name
        folder.mkdir()
        for _ in live_index._build(folder, replace(order, former=former)):
            pass
        return {file.name: file.read_bytes() for file in (folder / BUILT).iterdir()}

    anew = built("anew", "")
    with patch.object(live_index, "time_about", side_effect=AssertionError):
        assert built("again", sealed) == anew
    other = replace(order, zone="Asia/Tokyo", former=sealed)
    assert other.read_former(scene.root) is None and order.read_former(scene.root) is None


def test_namespace_a_misheard_name_is_found_when_the_files_of_the_index_are_replaced(scene):
    for n in range(4):
        scene.say(f"Katharina called on day {n}")
    scene.namespace.reseal()
    opened = scene.load()
    shutil.rmtree(opened.root / opened.sealed)  # by a newer index, or a forgetting elsewhere
    assert [match.name for match in opened.searcher.heard("did Catarina call")] == ["Katharina"]


def test_namespace_an_index_built_during_a_forgetting_is_thrown_away(scene, monkeypatch):
    scene.talk(6)
    secret = scene.say("the secret is swordfish")
    meanwhile(monkeypatch, lambda: forget(scene, secret))
    with pytest.raises(IndexDamagedError, match="forgotten while"):
        scene.namespace.reseal()
    assert not residue(scene.root, "swordfish")
    assert chunk_id(secret.id) not in scene.namespace.searcher


def test_namespace_an_index_swapped_in_just_before_a_forgetting_is_not_published(
    scene, monkeypatch
):
    scene.talk(6)
    secret, swap = scene.say("the secret is swordfish"), scene.namespace._swap

    def swap_then_forget(*args: object) -> None:
        swap(*args)  # type: ignore[arg-type]
        forget(scene, secret)

    monkeypatch.setattr(scene.namespace, "_swap", swap_then_forget)
    with pytest.raises(StoreError, match="built before something was forgotten"):
        scene.namespace.reseal()
    assert not residue(scene.root, "swordfish")
    assert chunk_id(secret.id) not in scene.namespace.searcher


# ------------------------------------------------------------------- what cannot be used


def test_namespace_damaged_files_are_not_used_and_the_log_makes_up_for_them(scene):
    scene.talk()
    scene.namespace.reseal()
    expected = answers(scene.namespace)
    for path in sorted(scene.root.rglob("*")):
        if path.is_file():
            whole = path.read_bytes()
            at = len(whole) // 2
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
            loaded = scene.load()
            assert loaded.searcher.sealed_count == 0
            check_alike(expected, loaded)
            assert loaded.seal_due()
            path.write_bytes(whole)
    assert scene.load().searcher.sealed_count == 20


def test_namespace_files_that_are_whole_but_unreadable_are_not_used(scene):
    scene.talk(3)
    scene.namespace.reseal()
    nowhere = {"return_value": scene.root / "nowhere"}
    for checked in (nowhere, {"side_effect": RuntimeError("FAISS says this")}):
        with patch.object(generation, "check", **checked):
            assert len(scene.load().searcher) == 3


def test_namespace_another_language_needs_another_index(scene):
    scene.talk()
    scene.namespace.reseal()
    assert scene.load().searcher.sealed_count == 20
    assert scene.load(stemmer="german").searcher.sealed_count == 0


def test_namespace_vectors_of_another_space_are_never_used(scene):
    scene.talk()
    for sealed in (False, True):
        if sealed:
            scene.namespace.reseal()
        for other in (Space("other/32", 32), Space("hashed-words/16", 16), Space()):
            loaded = scene.load(other)
            assert len(loaded.searcher.dense) == 0 and len(loaded.searcher) == 20
            assert loaded.searcher.sealed_count == (20 if sealed else 0)  # its words are used
        assert len(scene.load().searcher.dense) == 20


def test_namespace_a_new_space_is_sealed_without_the_old_vectors(scene):
    turns, other = scene.talk(), HashEmbedder(16, "other")
    scene.namespace.reseal()
    scene.namespace = scene.load(Space(other.key, 16))
    vectors = tuple(
        Vector(scope="anna", memory=chunk_id(t.id), values=other.encode_query(t.text).vector)
        for t in turns[:7]
    )
    scene.store.apply("test", WriteBatch(vectors=vectors, embedder=other.key)).wait()
    scene.namespace.reseal()
    assert len(scene.namespace.searcher.dense) == 7
    for loaded, count in ((scene.load(Space(other.key, 16)), 7), (scene.load(), 20)):
        assert len(loaded.searcher.dense) == count and len(loaded.searcher) == 20


# ------------------------------------------------------------------- the hot texts


def test_namespace_what_is_not_saved_yet_is_served_from_memory(scene):
    with stalled(scene.store):
        turns = [scene.say(f"number{n}", embed=False) for n in range(12)]
        ids = [chunk_id(turn.id) for turn in turns]
        assert list(scene.namespace.fetch(ids)) == ids
        assert len(scene.namespace.hot._held) == 12  # more than it keeps, but nowhere else
    scene.store.flush()
    scene.say("one more", embed=False)
    assert len(scene.namespace.hot._held) == 5
    assert set(scene.namespace.fetch(ids)) == set(ids)


def test_namespace_reading_opens_the_store_once_and_not_for_the_latest(scene, monkeypatch):
    ids = [chunk_id(turn.id) for turn in scene.talk(8)]
    scene.store.flush()
    scene.say("one more", embed=False)  # from then on it keeps the latest alone
    opened, snapshot = list[str](), scene.store.snapshot
    monkeypatch.setattr(scene.store, "snapshot", lambda: opened.append("") or snapshot())
    with scene.namespace.reading() as fetch:
        assert list(fetch(ids[-2:])) == ids[-2:] and not opened
        assert [*fetch(ids[:2]), *fetch(ids[2:3])] == ids[:3]
    assert len(opened) == 1


# ------------------------------------------------------------------- sealing


@pytest.fixture
def child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """The child runs something before its own program."""
    path = tmp_path / "program.py"
    path.write_text(
        f"{request.param}\nfrom slowcat_memory.runtime.namespaces.live_index import main\nmain()"
    )
    monkeypatch.setattr(live_index, "CHILD", str(path))


SMALL_DISK = (  # Python would cut its compiled modules off, too, and not notice
    "import resource, sys; sys.dont_write_bytecode = True\n"
    "resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))"
)
HALF_WAY = (
    "import os, signal, sys\n"
    "print('a warning', file=sys.stderr, flush=True)\n"
    "from slowcat_memory.index import builder\n"
    "builder.score = lambda *_: os.kill(os.getpid(), signal.SIGKILL)"
)

DAMAGED = (
    "from slowcat_memory.store import blocks\n"
    "read = blocks.BlockReader.event\n"
    "def once(self, key):\n"
    "    blocks.BlockReader.event = read\n"
    "    raise blocks.DamagedRow('log', key, '')\n"
    "blocks.BlockReader.event = once"
)


@pytest.mark.parametrize(
    ("child", "why"),
    [
        (SMALL_DISK, "File too large"),
        (HALF_WAY, "-9"),
        (DAMAGED, "1 rows of the store were not read"),
    ],
    indirect=["child"],
)
def test_sealing_a_build_that_dies_leaves_the_old_index_and_nothing_else(
    scene, child, why, monkeypatch
):
    scene.talk()
    with monkeypatch.context() as before:
        before.setattr(live_index, "CHILD", live_index.__name__)
        scene.namespace.reseal()
    kept = list(scene.root.iterdir())
    scene.talk(10, start=20)
    expected = answers(scene.namespace)
    with pytest.raises(IndexDamagedError, match=why):
        scene.namespace.reseal()
    assert list(scene.root.iterdir()) == kept
    check_alike(expected, scene.namespace, scene.load())
    assert scene.load().searcher.sealed_count == 20
    monkeypatch.setattr(live_index, "CHILD", live_index.__name__)
    scene.namespace.reseal()
    assert scene.namespace.searcher.sealed_count == 30


# ------------------------------------------------------------------- other formats


def rewrite_header(scene: Scene, **changes: object) -> None:
    """Make the sealed index one that another version wrote, and vouch for it."""
    manifest = Look(scene.store).manifest("anna")
    assert manifest is not None
    path = scene.root / manifest.generation / HEADER
    path.write_bytes(json.dumps(json.loads(path.read_bytes()) | changes).encode())
    hashed = hashlib.sha256(path.read_bytes()).hexdigest()
    files = tuple(
        IndexFile(HEADER, path.stat().st_size, hashed) if file.name == HEADER else file
        for file in manifest.files
    )
    scene.store.publish(replace(manifest, files=files)).wait()


@pytest.mark.parametrize("changes", [{"format": FORMAT + 1}, {"k1": 1.5}, {"b": 0.75}], ids=str)
def test_sealing_index_of_another_format_is_rebuilt_from_the_store(scene, changes):
    scene.talk(6)
    scene.namespace.reseal()
    expected = answers(scene.namespace)
    rewrite_header(scene, **changes)
    loaded = scene.load()
    assert loaded.searcher.sealed_count == 0 and len(loaded.searcher) == 6
    check_alike(expected, loaded)
    assert loaded.seal_due()
    loaded.reseal()
    assert not loaded.seal_due() and loaded.searcher.sealed_count == 6
    check_alike(expected, loaded, scene.load())
    assert scene.load().searcher.sealed_count == 6


def test_sealing_what_is_said_while_the_index_is_built_is_in_it(scene, monkeypatch):
    scene.talk()
    meanwhile(monkeypatch, lambda: scene.talk(15, start=20))
    scene.namespace.reseal()
    assert scene.namespace.searcher.sealed_count == 20
    assert len(scene.namespace.searcher) == 35
    check_alike(from_scratch(scene), scene.namespace, scene.load())


def test_sealing_an_index_is_due_when_the_tail_has_grown(scene):
    scene.namespace = scene.load(seal_at=3, seal_share=0.5)
    due = []
    for n in range(5):
        scene.talk(1, start=n)
        due.append(scene.namespace.seal_due())
    assert due == [False, False, False, True, True]
    scene.namespace.reseal()
    assert not scene.namespace.seal_due()


def test_sealing_it_is_not_rebuilt_while_turns_wait_to_be_saved(scene, monkeypatch):
    monkeypatch.setattr(live_index, "FLUSH_S", 0.05)
    with stalled(scene.store):
        turn = scene.say("max", embed=False)
        with pytest.raises(IndexDamagedError, match="wait to be saved"):
            scene.namespace.reseal()
        assert chunk_id(turn.id) in scene.namespace.searcher
    assert list(scene.root.glob("*")) == []
