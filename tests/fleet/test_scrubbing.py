"""Erasing rewrites a copy's file once, if what it had to send was sent before."""

from pathlib import Path
from typing import Any

import pytest
import zstandard

from slowcat_memory.fleet import person_log
from slowcat_memory.fleet.fleet_process import SharedMember
from slowcat_memory.records import Forget
from slowcat_memory.store.disk.environment import Environment
from tests.fleet.talking import SOON_S, files_with, say, talking
from tests.support.said import said_by_anna

pytestmark = pytest.mark.fleet


@pytest.fixture
def rewrites(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that were replaced by a copy, in order."""
    made, swap = list[Path](), Environment.swap

    def counted(env: Environment, fresh: Path) -> None:
        made.append(fresh)
        swap(env, fresh)

    monkeypatch.setattr(Environment, "swap", counted)
    return made


def outbox_has(member: SharedMember, word: bytes) -> bool:
    waiting = member.engine.store.replica.unsent(0, 1 << 20)
    return any(word in zstandard.decompress(one.body) for one in waiting)


def test_what_was_sent_is_erased_in_one_rewrite(fleet, tmp_path, rewrites):
    with talking(fleet) as member:
        say(member, "The safe's number is quobble.", "My dog is called Bello.")
        assert files_with(tmp_path, b"quobble")
        assert member.forget(Forget(turns=(1,))).erased
        assert len(rewrites) == 1
        assert files_with(tmp_path, b"quobble") == []


def test_what_was_not_sent_is_erased_once_it_was(fleet, tmp_path, rewrites, monkeypatch):
    monkeypatch.setattr("slowcat_memory.fleet.fleet_process.COMMITTED_S", 0.1)
    monkeypatch.setattr("slowcat_memory.fleet.fleet_process.PURGED_S", 0.1)
    append = person_log.append

    async def away(*_: Any, **__: Any) -> None:
        raise OSError("the database is away")

    with talking(fleet) as member:
        say(member, "My dog is called Bello.")
        monkeypatch.setattr(person_log, "append", away)
        said = member.append(said_by_anna("The safe's number is quobble."))
        assert member.flush(SOON_S, indexed=True)
        gone = member.forget(Forget(turns=(said.event.id,)))
        assert not gone.erased and len(rewrites) == 1
        assert outbox_has(member, b"quobble")  # it must be sent in order
        monkeypatch.setattr(person_log, "append", append)
        assert member.holding is not None and member.holding.wait_purged(SOON_S)
        assert len(rewrites) == 2
        assert files_with(tmp_path, b"quobble") == [] and not outbox_has(member, b"quobble")
