"""One exchange that is under way in a headless conversation: when it ends, and what was said."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from pipecat.frames.frames import (
    Frame,
    FunctionCallCancelFrame,
    FunctionCallResultFrame,
    FunctionCallsStartedFrame,
    LLMFullResponseStartFrame,
    LLMTextFrame,
)
from pipecat.processors.aggregators.llm_response_universal import AssistantTurnStoppedMessage


@dataclass(frozen=True)
class Reply:
    """What the assistant answered to one turn.

    Parameters:
        text: Its words, tool rounds joined by a space.
        interrupted: Whether the user cut it off.
        first_token_ms: From the end of the user's words to the first token; None without one.
        total_ms: From the end of the user's words to the end of the assistant's turn.
        tools: The functions that were called, in order.
    """

    text: str
    interrupted: bool
    first_token_ms: float | None
    total_ms: float
    tools: tuple[str, ...] = ()


class OpenTurn:
    """One exchange that is under way: it ends when no run is open and none is still owed."""

    def __init__(self, on_token: Callable[[str], None] | None) -> None:
        """Begin at the end of the user's words.

        Args:
            on_token: Called with each piece of the answer as it arrives.
        """
        self.reply: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self.asked_at = time.perf_counter()
        self._on_token = on_token
        self._first_token_at: float | None = None
        self._said: list[str] = []
        self._tools: list[str] = []
        self._open_calls: set[str] = set()
        self._open_runs = 0
        self._run_owed = True
        self._cut = False

    def see(self, frame: Frame) -> None:
        """Follow the LLM's side through the frames that reach the assistant aggregator."""
        if isinstance(frame, LLMTextFrame):
            self._first_token_at = self._first_token_at or time.perf_counter()
            if self._on_token:
                self._on_token(frame.text)
        elif isinstance(frame, LLMFullResponseStartFrame):
            self._open_runs += 1
            self._run_owed = False
        elif isinstance(frame, FunctionCallsStartedFrame):
            self._tools += [call.function_name for call in frame.function_calls]
            self._open_calls.update(call.tool_call_id for call in frame.function_calls)
        elif isinstance(frame, FunctionCallResultFrame):
            self._see_result(frame)
        elif isinstance(frame, FunctionCallCancelFrame):
            self._open_calls.discard(frame.tool_call_id)
            self._maybe_end()

    def _see_result(self, frame: FunctionCallResultFrame) -> None:
        wishes = frame.properties
        if wishes and not wishes.is_final:
            return
        self._open_calls.discard(frame.tool_call_id)
        wanted = wishes.run_llm if wishes and wishes.run_llm is not None else frame.run_llm
        self._run_owed |= wanted is not False
        self._maybe_end()

    def hear(self, message: AssistantTurnStoppedMessage) -> None:
        """Take what one run added to the conversation."""
        self._open_runs -= 1
        if message.content:
            self._said.append(message.content)
        self._cut |= message.interrupted
        if self._cut:
            self._end()
        else:
            self._maybe_end()

    def interrupt(self) -> None:
        """Cut the turn off; a run that is open still brings what it had said."""
        self._cut = True
        if not self._open_runs:
            self._end()

    def fail(self, error: Exception) -> None:
        """End the turn with an error."""
        if not self.reply.done():
            self.reply.set_exception(error)

    def _maybe_end(self) -> None:
        if not (self._open_runs or self._open_calls or self._run_owed):
            self._end()

    def _end(self) -> None:
        if self.reply.done():
            return
        now, first = time.perf_counter(), self._first_token_at
        self.reply.set_result(
            Reply(
                text=" ".join(self._said),
                interrupted=self._cut,
                first_token_ms=(first - self.asked_at) * 1000 if first else None,
                total_ms=(now - self.asked_at) * 1000,
                tools=tuple(self._tools),
            )
        )
