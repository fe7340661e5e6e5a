"""A scripted OpenAI-compatible server on loopback, for the demo, tests and benchmarks.

It uses a real socket, so a recorded request is the one sent over HTTP. Replies come from a
callable, by default `parrot`.
"""

import asyncio
import inspect
import itertools
import json
import re
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import web
from loguru import logger

from slowcat_memory.core.text.normalize import Tokenizer, asking, estimate_tokens
from slowcat_memory.errors import describe_error
from slowcat_memory.runtime.injection import block_of, message_text, words_of
from slowcat_memory.testing import HashEmbedder

# ------------------------------------------------------------------- the parrot
# Replaces an LLM by quoting the memory blocks of its prompt: so the demo and tests show, without an
# LLM, that a memory reached the prompt.

_LINE = re.compile(
    r"- (?:\((?P<when>[^)]*)\) )?(?:(?P<who>[^\s:]+(?: [^\s:]+){0,2}): )?(?P<what>.*)"
)
_tokens = Tokenizer().for_queries()  # it outlives a person


def parrot(request: dict[str, Any], *, trusting: bool = False) -> str:
    """Answer from the `<memories>` blocks of a request.

    A question is answered with the memory line that shares most content words with it, the newest
    of equals; "I don't know" when no line fits, "I am listening" when nothing is asked. Nothing
    else is read, so a quoted memory has reached the request in a block. Blocks of earlier user
    messages count too, because injected memories stay in the conversation.

    Args:
        trusting: When no line shares a word with the question, quote the last line of its own
            block, which recall ranked best.
    """
    turns = [m for m in request.get("messages", []) if m.get("role") == "user"]
    words = words_of(turns[-1]).strip() if turns else ""
    if not asking(words):
        return "I am listening."
    lines = [line for message in turns for line in _remembered(message)]
    if not lines:
        return "I don't know, I have no memory of that."
    asked = {*_tokens(words)}
    shared = [len(asked.intersection(_tokens(line[0]))) for line in lines]
    if any(shared):
        return _quote(lines[max(range(len(lines)), key=lambda i: (shared[i], i))])
    if trusting and (own := _remembered(turns[-1])):
        return _quote(own[-1])
    return "I don't know, nothing that I remember is about that."


def _remembered(message: dict[str, Any]) -> list[re.Match[str]]:
    matches = map(_LINE.match, block_of(message).splitlines())
    return [line for line in matches if line and line["when"] != "now" and line["what"][:1] != "("]


def _quote(line: re.Match[str]) -> str:
    when = f" ({line['when']})" if line["when"] else ""
    who = "I" if line["who"] == "You" else line["who"]  # in a block, "You" is the assistant
    return f"I remember{when}: {f'{who} said, ' if who else ''}“{line['what'].strip()}”"


# ------------------------------------------------------------------- the server


@dataclass(frozen=True)
class ToolCall:
    """A tool call in a reply; the server sets its ``id``."""

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
            ToolCall(p.name, p.arguments, f"call_{next(call_ids)}")
            for p in parts
            if isinstance(p, ToolCall)
        ]
        tokens = [t for p in parts if isinstance(p, str) for t in re.findall(r"\s*\S+|\s+$", p)]
        limit = body.get("max_completion_tokens") or body.get("max_tokens") or len(tokens)
        self.tokens = tokens[:limit]
        cut = len(self.tokens) < len(tokens)
        self.finish_reason = "length" if cut else "tool_calls" if self.calls else "stop"

    def _called(self) -> list[dict[str, Any]]:
        return [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
            }
            for call in self.calls
        ]

    def deltas(self) -> Iterator[dict[str, Any]]:
        """Yield the text word by word, then each call."""
        yield {"role": "assistant", "content": ""}
        for token in self.tokens:
            yield {"content": token}
        for i, call in enumerate(self._called()):
            yield {"tool_calls": [{"index": i, **call}]}

    def message(self) -> dict[str, Any]:
        """Return the reply as one message, for a request that does not stream."""
        calls, text = self._called(), "".join(self.tokens)
        called = {"tool_calls": calls} if calls else {}
        return {"role": "assistant", "content": text or None if calls else text} | called

    def usage(self) -> dict[str, int]:
        """Return the token counts: of the prompt estimated, of the reply a word each."""
        read = sum(estimate_tokens(message_text(m)) for m in self.body.get("messages", []))
        count = len(self.tokens) + len(self.calls)
        return {"prompt_tokens": read, "completion_tokens": count, "total_tokens": read + count}

    def envelope(self, kind: str, choices: list[Any], **more: Any) -> dict[str, Any]:
        model = self.body.get("model", "scripted")
        head = {"id": "scripted", "object": kind, "created": 0, "model": model}
        return head | {"choices": choices} | more

    def whole(self) -> dict[str, Any]:
        """Return the answer to a request that does not stream."""
        choice = {"index": 0, "message": self.message(), "finish_reason": self.finish_reason}
        return self.envelope("chat.completion", [choice], usage=self.usage())

    def events(self) -> Iterator[dict[str, Any]]:
        """Yield the events of a stream."""
        kind = "chat.completion.chunk"
        for delta in self.deltas():
            yield self.envelope(kind, [{"index": 0, "delta": delta, "finish_reason": None}])
        end = {"index": 0, "delta": {}, "finish_reason": self.finish_reason}
        yield self.envelope(kind, [end])
        if (self.body.get("stream_options") or {}).get("include_usage"):
            yield self.envelope(kind, [], usage=self.usage())


Reply = str | ToolCall | Failure | Sequence[str | ToolCall]
Replier = Callable[[dict[str, Any]], Reply | Awaitable[Reply]]


