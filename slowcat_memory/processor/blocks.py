"""Blocks that stand in the LLM's context, and whose memories they hold.

One context serves everybody in the room. When another person speaks, what was recalled for the one
before is taken out of it: the words that people said stay, and so does what the agent said aloud.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from slowcat_memory.core.render.memory_block import Packed
from slowcat_memory.runtime import injection
from slowcat_memory.runtime.recall.query import Recollection

Pack = Callable[[Recollection], Packed]
KEPT = 256  # blocks that are remembered; an older one is taken for somebody else's


class Blocks:
    """Remembers what each block was made of, for as long as it stands there."""

    def __init__(self) -> None:
        """Start with none."""
        self._made: dict[str, Recollection] = {}

    def placed(self, found: Recollection, packed: Packed) -> None:
        """Note a block.

        Args:
            found: What was recalled.
            packed: The block, and what is in it.
        """
        if packed.text:
            self._made[packed.text] = replace(found, hits=list(packed.hits))
        if len(self._made) > KEPT:
            del self._made[next(iter(self._made))]

    def strip(
        self, messages: Sequence[Any], scopes: Iterable[str], pack: Pack
    ) -> list[tuple[dict, Packed]]:
        """Take out of a context, in place, what is not of these scopes.

        A block that is not ours, such as one that the application brought along, goes as a whole:
        nobody can tell whose memories are in it.

        Args:
            messages: The context's messages.
            scopes: Whose memories may stay.
            pack: Writes what stays as a block.

        Returns:
            The messages that changed, with the block that each has now.
        """
        theirs, changed = frozenset(scopes), []
        standing = [(m, block) for m in messages if (block := _block(m))]
        self._made = {block: self._made[block] for _, block in standing if block in self._made}
        for message, block in standing:
            found = self._made.get(block, Recollection())
            stays = [hit for hit in found.hits if hit.memory.scope in theirs]
            if found.hits and len(stays) == len(found.hits):
                continue
            packed = pack(replace(found, hits=stays))
            message["content"] = injection.strip_memories([message])[0]["content"]
            if packed.text:
                injection.prefix(message, packed.text)
            self.placed(found, packed)
            changed.append((message, packed))
        return changed


def _block(message: Any) -> str:
    return injection.block_of(message) if isinstance(message, dict) else ""
