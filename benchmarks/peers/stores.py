"""The memories that are raced, each behind the same few verbs, and ours among them.

Packages are imported where they are used: whoever lacks one can race the others.
"""

import asyncio
import os
import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from hashlib import md5
from importlib import metadata
from itertools import groupby
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import numpy as np
from msgspec import Struct

from benchmarks import common
from slowcat_memory.core.memory import chunk, indexed_text
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.providers import Embedder, Encoded
from slowcat_memory.records import Event, SessionEdge, Turn

K = 10  # memories a search is asked for
Id = TypeVar("Id", str, int)
RRF_K = 60  # the constant of reciprocal rank fusion (Cormack et al. 2009)
DEPTH = 50  # what each list proposes for fusion


class Item(Struct, frozen=True):
    """A turn to remember.

    Attributes:
        turn: What was said; its ``origin`` is what a search is to return.
        vector: Shape (dim,), float32, unit length, of ``text``.
    """

    turn: Turn
    vector: np.ndarray

    @property
    def id(self) -> str:
        """The turn's id."""
        return self.turn.origin

    @property
    def text(self) -> str:
        """What is indexed, by every peer: "speaker: words"."""
        return indexed_text(chunk(self.turn))


class Peer:
    """A memory of one person, opened in an empty folder; ours may embed by itself.

    Attributes:
        packages: What it needs installed; the versions of these are reported.
        note: How it is used here, in a line.
        embeds: Whether ``search`` embeds the text itself when it is given no vector.
    """

    packages: tuple[str, ...] = ()
    note = ""
    embeds = False

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        raise NotImplementedError

    def add_all(self, items: Sequence[Item]) -> None:
        """Take many items, by the fastest way that the peer has; untimed."""
        raise NotImplementedError

    def add(self, item: Item) -> None:
        """Take one item, as in a conversation: a search finds it afterwards."""
        self.add_all([item])

    def settle(self) -> None:
        """Finish what goes on in the background; untimed."""

    def search(self, text: str, vector: np.ndarray | None, k: int) -> list[str]:
        """Return the ids of items, best first.

        Args:
            text: What is asked.
            vector: Shape (dim,), its vector; None only for a peer that embeds.
            k: How many.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Give everything back."""


class Slowcat(Peer):
    """Our engine as a turn asks it, nothing held back: no floor, no deadline, as for the others."""

    note = "BM25 over two views, vectors, fused; durable log"
    embeds = True

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        config = common.configuration(
            folder,
            recall={"deadline_ms": 60_000.0, "floor": 0.0, "keep_share": 0.0},
            pack={"memories": K},
        )
        self._engine = MemoryEngine(config, embedder=embedder)
        self._loop = asyncio.new_event_loop()
        self._origin = dict[int, str]()

    def add_all(self, items: Sequence[Item]) -> None:
        """Log sessions, embed them, and seal."""
        self._scope = items[0].turn.scope
        for _, group in groupby(items, key=lambda item: item.turn.session):
            events = _session([item.turn for item in group])
            last = self._engine.append(*events)
            last.wait()  # else thousands would wait to be saved
            for id_, event in enumerate(events, last.id - len(events) + 1):
                self._origin[id_] = getattr(event, "origin", "")
        self._engine.upkeep.embed(self._scope)
        self._engine.upkeep.seal(self._scope)

    def add(self, item: Item) -> None:
        """Log a turn and wait until it is on disk; its vector follows by itself."""
        ack = self._engine.append(item.turn)
        ack.wait()
        self._origin[ack.id] = item.id

    def settle(self) -> None:
        """Wait for the vectors of what was added."""
        self._engine.flush(indexed=True)

    def search(self, text: str, vector: np.ndarray | None, k: int) -> list[str]:
        encoded = None if vector is None else Encoded(vector)
        asked = self._engine.recall(text, self._scope, vector=encoded)
        found = self._loop.run_until_complete(asked)
        return [self._origin[turn] for hit in found.hits for turn in hit.memory.sources]

    def close(self) -> None:
        self._engine.close()
        self._loop.close()