class ScriptedServer:
    """Serves `/v1/chat/completions`, `/v1/models` and `/v1/embeddings` while its block runs.

    Example::

        async with ScriptedServer(reply=lambda request: "Hello.") as server:
            client = AsyncOpenAI(base_url=server.url, api_key="none")

    Attributes:
        url: The base URL, with `/v1`; empty outside the block.
        requests: Every chat request's body, in order of arrival.
        arrived: `time.perf_counter()` at each arrival.
        left: The same for the end of each reply, or its hang-up; None while it is open.
        pages: JSON by path, such as "/api/ps", which servers of other kinds have; may be changed.
        cancelled: Number of replies that the client hung up on.
        completed: Number of replies sent to the end.
    """

    def __init__(
        self,
        reply: Replier | None = None,
        *,
        model: str = "scripted",
        token_delay_s: float = 0.0,
        first_token_delay_s: float = 0.0,
    ) -> None:
        """Prepare the server; it listens from the start of the `async with` block.

        Args:
            reply: Returns the reply to a chat request's body: text, a `ToolCall`, a `Failure`, or a
                list of texts and calls. May be a coroutine function. `parrot` if None.
            token_delay_s: Pause after each streamed token (a word with its space).
            first_token_delay_s: Pause before the first token, to simulate prompt processing.
        """
        self._reply: Replier = reply or parrot
        self._model = model
        self._token_delay_s = token_delay_s
        self._first_token_delay_s = first_token_delay_s
        self.pages = {"/v1/models": {"data": [{"id": model}]}}
        self._call_ids = itertools.count(1)
        self._changed = asyncio.Condition()
        self._closing = False
        self.url = ""
        self.requests: list[dict[str, Any]] = []
        self.arrived: list[float] = []
        self.left: list[float | None] = []
        self.embedding_requests: list[dict[str, Any]] = []
        self.cancelled = 0
        self.completed = 0

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_post("/v1/embeddings", self._embeddings)
        app.router.add_get("/{path:.*}", self._page)
        # handler_cancellation: a client that hangs up cancels its handler, as a model server stops
        # generating.
        self._runner = web.AppRunner(app, handler_cancellation=True, access_log=None)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0, shutdown_timeout=0.1).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._closing = True
        await self._runner.cleanup()
        self.url = ""

    async def wait_until(self, condition: Callable[[], bool], timeout_s: float = 5.0) -> None:
        """Wait for a condition, checked now and after every arrival, end or hang-up.

        Raises:
            TimeoutError: It did not become true in time.
        """
        async with asyncio.timeout(timeout_s), self._changed:
            await self._changed.wait_for(condition)

    async def wait_for_requests(self, count: int, timeout_s: float = 5.0) -> list[dict[str, Any]]:
        """Wait for ``count`` chat requests since the start of the server.

        Raises:
            TimeoutError: Fewer arrived in time.
        """
        await self.wait_until(lambda: len(self.requests) >= count, timeout_s)
        return self.requests

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    async def _page(self, http: web.Request) -> web.Response:
        page = self.pages.get(http.path)
        return web.json_response(page, status=200 if page else 404)

    async def _embeddings(self, http: web.Request) -> web.Response:
        body = await http.json()
        self.embedding_requests.append(body)
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        data: list[dict[str, Any]] = []
        for i, text in enumerate(texts):
            vector = HashEmbedder(int(body.get("dimensions") or 64)).encode_query(str(text)).vector
            data.append({"object": "embedding", "index": i, "embedding": vector.tolist()})
        read = sum(len(str(text).split()) for text in texts)
        usage = {"prompt_tokens": read, "total_tokens": read}
        return web.json_response(
            {"object": "list", "model": self._model, "data": data, "usage": usage}
        )

    async def _chat(self, http: web.Request) -> web.StreamResponse:
        body = await http.json()
        self.requests.append(body)
        self.arrived.append(time.perf_counter())
        self.left.append(None)
        number = len(self.left) - 1
        try:
            await self._notify()
            reply = await self._run_script(body)
            if isinstance(reply, Failure):
                fault = {"message": reply.message, "type": "scripted", "code": reply.status}
                # Keeps OpenAI's client from retrying; scripts rely on one request per call.
                once = {"x-should-retry": "false"}
                return web.json_response({"error": fault}, status=reply.status, headers=once)
            script = Script(body, reply, self._call_ids)
            await asyncio.sleep(self._first_token_delay_s)
            response: web.StreamResponse = web.json_response(script.whole())
            if body.get("stream"):
                response = await self._stream(http, script)
            self.completed += 1
            return response
        except (asyncio.CancelledError, ConnectionError):
            # Our own shutdown cancels handlers too; that is not a hang-up.
            self.cancelled += not self._closing
            raise
        finally:
            self.left[number] = time.perf_counter()
            await asyncio.shield(self._notify())

    async def _run_script(self, body: dict[str, Any]) -> Reply:
        """Run the script; an exception in it becomes an error reply."""
        try:
            reply = self._reply(body)
            return await reply if inspect.isawaitable(reply) else reply
        except Exception as error:
            logger.error("the reply script failed: {}", describe_error(error))
            return Failure(500, f"the reply script failed: {error!r}")

    async def _stream(self, http: web.Request, script: "Script") -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(http)
        for event in script.events():
            data = json.dumps(event, ensure_ascii=False)
            await response.write(f"data: {data}\n\n".encode())
            if event["choices"] and not event["choices"][0]["finish_reason"]:
                await asyncio.sleep(self._token_delay_s)
        await response.write(b"data: [DONE]\n\n")
        await response.write_eof()
        return response
