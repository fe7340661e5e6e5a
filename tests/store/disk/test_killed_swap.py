"""A writer that is killed while it replaces the store's file, beside a process that reads it."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness.samples import turn
from tests.support.tiered_stores import age, events

ROOT = Path(__file__).parents[3]
READER = """
import sys
from pathlib import Path
from slowcat_memory.store import Store
with Store.open(Path(sys.argv[1]), readonly=True) as store, store.snapshot():
    print("reads", flush=True)
    sys.stdin.read()
"""
KILLED = """
import os, sys
from pathlib import Path
from slowcat_memory.store import Store
from slowcat_memory.store.care import copy
from slowcat_memory.store.disk import folder
left = int(sys.argv[2])

def dying(call):
    def step(*args, **kwargs):
        global left
        result = call(*args, **kwargs)
        left -= 1
        if not left:
            os._exit(9)
        return result
    return step

class Os:
    def __getattr__(self, name):
        found = getattr(os, name)
        return dying(found) if name in ("rename", "replace") else found

store = Store.open(Path(sys.argv[1]))
folder.os = Os()
copy.rewrite(store._env, store._writer.call)
os._exit(1)
"""


@pytest.mark.parametrize("step", [1, 2])
def test_killed_swap_beside_a_reader_loses_nothing(open_store, path: Path, step: int) -> None:
    with open_store() as store:
        for n in range(1, 1500):
            store.append(
                turn(n, text=f"we went to the lake, number {n} " * 8, session=f"s{n // 40}")
            )
        age(store)
    reader = subprocess.Popen(
        [sys.executable, "-c", READER, str(path)], stdin=-1, stdout=-1, text=True, cwd=ROOT
    )
    with reader:
        assert reader.stdout is not None and reader.stdout.readline() == "reads\n"
        killed = subprocess.run([sys.executable, "-c", KILLED, str(path), str(step)], cwd=ROOT)
        assert killed.returncode == 9, "it was replacing the file"
        with open_store() as store:
            assert [event.id for event in events(store)] == list(range(1, 1500))
            store.append(turn(1500)).wait(30)
        reader.kill()
    with open_store() as store:
        assert events(store)[-1].id == 1500
