"""This machine's copies of memories: folders that are kept from one conversation to the next.

::

    ~/.slowcat-fleet/              0700
    └── 3f0c…/                     one person of one tenant, by a hash
        ├── lock                   held while a copy is made, brought up to date or deleted
        ├── copy-…/                a store; more where a stalled process still has one open
        ├── unsent-…/              a store of what could not be sent as it was; see ``unsent``
        └── set-aside-…/           a copy that could not be read: nothing deletes it
"""

import os
import re
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from math import inf
from pathlib import Path

from loguru import logger

from slowcat_memory.errors import StoreError
from slowcat_memory.store import replica
from slowcat_memory.store.disk.folder import DOOMED, data_file, remove
from slowcat_memory.store.disk.outbox import CopyState, Unsent
from slowcat_memory.store.sharing import alone, living

COPY, UNSENT, ASIDE = "copy-", "unsent-", "set-aside-"  # begin the names of stores


def copy_name(tenant: str, person: str) -> str:
    """Return the name of a person's copies: a hash, which no file system refuses."""
    return blake2b(f"{tenant}\0{person}".encode(), digest_size=12).hexdigest()


def is_name(name: str) -> bool:
    """Return whether a folder's name is that of copies."""
    return re.fullmatch("[0-9a-f]{24}", name) is not None


class Copies:
    """The copies of one person on this machine."""

    def __init__(self, cache: Path, name: str) -> None:
        self.folder = cache / name

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from making or deleting copies of this person in the block. Blocks."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with alone(self.folder / "lock", inf):
            yield

    def vacant(self, kind: str) -> Path:
        """Return where a new store can be made, a copy or one of what cannot be sent."""
        return self.folder / f"{kind}{secrets.token_hex(4)}"

    def sweep(self) -> None:
        """Delete what kills have left of stores that were being made or deleted.

        The copies must be locked.
        """
        for path in self.folder.glob("*"):
            if path.is_dir() and not path.name.startswith(ASIDE) and not living(path):
                is_part = path.suffix == replica.NEW or path.name.startswith(DOOMED)
                if is_part or not data_file(path).is_file():
                    remove(path)

    def closed(self, kind: str) -> list[Path]:
        """Return the stores of a kind, ``COPY`` or ``UNSENT``, that no process has open."""
        entries = sorted(self.folder.glob(f"{kind}*"))
        whole = (entry for entry in entries if not entry.suffix and data_file(entry).is_file())
        return [entry for entry in whole if not living(entry)]


def readable(folders: Iterable[Path]) -> Iterator[tuple[Path, CopyState, list[Unsent]]]:
    """Yield closed stores, whose copies they are, and what may not have been sent.

    One that cannot be read is set aside.
    """
    for folder in folders:
        try:
            state, sets = replica.state_of(folder)
        except StoreError as error:
            set_aside(folder, error.message)
        else:
            yield folder, state, sets


def set_aside(folder: Path, why: str) -> None:
    """Keep a copy under another name, which nothing deletes."""
    aside = folder.with_name(f"{ASIDE}{secrets.token_hex(4)}")
    os.rename(folder, aside)
    logger.warning("fleet: a copy cannot be used and is kept in {}: {}", aside, why)
