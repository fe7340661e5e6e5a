"""Whoever reads how a turn comes to PostgreSQL opens few files: counted in real calls."""

import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import zstandard

import slowcat_memory
from slowcat_memory.fleet.fleet_process import Fleet
from slowcat_memory.providers import EmbedderOptions
from slowcat_memory.records import Turn
from slowcat_memory.store.disk.outbox import Unsent
from tests.fleet.talking import say, talking

PACKAGE = Path(slowcat_memory.__file__).parent
# Functions without state, as against stations (see `test_user_turn_path`); and who is told beside.
NOT_COUNTED = ("core/", "store/writer.py", "store/tier_mover.py", "store/apply.py",
               "store/bookkeeping.py", "store/forget.py", "store/disk/codec", "store/disk/envelope",
               "runtime/namespaces/", "engine/events")  # fmt: skip
WORDS = "My cat is called Mimi."
MOST = 11


def carries(value: Any) -> bool:
    """Return whether a value is or holds the turn, its row, or its change set."""
    if isinstance(value, list | tuple):
        return any(map(carries, value))
    if isinstance(value, Unsent):
        return WORDS.encode() in zstandard.decompress(value.body)
    if isinstance(value, bytes):
        return WORDS.encode() in value
    return isinstance(value, Turn) and value.text == WORDS


def test_a_turn_comes_to_the_database_in_few_files(worker_config):
    files, counting = set[str](), False

    def called(frame: FrameType, event: str, _: object) -> None:
        file = Path(frame.f_code.co_filename)
        if counting and event in ("call", "return") and file.is_relative_to(PACKAGE):
            name = str(file.relative_to(PACKAGE))
            if not name.startswith(NOT_COUNTED) and carries(list(frame.f_locals.values())):
                files.add(name)

    threading.setprofile(called)  # threads that begin from now on: the writer, the sender
    sys.setprofile(called)
    try:
        with Fleet(worker_config(embedding=EmbedderOptions(kind="none"))) as fleet:
            with talking(fleet) as member:
                say(member, "My dog is called Bello.")
                counting = True
                say(member, WORDS)
                counting = False
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    assert {"fleet/holding.py", "fleet/database.py"} < files
    assert len(files) <= MOST, sorted(files)
