"""Notes, marks, and what a person worded anew."""

import hashlib
from datetime import datetime
from typing import TypedDict, Unpack

from msgspec.structs import replace

from slowcat_memory.core.blocks.block import PROFILE, block, current, history, label_of, revised
from slowcat_memory.core.memory import BLOCK, NOTE, chunk_id, family, turn_of
from slowcat_memory.core.text.normalize import clean
from slowcat_memory.core.time.calendar import check_time
from slowcat_memory.engine.wiring import PERSON, EngineWiring
from slowcat_memory.errors import ConfigError
from slowcat_memory.records import Context, Key, Memory, WriteBatch
from slowcat_memory.runtime.namespaces.registry import check_scope
from slowcat_memory.store import Snapshot

NOTE_IMPORTANCE = 0.8  # of a note; 0.5 is ordinary
MOST_CHARS = 4000


def first_id(scope: str, text: str) -> str:
    """Return the id of the note of a cleaned statement: the same words are one note."""
    digest = hashlib.blake2b(f"{scope}\0{text}".encode(), digest_size=8).hexdigest()
    return f"{NOTE}/{digest}"


def note_id(snapshot: Snapshot, scope: str, text: str) -> str:
    """Return the id that is free for it: that of a forgotten note is never given again."""
    while snapshot.is_forgotten(scope, id := first_id(scope, text)):
        text += "\0"
    return id


class Marks(TypedDict, total=False):
    """Marks of a memory; None leaves one as it is.

    Attributes:
        pinned: Whether it always counts.
        local_only: Whether it, and what was derived from it, never reaches an LLM on another
            machine.
        muted: Whether it, and what was derived from it, is never recalled nor put into any
            prompt, block, head, icebreaker or spoken answer. Lists for a person have it.
    """

    pinned: bool | None
    local_only: bool | None
    muted: bool | None


