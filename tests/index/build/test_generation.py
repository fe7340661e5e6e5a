import hashlib
import os
import shutil
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from slowcat_memory.errors import IndexDamagedError
from slowcat_memory.index import Document, generation
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
    vectors = {d.id: EMBEDDER.encode([d.text]).vectors[0] for d in held}
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


# ------------------------------------------------------------------- a sealed file is hashed once a boot, and again whenever it may be another

FILES = {"ids.bin": b"one two", "dense.codes": b"three", "words.terms": b"four five"}


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that are hashed."""
    names, real = list[str](), generation._hash

    def counting(path: Path) -> str:
        names.append(path.name)
        return real(path)

    monkeypatch.setattr(generation, "_hash", counting)
    monkeypatch.setattr(generation, "SETTLED_S", 0.0)
    return names


@pytest.fixture
def vouched(tmp_path: Path) -> Manifest:
    folder = tmp_path / "made"
    folder.mkdir()
    for name, body in FILES.items():
        (folder / name).write_bytes(body)
    files = [IndexFile(n, len(b), hashlib.sha256(b).hexdigest()) for n, b in FILES.items()]
    return manifest(generation="made", files=tuple(files))


def test_verified_files_are_hashed_at_the_first_opening_of_a_boot_alone(
    tmp_path, vouched, hashed, monkeypatch
):
    for _ in range(3):
        generation.check(tmp_path, vouched)
    assert sorted(hashed) == sorted(FILES)
    monkeypatch.setattr(generation, "boot_id", lambda: "another")
    generation.check(tmp_path, vouched)
    assert sorted(hashed) == sorted([*FILES] * 2)


def rewritten(path: Path) -> None:
    path.write_bytes(FILES[path.name].upper())


def rewritten_with_its_old_time(path: Path) -> None:
    times = path.stat()
    path.write_bytes(FILES[path.name].upper())
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def replaced(path: Path) -> None:
    times = path.stat()
    path.with_name("other").write_bytes(FILES[path.name].upper())
    os.utime(path.with_name("other"), ns=(times.st_atime_ns, times.st_mtime_ns))
    os.replace(path.with_name("other"), path)


@pytest.mark.parametrize("happened", [rewritten, rewritten_with_its_old_time, replaced])
@pytest.mark.parametrize("name", FILES)
def test_verified_a_file_that_was_changed_on_the_same_boot_is_found(
    tmp_path, vouched, hashed, name, happened
):
    generation.check(tmp_path, vouched)
    times = (tmp_path / "made" / name).stat()
    while (tmp_path / "made" / "tick").touch() or (  # until the file system's clock has gone on
        (tmp_path / "made" / "tick").stat().st_ctime_ns <= times.st_ctime_ns
    ):
        pass
    happened(tmp_path / "made" / name)
    with pytest.raises(IndexDamagedError, match=name):
        generation.check(tmp_path, vouched)


def test_verified_a_copied_index_and_one_that_is_new_are_hashed_again(
    tmp_path, vouched, hashed, monkeypatch
):
    generation.check(tmp_path, vouched)
    copy = tmp_path / "copy"
    shutil.copytree(tmp_path / "made", copy / "made")
    generation.check(copy, vouched)
    assert len(hashed) == 2 * len(FILES)
    monkeypatch.setattr(generation, "SETTLED_S", 3600.0)
    new = tmp_path / "new"
    shutil.copytree(tmp_path / "made", new / "made")
    for _ in range(2):
        generation.check(new, vouched)
    assert len(hashed) == 4 * len(FILES), "what is new may be changed without another time"


@pytest.mark.parametrize("body", [b"", b"\x82garbage", b"\xc0"])
def test_verified_a_record_that_cannot_be_read_is_none(tmp_path, vouched, hashed, body):
    generation.check(tmp_path, vouched)
    (tmp_path / "made" / "verified").write_bytes(body)
    generation.check(tmp_path, vouched)
    assert len(hashed) == 2 * len(FILES)
