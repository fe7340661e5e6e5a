"""One scope's memories, ready for recall: its index, kept equal to the log, and its latest texts.

Everything here is derived. It is made from the store (a sealed index when there is a sound one, and
what was logged or derived after it); from then on every change is told to it. ``reseal`` builds a
new sealed index in a child process while this one goes on, and swaps it in.
"""

import shutil
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from loguru import logger
from msgspec import Struct

from slowcat_memory.core.graph.readings import TurnReading
from slowcat_memory.core.memory.chunk import chunk, chunk_id
from slowcat_memory.core.memory.kinds import READING, findable
from slowcat_memory.core.text.digest import digest
from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.core.time.zones import zone_of
from slowcat_memory.errors import IndexDamagedError
from slowcat_memory.index import Document, IndexOptions, Searcher
from slowcat_memory.index.build import generation
from slowcat_memory.records import Key, Manifest, Memory, Turn
from slowcat_memory.runtime.namespaces import seal_child
from slowcat_memory.runtime.namespaces.documents import (
    Place,
    Reading,
    any_keys,
    document,
    place_of,
    stored,
)
from slowcat_memory.store import Ack, Snapshot, Store

Change = Callable[[Searcher], object]
FLUSH_S = 10.0
FEW = 16  # changes that are replayed while others wait


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
        zone: str = "",
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
            zone: The user's time zone, "" for this machine's.
        """
        self.scope, self.space = scope, space
        self._store, self._root, self._zone = store, root, zone
        self._reading = Reading(zone_of(zone), tokenizer.language)
        self._tokenizer, self._options, self._hot_size = tokenizer, options, hot_cache_size
        self._hot: OrderedDict[str, tuple[Memory, Ack | None]] = OrderedDict()
        self._latest: dict[str, str] = {}  # the last chunk of each session
        self._journal: list[Change] | None = None  # while a seal is made: what it may lack
        self._lock = threading.RLock()
        self._sealing = threading.Lock()
        self._build = generation.Build()
        self._vectors_ready = threading.Event()
        self._vectors_ready.set()
        self._local_only: frozenset[str] | None = None  # None until somebody asks
        self.damaged = False  # whether a new sealed index is due for that alone
        # Higher after each change of what was there: what was recalled before it may be wrong now.
        self.version = 0
        with store.snapshot() as snapshot:
            self.searcher = self._load(snapshot)

    # ---------------------------------------------------------------- loading

    def _load(self, snapshot: Snapshot) -> Searcher:
        manifest = snapshot.manifest(self.scope)
        sound = (snapshot.forget_epoch(), self._tokenizer.version)
        if manifest and (manifest.forget_epoch, manifest.tokenizer) == sound:
            try:
                searcher = self._load_sealed(snapshot, manifest)
            except Exception as error:  # whatever NumPy or msgspec raise on a foreign file
                logger.warning(f"index of a scope is rebuilt from the log: {type(error).__name__}")
                self._latest = {}
            else:
                self._open_vectors(searcher, manifest)
                return searcher
        self.damaged = manifest is not None
        searcher = self._searcher()
        self._take_turns(searcher, snapshot, after=0)
        self._take_all(searcher, snapshot)
        return searcher

    def _load_sealed(self, snapshot: Snapshot, manifest: Manifest) -> Searcher:
        """Load a sealed index and what came after it.

        Its files are verified meanwhile, on another core: what was made of damaged ones is thrown
        away before anybody asks it.
        """
        with ThreadPoolExecutor(1, "slowcat-verify") as pool:
            verified = pool.submit(generation.check, self._root, manifest, vectors=False)
            searcher = self._searcher(self._root / manifest.generation)
            self._take_turns(searcher, snapshot, after=manifest.upto)
            self._take_changes(searcher, snapshot, manifest)
            verified.result()
        return searcher

    def _take_turns(self, searcher: Searcher, snapshot: Snapshot, after: int) -> None:
        keys = any_keys(snapshot, self.scope)
        for turn in snapshot.turns(self.scope, after=after):
            if not turn.aside:
                searcher.add(self._document(turn, snapshot, searcher, keys=keys))

    def _take_all(self, searcher: Searcher, snapshot: Snapshot) -> None:
        local_only = set()
        for memory in snapshot.memories(self.scope):
            placed, keys = snapshot.in_context(memory), list(snapshot.keys(self.scope, memory.id))
            self._take_memory(searcher, placed, keys)
            if memory.local_only:
                local_only.add(memory.id)
        self._local_only = frozenset(local_only)
        if self.space.dim:
            for vector in snapshot.vectors(self.space.key, self.scope):
                searcher.put_vector(vector.memory, vector.values)

    def _take_changes(self, searcher: Searcher, snapshot: Snapshot, manifest: Manifest) -> None:
        """Bring an index up to what was derived after it was built."""
        for memory_id in snapshot.changed(self.scope, manifest.changes):
            memory = snapshot.read(self.scope, memory_id)
            if memory is None:
                searcher.remove(memory_id)
                continue
            keys = list(snapshot.keys(self.scope, memory_id))
            kept = list(self._kept_vectors(memory, keys, snapshot))
            if self.space.dim and len(kept) <= len(keys):
                searcher.remove(memory_id)  # a sealed vector that is no longer in the store
            self._take_memory(searcher, memory, keys, place_of(memory_id, snapshot, searcher))
            for id_, of, values in kept:
                searcher.put_vector(id_, values, of)

    def _open_vectors(self, searcher: Searcher, manifest: Manifest) -> None:
        """Have the sealed vectors opened in the background: until then, words answer."""
        if self.space.dim:
            self._vectors_ready.clear()
            threading.Thread(
                target=self._attach, args=(searcher, manifest), name="slowcat-open", daemon=True
            ).start()

    def _attach(self, searcher: Searcher, manifest: Manifest) -> None:
        try:
            if (manifest.embedder, manifest.dim) == (self.space.key, self.space.dim):
                self._attach_sealed(searcher, manifest)
            else:
                self._read_vectors(searcher)
        except Exception as error:  # a thread has nobody to raise to
            logger.warning(f"a scope's vectors cannot be read: {type(error).__name__}")
        finally:
            self._vectors_ready.set()

    def _attach_sealed(self, searcher: Searcher, manifest: Manifest) -> None:
        try:
            searcher.attach_vectors(generation.check(self._root, manifest, vectors=True))
        except Exception as error:  # whatever FAISS raises on a foreign file
            logger.warning(f"a scope's vectors are read from the log: {type(error).__name__}")
            self.damaged = True
            self._read_vectors(searcher)

    def _read_vectors(self, searcher: Searcher) -> None:
        """Take every vector from the store, for want of a sealed index that holds them."""
        with self._store.snapshot() as snapshot:
            for vector in snapshot.vectors(self.space.key, self.scope):
                if not searcher.has_vector(vector.memory):
                    searcher.put_vector(vector.memory, vector.values)

    def wait_vectors(self, timeout: float | None = None) -> bool:
        """Wait until the sealed vectors are searched too. Blocks.

        Args:
            timeout: Seconds; None waits as long as it takes.

        Returns:
            Whether they are.
        """
        return self._vectors_ready.wait(timeout)

    def _searcher(self, folder: Path | None = None, *, vectors: bool = False) -> Searcher:
        return Searcher(self._tokenizer, self._options, self.space.dim, folder, vectors)

    def _document(
        self, turn: Turn, snapshot: Snapshot, searcher: Searcher, *, keys: bool
    ) -> Document:
        """Say what the index is to know of a session's latest turn."""
        before = self._latest.get(turn.session, "")
        if before not in searcher:  # not known, or retired since
            before, at = "", turn.id
            while at := snapshot.turn_before(self.scope, turn.session, at):
                if chunk_id(at) in searcher:
                    before = chunk_id(at)
                    break
        self._latest[turn.session] = chunk_id(turn.id)
        return stored(snapshot, chunk(turn), self._reading, before, keys=keys)

    # ---------------------------------------------------------------- changes

    def add_turn(self, turn: Turn, ack: Ack | None = None) -> None:
        """Make a turn findable.

        Args:
            turn: A numbered turn, the latest of its session.
            ack: Resolves once it is durable; until then its text is served from memory.
        """
        with self._lock:
            if self._latest.get(turn.session, "") in self.searcher:
                added = document(chunk(turn), self._reading, self._latest[turn.session])
                self._latest[turn.session] = added.id
            else:
                with self._store.snapshot() as snapshot:
                    added = self._document(turn, snapshot, self.searcher, keys=True)
            self._remember(chunk(turn), ack)
            self._change(lambda searcher: searcher.add(added))

    def put_memory(self, memory: Memory) -> None:
        """Make a memory findable, or change one, or bring one back that was retired.

        Args:
            memory: The record as it was stored.
        """
        with self._lock, self._store.snapshot() as snapshot:
            self._take(snapshot.in_context(memory), snapshot)

    def describe(self, memory_ids: Sequence[str]) -> None:
        """Take in what the store knows about memories by now: contexts, keys, vectors of both.

        Args:
            memory_ids: Their ids. What the store has no longer goes; what it has not yet, stays.
        """
        with self._lock, self._store.snapshot() as snapshot:
            for memory_id in memory_ids:
                if memory := snapshot.read(self.scope, memory_id):
                    self._take(memory, snapshot)
                elif not self._awaits(memory_id):
                    self._lose(memory_id)

    def drop(self, memory_ids: Sequence[str]) -> None:
        """Take in that derived records were dropped, with what was about them.

        Args:
            memory_ids: Their ids. A turn is there again as it was said, and wants a new vector.
        """
        with self._lock:
            for memory_id in memory_ids:
                self._lose(memory_id)
            self.describe(memory_ids)

    def _awaits(self, memory_id: str) -> bool:
        """Tell whether a memory is on its way into the store."""
        ack = self._hot[memory_id][1] if memory_id in self._hot else None
        return ack is not None and not ack.done()

    def _lose(self, memory_id: str) -> None:
        self._hot.pop(memory_id, None)
        self._keep_local(memory_id, on=False)
        self._change(lambda searcher: searcher.remove(memory_id))
        self.version += 1

    def _keep_local(self, memory_id: str, *, on: bool) -> None:
        if self._local_only is not None:
            others = self._local_only - {memory_id}
            self._local_only = others | {memory_id} if on else others

    def _take(self, memory: Memory, snapshot: Snapshot) -> None:
        """Bring all of a memory's state into the index and to hand; the lock is held."""
        if memory.kind == READING:
            return
        if memory.id in self._hot:
            self._hot[memory.id] = (memory, self._hot[memory.id][1])
        self._keep_local(memory.id, on=memory.local_only)
        place = place_of(memory.id, snapshot, self.searcher)
        keys = list(snapshot.keys(self.scope, memory.id))
        self._change(lambda searcher: self._take_memory(searcher, memory, keys, place))
        if not memory.retired_at:
            for id_, of, values in self._kept_vectors(memory, keys, snapshot):
                if not self.searcher.has_vector(id_):
                    self.put_vector(id_, values, of)
        self.version += 1

    def _kept_vectors(
        self, memory: Memory, keys: Sequence[Key], snapshot: Snapshot
    ) -> Iterator[tuple[str, int, np.ndarray]]:
        """Read the vectors of a memory and of its keys that are stored: id, digest of text, values."""
        texts = {memory.id: indexed_text(memory), **{key.id: key.text for key in keys}}
        for id_, text in texts.items() if self.space.dim else ():
            if (kept := snapshot.vector(self.space.key, self.scope, id_)) is not None:
                yield id_, digest(text), kept.values

    def _take_memory(
        self, searcher: Searcher, memory: Memory, keys: Sequence[Key], place: Place = Place()
    ) -> None:
        """Bring a stored memory's state into an index."""
        if memory.retired_at is not None or not findable(memory):
            searcher.remove(memory.id)
        else:
            # Looked up only now: this may be done once more, to a searcher that knows more.
            before = next((id_ for id_ in place.before if id_ in searcher), "")
            searcher.add(document(memory, self._reading, before, keys, place.after))

    def put_vector(self, memory_id: str, vector: np.ndarray, of: int = 0) -> None:
        """Set the vector of a memory, or of a key.

        Args:
            memory_id: Its id.
            vector: Shape (dim,), unit length, of this namespace's space.
            of: As in ``records.Vector``.
        """
        self._change(lambda searcher: searcher.put_vector(memory_id, vector, of))

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
            self.searcher.names.clear()  # counted anew with the index, which follows
            self._latest = {s: last for s, last in self._latest.items() if last not in gone}
            self.version += 1

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

    def local_only(self) -> frozenset[str]:
        """Tell which memories no other machine may see. The first time reads all of them.

        Returns:
            Their ids.
        """
        with self._lock:
            if self._local_only is None:
                with self._store.snapshot() as snapshot:
                    every = snapshot.memories(self.scope)
                    self._local_only = frozenset(m.id for m in every if m.local_only)
            return self._local_only

    def fetch(self, memory_ids: Sequence[str]) -> dict[str, Memory]:
        """Read memories.

        Args:
            memory_ids: Their ids.

        Returns:
            Those that exist, by id.
        """
        found = self.recent(memory_ids)
        missing = [i for i in memory_ids if i not in found]
        if missing:
            with self._store.snapshot() as snapshot:
                for memory_id in missing:
                    if memory := snapshot.read(self.scope, memory_id):
                        found[memory_id] = memory
        return found

    def recent(self, memory_ids: Sequence[str]) -> dict[str, Memory]:
        """Read memories from among the latest, which are kept at hand: the store is not asked.

        Args:
            memory_ids: Their ids.

        Returns:
            Those at hand, by id.
        """
        hot = ((memory_id, self._hot.get(memory_id)) for memory_id in memory_ids)
        return {memory_id: held[0] for memory_id, held in hot if held}

    # ---------------------------------------------------------------- sealing

    def seal_due(self) -> bool:
        """Tell whether the tail has grown enough for a new sealed index, or the old one is broken."""
        grown = self._options.seal_due(self.searcher.sealed_count, self.searcher.tail_count)
        return self.damaged or grown

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

    def stop(self) -> None:
        """End a build that runs, and begin no other one."""
        self._build.stop()

    def _reseal(self) -> None:
        if not self._store.flush(FLUSH_S):
            raise IndexDamagedError("the index is not rebuilt while turns wait to be saved")
        order = seal_child.Order(
            store=str(self._store.path),
            scope=self.scope,
            embedder=self.space.key,
            dim=self.space.dim,
            zone=self._zone,
            language=self._tokenizer.language,
            options=self._options,
        )
        manifest = seal_child.seal(self._build, self._root, order)
        try:
            self._swap(manifest)
            self._store.publish(manifest).wait(FLUSH_S)
        except Exception:  # nothing vouches for it, and it may hold what was forgotten meanwhile
            shutil.rmtree(self._root / manifest.generation, ignore_errors=True)
            raise
        self.damaged = False
        generation.sweep(self._root, keep=manifest.generation)

    def _swap(self, manifest: Manifest) -> None:
        own = bool(manifest.dim) and manifest.embedder == self.space.key
        searcher = self._searcher(self._root / manifest.generation, vectors=own)
        done = 0
        while done + FEW < len(self._journal or ()):  # most of it before anybody has to wait
            for change in (self._journal or [])[done:]:
                change(searcher)
                done += 1
        searcher.warm()
        with self._lock:
            if self._stale(manifest):
                raise IndexDamagedError("something was forgotten while the index was built")
            for change in (self._journal or [])[done:]:
                change(searcher)
            self.searcher = searcher
            self._vectors_ready.set()

    def _stale(self, manifest: Manifest) -> bool:
        with self._store.snapshot() as snapshot:
            return snapshot.forget_epoch() != manifest.forget_epoch


def _link(links: Links, memory: Memory) -> None:
    """Take a reading up into the links, or out of them."""
    if memory.retired_at is not None:
        links.drop(memory.id)
        return
    try:
        read = TurnReading.of(memory)
    except ValueError:  # of another version: it is read anew
        return
    links.put(read.id, read.turn, (one.entity for one in read.mentions))