class Notes:
    """Stores notes and changes the marks of memories. Blocks until they are durable."""

    def __init__(self, wiring: EngineWiring) -> None:
        self._wiring = wiring

    def note(
        self,
        text: str,
        scope: str,
        *,
        speaker: str = "",
        sources: tuple[int, ...] = (),
        at: datetime | None = None,
    ) -> Memory:
        """Build a note without storing it.

        Raises:
            ValueError: The statement is empty.
            ConfigError: The scope is not a valid name, or that of guests.
        """
        self._check_known(scope)
        kept, _ = clean(text)
        if not kept:
            raise ValueError("there is nothing to remember")
        now = self._wiring.clock()
        with self._wiring.store.snapshot() as snapshot:
            id_ = note_id(snapshot, check_scope(scope), kept)
            before = snapshot.memory(scope, id_)
        return Memory(
            id=id_,
            kind="note",
            scope=scope,
            speaker=speaker or self._wiring.users.of(scope),
            text=kept,
            valid_from=at or now,
            recorded_at=now,
            sources=sources,
            importance=NOTE_IMPORTANCE,
            pinned=bool(before and before.pinned and before.retired_at is None),
            local_only=bool(before and before.local_only),
            muted=bool(before and before.muted),
        )

    def put(self, memory: Memory) -> Memory:
        """Store a memory and index it."""
        check_time(memory.valid_from)
        self._wiring.namespaces.get(memory.scope)  # loaded, so that it is found and embedded now
        self._wiring.apply(PERSON, WriteBatch(memories=(memory,)))
        return memory

    def _check_known(self, scope: str) -> None:
        if self._wiring.namespaces.is_guests(scope):
            raise ConfigError(
                f"{scope!r} is the guests' scope, of which nothing is remembered",
                hint="Say whose memory it is, or name them in the speakers of your agent",
            )

    def mark(self, scope: str, memory_id: str, **marks: Unpack[Marks]) -> Memory | None:
        """Set marks; return the memory, None when there is none.

        What was made from a memory is local-only, or muted, with it, and stays so while anything
        that it was made from is. What jobs wrote about other turns with a muted one in view,
        contexts and keys, is deleted.
        """
        self._check_known(scope)
        store, indexer = self._wiring.store, self._wiring.indexer
        pinned, muted, local_only = marks.get("pinned"), marks.get("muted"), marks.get("local_only")
        with store.snapshot() as snapshot:
            before, memory = snapshot.last_change(), snapshot.read(scope, memory_id)
        rows = (replace(memory, pinned=pinned),) if memory and pinned is not None else ()
        batch = WriteBatch(
            memories=rows,
            marks=() if local_only is None else ((scope, memory_id, local_only),),
            mutes=() if muted is None else ((scope, memory_id, muted),),
        )
        if muted and (turn := turn_of(memory_id)):
            batch = self._without_texts_about(scope, turn, batch)
        store.apply(PERSON, batch).wait(None)
        with store.snapshot() as snapshot:  # at once: an index that is published deletes these rows
            loaded = self._wiring.namespaces
            changed = {space.scope: snapshot.changed(space.scope, before) for space in loaded}
            memory = snapshot.read(scope, memory_id)
        indexer.take(batch)
        for name, ids in changed.items():
            indexer.read_again(name, ids)
        if memory is not None:
            kind, now = memory.kind, self._wiring.clock()
            self._wiring.events.tell("marked", scope, (memory_id,), kind=kind, job=PERSON, at=now)
        return memory

    def _without_texts_about(self, scope: str, turn: int, batch: WriteBatch) -> WriteBatch:
        """Return a batch that also deletes the contexts and keys of others made from a turn."""

        def made_from_it(row: Context | Key) -> bool:
            return turn in row.sources and row.memory != chunk_id(turn)

        with self._wiring.store.snapshot() as snapshot:
            contexts = filter(made_from_it, snapshot.contexts(scope))
            emptied = tuple(replace(context, text="") for context in contexts)
            keys = tuple((scope, key.id) for key in filter(made_from_it, snapshot.keys(scope)))
        return replace(batch, contexts=emptied, drop_keys=keys)

    def correct(self, scope: str, memory_id: str, text: str) -> Memory | None:
        """Replace a memory by the user's own wording; see ``Memory.correct``."""
        with self._wiring.store.snapshot() as snapshot:
            old = snapshot.read(scope, memory_id)
        if old is not None and family(memory_id) == BLOCK:
            return self._edit_block(old, text)
        if old is None or old.retired_at is not None or turn_of(memory_id):
            return None
        note = self.note(text, scope, speaker=old.speaker, sources=old.sources, at=old.valid_from)
        if note.id == old.id:
            return old
        note = replace(
            note,
            pinned=old.pinned or note.pinned,
            importance=max(old.importance, note.importance),
            valid_to=old.valid_to,
            derived_from=(*note.derived_from, (old.scope, old.id)),
        )
        self._wiring.undo_log.add_memory("correct", note, turn=0, instead=(old.id,))
        with self._wiring.store.snapshot() as snapshot:
            return snapshot.read(scope, note.id)

    def _edit_block(self, old: Memory, text: str) -> Memory | None:
        """Write a block by hand; jobs do not overwrite it from then on.

        Raises:
            ValueError: The text is empty, or too long.
        """
        if not text.strip() or len(text) > MOST_CHARS:
            raise ValueError(f"a block holds 1 to {MOST_CHARS} characters")
        wiring, label = self._wiring, label_of(old)
        with wiring.store.snapshot() as snapshot:
            versions = history(snapshot.memories(old.scope, f"{BLOCK}/"), label)
        before, user = current(versions, label), wiring.config.memory.user_name
        new = block(label, text.strip(), scope=old.scope, speaker=user, now=wiring.clock())
        if before is None:
            return None
        if label == PROFILE:
            new = replace(new, facets=before.facets)
        *replaced, new = revised(versions, new, owner="user", limit=MOST_CHARS) or (before,)
        if not replaced:
            return before
        wiring.undo_log.add_memory("correct", new, 0, [memory.id for memory in replaced])
        return new
