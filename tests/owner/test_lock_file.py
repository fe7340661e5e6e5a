"""The lock file names its holder at every moment, and looking at a lock disturbs nobody."""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from slowcat_memory.errors import StoreBusyError
from slowcat_memory.owner import address, pausing
from slowcat_memory.owner.address import announce, last_owner, who_owns
from slowcat_memory.owner.channel import OwnerAwayError
from slowcat_memory.owner.pausing import is_paused, opening, paused
from slowcat_memory.store.disk import locks
from slowcat_memory.store.disk.folder import WRITER
from slowcat_memory.store.disk.locks import WriterLock
from slowcat_memory.store.options import utc_now
from slowcat_memory.testing import memory_config
from tests.owner.test_giving_up import member_of
from tests.support.owner_process import OwnerProcess


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


@contextmanager
def shared(path: Path) -> Iterator[Callable[[], None]]:
    """Hold a lock as those do who look at it; the function ends that."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(fd, fcntl.LOCK_SH)

    def end() -> None:
        fcntl.flock(fd, fcntl.LOCK_UN)

    try:
        yield end
    finally:
        os.close(fd)


def test_lock_file_signing_leaves_no_moment_without_a_record(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []

    def look_before(name: str) -> None:
        real = getattr(os, name)

        def call(*arguments: Any) -> Any:
            seen.append(last_owner(folder))
            result = real(*arguments)
            seen.append(last_owner(folder))
            return result

        monkeypatch.setattr(os, name, call)

    first = WriterLock(folder, utc_now())
    announce(folder, folder / ("long" * 50 + ".sock"))
    first.release()
    look_before("pwrite")
    look_before("ftruncate")
    second = WriterLock(folder, utc_now())
    announce(folder, folder / "short.sock")
    second.release()
    assert seen and None not in seen
    assert seen[0].socket and not seen[1].socket, "a new holder does not listen yet"
    assert seen[-1].socket == str(folder / "short.sock")


@pytest.mark.parametrize("says", ["", "{", '{"pid": 0, "program": "", "since": ""}'])
def test_lock_file_a_holder_that_has_not_signed_is_a_holder(
    folder: Path, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = WriterLock(folder, utc_now())
    found = who_owns(folder)
    assert found and found.pid == os.getpid()
    (folder / WRITER).write_text(says)
    monkeypatch.setattr(address, "SIGNING_POLL_S", 0.0)
    found = who_owns(folder)
    assert found is not None and found.pid == 0, "the lock decides"
    lock.release()
    assert who_owns(folder) is None


def test_lock_file_an_opener_waits_for_those_who_only_look(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with shared(folder / WRITER) as end:
        monkeypatch.setattr(locks.time, "sleep", lambda _: end())
        WriterLock(folder, utc_now()).release()
    monkeypatch.undo()
    lock = WriterLock(folder, utc_now())
    with pytest.raises(StoreBusyError):
        WriterLock(folder, utc_now())
    lock.release()


def test_lock_file_a_pause_waits_for_who_is_opening_and_keeps_out_who_comes_later(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "LOOK_S", 0.0)
    with opening(folder), pytest.raises(StoreBusyError, match="still being opened"):
        with paused(folder, wait_s=0.0):
            pass
    monkeypatch.undo()
    with shared(folder / pausing.PAUSED) as end:  # who opens, and then listens
        monkeypatch.setattr(locks.time, "sleep", lambda _: end())
        with paused(folder), pytest.raises(OwnerAwayError), opening(folder):
            pass
    monkeypatch.undo()
    with paused(folder), pytest.raises(StoreBusyError, match="being replaced"), paused(folder):
        pass
    assert not is_paused(folder)


def test_lock_file_an_owner_that_did_not_answer_is_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, tries = pausing.connect, []

    def late(*arguments: Any) -> Any:
        tries.append(arguments)
        if len(tries) == 1:
            raise OwnerAwayError("it was busy")
        return real(*arguments)

    folder = memory_config(tmp_path / "memory").folder
    with OwnerProcess(folder):
        member = member_of(folder, mode="client")
        monkeypatch.setattr(pausing, "connect", late)
        with paused(folder):
            assert who_owns(folder) is None
        member.release()
    assert len(tries) == 2
