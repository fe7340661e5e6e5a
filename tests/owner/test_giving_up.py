"""The store goes from one process to another: to a server, or for a while to whoever replaces it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from slowcat_memory.errors import StoreBusyError
from slowcat_memory.owner import paused, who_owns
from slowcat_memory.owner.member import Member
from slowcat_memory.store import restore
from slowcat_memory.testing import memory_config
from tests.support.owner_process import ROOT, OwnerProcess, role
from tests.support.said import turn_at

WAIT_S = 30.0


def until(holds: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + WAIT_S
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def member_of(folder: Path, **owner: str) -> Member:
    member = Member(memory_config(folder, owner=owner), name="test")
    member.start(WAIT_S)
    return member


def test_giving_up_a_bot_gives_the_store_up_to_a_server_that_prefers_it(tmp_path: Path) -> None:
    folder = tmp_path / "memory"
    config = tmp_path / "config.toml"
    config.write_text('[embedding]\nkind = "none"\n')
    member = member_of(folder, prefer="serve")
    serve: subprocess.Popen[str] | None = None
    try:
        member.append(turn_at("the violin is in the attic"))
        command = ["-m", "slowcat_memory", "--config", str(config), "--path", str(folder), "serve"]
        serve = subprocess.Popen(
            [sys.executable, *command], stdout=subprocess.PIPE, text=True, cwd=ROOT
        )
        assert serve.stdout is not None
        assert any(line.startswith(f"Serving {folder}: ") for line in serve.stdout)
        assert until(lambda: role(member) == "client")
        owner = who_owns(folder)
        assert owner and owner.pid == serve.pid
        ack = member.append(turn_at("the boat is blue"))
        ack.wait(WAIT_S)
        with member.snapshot() as snapshot:
            assert [turn.text for turn in snapshot.turns("anna")] == [
                "the violin is in the attic",
                "the boat is blue",
            ]
        serve.send_signal(signal.SIGTERM)
        assert serve.wait(WAIT_S) == 0
        serve.stdout.close()
        assert until(lambda: role(member) == "owner"), "it takes the store back"
    finally:
        if serve is not None:
            serve.kill()
            serve.wait(WAIT_S)
        member.release()


def test_giving_up_a_bot_that_prefers_nobody_keeps_the_store(tmp_path: Path) -> None:
    folder = tmp_path / "memory"
    member = member_of(folder)
    server = None
    try:
        with OwnerProcess(folder):
            server = member.server
            assert server is not None and until(lambda: len(server.clients) == 1)
            server.soon(member._life._on_server)
            assert role(member) == "owner" and not member._life._give_up
    finally:
        member.release()


def test_giving_up_a_paused_store_is_replaced_beside_its_owner_and_its_client(
    tmp_path: Path,
) -> None:
    folder, backup = tmp_path / "memory", tmp_path / "backup.mdb"
    with OwnerProcess(folder) as other:
        other.call("say", "the violin is in the attic")
        client = member_of(folder)
        try:
            client.maintain("backup")
            (made,) = (folder / "backups").iterdir()
            os.link(made, backup)
            other.call("say", "the boat is blue")
            with paused(folder):
                assert who_owns(folder) is None
                with pytest.raises(StoreBusyError), paused(folder):
                    pass
                waits = client.append(turn_at("the car is red"))
                restore(folder, backup)
                assert not waits.done()
            waits.wait(WAIT_S)
            with client.snapshot() as snapshot:
                said = [turn.text for turn in snapshot.turns("anna")]
            assert said == ["the violin is in the attic", "the car is red"]
        finally:
            client.release()
