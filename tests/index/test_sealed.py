import subprocess
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace
from oracle import OPTIONS, TOKENS, Oracle, check_equal

from slowcat_memory.errors import IndexDamagedError
from slowcat_memory.index import Document, Searcher, sealed
from slowcat_memory.index.sealed import check, seal, sweep
from slowcat_memory.records import Manifest
from slowcat_memory.testing import HashEmbedder

EMBEDDER = HashEmbedder(16)


def oracle() -> Oracle:
    made = Oracle()
    for n, text in enumerate(["max is a dog", "he barks", "", "moritz is a cat", "he purrs"]):
        made.add(Document(id=f"chunk/{n}", text=text, at=float(n), before=f"chunk/{n - 1}"))
    return made


def published(root: Path, said: Oracle) -> Manifest:
    vectors = {d.id: EMBEDDER.encode([d.text])[0] for d in said.documents()[:4]}
    generation, files = seal(root, said.documents(), vectors, EMBEDDER.dim, OPTIONS)
    return Manifest(
        scope="anna",
        generation=generation,
        files=files,
        documents=len(said.said),
        embedder=EMBEDDER.key,
        dim=EMBEDDER.dim,
        upto=5,
        tokenizer=TOKENS.version,
        forget_epoch=0,
    )


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Manifest]:
    """An index that tests may read, not change."""
    root = tmp_path_factory.mktemp("index") / "anna"
    return root, published(root, oracle())


def test_what_a_child_built_answers_like_an_index_from_scratch(
    index: tuple[Path, Manifest],
) -> None:
    made = Searcher(TOKENS, OPTIONS, EMBEDDER.dim, check(*index))
    check_equal(made, oracle(), "dog he cat barks")
    assert made.sealed_count == 5 and made.tail_count == 0
    assert [made.has_vector(f"chunk/{n}") for n in range(5)] == [True] * 4 + [False]
    found = made.candidates(made.lexical("cat"), EMBEDDER.encode_query("moritz is a cat"))
    best = found.ids[int(np.nanargmax(found.views["dense"]))]
    assert best == "chunk/3"


def test_vectors_of_another_space_are_left_out(index: tuple[Path, Manifest]) -> None:
    made = Searcher(TOKENS, OPTIONS, EMBEDDER.dim, check(*index), sealed_vectors=False)
    assert len(made.dense) == 0
    check_equal(made, oracle(), "dog")


def test_nobody_else_can_read_it_and_nothing_is_left_over(index: tuple[Path, Manifest]) -> None:
    root, manifest = index
    assert [entry.name for entry in root.iterdir()] == [manifest.generation]
    for path in (root, *root.rglob("*")):
        assert path.stat().st_mode & 0o077 == 0, path
    named = {root / manifest.generation / file.name for file in manifest.files}
    assert named == {path for path in root.rglob("*") if path.is_file()}


def test_every_damaged_file_is_noticed(tmp_path: Path) -> None:
    manifest = published(tmp_path, oracle())
    assert len(manifest.files) > 10
    for file in manifest.files:
        path = tmp_path / manifest.generation / file.name
        whole = path.read_bytes()
        for damage in (_flipped(whole), whole[:-1], whole + b"\0", None):
            path.unlink()
            if damage is not None:
                path.write_bytes(damage)
            with pytest.raises(IndexDamagedError, match=file.name):
                check(tmp_path, manifest)
        path.write_bytes(whole)
    check(tmp_path, manifest)


def _flipped(whole: bytes) -> bytes:
    middle = len(whole) // 2
    return whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :]


def test_a_missing_generation_is_noticed(index: tuple[Path, Manifest]) -> None:
    root, manifest = index
    with pytest.raises(IndexDamagedError):
        check(root, replace(manifest, generation="another"))


def test_an_index_of_nothing_can_be_sealed(tmp_path: Path) -> None:
    manifest = published(tmp_path, Oracle())
    made = Searcher(TOKENS, OPTIONS, EMBEDDER.dim, check(tmp_path, manifest))
    assert len(made) == 0 and made.candidates(made.lexical("max")).ids == []


def test_documents_without_words_can_be_sealed(tmp_path: Path) -> None:
    silent = Oracle()
    silent.add(Document(id="1", text="...", at=0.0))
    made = Searcher(TOKENS, OPTIONS, 0, check(tmp_path, published(tmp_path, silent)))
    made.add(Document(id="2", text="max", at=0.0, before="1"))
    assert len(made) == 2 and np.count_nonzero(made.lexical("max").window) == 2


def test_a_sweep_leaves_what_is_in_use(tmp_path: Path) -> None:
    manifest = published(tmp_path, oracle())
    (tmp_path / "tmp-1234").mkdir()
    (tmp_path / "tmp-1234" / "order.msgpack").write_text("what somebody said")
    published(tmp_path, oracle())
    sweep(tmp_path, keep=manifest.generation)
    assert [entry.name for entry in tmp_path.iterdir()] == [manifest.generation]
    check(tmp_path, manifest)
    sweep(tmp_path)
    assert list(tmp_path.iterdir()) == []
    sweep(tmp_path / "never made")


def test_a_failing_child_leaves_nothing_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order, said = sealed.Order, oracle().documents()
    monkeypatch.setattr(
        sealed, "Order", lambda documents, held, dim, options: order(documents, ["x"], 4, options)
    )
    with pytest.raises(IndexDamagedError, match="building an index failed.*ValueError"):
        seal(tmp_path, said, {}, 0, OPTIONS)
    assert list(tmp_path.iterdir()) == []


def test_a_killed_child_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    killed = subprocess.CompletedProcess([], -9, "", "")
    monkeypatch.setattr(sealed.subprocess, "run", lambda *_, **__: killed)
    with pytest.raises(IndexDamagedError, match="-9"):
        seal(tmp_path, oracle().documents(), {}, 0, OPTIONS)
    assert list(tmp_path.iterdir()) == []
