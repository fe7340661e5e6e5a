"""Loads an index from the store; builds a sealed one in a child process, and swaps it in.

The child (``python -m slowcat_memory.runtime.namespaces.sealing FOLDER ORDER``) reads the store
itself: the main process passes no text and no vector, so its memory does not grow with the
namespace, and it does not hold its interpreter's lock. The child ends when its parent does.

While the child builds, every change is applied to the old searcher and recorded in a journal; the
journal is then replayed on the new searcher. A change may therefore be applied twice, the second
time to a searcher that already has it or something newer: it must look up everything it depends on
(neighbours, numbers) in the searcher it is given.
"""

import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
from loguru import logger
from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.memory import chunk, chunk_id, turn_of
from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.core.time.calendar import zone_of
from slowcat_memory.errors import IndexDamagedError, describe_error
from slowcat_memory.index import Builder, IndexOptions, Searcher, generation
from slowcat_memory.index.generation import BUILT, Build
from slowcat_memory.records import Manifest, Memory
from slowcat_memory.runtime.namespaces.documents import (
    DateLocale,
    LastChunks,
    Place,
    Read,
    Space,
    all_documents,
    has_keys,
    in_parts,
    index_memory,
    indexable,
    place_of,
    stored_vectors,
    unread_error,
)
from slowcat_memory.store import Snapshot, Store, StoreOptions


class SealOrder(Struct, frozen=True):
    """What a namespace's index is made with, here and in the child that builds a sealed one.

    Attributes:
        store: The store's folder, when a build begins.
        folder: Its device and inode; (0, 0) for any.
        zone: Time zone of time expressions, "" for this machine's.
        language: Of time expressions and, unless the options name a stemmer, of the stemmer.
    """

    scope: str
    space: Space
    zone: str
    language: str
    options: IndexOptions
    store: str = ""
    folder: tuple[int, int] = (0, 0)

    @property
    def reading(self) -> DateLocale:
        return DateLocale(zone_of(self.zone), self.language)


# ------------------------------------------------------------------- the live index


Change = Callable[[Searcher], object]
"""One change of an index, which may be applied again to the one that replaces it."""

CHILD = "slowcat_memory.runtime.namespaces.sealing"  # the module that the child process runs
FLUSH_S = 10.0
FEW = 16  # changes that are replayed while the lock is held


