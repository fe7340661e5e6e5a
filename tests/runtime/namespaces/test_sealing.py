import hashlib
import json
import threading
from pathlib import Path

import pytest
from msgspec.structs import replace

from slowcat_memory.core.memory import chunk_id
from slowcat_memory.errors import IndexDamagedError
from slowcat_memory.index.format import FORMAT, HEADER
from slowcat_memory.records import IndexFile
from slowcat_memory.runtime.namespaces import sealing
from tests.support.engine_home import stalled
from tests.support.memories import Look
from tests.support.namespace_scene import Scene, answers, check_alike, from_scratch, meanwhile


@pytest.fixture
def child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """The child runs something before its own program."""
    path = tmp_path / "program.py"
    path.write_text(
        f"{request.param}\nfrom slowcat_memory.runtime.namespaces.sealing import main\nmain()"
    )
    monkeypatch.setattr(sealing, "CHILD", str(path))


SMALL_DISK = (  # Python would cut its compiled modules off, too, and not notice
    "import resource, sys; sys.dont_write_bytecode = True\n"
    "resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))"
)
HALF_WAY = (
    "import os, signal\n"
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
        before.setattr(sealing, "CHILD", sealing.__name__)
        scene.namespace.reseal()
    kept = list(scene.root.iterdir())
    scene.talk(10, start=20)
    expected = answers(scene.namespace)
    with pytest.raises(IndexDamagedError, match=why):
        scene.namespace.reseal()
    assert list(scene.root.iterdir()) == kept
    check_alike(expected, scene.namespace, scene.load())
    assert scene.load().searcher.sealed_count == 20
    monkeypatch.setattr(sealing, "CHILD", sealing.__name__)
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


def test_sealing_people_may_talk_all_the_time(scene):
    said, stop = scene.talk(10), threading.Event()

    def talk() -> None:
        while not stop.wait(0.002):
            said.extend(scene.talk(1, start=len(said)))

    talker = threading.Thread(target=talk)
    talker.start()
    scene.namespace.reseal()
    scene.namespace.reseal()
    stop.set()
    talker.join()
    assert len(scene.namespace.searcher) == len(said)
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
    monkeypatch.setattr(sealing, "FLUSH_S", 0.05)
    with stalled(scene.store):
        turn = scene.say("max", embed=False)
        with pytest.raises(IndexDamagedError, match="wait to be saved"):
            scene.namespace.reseal()
        assert chunk_id(turn.id) in scene.namespace.searcher
    assert list(scene.root.glob("*")) == []
