"""What comes to mind for a turn, within the deadline, and whose memories that may be."""

import time
from collections.abc import Iterable, Sequence
from typing import Any

from loguru import logger
from msgspec.structs import replace
from pipecat.processors.aggregators.llm_context import LLMContext

from slowcat_memory.core.render.memory_block import Packed
from slowcat_memory.core.text.normalize import clean
from slowcat_memory.processor.blocks import Blocks
from slowcat_memory.processor.deps import Setting
from slowcat_memory.processor.interim import Listening
from slowcat_memory.records import Turn
from slowcat_memory.runtime import injection
from slowcat_memory.runtime.conversation.conversation import Conversation
from slowcat_memory.runtime.recall.query import Recollection


class Recalling:
    """Recalls for one conversation. To be used on the event loop."""

    def __init__(
        self, setting: Setting, dialogue: Conversation, listening: Listening | None
    ) -> None:
        """Begin with no block in the context.

        Args:
            setting: What the conversation takes place in.
            dialogue: What was said before.
            listening: What was recalled ahead; None where nothing is.
        """
        self._setting, self._dialogue = setting, dialogue
        self._prefetch = listening.prefetch if listening else None
        self._visible, self._blocks = setting.visible, Blocks()
        self._stripped_for: tuple[str, ...] | None = None  # the scopes whose blocks may stand

    async def recall(
        self, text: str, context: LLMContext, turn: Turn | None, scopes: tuple[str, ...]
    ) -> tuple[Recollection, Packed]:
        """Recall, and pack what is to be put before the LLM.

        Args:
            text: The turn's words.
            context: The context that the LLM is to read; blocks that may not stand are taken out.
            turn: The turn, None when it was not logged.
            scopes: Whose memories may be read, the asking person's first; none for nobody's.

        Returns:
            What came to mind, and the block.
        """
        start = time.perf_counter()
        self._strip(context.messages, scopes)
        self._visible.refresh(context.messages)
        if not scopes:
            return Recollection(), Packed("", (), 0)
        engine = self._setting.engine
        found = await self._found(text, context, turn, scopes)
        packed = found.packed or engine.pack(found)
        waited = (time.perf_counter() - start) * 1e3
        found = replace(found, timings={**found.timings, "wait": round(waited, 4)})
        engine.metrics.observe("turn_wait", waited)
        if waited > self._setting.config.recall.warn_ms:
            name = self._setting.harmless
            logger.warning(f"{name}: recall took {waited:.1f} ms (stage {found.stage})")
        return found, packed

    async def _found(
        self, text: str, context: LLMContext, turn: Turn | None, scopes: tuple[str, ...]
    ) -> Recollection:
        """Look for what is not visible; again, when a summary takes away what was."""
        found = Recollection()
        for _ in range(2):
            visible, standing = self._visible.memories, list(map(id, context.messages))
            found = await self._setting.engine.recall(
                clean(text)[0],
                scopes[0],
                also=scopes[1:],
                local=self._setting.locality.local,
                exclude=visible,
                exclude_words=self._visible.words,
                dialogue=self._dialogue.before(turn),
                prefetch=self._prefetch,
            )
            if standing == list(map(id, context.messages)):
                break
            self._visible.refresh(context.messages)
            if visible <= self._visible.memories:
                break
        return found

    def place(self, message: dict, found: Recollection, packed: Packed) -> None:
        """Write the block in front of a message of the aggregators' context.

        Args:
            message: The message.
            found: What came to mind.
            packed: The block; may be empty.
        """
        if packed.text:
            injection.prefix(message, packed.text)
            self._offered([(message, packed)])
            self._blocks.placed(found, packed)

    def _strip(self, messages: Sequence[Any], scopes: tuple[str, ...]) -> None:
        """Take other people's memories out of the context when somebody else speaks."""
        setting = self._setting
        wanted = setting.audience.apart and setting.config.people.strip_on_change
        if not wanted or scopes == self._stripped_for:
            return
        standing = [*messages, *setting.around.messages]  # a withdrawn turn's are a copy
        self._offered(self._blocks.strip(standing, scopes, setting.engine.pack))
        self._stripped_for = scopes

    def _offered(self, changed: Iterable[tuple[dict, Packed]]) -> None:
        for message, packed in changed:
            self._visible.offered(message, packed.text, (hit.memory.id for hit in packed.hits))
