"""``slowcat-memory fleet`` against a database: from tables to a memory pulled again."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from slowcat_memory.config import Config
from slowcat_memory.fleet import leases
from slowcat_memory.fleet.copies import copy_name
from slowcat_memory.fleet.database import Database
from slowcat_memory.fleet.fleet_process import Fleet
from slowcat_memory.providers import EmbedderOptions
from slowcat_memory.records import Forget
from slowcat_memory.store import Store
from tests.cli.conftest import CHAT, CONFIG, CommandLine
from tests.cli.conftest import sm as local  # noqa: F401
from tests.fleet.talking import rows, say, schedule, talking
from tests.support.other_process import python
from tests.support.said import said_by_anna

Make = Callable[..., Config]


@pytest.fixture
def sm(local: CommandLine, dsn: str, tenant: str, monkeypatch: pytest.MonkeyPatch) -> CommandLine:  # noqa: F811
    """A command line of a fleet, whose store holds turns of anna and ben."""
    fleet = f'dsn = "{dsn}"\ntenant = "{tenant}"\ncache = "{local.folder / "a"}"\nlease_s = 5\n'
    local.config.write_text(f"{CONFIG}\n[fleet]\n{fleet}")
    monkeypatch.delenv("SLOWCAT_TEST_DSN", raising=False)
    (local.folder / "chat.txt").write_text(CHAT)
    local.ok("import", "chat.txt", "--no-embed")
    return local


@pytest.fixture
def fleet(worker_config: Make) -> Iterator[Fleet]:
    with Fleet(worker_config("b", embedding=EmbedderOptions(kind="none"))) as fleet:
        yield fleet


def test_init_says_what_it_made_and_warns_of_a_role_that_sees_all(sm, dsn):
    result = sm("fleet", "init")
    assert result.exit_code == 0 and "The tables are up to date (version 5)." in result.stdout
    assert "Row-level security does not bind" in result.stderr
    role = "worker_of_" + sm.folder.name.replace("-", "_")[:40]
    database = Database(dsn)
    database.run(lambda connection: connection.execute(f'CREATE ROLE "{role}"'))
    try:
        result = sm("fleet", "init", "--role", role)
        assert result.exit_code == 0 and f"The role {role} may use" in result.stdout
        assert result.stderr == ""
        found = sm.json("fleet", "init", "--role", role)
        assert found["added"] == [] and not found["bypasses_row_security"]
        assert "does not exist" in sm.fails("fleet", "init", "--role", "nobody_of_that_name")
    finally:
        database.run(lambda c: c.execute(f'DROP OWNED BY "{role}"; DROP ROLE "{role}"'))
        database.close()


def test_a_memory_goes_there_and_back(sm):
    said = sm.ok("fleet", "push", "user")
    assert "9 events of user" in said, said
    assert "'user' has a memory in the database already" in sm.fails("fleet", "push", "user")
    assert "9 events of user" in sm.ok("fleet", "pull", "user", "--to", "back")
    assert "is not empty" in sm.fails("fleet", "pull", "user", "--to", "back")
    assert "no memory of 'ben'" in sm.fails("fleet", "pull", "ben", "--to", "other")
    texts = []
    for folder in (sm.store, sm.folder / "back"):
        with Store.open(folder, readonly=True) as store, store.snapshot() as snapshot:
            texts.append([turn.text for turn in snapshot.turns()])
    assert texts[0] == texts[1] != []


def test_a_store_that_a_bot_has_open_is_pushed_with_a_warning(sm):
    with Store.open(sm.store):
        given = ("--config", str(sm.config), "--path", str(sm.store), "fleet", "push", "user")
        result = python("-m", "slowcat_memory", *given)
    assert result.returncode == 0 and "9 events" in result.stdout, result.stderr
    assert "what is said from now on is not in the database" in " ".join(result.stderr.split())


def test_status_shows_who_holds_whom_and_what_waits(sm, fleet):
    result = sm("fleet", "status")
    assert result.exit_code == 0 and "has 0 people" in result.stdout
    assert "Nobody is held." in result.stdout
    run = fleet.database.run
    run(leases.take, replace(fleet.worker, lease_s=0.0), "clara")
    schedule(fleet, "dora")
    assert run(leases.claim_task, fleet.worker) is not None
    schedule(fleet, "emil")
    failing = run(leases.claim_task, fleet.worker)
    run(leases.finish_task, failing, leases.pause_s(1), 1, "ValueError")
    run(leases.release, failing, 0)
    with talking(fleet) as member:
        say(member, "My dog is called Bello.")
        shown = sm.ok("fleet", "status")
        found = sm.json("fleet", "status")
    assert "has 1 person: " in shown
    assert "0 due, 1 later, 1 running, 1 failed, 0 given up" in shown  # clara's worker died
    lines = {line.split()[0]: line for line in shown.splitlines() if line.strip()}
    assert "conversation" in lines["anna"] and fleet.worker.holder in lines["anna"]
    assert "idle" in lines["dora"] and "run out" in lines["clara"]
    assert "ValueError" in lines["emil"] and re.search(r"in 0:0[01]:\d\d", lines["emil"])
    assert [one["person"] for one in found["database"]["held"]] == ["anna", "clara", "dora"]
    assert found["database"]["log_rows"] > 0 and found["database"]["log_bytes"] > 100
    assert found["copies"] == []


def test_status_shows_copies_of_this_machine_and_what_they_have_not_sent(
    sm, worker_config, monkeypatch
):
    with Fleet(worker_config("a", embedding=EmbedderOptions(kind="none"))) as here:
        with talking(here) as member:
            say(member, "My dog is called Bello.")
            assert "has 1 copy, 1 in use." in sm.ok("fleet", "status")
            member.holding.stop()  # nothing is sent any more
            monkeypatch.setattr("slowcat_memory.fleet.holding.FLUSH_S", 0.1)
            member.append(said_by_anna("My cat is called Mimi."))
            assert member.flush(5.0)
            monkeypatch.setattr("slowcat_memory.fleet.housekeeping.tidy_person", lambda *_: None)
    result = sm("fleet", "status")
    assert "has 1 copy, 0 in use." in result.stdout
    assert "Unsent:" in result.stderr and "of anna" in result.stderr


def test_work_until_done_prints_a_line_for_each_person(sm, fleet):
    sm.ok("fleet", "push", "user")
    result = sm("fleet", "work", "--until-done")
    assert result.exit_code == 0, result.output
    assert "user: done after" in result.stdout and "Nothing is due." in result.stdout
    assert "No LLM is configured" in result.stderr
    assert rows(fleet, "SELECT 1 FROM slowcat.task WHERE tenant = $1") == []


def test_work_ends_with_ctrl_c_and_holds_nobody(sm, fleet):
    worker = subprocess.Popen(
        [sys.executable, "-m", "slowcat_memory", "--config", str(sm.config), "fleet", "work"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    try:
        schedule(fleet)
        assert worker.stdout.readline().startswith("anna: done")
        worker.send_signal(signal.SIGINT)
        _, said = worker.communicate(timeout=20)
        assert worker.returncode == 0 and "Traceback" not in said
    finally:
        worker.kill()
        worker.wait()
    assert rows(fleet, "SELECT 1 FROM slowcat.owner WHERE tenant = $1 AND NOT released") == []


def test_housekeeping_says_what_still_has_what_was_forgotten_and_removes_it(sm, fleet):
    with talking(fleet) as member:
        say(member, "The safe's number is quobble.", "My dog is called Bello.")
        bodies = [row[0] for row in rows(fleet, "SELECT body FROM slowcat.log WHERE tenant = $1")]
        assert member.forget(Forget(turns=(1,))).erased
    assert fleet.database.run(in_files, bodies)
    for command in ("status", "housekeeping"):
        result = sm("fleet", command)
        assert "in the tables' files yet: something of 1 memory" in result.stderr
    aside = sm.folder / "a" / copy_name(fleet.worker.tenant, "anna") / "set-aside-1"
    aside.mkdir(parents=True)
    fleet.database.run(
        lambda connection: connection.execute(
            "INSERT INTO slowcat.kept (tenant, copies, host, place)"
            " VALUES ($1, 'x', 'far', '/c/x/unsent-1')",
            fleet.worker.tenant,
        )
    )
    found = sm.json("fleet", "housekeeping", "--full")
    assert not fleet.database.run(in_files, bodies)
    assert found["database"]["purged"] == 0
    assert found["kept"] == ["/c/x/unsent-1 on far", f"{aside} on {fleet.worker.host}"]
    aside.rmdir()
    fleet.database.run(lambda c: c.execute("DELETE FROM slowcat.kept WHERE host = 'far'"))
    result = sm("fleet", "housekeeping")
    assert "has 1 person" in result.stdout and result.stderr == ""


async def in_files(connection: Any, bodies: list[bytes]) -> bool:
    """Return whether the file of the log's table has one of some rows."""
    await connection.execute("CHECKPOINT")
    query = "SELECT pg_read_binary_file(pg_relation_filepath('slowcat.log'))"
    file = await connection.fetchval(query)
    return any(body in file for body in bodies)
