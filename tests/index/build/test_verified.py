"""A sealed file is hashed once a boot, and again whenever it may be another."""

import hashlib
import os
import shutil
from pathlib import Path

import pytest

from slowcat_memory.errors import IndexDamagedError
from slowcat_memory.index import generation
from slowcat_memory.records import IndexFile, Manifest
from tests.harness.samples import manifest as made_manifest

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
def manifest(tmp_path: Path) -> Manifest:
    folder = tmp_path / "made"
    folder.mkdir()
    for name, body in FILES.items():
        (folder / name).write_bytes(body)
    files = [IndexFile(n, len(b), hashlib.sha256(b).hexdigest()) for n, b in FILES.items()]
    return made_manifest(generation="made", files=tuple(files))


def test_verified_files_are_hashed_at_the_first_opening_of_a_boot_alone(
    tmp_path, manifest, hashed, monkeypatch
):
    for _ in range(3):
        generation.check(tmp_path, manifest)
    assert sorted(hashed) == sorted(FILES)
    monkeypatch.setattr(generation, "boot_id", lambda: "another")
    generation.check(tmp_path, manifest)
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
    tmp_path, manifest, hashed, name, happened
):
    generation.check(tmp_path, manifest)
    times = (tmp_path / "made" / name).stat()
    while (tmp_path / "made" / "tick").touch() or (  # until the file system's clock has gone on
        (tmp_path / "made" / "tick").stat().st_ctime_ns <= times.st_ctime_ns
    ):
        pass
    happened(tmp_path / "made" / name)
    with pytest.raises(IndexDamagedError, match=name):
        generation.check(tmp_path, manifest)


def test_verified_a_copied_index_and_one_that_is_new_are_hashed_again(
    tmp_path, manifest, hashed, monkeypatch
):
    generation.check(tmp_path, manifest)
    copy = tmp_path / "copy"
    shutil.copytree(tmp_path / "made", copy / "made")
    generation.check(copy, manifest)
    assert len(hashed) == 2 * len(FILES)
    monkeypatch.setattr(generation, "SETTLED_S", 3600.0)
    new = tmp_path / "new"
    shutil.copytree(tmp_path / "made", new / "made")
    for _ in range(2):
        generation.check(new, manifest)
    assert len(hashed) == 4 * len(FILES), "what is new may be changed without another time"


@pytest.mark.parametrize("body", [b"", b"\x82garbage", b"\xc0"])
def test_verified_a_record_that_cannot_be_read_is_none(tmp_path, manifest, hashed, body):
    generation.check(tmp_path, manifest)
    (tmp_path / "made" / "verified").write_bytes(body)
    generation.check(tmp_path, manifest)
    assert len(hashed) == 2 * len(FILES)
