"""Builds a namespace's sealed index in a child process, which reads the store itself.

The process that talks hands over no text and no vector, so it neither grows with the namespace nor
holds its interpreter's lock for it. ``python -m slowcat_memory.runtime.sealing FOLDER ORDER`` is
the child; it ends when its parent does.
"""

import os
import sys
import threading
from collections.abc import Iterator
from datetime import tzinfo
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.chunks import chunk, chunk_id, spoken, turn_of
from slowcat_memory.core.kinds import findable
from slowcat_memory.core.text import Tokenizer
from slowcat_memory.core.when import WhenOptions, mentions
from slowcat_memory.index import Builder, Document, IndexOptions
from slowcat_memory.index.sealed import BUILT, Build, finish, step_back
from slowcat_memory.records import Manifest, Memory
from slowcat_memory.runtime.zones import zone_of
from slowcat_memory.store import Snapshot, Store, StoreOptions

CHILD = __name__  # the module that the child process runs


class Order(Struct, frozen=True, kw_only=True):
    """What the child is to build.

    Attributes:
        store: The store's folder.
        scope: The namespace.
        embedder: Key of the vector space in use, "" for none.
        dim: Its dimension.
        zone: Time zone of the words for time, "" for this machine's.
        options: The index's options.
    """

    store: str
    scope: str
    embedder: str
    dim: int
    zone: str
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


class Reading(Struct, frozen=True):
    """How a memory's own words for time are read.

    Attributes:
        zone: The user's time zone.
        language: Whose words.
    """

    zone: tzinfo
    language: str


def document(memory: Memory, reading: Reading, before: str = "") -> Document:
    """Say what the index keeps of a memory.

    Args:
        memory: The memory.
        reading: Of its words for time.
        before: Id of the memory said just before it in the same session.

    Returns:
        The document.
    """
    when = WhenOptions(language=reading.language)
    about = mentions(memory.text, memory.valid_from, reading.zone, when)[:1]
    return Document(
        id=memory.id,
        text=spoken(memory),
        at=memory.valid_from.timestamp(),
        importance=memory.importance,
        pinned=memory.pinned,
        agent=memory.role == "assistant",
        before=before,
        words=len(memory.text.split()),
        speaker=memory.speaker,
        about=(about[0].start.timestamp(), about[0].end.timestamp()) if about else None,
    )


def inventory(snapshot: Snapshot, scope: str, reading: Reading) -> Iterator[Document]:
    """Walk what a namespace's index holds: first the chunks as they were said, then the rest.

    Args:
        snapshot: The store.
        scope: The namespace.
        reading: Of the words for time.

    Yields:
        Documents.
    """
    latest = dict[str, str]()
    for turn in snapshot.turns(scope):
        if turn.aside:
            continue
        memory = snapshot.memory(scope, chunk_id(turn.id)) or chunk(turn)
        if not memory.retired_at:
            yield document(snapshot.in_context(memory), reading, latest.get(turn.session, ""))
            latest[turn.session] = memory.id
    for memory in snapshot.memories(scope):
        if memory.retired_at or not findable(memory):
            continue
        said = snapshot.turn(turn_of(memory.id)) if turn_of(memory.id) else None
        if said is None or said.scope != scope:
            yield document(snapshot.in_context(memory), reading)


def _build(folder: Path, order: Order) -> None:
    """Do the child's part."""
    built = folder / BUILT
    built.mkdir(mode=0o700)
    tokenizer = Tokenizer(order.options.language)
    builder = Builder(built, tokenizer, order.options, order.dim)
    reading = Reading(zone_of(order.zone), order.options.language)
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
            embedder=order.embedder if header.vectors else "",
            dim=order.dim if header.vectors else 0,
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
    step_back()
    _build(Path(sys.argv[1]), msgspec.json.decode(sys.argv[2], type=Order))


if __name__ == "__main__":
    main()