def _session(turns: Sequence[Turn]) -> list[Event]:
    session, scope = turns[0].session, turns[0].scope
    start = SessionEdge(session=session, scope=scope, kind="start", at=turns[0].at)
    end = SessionEdge(session=session, scope=scope, kind="end", at=turns[-1].at, reason="silence")
    return [start, *turns, end]


class Mem0(Peer):
    """mem0 over FAISS: ``Memory.add(infer=False)`` and ``Memory.search``, our vectors by its hook.

    Its hybrid search and its entities need spaCy, fastembed and models of theirs, which are
    downloaded; without them, as after a plain ``pip install mem0ai``, it searches by vectors.
    """

    packages = ("mem0ai", "faiss-cpu")
    note = "vectors only; added as they are, without an LLM"

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        os.environ["MEM0_TELEMETRY"] = "False"  # read when mem0 is imported
        os.environ["MEM0_DIR"] = str(folder / "home")
        from mem0 import Memory

        unused = {"provider": "openai", "config": {"api_key": "unused"}}  # asked for, never called
        place = {"path": str(folder / "faiss"), "embedding_model_dims": embedder.dim}
        self._memory = Memory.from_config(
            {
                "vector_store": {
                    "provider": "faiss",
                    "config": {**place, "distance_strategy": "cosine"},
                },
                "embedder": unused,
                "llm": unused,
                "history_db_path": str(folder / "history.db"),
            }
        )
        self._hook = self._memory.embedding_model = _Hook()
        self._user = ""

    def add_all(self, items: Sequence[Item]) -> None:
        """Put records into its vector store as its ``add`` writes them; one by one takes hours."""
        self._user = items[0].turn.scope
        now = datetime.now(UTC).isoformat()
        self._memory.vector_store.insert(
            vectors=[item.vector.tolist() for item in items],
            payloads=[
                {
                    "turn": item.id,
                    "user_id": self._user,
                    "role": item.turn.role,
                    "data": item.text,
                    "text_lemmatized": item.text,
                    "hash": md5(item.text.encode(), usedforsecurity=False).hexdigest(),
                    "created_at": now,
                    "updated_at": now,
                }
                for item in items
            ],
            ids=[str(uuid4()) for _ in items],
        )

    def add(self, item: Item) -> None:
        """Add as it was said: no LLM, no deduplication."""
        self._hook.vector = item.vector
        said = [{"role": item.turn.role, "content": item.text}]
        self._memory.add(said, user_id=self._user, metadata={"turn": item.id}, infer=False)

    def search(self, text: str, vector: np.ndarray | None, k: int) -> list[str]:
        self._hook.vector = vector
        found = self._memory.search(text, filters={"user_id": self._user}, top_k=k, threshold=0.0)
        return [hit["metadata"]["turn"] for hit in found["results"]]

    def close(self) -> None:
        """Close its history."""
        self._memory.db.close()


class _Hook:
    """Stands for mem0's embedding model: it hands over the vector that was laid ready."""

    vector: np.ndarray | None = None

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        assert self.vector is not None
        return self.vector.tolist()

    def embed_batch(self, texts: list[str], memory_action: str = "add") -> list[list[float]]:
        return [self.embed(text) for text in texts]


