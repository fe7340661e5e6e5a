"""Late turns whose next holder could not send them either."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from slowcat_memory.config import Config
from slowcat_memory.errors import DatabaseAwayError
from slowcat_memory.fleet import late_turns, person_log
from slowcat_memory.fleet.fleet_process import Fleet
from slowcat_memory.fleet.late_turns import Late
from tests.fleet.talking import SOON_S, say, talking
from tests.support.said import said_by_anna

Make = Callable[..., Config]
TEXTS = ["My dog is called Bello.", "My cat is called Mimi."]


def test_late_turns_that_a_second_worker_saved_and_did_not_send_are_appended_once(
    worker_config: Make, tenant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = [Late("7", n, said_by_anna(text)) for n, text in enumerate(TEXTS, 1)]

    async def away(*_: Any, **__: Any) -> int:
        raise DatabaseAwayError("the database is away")

    with Fleet(worker_config("b")) as second, Fleet(worker_config("c")) as third:
        with talking(second) as member:
            say(member, "I live in Lisbon.")
        second.database.run(lambda c: late_turns.store(c, tenant, "anna", late))
        with monkeypatch.context() as patch:
            patch.setattr(person_log, "append", away)
            member = second.member("anna")
            member.start(SOON_S)
            member.release()  # the turns are in its copy, and were not sent
        with talking(third) as member:
            say(member, "My parrot is called Coco.")
        second.tidy()
        for _ in range(2):
            with talking(third) as member, member.snapshot() as snapshot:
                texts = [turn.text for turn in snapshot.turns("anna")]
        assert sorted(texts) == sorted([*TEXTS, "I live in Lisbon.", "My parrot is called Coco."])
