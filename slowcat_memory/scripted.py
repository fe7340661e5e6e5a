"""An OpenAI-compatible server on loopback that answers by script: for the demo, tests and benchmarks.

It stands where a model server stands, on a real socket, so that what a request
holds is what really went over HTTP. Its replies come from a callable, or from
`parrot`, which is a rule and not a model.
"""

import asyncio
import base64
import hashlib
import inspect
import itertools
import json
import re
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import numpy as np
from aiohttp import web
from loguru import logger


@dataclass(frozen=True)
class ToolCall:
    """A reply, or a part of one, that calls a tool.

    Parameters:
        name: The function to call.
        arguments: Its arguments.
        id: The call's id; the server numbers it when empty.
    """

    name: str
    arguments: dict[str, Any] = field(default_factory=dict)
    id: str = ""


@dataclass(frozen=True)
class Failure:
    """A reply that is an HTTP error.

    Parameters:
        status: The HTTP status.
        message: The text of the error object.
    """

    status: int = 500
    message: str = "scripted failure"


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
        arrived: `time.perf_counter()` at each of them.
        embedding_requests: Every embedding request's body.
        cancelled: How many replies the client hung up on before their end.
        completed: How many replies were sent whole.
    """

    def __init__(
        self,
        reply: Replier | None = None,
        *,
        model: str = "scripted",
        token_delay_s: float = 0.0,
        first_token_delay_s: float = 0.0,
        port: int = 0,
    ) -> None:
        """Prepare the server; it listens from the start of the `async with` block.

        Args:
            reply: Given a chat request's body, what to answer: text, a `ToolCall`, a `Failure`,
                or a list of texts and calls. May be a coroutine function. `parrot` if None.
            model: The model name that `/v1/models` lists.
            token_delay_s: Pause after each streamed token (a word with its space).
            first_token_delay_s: Pause before the first token, as a prompt takes to read.
            port: The port on 127.0.0.1; 0 picks a free one.
        """
        self._reply: Replier = reply or parrot
        self._model = model
        self._token_delay_s = token_delay_s
        self._first_token_delay_s = first_token_delay_s
        self._port = port
        self._call_ids = itertools.count(1)
        self._news = asyncio.Condition()
        self._closing = False
        self.url = ""
        self.requests: list[dict[str, Any]] = []
        self.arrived: list[float] = []
        self.embedding_requests: list[dict[str, Any]] = []
        self.cancelled = 0
        self.completed = 0

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_post("/v1/embeddings", self._embeddings)
        app.router.add_get("/v1/models", self._models)
        # handler_cancellation: a client that hangs up cancels its handler, as a model server
        # stops generating; without it the end of a reply would go unnoticed.
        self._runner = web.AppRunner(app, handler_cancellation=True, access_log=None)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self._port, shutdown_timeout=0.1).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._closing = True
        await self._runner.cleanup()
        self.url = ""

    async def wait_until(self, condition: Callable[[], bool], timeout_s: float = 5.0) -> None:
        """Wait until something about this server holds.

        Args:
            condition: Looked at now and after every arrival, end or hang-up.
            timeout_s: How long to wait.

        Raises:
            TimeoutError: It did not come to hold in time.
        """
        async with asyncio.timeout(timeout_s), self._news:
            await self._news.wait_for(condition)

    async def wait_for_requests(self, count: int, timeout_s: float = 5.0) -> list[dict[str, Any]]:
        """Wait until so many chat requests have arrived.

        Args:
            count: How many, from the start of the server.
            timeout_s: How long to wait.

        Returns:
            The requests.

        Raises:
            TimeoutError: Fewer arrived in time.
        """
        await self.wait_until(lambda: len(self.requests) >= count, timeout_s)
        return self.requests

    async def _tell(self) -> None:
        async with self._news:
            self._news.notify_all()

    async def _models(self, _: web.Request) -> web.Response:
        entry = {"id": self._model, "object": "model", "created": 0, "owned_by": "slowcat"}
        return web.json_response({"object": "list", "data": [entry]})

    async def _embeddings(self, http: web.Request) -> web.Response:
        body = await http.json()
        self.embedding_requests.append(body)
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        data: list[dict[str, Any]] = []
        for i, text in enumerate(texts):
            vector = hash_vector(str(text), int(body.get("dimensions") or 64))
            as_base64 = body.get("encoding_format") == "base64"
            value = base64.b64encode(vector.tobytes()).decode() if as_base64 else vector.tolist()
            data.append({"object": "embedding", "index": i, "embedding": value})
        read = sum(len(str(text).split()) for text in texts)
        usage = {"prompt_tokens": read, "total_tokens": read}
        return web.json_response(
            {"object": "list", "model": self._model, "data": data, "usage": usage}
        )

    async def _chat(self, http: web.Request) -> web.StreamResponse:
        body = await http.json()
        self.requests.append(body)
        self.arrived.append(time.perf_counter())
        await self._tell()
        try:
            reply = await self._written(body)
            if isinstance(reply, Failure):
                return _error(reply)
            script = _Script(body, reply, self._call_ids)
            await asyncio.sleep(self._first_token_delay_s)
            response = await (self._stream(http, script) if body.get("stream") else _plain(script))
            self.completed += 1
            return response
        except (asyncio.CancelledError, ConnectionError):
            # Our own shutdown cancels handlers too; that is nobody hanging up.
            self.cancelled += not self._closing
            raise
        finally:
            await asyncio.shield(self._tell())

    async def _written(self, body: dict[str, Any]) -> Reply:
        """Ask the script; a mistake in it becomes an answer that shows it."""
        try:
            reply = self._reply(body)
            return await reply if inspect.isawaitable(reply) else reply
        except Exception as error:
            logger.exception("the reply script failed")
            return Failure(500, f"the reply script failed: {error!r}")

    async def _stream(self, http: web.Request, script: "_Script") -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(http)
        for delta in script.deltas():
            await response.write(_event(script.chunk([_choice(0, delta=delta)])))
            await asyncio.sleep(self._token_delay_s)
        end = _choice(0, delta={}, finish_reason=script.finish_reason)
        await response.write(_event(script.chunk([end])))
        if (script.body.get("stream_options") or {}).get("include_usage"):
            await response.write(_event(script.chunk([], usage=script.usage())))
        await response.write(b"data: [DONE]\n\n")
        await response.write_eof()
        return response


class _Script:
    """One reply, cut into what goes over the wire."""

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
        """Return the token counts; a token here is a word."""
        read = sum(len(message_text(m).split()) for m in self.body.get("messages", []))
        said = len(self.tokens) + len(self.calls)
        return {"prompt_tokens": read, "completion_tokens": said, "total_tokens": read + said}

    def chunk(self, choices: list[Any], **more: Any) -> dict[str, Any]:
        """Return one streamed chunk."""
        return _envelope(self.body, "chat.completion.chunk", choices, **more)


async def _plain(script: _Script) -> web.Response:
    choice = _choice(0, message=script.message(), finish_reason=script.finish_reason)
    usage = script.usage()
    return web.json_response(_envelope(script.body, "chat.completion", [choice], usage=usage))


def _envelope(body: dict[str, Any], kind: str, choices: list[Any], **more: Any) -> dict[str, Any]:
    model = body.get("model", "scripted")
    head = {"id": "scripted", "object": kind, "created": 0, "model": model}
    return head | {"choices": choices} | more


def _choice(index: int, *, finish_reason: str | None = None, **more: Any) -> dict[str, Any]:
    return {"index": index, "finish_reason": finish_reason} | more


def _event(chunk: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n".encode()


def _error(failure: Failure) -> web.Response:
    body = {"error": {"message": failure.message, "type": "scripted", "code": failure.status}}
    # Told so, OpenAI's client does not try again; a script counts on one request per call.
    headers = {"x-should-retry": "false"}
    return web.json_response(body, status=failure.status, headers=headers)


def hash_vector(text: str, dim: int = 64) -> np.ndarray:
    """Embed a text by hashing its words: equal texts are equal, shared words bring texts nearer.

    Args:
        text: The text.
        dim: The vector's length.

    Returns:
        A float32 vector of length one, the same on every machine and in every process.
    """
    vector = np.zeros(dim, dtype=np.float32)
    for word in re.findall(r"\w+", text.casefold()) or [""]:
        digest = hashlib.blake2b(word.encode(), digest_size=8).digest()
        vector[int.from_bytes(digest, "little") % dim] += 1.0
    return vector / np.linalg.norm(vector)


def message_text(message: dict[str, Any]) -> str:
    """Return what a chat message says, whether its content is a string or a list of parts.

    Args:
        message: A message of a chat request.

    Returns:
        Its text, empty when it has none.
    """
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content)


_BLOCK = re.compile(r"\s*<memories>(.*?)</memories>", re.DOTALL)
_LINE = re.compile(
    r"- (?:\((?P<when>[^)]*)\) )?(?:(?P<who>[^\s:]+(?: [^\s:]+){0,2}): )?(?P<what>.*)"
)
_ASKS = re.compile(
    r"(who|what|when|where|which|whose|why|how|do|does|did|is|are|was|were|can|could|will|have|has)\b"
)
_EMPTY_WORDS = frozenset(
    "a an the this that and or but if so not no yes to of in on at for from by with about as into "
    "i me my mine you your yours he him his she her hers it its we us our they them their "
    "am is are was were be been do does did have has had can could will would shall should may "
    "who what when where which whose why how there here tell know remember please again "
    "s t m re ve ll d".split()
)


def parrot(request: dict[str, Any]) -> str:
    """Answer from the `<memories>` blocks of a request: a parrot, not a model.

    It understands nothing. Asked something, it quotes the remembered line that shares the most
    content words with the question, the newest one when several do; it looks in no other
    place, so what it can quote has reached it through HTTP in a block. A memory stays in the
    conversation once it is injected, so blocks of earlier user messages count too.

    Args:
        request: A chat request's body.

    Returns:
        The quotation; that it does not know, when no line shares a word with the question; or
        that it has listened, when nothing is asked.
    """
    messages = request.get("messages", [])
    said = [message_text(m) for m in messages if m.get("role") == "user"]
    words = _BLOCK.sub("", said[-1]).strip() if said else ""
    if not (words.endswith("?") or _ASKS.match(words.casefold())):
        return "I am listening."
    blocks = [block for text in said for block in _BLOCK.findall(text)]
    if not blocks:
        return "I don't know, I have no memory of that."
    asked = _content_words(words)
    lines = [m for block in blocks for m in map(_LINE.match, block.splitlines()) if m]
    shared = [len(asked & _content_words(line[0])) for line in lines]
    if not any(shared):
        return "I don't know, nothing that I remember is about that."
    best = max(range(len(lines)), key=lambda i: (shared[i], i))
    return _quote(lines[best])


def _content_words(text: str) -> set[str]:
    """Return the words that carry meaning, the commonest English endings cut off."""
    words = set(re.findall(r"\w+", text.casefold())) - _EMPTY_WORDS
    return {re.sub(r"(?<=\w{3})(ing|ed|es|s|e)$", "", word) for word in words}


def _quote(line: re.Match[str]) -> str:
    when = f" ({line['when']})" if line["when"] else ""
    return f"I remember{when}: {line['who'] + ' said, ' if line['who'] else ''}“{line['what'].strip()}”"
