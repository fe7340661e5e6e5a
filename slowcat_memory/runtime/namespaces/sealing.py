"""A live index, and how a sealed one is built in a child process and swapped in for it.

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
from msgspec.structs import replace

from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.errors import IndexDamagedError
from slowcat_memory.index import Builder, Searcher
from slowcat_memory.index.build import generation
from slowcat_memory.index.build.generation import BUILT, Build
from slowcat_memory.records import Manifest
from slowcat_memory.runtime.namespaces.documents import all_documents, unread_error
from slowcat_memory.runtime.namespaces.loading import IndexLoader, Loaded, SealOrder
from slowcat_memory.store import Store, StoreOptions

Change = Callable[[Searcher], object]
"""One change of an index, which may be applied again to the one that replaces it."""

CHILD = "slowcat_memory.runtime.namespaces.sealing"  # the module that the child process runs
FLUSH_S = 10.0
FEW = 16  # changes that are replayed while the lock is held


class LiveIndex:
    """A namespace's searcher, replaced by a newly sealed one from time to time.

    ``lock`` is the namespace's: it is held for every change and for the swap, never while the child
    builds. ``searcher`` may be read without it; a reader keeps the one it has read.
    """

    def __init__(self, loader: IndexLoader, loaded: Loaded) -> None:
        self._loader, self._store, self._order = loader, loader.store, loader.order
        self.lock = threading.RLock()
        self.searcher, self.damaged = loaded.searcher, loaded.damaged
        self.sealed = loaded.sealed.generation if loaded.sealed else ""  # of the index in use
        self._journal: list[Change] | None = None  # only while a sealed index is built
        self._sealing = threading.Lock()  # one build at a time
        self._build = Build()

    def change(self, change: Change) -> None:
        """Apply a change now, and also to the replacing searcher if one is being built."""
        with self.lock:
            if self._journal is not None:
                self._journal.append(change)
            change(self.searcher)

    def is_sealed_as(self, manifest: Manifest) -> bool:
        return self.sealed == manifest.generation

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
        manifest = seal(self._build, self._loader.root, order)
        try:
            self._swap(manifest)
            self._store.publish(manifest).wait(FLUSH_S)
        except Exception:  # no manifest names it, and it may contain data forgotten meanwhile
            shutil.rmtree(self._loader.root / manifest.generation, ignore_errors=True)
            raise
        self.damaged = False
        generation.sweep(self._loader.root, keep=manifest.generation)

    def _swap(self, manifest: Manifest) -> None:
        searcher = self._loader.open(self._loader.root / manifest.generation, manifest.embedder)
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
    tokenizer = Tokenizer(order.options.stemmer or order.language, order.language)
    builder = Builder(built, tokenizer, order.options, order.dim)
    opening = StoreOptions(allow_unsafe_fs=True)  # the parent has decided that
    with Store.open(Path(order.store), readonly=True, options=opening) as store:
        if order.folder not in ((0, 0), store.folder_id):
            raise IndexDamagedError("another store is at the path of this one")
        with store.snapshot() as snapshot:  # later changes are made again when it is loaded
            upto, changes = snapshot.last_id(), snapshot.last_change()
            epoch = snapshot.forget_epoch()
        for one in all_documents(store.snapshot, order.scope, order.reading, upto):
            builder.add(one)
            yield False
        with store.snapshot() as snapshot:
            for vector in snapshot.vectors(order.embedder, order.scope) if order.dim else ():
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
            embedder=order.embedder if header.embedded else "",
            dim=order.dim if header.embedded else 0,
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
