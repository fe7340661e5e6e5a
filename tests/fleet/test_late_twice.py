"""What could not be sent, and is tried again after one fault or another: each turn is there once."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from slowcat_memory.config import Config
from slowcat_memory.errors import DatabaseAwayError
from slowcat_memory.fleet import copies, leases, person_log, unsent
from slowcat_memory.fleet.fleet_process import Fleet
from slowcat_memory.fleet.shipper import Shipper
from tests.fleet.talking import SOON_S, say, talking
from tests.support.said import said_by_anna

Make = Callable[..., Config]
TEXTS = ["My dog is called Bello.", "My cat is called Mimi."]


def texts(fleet: Fleet) -> list[str]:
    with talking(fleet) as member, member.snapshot() as snapshot:
        return [turn.text for turn in snapshot.turns("anna")]


def leave_unsent(fleet: Fleet, monkeypatch: pytest.MonkeyPatch, *said: str) -> None:
    """Say something that is saved in a copy, and not sent before it is closed."""
    with monkeypatch.context() as patch:
        patch.setattr(Shipper, "_send", lambda *_: False)
        patch.setattr("slowcat_memory.fleet.holding.FLUSH_S", 0.1)
        member = fleet.member("anna")
        member.start(SOON_S)
        for text in said:
            member.append(said_by_anna(text))
        assert member.flush(SOON_S)
        patch.setattr("slowcat_memory.fleet.housekeeping.tidy_person", lambda *_: None)
        member.close()


def test_turns_of_a_worker_whose_successor_died_at_once_are_sent_once(
    worker_config: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The successor appended nothing; the answer to what is sent then is lost."""
    with Fleet(worker_config("a")) as first, Fleet(worker_config("b")) as second:
        with talking(first) as member:
            say(member, "I live in Lisbon.")
        leave_unsent(first, monkeypatch, *TEXTS)
        first.database.run(leases.take, replace(second.worker, lease_s=0.0), "anna")
        append = person_log.append

        async def answer_lost(*args: Any, **how: Any) -> int:
            await append(*args, **how)
            raise DatabaseAwayError("the answer was lost")

        with monkeypatch.context() as patch:
            patch.setattr(person_log, "append", answer_lost)
            patch.setattr("slowcat_memory.fleet.holding.FLUSH_S", 0.1)
            first.tidy()
        for fleet in (first, second, first, second):
            fleet.tidy()
        assert sorted(texts(second)) == sorted([*TEXTS, "I live in Lisbon."])


def test_turns_whose_store_was_not_deleted_are_appended_once(
    worker_config: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As if the worker was killed after it had saved them in its copy, or sent them."""
    with Fleet(worker_config("a")) as first, Fleet(worker_config("b")) as second:
        with talking(first) as member:
            say(member, "I live in Lisbon.")
        leave_unsent(first, monkeypatch, *TEXTS)
        with talking(second) as member:
            say(member, "My parrot is called Coco.")
        left = list[Path]()

        def kept(folder: Path) -> None:
            if folder.name.startswith(copies.UNSENT):
                left.append(folder)
            else:
                shutil.rmtree(folder)

        with monkeypatch.context() as patch:
            patch.setattr(copies, "delete", kept)
            leave_unsent(first, monkeypatch, "It is me again.")  # saved, and not sent
            assert len(left) == 1 and left[0].is_dir()
            with talking(second) as member:  # so that copy cannot be sent either
                say(member, "My fish is called Finn.")
            for _ in range(3):
                first.tidy()
            assert len(set(left)) == 2
        found = texts(second)
        assert sorted(found) == sorted([
            *TEXTS, "I live in Lisbon.", "It is me again.", "My parrot is called Coco.",
            "My fish is called Finn.",
        ])  # fmt: skip
        first.tidy()
        assert not list(tmp_path.rglob(f"{copies.UNSENT}*")) and texts(second) == found


def test_a_store_of_turns_that_another_process_appends_is_left_to_it(
    worker_config: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with Fleet(worker_config("a")) as first, Fleet(worker_config("b")) as second:
        with talking(second):
            refused = first.member("anna")
            refused.start(SOON_S)
            refused.append(said_by_anna(TEXTS[0]))
            refused.close()
        (store,) = tmp_path.rglob(f"{copies.UNSENT}*")
        with unsent.if_free(store / unsent.CLAIM) as free:
            assert free
            first.tidy()
            assert store.is_dir() and texts(second) == []
        first.tidy()
        assert not store.exists() and texts(second) == TEXTS[:1]