class LiveIndex:
    """A namespace's searcher, replaced by a newly sealed one from time to time.

    ``lock`` is the namespace's: it is held for every change and for the swap, never while the child
    builds. ``searcher`` may be read without it; a reader keeps the one it has read.

    Attributes:
        sealed: The generation of the sealed index in use, "" for none.
        damaged: Whether there was a sealed index that could not be used.
    """

    def __init__(self, order: SealOrder, store: Store, root: Path, tokenizer: Tokenizer) -> None:
        """Start empty; ``root`` is the folder of its sealed indexes, below the store's."""
        self.scope, self.space, self._reading = order.scope, order.space, order.reading
        self._order, self._store, self._tokenizer, self._place = order, store, tokenizer, root
        self.lock = threading.RLock()
        self.sealed, self.damaged, self._has_keys = "", False, True
        self._journal: list[Change] | None = None  # only while a sealed index is built
        self._sealing = threading.Lock()  # one build at a time
        self._build = Build()
        self._begin(self.open())

    def _begin(self, searcher: Searcher) -> None:
        self.searcher, self._last_chunks = searcher, LastChunks()
        # Memories whose texts were not read for times yet, by id: that is most of the work, and few
        # queries ask for a time.
        self._undated: dict[str, Memory] = {}

    @property
    def root(self) -> Path:
        """Where the index is now: the store's folder may be moved while it is open."""
        return self._store.path / self._place

    def open(self, folder: Path | None = None, embedder: str = "") -> Searcher:
        """Open a checked sealed index with vectors of an embedder, or an empty one."""
        own = embedder == self.space.key
        return Searcher(self._tokenizer, self._order.options, self.space.dim, folder, vectors=own)

    # ---------------------------------------------------------------- loading

    def load(self, read: Read) -> set[str]:
        """Load the index. An outdated, damaged or otherwise formatted sealed one is rebuilt.

        It is read in parts, so that no snapshot lives for long: what changes meanwhile may be in it
        or not, and is to be applied afterwards.

        Returns:
            Ids of the chunks that were added as they are in the store.
        """
        with read() as snapshot:
            manifest, upto = snapshot.manifest(self.scope), snapshot.last_id()
            changed = snapshot.changed(self.scope, manifest.changes) if manifest else []
            sound = snapshot.forget_epoch(), self._tokenizer.version
            self._has_keys = has_keys(snapshot, self.scope)
        if manifest and (manifest.forget_epoch, manifest.tokenizer) == sound:
            try:
                return self._load_sealed(read, manifest, changed)
            except Exception as error:  # any error of NumPy or msgspec on a foreign file
                logger.warning(f"index of a scope is rebuilt from the log: {describe_error(error)}")
        self.damaged = manifest is not None
        self._begin(self.open())
        added = self._add_turns(read, 0)
        # All memories but those that are added with their turns, now or afterwards.
        for snapshot, row in in_parts(read, lambda s, last: s.memories(self.scope, after=last), ""):
            if row.id not in added and turn_of(row.id) <= upto:
                self._index(snapshot, row, Place())
        return added

    def _load_sealed(self, read: Read, manifest: Manifest, changed: list[str]) -> set[str]:
        """Load a sealed index and all later changes; vectors of another space are the store's."""
        self._begin(self.open(generation.check(self.root, manifest), manifest.embedder))
        added = self._add_turns(read, manifest.upto)
        for memory_id in changed:
            if memory_id in added:
                continue
            with read() as snapshot:
                if memory := snapshot.read(self.scope, memory_id):
                    self._index(snapshot, memory, place_of(memory_id, snapshot, self.searcher))
                else:
                    self.searcher.remove(memory_id)
        if self.space.dim and manifest.embedder != self.space.key:
            with read() as snapshot:
                for vector in snapshot.vectors(self.space.key, self.scope):
                    if not self.searcher.has_vector(vector.memory):
                        self.searcher.put_vector(vector.memory, vector.values)
        self.sealed = manifest.generation
        return added

    def _add_turns(self, read: Read, after: int) -> set[str]:
        """Add the turns after a log id, each with its whole state in the store.

        The times in their texts are left to be read.
        """
        added = set[str]()
        for snapshot, turn in in_parts(read, lambda s, last: s.turns(self.scope, last), after):
            if turn.aside:
                continue
            memory = snapshot.memory(self.scope, chunk_id(turn.id)) or chunk(turn)
            before = self._last_chunks.before(turn, self.searcher, snapshot)
            self._index(snapshot, memory, Place((before,)))
            added.add(memory.id)
            if indexable(memory):
                self._last_chunks.record(turn)
        return added

    def _index(self, snapshot: Snapshot, memory: Memory, place: Place) -> None:
        searcher, memory = self.searcher, snapshot.in_context(memory)
        keys = list(snapshot.keys(self.scope, memory.id)) if self._has_keys else []
        vectors = list(stored_vectors(snapshot, self.space, memory, keys))
        if self.space.dim and len(vectors) <= len(keys):
            searcher.remove(memory.id)  # a sealed vector that is no longer in the store
        if indexable(memory):
            self._undated[memory.id] = memory
        index_memory(searcher, memory, keys, self._reading, place)
        for id_, of, values in vectors:
            searcher.put_vector(id_, values, of)

    # ---------------------------------------------------------------- changing and sealing

    def change(self, change: Change) -> None:
        """Apply a change now, and also to the replacing searcher if one is being built."""
        with self.lock:
            if self._journal is not None:
                self._journal.append(change)
            change(self.searcher)

    def seal_due(self) -> bool:
        """Return whether the tail is large enough for a new sealed index, or the old is damaged."""
        grown = self._order.options.seal_due(self.searcher.sealed_count, self.searcher.tail_count)
        return self.damaged or grown

    def stop(self) -> None:
        self._build.stop()

    def abandon_build(self) -> None:
        """End a build that may have read what is forgotten now; its files are gone on return."""
        self._build.abort()
        with self._sealing:
            pass

    def reseal(self) -> None:
        """Build a new sealed index and continue with it. Blocks for seconds.

        Raises:
            IndexDamagedError: The build failed; the current index continues.
        """
        with self._sealing:
            with self.lock:
                self._journal = []  # earlier changes are in the store once it is flushed
            try:
                self._reseal()
            finally:
                self._journal = None

    def _reseal(self) -> None:
        if not self._store.flush(FLUSH_S):
            raise IndexDamagedError("the index is not rebuilt while turns wait to be saved")
        order = replace(self._order, store=str(self._store.path), folder=self._store.folder_id)
        manifest = seal(self._build, self.root, order)
        try:
            self._swap(manifest)
            self._store.publish(manifest).wait(FLUSH_S)
        except Exception:  # no manifest names it, and it may contain data forgotten meanwhile
            shutil.rmtree(self.root / manifest.generation, ignore_errors=True)
            raise
        self.damaged = False
        generation.sweep(self.root, keep=manifest.generation)

    def _swap(self, manifest: Manifest) -> None:
        searcher = self.open(self.root / manifest.generation, manifest.embedder)
        done = 0
        while done + FEW < len(self._journal or ()):  # most of it without the lock
            for change in (self._journal or [])[done:]:
                change(searcher)
                done += 1
        searcher.warm()
        with self.lock:
            with self._store.snapshot() as snapshot:
                if snapshot.forget_epoch() != manifest.forget_epoch:
                    raise IndexDamagedError("something was forgotten while the index was built")
            for change in (self._journal or [])[done:]:
                change(searcher)
            self.searcher, self.sealed = searcher, manifest.generation


