"""doctor, backup, restore and forget: what is wrong, what can be made again, what backups keep."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from slowcat_memory.records import Task, WriteBatch
from slowcat_memory.store import backups_of
from slowcat_memory.testing import FixedClock, memory_config
from tests.support.memories import engine_of
from tests.support.said import turn

# ------------------------------------------------------------------- ``doctor``: what is wrong is told, and what can be made again is


@pytest.fixture
def kept(sm: Any) -> Any:
    """A command line whose store holds a sealed memory."""
    with engine_of(memory_config(sm.store)) as engine:
        engine.remember("Anna likes tea.", "anna")
        engine.upkeep.seal("anna")
    return sm


def found(sm: Any, *options: str, code: int | None = 0) -> dict[str, dict[str, Any]]:
    result = sm("doctor", *options, "--json")
    assert code in (None, result.exit_code), result.output
    every = json.loads(result.stdout)
    return {one["what"]: one for one in sorted(every, key=lambda one: one["state"])}


def test_doctor_a_sound_memory(kept: Any) -> None:
    told = found(kept)
    assert {what for what, one in told.items() if one["state"] == "wrong"} == set()
    assert {"permissions", "disk", "store", "model", "vectors", "queue"} <= set(told)
    assert "Nothing is wrong" in kept.ok("doctor")


def test_doctor_others_are_shut_out(kept: Any) -> None:
    (kept.store / "data.mdb").chmod(0o644)
    assert found(kept, code=1)["permissions"]["repairable"]
    assert "data.mdb" in kept("doctor").stdout
    assert found(kept, "--repair")["permissions"]["state"] == "fine"
    assert (kept.store / "data.mdb").stat().st_mode & 0o777 == 0o600


def test_doctor_work_that_was_given_up_is_told_and_left_alone(kept: Any) -> None:
    with engine_of(memory_config(kept.store)) as engine:
        dead = Task(id="dream/anna/x", job="dream", key="x", created=engine.clock(), state="dead")
        engine.store.apply("dream", WriteBatch(tasks=(dead,))).wait(None)
    told = found(kept, "--repair", code=1)["queue"]
    assert "dream" in told["found"] and not told["repairable"]


def test_doctor_an_llm_that_does_not_answer(kept: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLOWCAT_IDLE_LLM__URL")
    kept.config.write_text(
        kept.config.read_text() + '[idle_llm]\nurl = "http://127.0.0.1:9/v1"\n', "utf-8"
    )
    assert found(kept, code=1)["LLM"]["state"] == "wrong"


# ------------------------------------------------------------------- damage after a clean stop


@pytest.fixture
def scribbled(kept: Any) -> Any:
    """A store that was closed cleanly; then every page but the first two was overwritten."""
    data = kept.store / "data.mdb"
    body = data.read_bytes()
    data.write_bytes(body[:8192] + b"\xa5" * (len(body) - 8192))
    return kept


def test_doctor_every_command_on_a_damaged_store_ends_with_a_sentence(scribbled: Any) -> None:
    for command in (("show",), ("search", "tea"), ("export",)):
        result = scribbled(*command)
        assert result.exception is None or isinstance(result.exception, SystemExit), command
        assert "damaged" in result.stderr, command


def test_doctor_damaged_files_outlive_forgetting_and_are_named(scribbled: Any) -> None:
    assert "The store was damaged" in scribbled("doctor", "--repair").stderr
    assert found(scribbled)["store"]["state"] != "wrong"
    (aside,) = scribbled.store.glob("corrupt-*")
    assert (aside / "data.mdb").read_bytes()[8192:].strip(b"\xa5") == b""
    scribbled.ok("forget", "--all", "--yes")
    assert aside.exists() and f"rm -r {scribbled.store}/corrupt-*" in scribbled("doctor").stdout


DAYS = '[memory]\ntime_zone = "UTC"\n[embedding]\nkind = "none"\n[retention]\nraw_days = 30\n'


@pytest.fixture
def long_ago(sm: Any) -> Any:
    """A command line whose store was closed two months ago, with a turn of then."""
    sm.config.write_text(DAYS)
    then = datetime.now(UTC) - timedelta(days=60)
    with engine_of(memory_config(sm.store), clock=FixedClock(then)) as engine:
        engine.append(turn("tea", id=0, at=then))
    return sm


def test_doctor_says_why_the_clock_is_doubted_what_waits_and_the_remedy(long_ago, monkeypatch):
    monkeypatch.setattr("slowcat_memory.clock.kernel_is_synchronised", lambda: False)
    told = found(long_ago, code=None)
    assert "60.0 days later than expected" in told["clock"]["found"]
    assert "--clock-is-right" in told["clock"]["hint"]
    assert told["erasure"]["found"].endswith("1 expired turn")
    assert "60.0 days later than expected" in " ".join(long_ago.ok("show", "stats").split())
    assert json.loads(long_ago.ok("show", "stats", "--json"))["clock_doubted"]
    long_ago.ok("backup")  # opens it for writing, and erases nothing
    assert found(long_ago, code=None)["erasure"]["found"].endswith("1 expired turn")


def test_doctor_a_clock_that_the_user_confirms_erases_what_waits(long_ago, monkeypatch):
    monkeypatch.setattr("slowcat_memory.clock.kernel_is_synchronised", lambda: False)
    told = found(long_ago, "--clock-is-right", code=None)
    assert told["clock"]["state"] == told["erasure"]["state"] == "fine"
    assert json.loads(long_ago.ok("show", "stats", "--json"))["scopes"] == {}


# ------------------------------------------------------------------- ``backup``, ``restore`` and ``forget``: what a person sees and what they find af


def shown(sm) -> str:
    return sm.ok("show", "--last", "20")


def test_backup_a_backup_is_restored_without_what_was_forgotten_since(filled) -> None:
    before = shown(filled)
    file = filled.folder / "kept.mdb"
    assert "checked:" in filled.ok("backup", str(file))
    filled.ok("forget", "3", "--yes")
    said = filled("restore", str(file), "--yes")
    assert said.exit_code == 0 and "Restored: " in said.stdout
    assert "forgotten since" in said.stderr and str(file) in said.stderr
    after = shown(filled)
    assert after != before and len(after.splitlines()) < len(before.splitlines())
    assert filled.ok("restore", str(file), "--yes")
    assert shown(filled) == after


def test_backup_it_asks_before_it_replaces_a_memory(filled) -> None:
    file = filled.folder / "kept.mdb"
    filled.ok("backup", str(file))
    before = shown(filled)
    assert filled("restore", str(file), stdin="n\n").exit_code == 1
    assert not list(filled.store.glob("replaced-*"))
    assert shown(filled) == before


@pytest.mark.parametrize("args", [("backup", "no/such/folder/f.mdb"), ("restore", "nothing.mdb")])
def test_backup_what_cannot_be_done_is_said_in_a_line(filled, args) -> None:
    yes = ["--yes"] if args[0] == "restore" else []
    assert filled.fails(*args, *yes).startswith("Error: there is no")


def test_forget_the_question_and_the_answer_name_the_backups(filled) -> None:
    filled.ok("backup")
    filled.ok("backup")
    result = filled("forget", "3", stdin="y\n")
    assert "and 2 backups (20" in result.stderr
    assert "2 backups deleted" in result.stdout
    assert backups_of(filled.store) == []


def test_forget_the_files_of_a_damaged_store_are_named_and_stay(filled) -> None:
    aside = filled.store / "corrupt-20260101T000000Z"
    aside.mkdir()
    result = filled("forget", "3", stdin="y\n")
    assert result.stderr.count(aside.name) == 2 and aside.exists()
    told = json.loads(filled.ok("forget", "4", "--yes", "--json"))
    assert told["erased"] is False and told["remains"] == [str(aside)]