class Chroma(Peer):
    """Chroma, persistent: one collection, cosine, our vectors."""

    packages = ("chromadb",)
    note = "vectors only, HNSW with its defaults (ef_search 100)"

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        os.environ["ANONYMIZED_TELEMETRY"] = "False"
        import chromadb
        from chromadb.config import Settings

        self._client = chromadb.PersistentClient(str(folder), Settings(anonymized_telemetry=False))
        self._collection = self._client.create_collection(
            "memories", embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
        )

    def add_all(self, items: Sequence[Item]) -> None:
        for start in range(0, len(items), 5000):  # more at once are refused
            part = items[start : start + 5000]
            self._collection.add(
                ids=[item.id for item in part],
                embeddings=np.stack([item.vector for item in part]),
                documents=[item.text for item in part],
            )

    def search(self, text: str, vector: np.ndarray | None, k: int) -> list[str]:
        """Query, with the documents, as one would for a prompt."""
        found = self._collection.query(
            query_embeddings=np.asarray(vector)[None], n_results=k, include=["documents"]
        )
        return found["ids"][0]

    def close(self) -> None:
        self._client.close()


class Lance(Peer):
    """LanceDB: one table with a full-text index; hybrid search fused by its RRF reranker.

    Its advice is a flat scan below 100,000 rows; at 10,000 its HNSW over scalar codes takes half of
    the time and finds the same, so it is indexed as soon as there are enough rows to learn codes from.
    """

    packages = ("lancedb",)
    note = "full text and vectors (HNSW-SQ from 5,000 rows), fused by RRF"

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        """Open a database; the table comes with the first rows."""
        os.environ["LANCEDB_LOG"] = "error"  # a warning a search about columns to come
        import lancedb
        from lancedb.rerankers import RRFReranker

        self._database = lancedb.connect(folder)
        self._rerank = RRFReranker()
        self._table: Any = None

    def add_all(self, items: Sequence[Item]) -> None:
        """Add in one batch, and bring the full-text index up to date."""
        from lancedb.index import FTS, HnswSq

        rows = [_row(item) for item in items]
        if self._table is None:
            self._table = self._database.create_table("memories", rows)
            self._table.create_index("text", config=FTS())
            if len(items) >= 5000:
                codes = HnswSq(distance_type="cosine", num_partitions=1)
                self._table.create_index("vector", config=codes)
        else:
            self._table.add(rows)
            self._table.optimize()

    def add(self, item: Item) -> None:
        """Add one; a search finds it although the index does not hold it yet."""
        self._table.add([_row(item)])

    def search(self, text: str, vector: np.ndarray | None, k: int) -> list[str]:
        found = (
            self._table.search(query_type="hybrid")
            .vector(vector)
            .text(text)
            .rerank(self._rerank)
            .select(["id", "text"])
            .limit(k)
            .to_list()
        )
        return [row["id"] for row in found]


def _row(item: Item) -> dict[str, Any]:
    return {"id": item.id, "text": item.text, "vector": item.vector}


class TantivyFaiss(Peer):
    """tantivy for words and FAISS for vectors, fused: what one builds by hand from fast parts.

    tantivy commits to disk; the vectors stay in memory, since FAISS writes a whole file or nothing.
    As both document it for speed: hits are not counted (so that tantivy skips blocks that cannot
    win), numbers come from a fast field, texts are read of the final hits alone, and the vectors are
    an HNSW graph.
    """

    packages = ("tantivy", "faiss-cpu")
    note = "BM25, hits not counted, and HNSW in memory, fused by RRF"

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        import faiss
        import tantivy

        self._tantivy = tantivy
        builder = tantivy.SchemaBuilder()
        builder.add_integer_field("number", fast=True)
        builder.add_text_field("text", stored=True, tokenizer_name="en_stem", index_option="freq")
        self._index = tantivy.Index(builder.build(), path=str(folder))
        self._writer = self._index.writer(num_threads=1)
        self._vectors = faiss.IndexHNSWFlat(embedder.dim, 32, faiss.METRIC_INNER_PRODUCT)
        self._vectors.hnsw.efConstruction, self._vectors.hnsw.efSearch = 200, 64
        self._ids: list[str] = []

    def add_all(self, items: Sequence[Item]) -> None:
        """Add, commit, and open a new reader."""
        for number, item in enumerate(items, len(self._ids)):
            self._writer.add_document(self._tantivy.Document(number=number, text=item.text))
        self._vectors.add(np.stack([item.vector for item in items]))
        self._ids += [item.id for item in items]
        self._writer.commit()
        self._index.reload()

    def search(self, text: str, vector: np.ndarray | None, k: int) -> list[str]:
        """Search both and fuse; the final documents are read, as one would for a prompt."""
        words = " ".join(re.findall(r"\w+", text.lower()))
        query, _ = self._index.parse_query_lenient(words, ["text"])
        searcher = self._index.searcher()
        places = [place for _, place in searcher.search(query, DEPTH, count=False).hits]
        numbers = searcher.fast_field_values("number", places) if places else []
        _, near = self._vectors.search(np.asarray(vector)[None], DEPTH)
        best = fused((numbers, [n for n in near[0].tolist() if n >= 0]), k)
        read = dict(zip(numbers, places, strict=True))
        for number in best:
            if number in read:  # the others' texts would come from where they were said
                searcher.doc(read[number])
        return [self._ids[number] for number in best]

    def close(self) -> None:
        """Wait for its merges."""
        self._writer.wait_merging_threads()


