"""Tracks an open exchange of a headless conversation: when it ends, and the reply."""

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
    """The assistant's reply to one turn.

    Attributes:
        text: The text of all tool rounds, joined by spaces.
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
    """An open exchange: it ends when no LLM run is open or still expected."""

    def __init__(self, on_token: Callable[[str], None] | None) -> None:
        """Start timing; ``on_token`` is called with each piece of the answer."""
        self.reply: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self.asked_at = time.perf_counter()
        self._on_token = on_token
        self._first_token_at: float | None = None
        self._texts: list[str] = []
        self._tools: list[str] = []
        self._open_calls: set[str] = set()
        self._open_runs = 0
        self._run_expected = True
        self._cut = False

    def on_frame(self, frame: Frame) -> None:
        if isinstance(frame, LLMTextFrame):
            self._first_token_at = self._first_token_at or time.perf_counter()
            if self._on_token:
                self._on_token(frame.text)
        elif isinstance(frame, LLMFullResponseStartFrame):
            self._open_runs += 1
            self._run_expected = False
        elif isinstance(frame, FunctionCallsStartedFrame):
            self._tools += [call.function_name for call in frame.function_calls]
            self._open_calls.update(call.tool_call_id for call in frame.function_calls)
        elif isinstance(frame, FunctionCallResultFrame):
            self._on_tool_result(frame)
        elif isinstance(frame, FunctionCallCancelFrame):
            self._open_calls.discard(frame.tool_call_id)
            self._maybe_end()

    def _on_tool_result(self, frame: FunctionCallResultFrame) -> None:
        properties = frame.properties
        if properties and not properties.is_final:
            return
        self._open_calls.discard(frame.tool_call_id)
        wanted = (
            properties.run_llm if properties and properties.run_llm is not None else frame.run_llm
        )
        self._run_expected |= wanted is not False
        self._maybe_end()

    def on_run_ended(self, message: AssistantTurnStoppedMessage) -> None:
        self._open_runs -= 1
        if message.content:
            self._texts.append(message.content)
        self._cut |= message.interrupted
        if self._cut:
            self._end()
        else:
            self._maybe_end()

    def interrupt(self) -> None:
        """Interrupt the turn; an open run still adds its text so far."""
        self._cut = True
        if not self._open_runs:
            self._end()

    def fail(self, error: Exception) -> None:
        if not self.reply.done():
            self.reply.set_exception(error)

    def _maybe_end(self) -> None:
        if not (self._open_runs or self._open_calls or self._run_expected):
            self._end()

    def _end(self) -> None:
        if self.reply.done():
            return
        now, first = time.perf_counter(), self._first_token_at
        self.reply.set_result(
            Reply(
                text=" ".join(self._texts),
                interrupted=self._cut,
                first_token_ms=(first - self.asked_at) * 1000 if first else None,
                total_ms=(now - self.asked_at) * 1000,
                tools=tuple(self._tools),
            )
        )
