"""Tools by which the LLM queries the memory: ``LLMContext(tools=memory.tools())``.

The schemas carry their handlers, so that any LLM service registers them, realtime ones included.
Handlers run on a thread, off the event loop. What is forgotten is asked about first: the user
agrees in a later turn.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

from pipecat.services.llm_service import FunctionCallParams

from slowcat_memory.errors import ConfigError
from slowcat_memory.mcp.answers import NOTES, Answers, Call
from slowcat_memory.mcp.arguments import SPOKEN, TOOLS

try:
    from pipecat.adapters.llm.schemas.function_schema import FunctionSchema
except ImportError:  # before Pipecat 1.14
    from pipecat.adapters.schemas.function_schema import FunctionSchema

__all__ = ["NAMES", "Call", "FunctionSchema", "ToolCalls", "memory_tools"]

NAMES = SPOKEN
SEARCH = "search_memory"
TOO_LATE: dict[str, Any] = {"error": "Somebody else is speaking now. Do not answer this."}
NO_MEMORY: dict[str, Any] = {"error": "There is no memory right now."}
TOKENS = 400  # of an answer, estimated
FEW_SUMMARIES = 2  # beside the memories of an answer
AGREED = 3  # user turns within which the user may agree
YES = "yes"  # confirms a preview; the turns make it safe
NOBODY = "There is no memory for whoever speaks now."

CallState = Callable[[], Call | None]
"""Returns the state for a call; None where memory does not work."""


class ToolCalls:
    """Executes the calls of one conversation."""

    def __init__(self) -> None:
        self._answers = Answers(TOKENS, FEW_SUMMARIES, AGREED, lambda: YES)

    def answer(self, name: str, arguments: Any, call: Call) -> dict[str, Any]:
        """Execute a call and return small, plain JSON for the LLM. Blocks, and never raises."""
        if not call.scope:
            return {"error": NOBODY}
        answer = self._answers.answer(name, arguments, call)
        if answer.failed:
            return {"error": answer.note}
        call.shown(answer.memories)
        lines = [line.removeprefix("- ") for line in answer.lines]
        heading = answer.heading.removesuffix(NOTES).strip()
        told = {"memories": lines, "note": " ".join(filter(None, (heading, answer.note)))}
        return {key: value for key, value in told.items() if value}


def memory_tools(tool_call: CallState, only: Iterable[str]) -> list[FunctionSchema]:
    """Return the tools of a conversation: schemas with their handlers.

    Args:
        only: Some of ``NAMES``; empty for all.

    Raises:
        ConfigError: There is no such tool.
    """
    wanted = tuple(only) or NAMES
    if unknown := set(wanted) - set(NAMES):
        raise ConfigError(
            f"there is no tool called {min(unknown)!r}", hint=f"Choose from {', '.join(NAMES)}"
        )
    calls = ToolCalls()
    return [_function(name, tool_call, calls) for name in NAMES if name in wanted]


def _function(name: str, tool_call: CallState, calls: ToolCalls) -> FunctionSchema:
    tool = TOOLS[name]
    schema = tool.schema()
    properties = {
        key: {part: value[part] for part in ("type", "description")}
        for key, value in schema["properties"].items()
    }

    async def handle(params: FunctionCallParams) -> None:
        call = tool_call()
        answer = NO_MEMORY
        if call is not None:
            answer = await asyncio.to_thread(calls.answer, name, params.arguments, call)
            now = tool_call()
            if now is None or now.scope != call.scope:
                answer = TOO_LATE
        await params.result_callback(answer)

    required = schema.get("required", [])
    return FunctionSchema(name, tool.description(), properties, required, handler=handle)
