"""One scope's memories, ready for recall: its index, kept equal to the log, and its latest texts.

Everything here is derived. ``load`` makes it from the store (a sealed index when there is a sound
one, and the log after it); from then on every change to the log is told to it. ``reseal`` builds a
new sealed index in a child process while this one goes on, and swaps it in.
"""

import shutil
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from loguru import logger
from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.chunks import chunk, chunk_id, spoken, turn_of
from slowcat_memory.core.text import Tokenizer
from slowcat_memory.errors import IndexDamagedError
from slowcat_memory.index import Document, IndexOptions, Searcher
from slowcat_memory.index import sealed as sealing
from slowcat_memory.records import Manifest, Memory, Session, Turn
from slowcat_memory.store import Ack, Snapshot, Store

Change = Callable[[Searcher], None]
FLUSH_S = 10.0


class Space(Struct, frozen=True):
    """The vector space in use: vectors of another one never meet.

    Attributes:
        key: The embedder's key, "" when there is none.
        dim: Its dimension, 0 when there is none.
    """

    key: str = ""
    dim: int = 0


class Namespace:
    """A scope's searcher and hot texts. Safe to use from several threads."""

    def __init__(
        self,
        scope: str,
        store: Store,
        root: Path,
        tokenizer: Tokenizer,
        options: IndexOptions,
        space: Space,
        hot_cache_size: int,
    ) -> None:
        """Load the scope from the store.

        Args:
            scope: The scope.
            store: Where its log is.
            root: Its index folder.
            tokenizer: For documents and queries.
            options: The index's options.
            space: The vector space in use.
            hot_cache_size: How many of the latest memories are kept in memory.
        """
        self.scope, self.space = scope, space
        self._store, self._root = store, root
        self._tokenizer, self._options, self._hot_size = tokenizer, options, hot_cache_size
        self._hot: OrderedDict[str, tuple[Memory, Ack | None]] = OrderedDict()
        self._latest: dict[str, str] = {}  # the last chunk of each session
        self._journal: list[Change] | None = None  # while a seal is made: what it may lack
        self._lock = threading.RLock()
        self._sealing = threading.Lock()
        with store.snapshot() as snapshot:
            self.searcher = self._load(snapshot)

    # ---------------------------------------------------------------- loading

    def _load(self, snapshot: Snapshot) -> Searcher:
        searcher, upto = self._open_sealed(snapshot)
        sessions = [s for s in snapshot.sessions(self.scope) if s.last_turn]
        self._latest = _latest_at(upto, sessions, snapshot)
        for turn in snapshot.turns(self.scope, after=upto):
            searcher.add(self._document(turn))
        self._latest |= {s.id: chunk_id(s.last_turn) for s in sessions}
        for memory in snapshot.memories(self.scope):
            _take_memory(searcher, memory)
        if self.space.dim:
            for vector in snapshot.vectors(self.space.key, self.scope):
                if not searcher.has_vector(vector.memory):
                    searcher.put_vector(vector.memory, vector.values)
        return searcher

    def _open_sealed(self, snapshot: Snapshot) -> tuple[Searcher, int]:
        manifest = snapshot.manifest(self.scope)
        sound = (snapshot.forget_epoch(), self._tokenizer.version)
        if manifest and (manifest.forget_epoch, manifest.tokenizer) == sound:
            try:
                folder = sealing.check(self._root, manifest)
                return self._searcher(folder, manifest.embedder == self.space.key), manifest.upto
            except Exception as error:  # whatever numpy, bm25s or FAISS raise on a foreign file
                logger.warning(f"index of a scope is rebuilt from the log: {type(error).__name__}")
        return self._searcher(), 0

    def _searcher(self, folder: Path | None = None, own_vectors: bool = False) -> Searcher:
        dim = self.space.dim
        return Searcher(self._tokenizer, self._options, dim, folder, own_vectors and dim > 0)

    def _document(self, turn: Turn) -> Document:
        before = self._latest.get(turn.session, "")
        self._latest[turn.session] = chunk_id(turn.id)
        return document(chunk(turn), before)

    # ---------------------------------------------------------------- changes

    def add_turn(self, turn: Turn, ack: Ack | None = None) -> None:
        """Make a turn findable.

        Args:
            turn: A numbered turn, the latest of its session.
            ack: Resolves once it is durable; until then its text is served from memory.
        """
        with self._lock:
            added = self._document(turn)
            self._remember(chunk(turn), ack)
            self._change(lambda searcher: searcher.add(added))

    def put_memory(self, memory: Memory) -> None:
        """Make a memory findable, or change one.

        Args:
            memory: The record as it was stored.
        """
        with self._lock:
            if memory.id in self._hot:
                self._hot[memory.id] = (memory, self._hot[memory.id][1])
            self._change(lambda searcher: _take_memory(searcher, memory))

    def put_vector(self, memory_id: str, vector: np.ndarray) -> None:
        """Set a memory's vector.

        Args:
            memory_id: Its id.
            vector: Shape (dim,), unit length, of this namespace's space.
        """
        self._change(lambda searcher: searcher.put_vector(memory_id, vector))

    def forget(self, memory_ids: Sequence[str]) -> None:
        """Take memories out of the index and of memory, at once.

        Args:
            memory_ids: Their ids.
        """
        gone = set(memory_ids)
        with self._lock:
            for memory_id in gone:
                self.searcher.remove(memory_id)
                self._hot.pop(memory_id, None)
            self._latest = {s: last for s, last in self._latest.items() if last not in gone}

    def _change(self, change: Change) -> None:
        with self._lock:
            if self._journal is not None:
                self._journal.append(change)
            change(self.searcher)

    def _remember(self, memory: Memory, ack: Ack | None) -> None:
        self._hot[memory.id] = (memory, ack)
        while len(self._hot) > self._hot_size:
            oldest = next(iter(self._hot))
            held = self._hot[oldest][1]
            if held is not None and not held.done():
                break  # not yet durable: only here can it be read
            del self._hot[oldest]

    # ---------------------------------------------------------------- reading

    def fetch(self, memory_ids: Sequence[str]) -> dict[str, Memory]:
        """Read memories.

        Args:
            memory_ids: Their ids.

        Returns:
            Those that exist, by id.
        """
        hot = ((memory_id, self._hot.get(memory_id)) for memory_id in memory_ids)
        found = {memory_id: held[0] for memory_id, held in hot if held}
        missing = [i for i in memory_ids if i not in found]
        if missing:
            with self._store.snapshot() as snapshot:
                for memory_id in missing:
                    if memory := read_memory(snapshot, self.scope, memory_id):
                        found[memory_id] = memory
        return found

    # ---------------------------------------------------------------- sealing

    def seal_due(self) -> bool:
        """Tell whether the tail has grown enough for a new sealed index."""
        limit = max(self._options.seal_at, self._options.seal_share * self.searcher.sealed_count)
        return self.searcher.tail_count > limit

    def reseal(self) -> None:
        """Build a new sealed index and go on with it. Blocks for seconds: not for the frame path.

        Raises:
            IndexDamagedError: The build failed; the present index goes on.
        """
        with self._sealing:
            with self._lock:
                self._journal = []  # what came before is in the store once it is flushed
            try:
                self._reseal()
            finally:
                self._journal = None

    def _reseal(self) -> None:
        if not self._store.flush(FLUSH_S):
            raise IndexDamagedError("the index is not rebuilt while turns wait to be saved")
        with self._store.snapshot() as snapshot:
            documents, vectors, manifest = self._inventory(snapshot)
        generation, files = sealing.seal(
            self._root, documents, vectors, self.space.dim, self._options
        )
        manifest = replace(manifest, generation=generation, files=files)
        try:
            self._swap(manifest)
            self._store.publish(manifest).wait(FLUSH_S)
        except Exception:  # nothing vouches for it, and it may hold what was forgotten meanwhile
            shutil.rmtree(self._root / generation, ignore_errors=True)
            raise
        sealing.sweep(self._root, keep=generation)

    def _inventory(
        self, snapshot: Snapshot
    ) -> tuple[list[Document], dict[str, np.ndarray], Manifest]:
        upto, latest, documents = snapshot.last_id(), dict[str, str](), list[Document]()
        stored = {memory.id: memory for memory in snapshot.memories(self.scope)}
        for turn in snapshot.turns(self.scope, upto=upto):
            memory = stored.pop(chunk_id(turn.id), None) or chunk(turn)
            if memory.retired_at:
                continue
            documents.append(document(memory, latest.get(turn.session, "")))
            latest[turn.session] = memory.id
        documents += [document(memory) for memory in stored.values() if not memory.retired_at]
        vectors = {}
        if self.space.dim:
            vectors = {v.memory: v.values for v in snapshot.vectors(self.space.key, self.scope)}
            vectors = {d.id: vectors[d.id] for d in documents if d.id in vectors}
        manifest = Manifest(
            scope=self.scope,
            generation="",
            files=(),
            documents=len(documents),
            embedder=self.space.key if vectors else "",
            dim=self.space.dim if vectors else 0,
            upto=upto,
            tokenizer=self._tokenizer.version,
            forget_epoch=snapshot.forget_epoch(),
        )
        return documents, vectors, manifest

    def _swap(self, manifest: Manifest) -> None:
        searcher = self._searcher(self._root / manifest.generation, bool(manifest.dim))
        with self._lock:
            if self._stale(manifest):
                raise IndexDamagedError("something was forgotten while the index was built")
            for change in self._journal or ():
                change(searcher)
            self.searcher = searcher

    def _stale(self, manifest: Manifest) -> bool:
        with self._store.snapshot() as snapshot:
            return snapshot.forget_epoch() != manifest.forget_epoch