def seal(build: Build, root: Path, order: SealOrder) -> Manifest:
    """Build a sealed index in a child process. Blocks, for seconds to minutes.

    Another thread can stop it through ``build``. The returned manifest is not published yet.

    Raises:
        IndexDamagedError: The build failed.
    """
    name, manifest = build.run(root, CHILD, [msgspec.json.encode(order).decode()], Manifest)
    return replace(manifest, generation=name)


def _build(folder: Path, order: SealOrder) -> Iterator[bool]:
    """Build in short steps, as ``generation.run_beside_others`` takes them."""
    built = folder / BUILT
    built.mkdir(mode=0o700)
    space = order.space
    tokenizer = Tokenizer(order.options.stemmer or order.language, order.language)
    builder = Builder(built, tokenizer, order.options, space.dim)
    opening = StoreOptions(allow_unsafe_fs=True)  # the parent has decided that
    with Store.open(Path(order.store), readonly=True, options=opening) as store:
        if order.folder not in ((0, 0), store.folder_id):
            raise IndexDamagedError("another store is at the path of this one")
        with store.snapshot() as snapshot:  # later changes are made again when it is loaded
            upto, changes = snapshot.last_id(), snapshot.last_change()
            epoch = snapshot.forget_epoch()
        for document in all_documents(store.snapshot, order.scope, order.reading, upto):
            builder.add(document)
            yield False
        with store.snapshot() as snapshot:
            for vector in snapshot.vectors(space.key, order.scope) if space.dim else ():
                builder.put_vector(vector.memory, vector.values)
                yield False
        if store.quarantined:  # for a moment or for good: what was skipped would stay hidden
            raise unread_error(len(store.quarantined))
    yield True
    header = builder.finish()
    generation.finish(
        folder,
        lambda files: Manifest(
            scope=order.scope,
            generation="",
            files=files,
            documents=header.documents,
            embedder=space.key if header.embedded else "",
            dim=space.dim if header.embedded else 0,
            upto=upto,
            tokenizer=tokenizer.version,
            forget_epoch=epoch,
            changes=changes,
        ),
    )


def _end_with_parent() -> None:
    """Exit when the pipe from the parent closes; the parent never writes to it."""
    os.read(0, 1)
    os._exit(1)


def main() -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    order = msgspec.json.decode(sys.argv[2], type=SealOrder)
    generation.run_beside_others(_build(Path(sys.argv[1]), order))


if __name__ == "__main__":
    main()
