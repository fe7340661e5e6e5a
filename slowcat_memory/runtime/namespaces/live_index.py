"""A namespace's index: its documents, read from the store, changed, and sealed in a child process.

The child (``python -m slowcat_memory.runtime.namespaces.live_index FOLDER ORDER``) reads the store
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
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, suppress
from datetime import tzinfo
from itertools import islice
from math import isnan
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np
from loguru import logger
from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.memory import CHUNK, chunk, chunk_id, findable, indexed_text, turn_of
from slowcat_memory.core.query.understand import substance
from slowcat_memory.core.text.normalize import Tokenizer, digest
from slowcat_memory.core.time.calendar import zone_of
from slowcat_memory.core.time.expressions import times
from slowcat_memory.errors import IndexDamagedError, describe_error
from slowcat_memory.index import Builder, Document, IndexOptions, Searcher, generation
from slowcat_memory.index.format import read_header
from slowcat_memory.index.generation import BUILT, Build
from slowcat_memory.index.table import DocumentTable
from slowcat_memory.records import Event, Key, Manifest, Memory, Turn
from slowcat_memory.store import Snapshot, Store, StoreOptions

PART = 1000  # rows that are read from one snapshot
Read = Callable[[], AbstractContextManager[Snapshot]]
Row = TypeVar("Row", bound=Event | Memory)


class Space(Struct, frozen=True):
    """The vector space in use: vectors of different spaces are never compared.

    Without an embedder ``key`` is "" and ``dim`` 0.
    """

    key: str = ""
    dim: int = 0


class Place(Struct, frozen=True):
    """A chunk's position in its session. Retired chunks are not indexed: neighbours close up.

    Attributes:
        before: Ids of the chunks before it, latest first, up to one that is indexed.
        after: Id of the first indexed chunk after it; set only if none before it is indexed.
    """

    before: tuple[str, ...] = ()
    after: str = ""


def place_of(memory_id: str, snapshot: Snapshot, searcher: Searcher) -> Place:
    """Return a chunk's position in an index; an empty place for other memories."""
    turn = snapshot.turn(turn_of(memory_id)) if turn_of(memory_id) else None
    if turn is None:
        return Place()
    before = tuple(_chunks_before(turn, searcher, snapshot))
    if before and before[-1] in searcher:
        return Place(before)
    session = snapshot.session(turn.session)
    later = snapshot.turns(turn.scope, turn.id, session.last_turn if session else turn.id)
    after = (chunk_id(other.id) for other in later if other.session == turn.session)
    return Place(before, next((id_ for id_ in after if id_ in searcher), ""))


def _chunks_before(turn: Turn, searcher: Searcher, snapshot: Snapshot) -> Iterator[str]:
    """Yield the chunks of a session before a turn, the latest first, up to one that is indexed."""
    at = turn.id
    while at := snapshot.turn_before(turn.scope, turn.session, at):
        yield chunk_id(at)
        if chunk_id(at) in searcher:
            return


def document(
    memory: Memory,
    language: str,
    before: str = "",
    keys: Iterable[Key] = (),
    after: str = "",
    about: tuple[float, float] | None = None,
) -> Document:
    """Return the index document of a memory.

    Args:
        before: Id of the previous memory of the same session.
        after: As in ``Document``.
        about: Likewise; reading it (``time_about``) is most of the work.
    """
    says = substance(memory, language)
    is_agents = memory.kind == CHUNK and memory.role == "assistant"
    return Document(
        id=memory.id,
        text=indexed_text(memory),
        at=memory.valid_from.timestamp(),
        importance=memory.importance,
        pinned=memory.pinned,
        substance=says.share,
        asks=says.asks,
        agent=is_agents and not memory.facets.get("tools"),
        before=before,
        after=after,
        words=len(memory.text.split()),
        local=memory.local_only,
        speaker=memory.speaker,
        about=about,
        keys=tuple(keys),
    )


def time_about(memory: Memory, zone: tzinfo, language: str) -> tuple[float, float] | None:
    """Return the first time that a memory's text is about, as in ``Document``. Takes 0.2 ms."""
    about = times(memory.text, memory.valid_from, zone, language)[:1]
    return (about[0].start.timestamp(), about[0].end.timestamp()) if about else None


