"""The chat's pipeline on a thread of its own, with blocking calls.

The main thread reads the user's lines, so Ctrl-C reaches it at once.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from slowcat_memory.core.render.memory_block import Packed
from slowcat_memory.engine import Memory
from slowcat_memory.engine.search import latest_session
from slowcat_memory.processor import HybridContextualMemoryProcessor
from slowcat_memory.records import Forget, Forgotten, Turn
from slowcat_memory.runtime.injection import last_user_message
from slowcat_memory.runtime.recall.query import Recollection
from slowcat_memory.testing.headless import HeadlessConversation, Reply

T = TypeVar("T")

INSTRUCTION = "You are a friendly assistant. The user types to you; answer briefly, in plain text."
NO_ANSWER = "(no answer)"
_ANSWER_S = 900.0  # a large model may have to be loaded first; the user can interrupt
_STOP_S = 10.0


class ChatThread:
    """One conversation with a model server, with memory."""

    def __init__(self, memory: Memory, scope: str, llm_url: str, llm_model: str) -> None:
        self._memory, self._scope = memory, scope
        self._url, self._model = llm_url, llm_model
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="chat", daemon=True)
        self._conversation: HeadlessConversation | None = None
        self.recalled: tuple[Recollection, Packed] | None = None

    def __enter__(self) -> "ChatThread":
        self._thread.start()
        self._wait(self._start())
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._wait(self._stop(), _STOP_S)
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(_STOP_S)

    async def _start(self) -> None:
        memory = HybridContextualMemoryProcessor(config=self._memory.config, user_id=self._scope)
        memory.add_event_handler("on_memory_recalled", self._on_recalled)
        self._conversation = HeadlessConversation(
            llm_url=self._url,
            llm_model=self._model,
            memory=memory,
            system_instruction=INSTRUCTION,
            speaker="",
        )
        await self._conversation.__aenter__()

    @property
    def _begun(self) -> HeadlessConversation:
        if self._conversation is None:
            raise RuntimeError("a chat is used inside its `with` block")
        return self._conversation

    async def _stop(self) -> None:
        if self._conversation:
            await self._conversation.cancel()

    async def _on_recalled(self, _: Any, found: Recollection, packed: Packed) -> None:
        self.recalled = found, packed

    def ask(self, text: str, on_token: Callable[[str], None]) -> Reply:
        """Send a message and wait for the answer. Ctrl-C stops the answer, not the conversation.

        Args:
            on_token: Called with each piece of the answer, from the pipeline's thread.

        Raises:
            EndpointError: The model failed or did not answer.
        """
        self.recalled = None
        answer = asyncio.run_coroutine_threadsafe(
            self._begun.type(text, on_token=on_token, timeout_s=_ANSWER_S), self._loop
        )
        reply = None
        try:
            try:
                reply = answer.result()
            except KeyboardInterrupt:
                self._wait(self._begun.interrupt())
                reply = answer.result(_STOP_S)
            return reply
        finally:
            if reply is None or not reply.text:
                self._wait(self._fill_in())

    async def _fill_in(self) -> None:
        """Add a placeholder answer: many models refuse two user messages in a row."""
        self._begun.context.add_message({"role": "assistant", "content": NO_ANSWER})

    def last_exchange(self) -> list[Turn]:
        """Return the turns of the latest stored exchange, the user's first; empty if none."""
        self._memory.flush(_STOP_S)
        with self._memory.snapshot() as snapshot:
            session = latest_session(snapshot, self._scope)
            if session is None:
                return []
            last = snapshot.turn(session.last_turn)
            asked = snapshot.turn(last.reply_to) if last and last.reply_to else None
        return [turn for turn in (asked, last) if turn]

    def forget(self, turns: list[Turn]) -> Forgotten:
        gone = self._memory.forget(
            Forget(scope=self._scope, turns=tuple(turn.id for turn in turns))
        )
        self._wait(self._drop_last())
        self.recalled = None
        return gone

    async def _drop_last(self) -> None:
        context = self._begun.context
        messages = context.messages
        asked = last_user_message(messages)
        if asked is not None:
            place = next(i for i, message in enumerate(messages) if message is asked)
            context.set_messages(messages[:place])

    def _wait(self, work: Coroutine[Any, Any, T], timeout_s: float | None = None) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout_s)
