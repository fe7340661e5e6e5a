"""SQLite alone: FTS5 for words, sqlite-vec for vectors, fused.

By apsw, because Python's own sqlite3 is often built without loadable extensions.
"""

import re
from collections.abc import Sequence
from pathlib import Path

import apsw
import numpy as np
import sqlite_vec

from benchmarks.peers.base import DEPTH, Item, fused
from slowcat_memory.providers import QueryEmbedder


class Sqlite:
    """One file: WAL, and a transaction for each add."""

    embeds = False

    def __init__(self, folder: Path, dim: int) -> None:
        """Open the file and make its tables."""
        self._file = apsw.Connection(str(folder / "memories.db"))
        self._file.enable_load_extension(True)
        self._file.load_extension(sqlite_vec.loadable_path())
        for line in (
            "pragma journal_mode = wal",
            "pragma mmap_size = 1073741824",
            "create table memory (id integer primary key, name text, text text)",
            "create virtual table words using fts5(text, tokenize = 'porter unicode61')",
            f"create virtual table near using vec0(vector float[{dim}] distance_metric=cosine)",
        ):
            self._file.execute(line)

    def add_all(self, items: Sequence[Item]) -> None:
        """Insert in one transaction."""
        with self._file:
            for item in items:
                self._file.execute(
                    "insert into memory (name, text) values (?, ?)", (item.id, item.text)
                )
                row = self._file.last_insert_rowid()
                self._file.execute(
                    "insert into words (rowid, text) values (?, ?)", (row, item.text)
                )
                vector = item.vector.astype(np.float32).tobytes()
                self._file.execute("insert into near (rowid, vector) values (?, ?)", (row, vector))
            if len(items) > 1:
                self._file.execute("insert into words(words) values('optimize')")

    def add(self, item: Item) -> None:
        """Insert one."""
        self.add_all([item])

    def settle(self) -> None:
        """Nothing to wait for."""

    def search(self, text: str, vector: np.ndarray | None, k: int) -> list[str]:
        """Search both and fuse, and read the texts, as one would for a prompt."""
        words = " OR ".join(f'"{word}"' for word in dict.fromkeys(re.findall(r"\w+", text.lower())))
        lexical = self._file.execute(
            "select m.name, m.text from words join memory m on m.id = words.rowid "
            "where words match ? order by rank limit ?",
            (words or '""', DEPTH),
        )
        near = self._file.execute(
            "select m.name, m.text from near join memory m on m.id = near.rowid "
            "where vector match ? and k = ? order by distance",
            (np.asarray(vector, np.float32).tobytes(), DEPTH),
        )
        return fused(([row[0] for row in lexical], [row[0] for row in near]), k)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def open_peer(folder: Path, embedder: QueryEmbedder) -> Sqlite:
    return Sqlite(folder, embedder.dim)