def indexable(memory: Memory) -> bool:
    return memory.retired_at is None and findable(memory)


def all_documents(
    read: Read, order: "SealOrder", upto: int, former: DocumentTable | None = None
) -> Iterator[Document]:
    """Yield a namespace's index documents: first the chunks in order, then the rest by id.

    ``upto`` is the log id of the last turn. Times are taken from ``former``, where it has the same
    text: to read them is half of the work.

    Raises:
        IndexDamagedError: An event of the log was not read.
    """
    scope, zone, language = order.scope, zone_of(order.zone), order.language

    def stored(snapshot: Snapshot, memory: Memory, before: str = "") -> Document:
        keys = snapshot.keys(scope, memory.id)
        indexed = document(snapshot.in_context(memory), language, before, keys)
        number = former.find(memory.id) if former else -1
        if (
            former
            and number >= 0
            and (former.digest[number], former.at[number]) == (digest(indexed.text), indexed.at)
        ):
            begin, end = (column[number] for column in former.about)
            about = None if isnan(begin) else (begin, end)
        else:
            about = time_about(memory, zone, language)
        return replace(indexed, about=about)

    latest = dict[str, str]()
    with read() as snapshot:
        unread = snapshot.logged_between(scope, 1, upto)
    for snapshot, turn in in_parts(read, lambda s, after: s.events(scope, after, upto), 0):
        unread -= 1
        if not isinstance(turn, Turn) or turn.aside:
            continue
        memory = snapshot.memory(scope, chunk_id(turn.id)) or chunk(turn)
        if indexable(memory):
            before = latest.get(turn.session, "")
            yield stored(snapshot, memory, before)
            latest[turn.session] = memory.id
    if unread:
        raise unread_error(unread)
    for snapshot, memory in in_parts(read, lambda s, after: s.memories(scope, after=after), ""):
        if not indexable(memory):
            continue
        turn_behind = snapshot.turn(turn_of(memory.id)) if turn_of(memory.id) else None
        if turn_behind is None or turn_behind.scope != scope:
            yield stored(snapshot, memory)


def in_parts(
    read: Read, rows: Callable[[Snapshot, Any], Iterable[Row]], last: Any
) -> Iterator[tuple[Snapshot, Row]]:
    """Yield rows behind the last id with the snapshots that they are in; none lives for long.

    ``rows`` reads a snapshot's rows behind an id.
    """
    while last is not None:
        with read() as snapshot:
            after, last = last, None
            for row in islice(rows(snapshot, after), PART):
                last = row.id
                yield snapshot, row


def unread_error(rows: int) -> IndexDamagedError:
    return IndexDamagedError(
        f"{rows} rows of the store were not read: an index of the rest would hide them",
        hint="It is tried again; if it fails each time: `slowcat-memory doctor --repair`",
    )


