import os
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from slowcat_memory.errors import IndexDamagedError
from slowcat_memory.index import Document
from slowcat_memory.index import generation as sealed
from slowcat_memory.index.builder import number_sessions
from slowcat_memory.index.generation import Build, sweep
from slowcat_memory.records import IndexFile, Manifest
from slowcat_memory.testing import HashEmbedder
from tests.harness.samples import manifest
from tests.support.index_oracle import OPTIONS, TOKENS, Oracle, build

EMBEDDER = HashEmbedder(16)


def test_generation_a_build_that_waits_too_long_for_the_processor_is_idle_work_no_more(monkeypatch):
    def policies(steps: int) -> list[int]:
        seen = list[int]()
        every = (seen.append(os.sched_getscheduler(0)) or False for _ in range(steps))
        sealed.run_beside_others(every)
        return seen

    monkeypatch.setattr(sealed, "NICE", 0)
    assert policies(3) == [os.SCHED_IDLE] * 3
    monkeypatch.setattr(sealed, "MOST_WAIT_S", -1.0)
    assert policies(3) == [os.SCHED_IDLE, os.SCHED_OTHER, os.SCHED_OTHER]


def oracle() -> Oracle:
    made = Oracle()
    for n, text in enumerate(["max is a dog", "he barks", "", "moritz is a cat", "he purrs"]):
        made.add(Document(id=f"chunk/{n}", text=text, at=float(n), before=f"chunk/{n - 1}"))
    made.remember_mean()
    return made


def published(root: Path, said: Oracle) -> Manifest:
    """Build an index in this process, and vouch for it as a child would."""
    held = [d for d in said.documents() if d.id != "chunk/4"]
    vectors = {d.id: EMBEDDER.encode([d.text])[0] for d in held}
    temporary = root / "tmp-made"
    (temporary / sealed.BUILT).mkdir(parents=True, mode=0o700)
    build(said.documents(), vectors, EMBEDDER.dim, temporary / sealed.BUILT, TOKENS, OPTIONS)
    found: list[tuple[IndexFile, ...]] = []
    sealed.finish(temporary, found.append)
    generation = uuid.uuid4().hex
    (temporary / sealed.BUILT).rename(root / generation)
    (temporary / sealed.OUTCOME).unlink()
    temporary.rmdir()
    root.chmod(0o700)
    space = {"embedder": EMBEDDER.key, "dim": EMBEDDER.dim, "tokenizer": TOKENS.version}
    return manifest(
        generation=generation, files=found[0], documents=len(said.said), upto=5, **space
    )


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Manifest]:
    """An index that tests may read, not change."""
    root = tmp_path_factory.mktemp("index") / "anna"
    return root, published(root, oracle())


def test_generation_nobody_else_can_read_it_and_nothing_is_left_over(index):
    root, manifest = index
    assert [entry.name for entry in root.iterdir()] == [manifest.generation]
    for path in (root, *root.rglob("*")):
        assert path.stat().st_mode & 0o077 == 0, path
    named = {root / manifest.generation / file.name for file in manifest.files}
    assert named == {path for path in root.rglob("*") if path.is_file()}


def test_generation_every_damaged_file_is_noticed(tmp_path):
    said = oracle()
    for n in range(5, 300):
        said.add(Document(id=f"chunk/{n}", text=f"word{n}", at=0.0))
    manifest = published(tmp_path, said)
    assert len(manifest.files) > 10
    dense = [file.name for file in manifest.files if file.name.startswith("vectors.")]
    assert dense == ["vectors.faiss", "vectors.rows.npy"]
    for file in manifest.files:
        path = tmp_path / manifest.generation / file.name
        whole = path.read_bytes()
        for damage in (_flipped(whole), whole[:-1], whole + b"\0", None):
            path.unlink()
            if damage is not None:
                path.write_bytes(damage)
            with pytest.raises(IndexDamagedError, match=file.name):
                sealed.check(tmp_path, manifest)
        path.write_bytes(whole)
    sealed.check(tmp_path, manifest)


def _flipped(whole: bytes) -> bytes:
    middle = len(whole) // 2
    return whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :]


def test_generation_a_sweep_leaves_what_is_in_use(tmp_path):
    manifest = published(tmp_path, oracle())
    (tmp_path / "tmp-1234").mkdir()
    (tmp_path / "tmp-1234" / "order.msgpack").write_text("what somebody said")
    published(tmp_path, oracle())
    sweep(tmp_path, keep=manifest.generation)
    assert [entry.name for entry in tmp_path.iterdir()] == [manifest.generation]
    sealed.check(tmp_path, manifest)
    sweep(tmp_path)
    assert list(tmp_path.iterdir()) == []
    sweep(tmp_path / "never made")


# ------------------------------------------------------------------- the child


DIES = """
import os, pathlib, signal, sys
pathlib.Path(sys.argv[1], "built").mkdir()
os.kill(os.getpid(), signal.{})
"""


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("raise OSError(28, 'No space left on device')", "failed.*No space left"),
        (DIES.format("SIGKILL"), "failed: -"),
        (DIES.format("SIGBUS"), "failed: -"),
    ],
)
def test_generation_a_child_that_fails_leaves_nothing_and_says_why(tmp_path, program, why):
    (tmp_path / "program.py").write_text(program)
    with pytest.raises(IndexDamagedError, match=f"building an index {why}"):
        Build().run(tmp_path / "index", str(tmp_path / "program.py"), [], Manifest)
    assert list((tmp_path / "index").iterdir()) == []


def test_generation_a_build_can_be_stopped_from_outside(tmp_path):
    build, root, program = Build(), tmp_path / "index", tmp_path / "program.py"
    program.write_text(
        "import pathlib, sys, time\npathlib.Path(sys.argv[1], 'begun').touch()\ntime.sleep(60)"
    )
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(build.run, root, str(program), [], Manifest)
        while not list(root.glob("tmp-*/begun")):
            assert not running.done()
        build.stop()
        with pytest.raises(IndexDamagedError, match="stopped"):
            running.result(30)
    assert list(root.iterdir()) == []
    with pytest.raises(IndexDamagedError, match="stopped"):
        build.run(root, str(program), [], Manifest)


def test_generation_a_disk_that_takes_nothing_is_told_clearly(tmp_path):
    (tmp_path / "index").write_text("in the way")
    with pytest.raises(IndexDamagedError, match="building an index failed: FileExistsError"):
        Build().run(tmp_path / "index", "program", [], Manifest)


def test_builder_long_sessions_are_numbered_by_their_first():
    chain = np.arange(-1, 9_999, dtype=np.int32)
    assert not number_sessions(chain).any()
    chain[5_000] = -1
    assert number_sessions(chain).tolist() == [0] * 5_000 + [5_000] * 5_000
    backwards = np.array([1, 2, 3, -1], np.int32)  # who named a neighbour that came later
    assert number_sessions(backwards).tolist() == [3] * 4
    assert number_sessions(np.zeros(0, np.int32)).tolist() == []
