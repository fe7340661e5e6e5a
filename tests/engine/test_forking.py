"""A forked child: it uses a memory of its own, and touches nothing of its parent's."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.other_process import ROOT, OtherProcess

FORKS = """
import json, os, sys, warnings
warnings.simplefilter("ignore")
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.errors import StoreClosedError
from slowcat_memory.engine.background import BackgroundEngine
from slowcat_memory.testing import memory_config
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
memory = BackgroundEngine.acquire(config)
memory.start(30)
memory.append(turn_at("the parent's")).wait(30)
memory.flush(30, indexed=True)
texts(memory)
read, write = os.pipe()
if os.fork() == 0:
    found = {"refused": [refused(call) for call in (
        lambda: memory.append(turn_at("lost")), lambda: memory.search("x", "anna"),
        lambda: texts(memory), lambda: memory.upkeep)]}
    memory.close()
    own = MemoryEngine(config)
    own.append(turn_at("the child's")).wait(30)
    found["words"] = own.flush(30, indexed=True) and [
        hit.memory.text for hit in own.search("child", "anna").hits]
    own.close()
    os.write(write, json.dumps(found).encode())
    os._exit(0)
os.close(write)
found = json.loads(os.fdopen(read).read() or "{}")
os.wait()
memory.append(turn_at("the parent's again")).wait(30)
found["all"] = texts(memory)
memory.close()
print(json.dumps(found))
"""


def forks(folder: Path) -> Any:
    run = [sys.executable, "-c", FORKS, str(folder)]
    done = subprocess.run(run, capture_output=True, text=True, cwd=ROOT, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("beside", [False, True], ids=["alone", "beside another"])
def test_forking_a_child_opens_a_memory_of_its_own_and_leaves_its_parents_alone(
    tmp_path: Path, beside: bool
) -> None:
    folder = tmp_path / "memory"
    if not beside:
        found = forks(folder)
    else:
        with OtherProcess(folder):
            found = forks(folder)
    assert found["refused"] == [True] * 4
    assert "the child's" in found["words"]
    assert found["all"] == ["the parent's", "the child's", "the parent's again"]
