"""Two processes on one memory: who owns it, who is a client, and what happens when the owner goes."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

from slowcat_memory.owner import open_memory, who_owns
from slowcat_memory.owner.member import Member
from slowcat_memory.testing import memory_config
from slowcat_memory.testing.memory_contract import check_memory
from tests.support.owner_process import ROOT, OwnerProcess, role
from tests.support.said import turn_at

WAIT_S = 30.0


def member_of(folder: Path) -> Member:
    member = Member(memory_config(folder), name="test")
    member.prepare("anna")
    member.start(WAIT_S)
    return member


def test_owner_a_client_keeps_the_contract_of_a_memory(tmp_path: Path) -> None:
    folder = tmp_path / "memory"
    with OwnerProcess(folder) as other:
        assert other.ready == "owner"

        def open_() -> Member:
            member = member_of(folder)
            assert role(member) == "client"
            return member

        check_memory(open_)


def test_owner_a_client_takes_over_when_the_owner_is_killed_and_nothing_is_lost_or_doubled(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "memory"
    with OwnerProcess(folder) as other:
        found = who_owns(folder)
        assert found and found.pid == other.process.pid and found.socket
        member = member_of(folder)
        try:
            first = member.append(turn_at("the violin is in the attic"))
            assert member.flush(WAIT_S, indexed=True) and first.id > 0
            assert other.call("search", "violin", "anna") == ["the violin is in the attic"]
            other.kill()
            second = member.append(turn_at("the boat is blue"))
            second.wait(WAIT_S)
            assert role(member) == "owner" and second.id > first.id
            owner = who_owns(folder)
            assert owner and owner.pid != other.process.pid
            with member.snapshot() as snapshot:
                said = [(turn.id, turn.text) for turn in snapshot.turns("anna")]
            assert said == [
                (first.id, "the violin is in the attic"),
                (second.id, "the boat is blue"),
            ]
            recalled = asyncio.run(member.recall("where is the violin?", "anna"))
            assert recalled.hits[0].memory.text == "the violin is in the attic"
        finally:
            member.release()
    assert who_owns(folder) is None


def test_owner_a_client_goes_on_with_the_next_owner_when_the_first_ends(tmp_path: Path) -> None:
    folder = tmp_path / "memory"
    with OwnerProcess(folder) as first, OwnerProcess(folder) as second:
        assert (first.ready, second.ready) == ("owner", "client")
        config = memory_config(folder, owner={"mode": "client"})
        member = Member(config, name="test")
        member.start(WAIT_S)
        try:
            one = member.append(turn_at("the violin is in the attic"))
            one.wait(WAIT_S)
            first.kill()
            two = member.append(turn_at("the boat is blue"))
            two.wait(WAIT_S)
            assert second.call("role") == "owner" and role(member) == "client"
            (three,) = second.call("say", "the car is red")
            assert 0 < one.id < two.id < three
        finally:
            member.release()


def test_owner_open_memory_serves_a_reader_beside_its_owner(tmp_path: Path) -> None:
    folder = tmp_path / "memory"
    with OwnerProcess(folder) as other:
        other.call("say", "the violin is in the attic")
        memory = open_memory(memory_config(folder), client="shell")
        try:
            with memory.snapshot() as snapshot:
                assert [turn.text for turn in snapshot.turns("anna")] == [
                    "the violin is in the attic"
                ]
            note = memory.remember("the key is under the pot", "anna")
            assert other.call("search", "key", "anna")[0] == note.text
        finally:
            memory.release()


LIGHT = """
import json, sys
from slowcat_memory.testing import memory_config
from slowcat_memory.owner import open_memory
memory = open_memory(memory_config(sys.argv[1]), client="light", mode="client")
memory.search("violin", "anna")
with memory.snapshot() as snapshot:
    list(snapshot.turns("anna"))
memory.release()
print(json.dumps(sorted(sys.modules)))
"""


def test_owner_a_client_loads_no_model_and_no_index_library(tmp_path: Path) -> None:
    folder = tmp_path / "memory"
    with OwnerProcess(folder):
        run = [sys.executable, "-c", LIGHT, str(folder)]
        done = subprocess.run(run, capture_output=True, text=True, cwd=ROOT, timeout=120)
    assert done.returncode == 0, done.stderr
    loaded = set(json.loads(done.stdout))
    assert not loaded & {"onnxruntime", "faiss", "bm25s", "torch", "tokenizers", "openai"}
