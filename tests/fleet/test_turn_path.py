"""Whoever reads how a turn comes to PostgreSQL opens few files: counted in real calls."""

from types import FrameType
from typing import Any

import zstandard

from slowcat_memory.fleet.fleet_process import Fleet
from slowcat_memory.providers import EmbedderOptions
from slowcat_memory.records import Turn
from slowcat_memory.store.disk.outbox import Unsent
from tests.fleet.talking import say, talking
from tests.support.called_files import CalledFiles

# Functions without state, as against stations (see `test_user_turn_path`); who is told beside,
# and how what opens the memory reads, which may end as late as this.
NOT_COUNTED = ("core/", "store/writer.py", "store/tier_mover.py", "store/apply.py",
               "store/bookkeeping.py", "store/forget.py", "store/disk/codec", "store/disk/page_reader",
               "runtime/namespaces/", "idle/events", "store/snapshot.py", "store/blocks.py")  # fmt: skip
WORDS = "My cat is called Mimi."
MOST = 10


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
    def counts(frame: FrameType, event: str) -> bool:
        return carries(list(frame.f_locals.values()))

    calls = CalledFiles(counts)
    with calls.hearing():  # the writer, the sender
        with Fleet(worker_config(embedding=EmbedderOptions(kind="none"))) as fleet:
            with talking(fleet) as member:
                say(member, "My dog is called Bello.")
                with calls.counted():
                    say(member, WORDS)
    files = {name for name in calls.names if not name.startswith(NOT_COUNTED)}
    assert {"fleet/holding.py", "fleet/database.py"} < files
    assert len(files) <= MOST, "\n".join(sorted(files))
