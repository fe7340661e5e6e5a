"""A forked child: it uses a memory of its own, and touches nothing of its parent's.

It reads through the owner: LMDB's library does not open a file that was open before the fork.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.owner_process import ROOT, OwnerProcess

FORKS = """
import json, os, sys, warnings
warnings.simplefilter("ignore")
from slowcat_memory.errors import StoreClosedError
from slowcat_memory.owner import open_memory
from slowcat_memory.owner.forking import not_inherited
from slowcat_memory.testing import memory_config
from tests.support.owner_process import role
from tests.support.said import turn_at

def texts(memory):
    with memory.snapshot() as snapshot:
        return [turn.text for turn in snapshot.turns("anna")]

def refused(call):
    try:
        call()
    except StoreClosedError as error:
        return "before a fork" in str(error)
    return False

config = memory_config(sys.argv[1])
memory = open_memory(config, client="parent")
memory.append(turn_at("the parent's")).wait(30)
texts(memory)
sockets = [one.fileno() for one in not_inherited]
read, write = os.pipe()
if os.fork() == 0:
    found = {"refused": [refused(call) for call in (
        lambda: memory.append(turn_at("lost")), lambda: memory.search("x", "anna"),
        lambda: texts(memory), memory.stats)]}
    null = os.stat(os.devnull)
    found["sockets"] = [os.path.samestat(os.fstat(fd), null) for fd in sockets]
    memory.release()
    own = open_memory(config, client="child")
    own.append(turn_at("the child's")).wait(30)
    found |= {"role": role(own), "words": own.flush(30, indexed=True) and [
        hit.memory.text for hit in own.search("child", "anna").hits]}
    own.release()
    os.write(write, json.dumps(found).encode())
    os._exit(0)
os.close(write)
found = json.loads(os.fdopen(read).read() or "{}")
os.wait()
memory.append(turn_at("the parent's again")).wait(30)
found |= {"parent": role(memory), "all": texts(memory)}
memory.release()
print(json.dumps(found))
"""


def forks(folder: Path) -> Any:
    run = [sys.executable, "-c", FORKS, str(folder)]
    done = subprocess.run(run, capture_output=True, text=True, cwd=ROOT, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("role", ["owner", "client"])
def test_forking_a_child_opens_a_memory_of_its_own_and_leaves_its_parents_alone(
    tmp_path: Path, role: str
) -> None:
    folder = tmp_path / "memory"
    if role == "owner":
        found = forks(folder)
    else:
        with OwnerProcess(folder):
            found = forks(folder)
    assert found["refused"] == [True] * 4
    assert found["sockets"] and all(found["sockets"]), "no number of them is free in the child"
    assert (found["role"], found["parent"]) == ("client", role)
    assert "the child's" in found["words"]
    assert found["all"] == ["the parent's", "the child's", "the parent's again"]
