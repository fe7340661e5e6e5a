"""Reasons for which a store cannot be opened, and their end."""

import errno
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from slowcat_memory.engine import Memory
from slowcat_memory.store import Store
from slowcat_memory.store.care import open as opening

HOLD = """
import sys
from pathlib import Path
from slowcat_memory.store.disk.folder import OPENING
from slowcat_memory.store.sharing import alone
with alone(Path(sys.argv[1]) / OPENING, 30.0):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Be about to open a store, in another process, for as long as the block takes."""
    command = [sys.executable, "-c", HOLD, str(folder)]
    holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdout and holder.stdin
    assert holder.stdout.readline() == "held\n"
    try:
        yield
    finally:
        holder.stdin.close()
        holder.wait(30)
        holder.stdout.close()


@contextmanager
def refusing(error: int) -> Iterator[None]:
    """Refuse every opening for writing with a system error, as a disk does; reading works."""

    def refuse(*_: object) -> None:
        raise OSError(error, errno.errorcode[error])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(opening, "mark_running", refuse)
        patch.setattr(opening, "create", refuse)
        yield


def logged_texts(log: Memory | Path) -> list[tuple[str, str, str]]:
    """Return role, text, and the text that is answered, of every turn, in the log's order.

    ``log`` is an open memory, or the folder of a closed one.
    """
    if isinstance(log, Path):
        with Store.open(log, readonly=True) as store:
            return _read(store)
    return _read(log)


def _read(log: Memory | Store) -> list[tuple[str, str, str]]:
    with log.snapshot() as snapshot:
        turns = {turn.id: turn for turn in snapshot.turns()}
    answered = {id_: turns[turn.reply_to].text for id_, turn in turns.items() if turn.reply_to}
    return [(turn.role, turn.text, answered.get(id_, "")) for id_, turn in turns.items()]