class Sqlite(Peer):
    """SQLite alone: FTS5 for words, sqlite-vec for vectors, fused; WAL, a transaction for each add.

    By apsw, because Python's own sqlite3 is often built without loadable extensions.
    """

    packages = ("apsw", "sqlite-vec")
    note = "FTS5 and sqlite-vec (flat), mapped, fused by RRF"

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        import apsw
        import sqlite_vec

        self._file = apsw.Connection(str(folder / "memories.db"))
        self._file.enable_load_extension(True)
        self._file.load_extension(sqlite_vec.loadable_path())
        for line in (
            "pragma journal_mode = wal",
            "pragma mmap_size = 1073741824",
            "create table memory (id integer primary key, name text, text text)",
            "create virtual table words using fts5(text, tokenize = 'porter unicode61')",
            "create virtual table near using "
            f"vec0(vector float[{embedder.dim}] distance_metric=cosine)",
        ):
            self._file.execute(line)

    def add_all(self, items: Sequence[Item]) -> None:
        """Insert in one transaction."""
        run = self._file.execute
        with self._file:
            for item in items:
                run("insert into memory (name, text) values (?, ?)", (item.id, item.text))
                row = self._file.last_insert_rowid()
                run("insert into words (rowid, text) values (?, ?)", (row, item.text))
                vector = item.vector.astype(np.float32).tobytes()
                run("insert into near (rowid, vector) values (?, ?)", (row, vector))
            if len(items) > 1:
                run("insert into words(words) values('optimize')")

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
        self._file.close()


PEERS: dict[str, type[Peer]] = {
    "slowcat": Slowcat,
    "mem0 (faiss)": Mem0,
    "chroma": Chroma,
    "lancedb": Lance,
    "tantivy + FAISS": TantivyFaiss,
    "sqlite": Sqlite,
}


def versions(name: str) -> dict[str, str]:
    """Return the versions of a peer's packages.

    Raises:
        ImportError: One is not installed.
    """
    return {package: metadata.version(package) for package in PEERS[name].packages}


def open_peer(name: str, folder: Path, embedder: Embedder) -> Peer:
    """Open a peer in a folder that is empty, or not there yet.

    Raises:
        ImportError: It is not installed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    return PEERS[name](folder, embedder)


def fused(rankings: Iterable[Sequence[Id]], k: int) -> list[Id]:
    """Fuse rankings by reciprocal rank, best first, as a peer's users are told to."""
    scores: dict[Id, float] = {}
    for ranking in rankings:
        for rank, id_ in enumerate(ranking, 1):
            scores[id_] = scores.get(id_, 0.0) + 1 / (RRF_K + rank)
    return sorted(scores, key=scores.__getitem__, reverse=True)[:k]
