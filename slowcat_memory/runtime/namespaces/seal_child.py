"""Builds a namespace's sealed index in a child process, which reads the store itself.

The process that talks hands over no text and no vector, so it neither grows with the namespace nor
holds its interpreter's lock for it. ``python -m slowcat_memory.runtime.namespaces.seal_child FOLDER ORDER`` is
the child; it ends when its parent does.
"""

import os
import sys
import threading
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.core.time.calendar import zone_of
from slowcat_memory.index import Builder, IndexOptions
from slowcat_memory.index.build.generation import BUILT, Build, finish, lower_priority
from slowcat_memory.records import Manifest
from slowcat_memory.runtime.namespaces.documents import Reading, inventory
from slowcat_memory.store import Store, StoreOptions

CHILD = __name__  # the module that the child process runs


class Order(Struct, frozen=True, kw_only=True):
    """What the child is to build.

    Attributes:
        store: The store's folder.
        scope: The namespace.
        embedder: Key of the vector space in use, "" for none.
        dim: Its dimension.
        zone: Time zone of the words for time, "" for this machine's.
        language: Of the words for time and, unless the options name a stemmer, of the stemmer.
        options: The index's options.
    """

    store: str
    scope: str
    embedder: str
    dim: int
    zone: str
    language: str
    options: IndexOptions


def seal(build: Build, root: Path, order: Order) -> Manifest:
    """Build a sealed index. Blocks, for seconds to minutes: call it from a thread.

    Args:
        build: Lets another thread stop it.
        root: The namespace's index folder.
        order: What to build.

    Returns:
        What is to vouch for it; not published yet.

    Raises:
        IndexDamagedError: The build failed.
    """
    told = msgspec.json.encode(order).decode()
    generation, manifest = build.run(root, CHILD, [told], Manifest)
    return replace(manifest, generation=generation)


def _build(folder: Path, order: Order) -> None:
    """Do the child's part."""
    built = folder / BUILT
    built.mkdir(mode=0o700)
    tokenizer = Tokenizer(order.options.stemmer or order.language, order.language)
    builder = Builder(built, tokenizer, order.options, order.dim)
    reading = Reading(zone_of(order.zone), order.language)
    opening = StoreOptions(allow_unsafe_fs=True)  # whoever writes there has decided that
    with (
        Store.open(Path(order.store), readonly=True, options=opening) as store,
        store.snapshot() as snapshot,
    ):
        upto, changes, epoch = snapshot.last_id(), snapshot.last_change(), snapshot.forget_epoch()
        for one in inventory(snapshot, order.scope, reading):
            builder.add(one)
        if order.dim:
            for vector in snapshot.vectors(order.embedder, order.scope):
                builder.put_vector(vector.memory, vector.values)
    header = builder.finish()
    finish(
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
    """Wait for the end of what the parent never writes, which comes with the parent's own."""
    os.read(0, 1)
    os._exit(1)


def main() -> None:
    """Be the child."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    lower_priority()
    _build(Path(sys.argv[1]), msgspec.json.decode(sys.argv[2], type=Order))


if __name__ == "__main__":
    main()
