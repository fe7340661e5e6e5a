"""Replies of the scripted server, and their JSON and event-stream forms."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from slowcat_memory.core.text.normalize import estimate_tokens
from slowcat_memory.testing.parrot import message_text


@dataclass(frozen=True)
class ToolCall:
    """A tool call in a reply; the server numbers an empty ``id``."""

    name: str
    arguments: dict[str, Any] = field(default_factory=dict)
    id: str = ""


@dataclass(frozen=True)
class Failure:
    """An HTTP error as a reply."""

    status: int = 500
    message: str = "scripted failure"


class Script:
    """One reply, split into tokens and tool calls."""

    def __init__(self, body: dict[str, Any], reply: Any, call_ids: Iterator[int]) -> None:
        parts = [reply] if isinstance(reply, str | ToolCall) else list(reply)
        self.body = body
        self.calls = [
            ToolCall(p.name, p.arguments, p.id or f"call_{next(call_ids)}")
            for p in parts
            if isinstance(p, ToolCall)
        ]
        tokens = [t for p in parts if isinstance(p, str) for t in re.findall(r"\s*\S+|\s+$", p)]
        limit = body.get("max_completion_tokens") or body.get("max_tokens") or len(tokens)
        self.tokens = tokens[:limit]
        cut = len(self.tokens) < len(tokens)
        self.finish_reason = "length" if cut else "tool_calls" if self.calls else "stop"

    def deltas(self) -> Iterator[dict[str, Any]]:
        """Yield the text word by word, then each call: its name first, its arguments in halves."""
        yield {"role": "assistant", "content": ""}
        for token in self.tokens:
            yield {"content": token}
        for i, call in enumerate(self.calls):
            head = {"name": call.name, "arguments": ""}
            yield {
                "tool_calls": [{"index": i, "id": call.id, "type": "function", "function": head}]
            }
            text = json.dumps(call.arguments)
            for half in (text[: len(text) // 2], text[len(text) // 2 :]):
                yield {"tool_calls": [{"index": i, "function": {"arguments": half}}]}

    def message(self) -> dict[str, Any]:
        """Return the reply as one message, for a request that does not stream."""
        calls = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
            }
            for call in self.calls
        ]
        text = "".join(self.tokens) or None if calls else "".join(self.tokens)
        return {"role": "assistant", "content": text} | ({"tool_calls": calls} if calls else {})

    def usage(self) -> dict[str, int]:
        """Return the token counts: of the prompt estimated, of the reply a word each."""
        read = sum(estimate_tokens(message_text(m)) for m in self.body.get("messages", []))
        said = len(self.tokens) + len(self.calls)
        return {"prompt_tokens": read, "completion_tokens": said, "total_tokens": read + said}

    def chunk(self, choices: list[Any], **more: Any) -> dict[str, Any]:
        return _envelope(self.body, "chat.completion.chunk", choices, **more)


async def plain(script: Script) -> web.Response:
    whole = choice(0, message=script.message(), finish_reason=script.finish_reason)
    usage = script.usage()
    return web.json_response(_envelope(script.body, "chat.completion", [whole], usage=usage))


def _envelope(body: dict[str, Any], kind: str, choices: list[Any], **more: Any) -> dict[str, Any]:
    model = body.get("model", "scripted")
    head = {"id": "scripted", "object": kind, "created": 0, "model": model}
    return head | {"choices": choices} | more


def choice(index: int, *, finish_reason: str | None = None, **more: Any) -> dict[str, Any]:
    return {"index": index, "finish_reason": finish_reason} | more


def event(chunk: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n".encode()


def error(failure: Failure) -> web.Response:
    body = {"error": {"message": failure.message, "type": "scripted", "code": failure.status}}
    # Keeps OpenAI's client from retrying; scripts rely on one request per call.
    headers = {"x-should-retry": "false"}
    return web.json_response(body, status=failure.status, headers=headers)