def document(memory: Memory, before: str = "") -> Document:
    """Say what the index keeps of a memory.

    Args:
        memory: The memory.
        before: Id of the memory said just before it in the same session.

    Returns:
        The document.
    """
    return Document(
        id=memory.id,
        text=spoken(memory),
        at=memory.valid_from.timestamp(),
        importance=memory.importance,
        pinned=memory.pinned,
        agent=memory.role == "assistant",
        before=before,
        words=len(memory.text.split()),
    )


def read_memory(snapshot: Snapshot, scope: str, memory_id: str) -> Memory | None:
    """Read a memory, or make a chunk from its turn.

    Args:
        snapshot: The store.
        scope: The memory's namespace.
        memory_id: Its id.

    Returns:
        The memory, or None when it is not there.
    """
    if memory := snapshot.memory(scope, memory_id):
        return memory
    turn = snapshot.turn(turn_of(memory_id)) if turn_of(memory_id) else None
    return chunk(turn) if turn is not None and turn.scope == scope else None


def _latest_at(upto: int, sessions: Sequence[Session], snapshot: Snapshot) -> dict[str, str]:
    """Find the last chunk, up to a log id, of each session that goes on after it."""
    spanning = {s.id: s.first_turn for s in sessions if s.first_turn <= upto < s.last_turn}
    if not spanning:
        return {}
    turns = snapshot.turns(sessions[0].scope, after=min(spanning.values()) - 1, upto=upto)
    return {turn.session: chunk_id(turn.id) for turn in turns if turn.session in spanning}


def _take_memory(searcher: Searcher, memory: Memory) -> None:
    """Bring a stored memory's state into an index."""
    if memory.retired_at is not None:
        searcher.remove(memory.id)
    elif turn_of(memory.id) and not memory.context:
        searcher.set_priors(memory.id, memory.importance, memory.pinned)
    else:
        searcher.add(document(memory))
