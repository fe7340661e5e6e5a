"""Executes the tool calls of a conversation's LLM, without Pipecat: plain arguments and answers.

What is forgotten is asked about first: the user agrees in a later turn.
"""

from typing import Any

from slowcat_memory.mcp.answers import NOTES, Answers
from slowcat_memory.mcp.arguments import SPOKEN, TOOLS
from slowcat_memory.mcp.seen import Call, Seen

__all__ = ["OFFERED", "Call", "ToolCalls"]

OFFERED = {name: TOOLS[name] for name in SPOKEN}
TOKENS = 400  # of an answer, estimated
FEW_SUMMARIES = 2  # beside the memories of an answer
AGREED = 3  # user turns within which the user may agree
YES = "yes"  # confirms a preview; the turns make it safe
NOBODY = "There is no memory for whoever speaks now."


class ToolCalls:
    """Executes the calls of one conversation."""

    def __init__(self) -> None:
        self._answers = Answers(TOKENS, FEW_SUMMARIES, AGREED, lambda: YES)

    def answer(self, name: str, arguments: Any, call: Call) -> dict[str, Any]:
        """Execute a call and return small, plain JSON for the LLM. Blocks, and never raises."""
        if not call.scope:
            return {"error": NOBODY}
        answer = self._answers.answer(name, arguments, Seen(call))
        if answer.failed:
            return {"error": answer.note}
        call.shown(answer.memories)
        lines = [line.removeprefix("- ") for line in answer.lines]
        heading = answer.heading.removesuffix(NOTES).strip()
        told = {"memories": lines, "note": " ".join(filter(None, (heading, answer.note)))}
        return {key: value for key, value in told.items() if value}
