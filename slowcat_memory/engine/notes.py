"""Keeping what people ask to keep: notes, and what is true of any memory by a person's will."""

import hashlib
from datetime import datetime

from msgspec.structs import replace

from slowcat_memory.core.memory.chunk import chunk_id, turn_of
from slowcat_memory.core.text.normalize import clean
from slowcat_memory.engine.wiring import Parts
from slowcat_memory.errors import ConfigError
from slowcat_memory.records import Memory, WriteBatch
from slowcat_memory.runtime.namespaces.registry import check_scope
from slowcat_memory.store import Snapshot

NOTED = 0.8  # importance of what a person asked to keep


class Keeping(Parts):
    """Keeps statements, and changes what is kept."""

    def remember(
        self,
        text: str,
        scope: str,
        *,
        speaker: str = "",
        pinned: bool = False,
        importance: float = NOTED,
        at: datetime | None = None,
        local_only: bool = False,
    ) -> Memory:
        """Keep a statement that nobody said in a conversation.

        Args:
            text: The statement.
            scope: Its namespace.
            speaker: Whom it is about.
            pinned: Whether it always counts.
            importance: 0 to 1.
            at: Since when it holds; None for now.
            local_only: Whether it must never go before an LLM on another machine.

        Returns:
            The memory, durable.

        Raises:
            ValueError: The statement is empty.
            ConfigError: That is not a scope's name, or it is the guests'.
        """
        note = self.note(text, scope, speaker=speaker, at=at)
        kept_here = local_only or note.local_only
        return self._put(replace(note, pinned=pinned, importance=importance, local_only=kept_here))

    def note(
        self,
        text: str,
        scope: str,
        *,
        speaker: str = "",
        sources: tuple[int, ...] = (),
        at: datetime | None = None,
    ) -> Memory:
        """Make a note without keeping it yet.

        Args:
            text: The statement.
            scope: Its namespace.
            speaker: Whom it is about.
            sources: Log ids of the turns that it comes from.
            at: Since when it holds; None for now.

        Returns:
            The memory, as it may be kept.

        Raises:
            ValueError: The statement is empty.
            ConfigError: That is not a scope's name.
        """
        kept, _ = clean(text)
        if not kept:
            raise ValueError("there is nothing to remember")
        digest = hashlib.blake2b(f"{scope}\0{kept}".encode(), digest_size=8).hexdigest()
        now, id_ = self.clock(), f"note/{digest}"
        with self.store.snapshot() as snapshot:
            before = snapshot.memory(check_scope(scope), id_)
        return Memory(
            id=id_,
            kind="note",
            scope=scope,
            speaker=speaker or self.config.memory.user_name,
            text=kept,
            valid_from=at or now,
            recorded_at=now,
            sources=sources,
            importance=NOTED,
            local_only=bool(before and before.local_only),
        )

    def pin(self, scope: str, memory_id: str, pinned: bool = True) -> Memory | None:
        """Make a memory always count, or no longer.

        Args:
            scope: Its namespace.
            memory_id: Its id.
            pinned: Which.

        Returns:
            The changed memory, or None when there is no such memory.
        """
        with self.store.snapshot() as snapshot:
            memory = snapshot.read(scope, memory_id)
        return self._put(replace(memory, pinned=pinned)) if memory else None

    def keep_local(self, scope: str, memory_id: str, on: bool = True) -> Memory | None:
        """Keep a memory, and what was made of it, from every LLM on another machine, or no longer.

        Args:
            scope: Its namespace.
            memory_id: Its id.
            on: Which.

        Returns:
            The changed memory, or None when there is no such memory.
        """
        with self.store.snapshot() as snapshot:
            memory = snapshot.read(scope, memory_id)
            if memory is None:
                return None
            made = _made_of(snapshot, scope, turn_of(memory_id)) if turn_of(memory_id) else []
            made = [
                one for one in made if one.local_only != on and (on or _free(one, snapshot, memory))
            ]
        kept = self._put(replace(memory, local_only=on))
        if made:
            batch = WriteBatch(memories=tuple(replace(one, local_only=on) for one in made))
            self.store.apply("person", batch).wait(None)
            self._indexer.take(batch)
        return kept

    def _put(self, memory: Memory) -> Memory:
        if self._namespaces.is_guests(memory.scope):
            raise ConfigError(
                f"{self._guest!r} is the guests' scope, of which nothing is remembered",
                hint="Say whose memory it is, or name them in the speakers of your agent",
            )
        self.store.apply("person", WriteBatch(memories=(memory,))).wait(None)
        self._indexer.put(memory)
        return memory


def _made_of(snapshot: Snapshot, scope: str, turn: int) -> list[Memory]:
    """Read what jobs made of a turn."""
    return [one for one in snapshot.memories(scope) if one.made and turn in one.sources]


def _free(one: Memory, snapshot: Snapshot, but: Memory) -> bool:
    """Tell whether no other turn keeps on this machine what was made of it."""
    chunks = (snapshot.memory(one.scope, chunk_id(turn)) for turn in one.sources)
    return not any(chunk and chunk.local_only and chunk.id != but.id for chunk in chunks)
