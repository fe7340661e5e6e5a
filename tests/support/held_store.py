"""Reasons for which a store cannot be opened, and their end."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from slowcat_memory.engine import MemoryEngine
from slowcat_memory.store import Store
from slowcat_memory.store.care import open as opening
from slowcat_memory.store.disk import folder
from tests.support.memories import Look


@contextmanager
def refusing(error: int) -> Iterator[None]:
    """Refuse every opening for writing with a system error, as a disk does; reading works."""

    def refuse(*_: object) -> None:
        raise OSError(error, errno.errorcode[error])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(folder, "mark_running", refuse)
        patch.setattr(opening, "TemporaryFile", refuse)
        yield


def logged_texts(log: MemoryEngine | Store | Path) -> list[tuple[str, str, str]]:
    """Return role, text, and the text that is answered, of every turn, in the log's order.

    ``log`` is an open memory, or the folder of a closed one.
    """
    if isinstance(log, Path):
        with Store.open(log, readonly=True) as store:
            return logged_texts(store)
    turns = Look(log).turns()
    texts = {turn.id: turn.text for turn in turns}
    return [(turn.role, turn.text, texts.get(turn.reply_to, "")) for turn in turns]