class SealOrder(Struct, frozen=True):
    """What a namespace's index is made with, here and in the child that builds a sealed one.

    Attributes:
        store: The store's folder, when a build begins.
        folder: Its device and inode; (0, 0) for any.
        former: The generation of a checked index that the new one is to replace, "" for none.
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
    former: str = ""

    def in_store(self, store: Store, former: str = "") -> "SealOrder":
        """Return the order of a build that begins now."""
        return replace(self, store=str(store.path), folder=store.folder_id, former=former)

    @property
    def how_read(self) -> str:
        """What the times in a text depend on beside it; of the rules, ``FORMAT`` tells."""
        return f"{self.zone} {self.language}"

    def read_former(self, root: Path) -> DocumentTable | None:
        """Open the index to replace; None if there is none, or its times were read otherwise."""
        with suppress(Exception):  # as in ``LiveIndex.load``; also one that was swept just now
            header = read_header(root / self.former, self.options)
            if header.reading == self.how_read:
                return DocumentTable(root / self.former, header)
        return None


# ------------------------------------------------------------------- the live index


Change = Callable[[Searcher], object]
"""One change of an index, which may be applied again to the one that replaces it."""

CHILD = "slowcat_memory.runtime.namespaces.live_index"  # the module that the child process runs
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
        self.scope, self.space, self._zone = order.scope, order.space, zone_of(order.zone)
        self._order, self._store, self._tokenizer, self._place = order, store, tokenizer, root
        self.lock = threading.RLock()
        self.sealed, self.damaged = "", False
        self._journal: list[Change] | None = None  # only while a sealed index is built
        self._sealing = threading.Lock()  # one build at a time
        self.build = Build()
        self._begin(self.open())

    def _begin(self, searcher: Searcher) -> None:
        self.searcher = searcher
        self._last = dict[str, str]()  # the last chunk of each session: the next turn follows it
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
            before = self._before(turn, snapshot)
            self._index(snapshot, memory, Place((before,)))
            added.add(memory.id)
            if indexable(memory):
                self._last[turn.session] = memory.id
        return added

    def _before(self, turn: Turn, snapshot: Snapshot) -> str:
        """Return the indexed chunk that a turn follows, "" for none."""
        if (last := self._last.get(turn.session, "")) in self.searcher:
            return last
        before = [*_chunks_before(turn, self.searcher, snapshot)]
        return before[-1] if before and before[-1] in self.searcher else ""

    def _index(self, snapshot: Snapshot, memory: Memory, place: Place) -> None:
        memory = snapshot.in_context(memory)
        if indexable(memory):
            self._undated[memory.id] = memory
        self._put(snapshot, memory, place)

    def _put(
        self,
        snapshot: Snapshot,
        memory: Memory,
        place: Place,
        about: tuple[float, float] | None = None,
    ) -> None:
        """Index the whole state of a stored memory, with its keys, and the vectors of both.

        A vector that is no longer in the store leaves the index, too.
        """
        keys = list(snapshot.keys(self.scope, memory.id))
        texts = {memory.id: indexed_text(memory), **{key.id: key.text for key in keys}}
        read = ((id_, snapshot.vector(self.space.key, self.scope, id_)) for id_ in texts)
        vectors = {id_: vector for id_, vector in read if vector} if self.space.dim else {}
        if self.space.dim and any(map(self.searcher.has_vector, texts.keys() - vectors.keys())):
            self.change(lambda searcher: searcher.remove(memory.id))

        def index(searcher: Searcher) -> None:
            if not indexable(memory):
                searcher.remove(memory.id)
                return
            # Resolved only now: a journal may repeat this on a searcher with newer data.
            before = next((id_ for id_ in place.before if id_ in searcher), "")
            searcher.add(document(memory, self._order.language, before, keys, place.after, about))

        self.change(index)
        for id_, vector in vectors.items():
            if not self.searcher.has_vector(id_):
                self.put_vector(id_, vector.values, digest(texts[id_]))

    def put_vector(self, memory_id: str, vector: np.ndarray, of: int = 0) -> None:
        """Set the vector of a memory or index key; ``of`` is as in ``records.Vector``.

        ``vector`` has shape (dim,), unit length, and is of this namespace's space.
        """
        self.change(lambda searcher: searcher.put_vector(memory_id, vector, of))

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

    def abandon_build(self) -> None:
        """End a build that may have read what is forgotten now; its files are gone on return."""
        self.build.abort()
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
        manifest = seal(self.build, self.root, self._order.in_store(self._store, self.sealed))
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
    builder = Builder(built, tokenizer, order.options, space.dim, order.how_read)
    former = order.read_former(folder.parent)
    opening = StoreOptions(allow_unsafe_fs=True)  # the parent has decided that
    with Store.open(Path(order.store), readonly=True, options=opening) as store:
        if order.folder not in ((0, 0), store.folder_id):
            raise IndexDamagedError("another store is at the path of this one")
        with store.snapshot() as snapshot:  # later changes are made again when it is loaded
            upto, changes = snapshot.last_id(), snapshot.last_change()
            epoch = snapshot.forget_epoch()
        for document in all_documents(store.snapshot, order, upto, former):
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
