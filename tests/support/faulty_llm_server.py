"""A server with every fault that model servers have, on real sockets.

``FAULTS`` is the table: a name, the outcome that a client must produce, and how it is played. Tests
of any job can use it::

    async with FaultServer(good_reply='{"note": "…"}') as server:
        server.fault = "half stream"
"""

import asyncio
import gzip
import json
from collections.abc import Awaitable, Callable
from itertools import cycle
from typing import Any, Literal

from aiohttp import web
from msgspec import Struct

from slowcat_memory.testing.server import ScriptedServer
from tests.support.rows import listed

Outcome = Literal["endpoint", "bad", "long", "ok"]
Play = Callable[["Scene"], Awaitable[web.StreamResponse]]
HANGS_S = 30.0  # longer than any test waits
MANY_BYTES = 300 << 20


class Fault(Struct, frozen=True):
    """One fault.

    Attributes:
        name: Set ``FaultServer.fault`` to this.
        outcome: "endpoint": EndpointError. "bad": BadAnswerError. "long": PromptTooLongError (the
            prompt must have 1,100 characters for "silent truncation"). "ok": the good answer.
        play: Plays it.
    """

    name: str
    outcome: Outcome
    play: Play


class Scene:
    """One request, and the server's means to answer it."""

    def __init__(self, server: "FaultServer", http: web.Request, body: dict[str, Any]) -> None:
        self.server, self.http, self.body = server, http, body
        self.good = server.good_reply(body)

    async def open(self, kind: str = "text/event-stream") -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": kind})
        await response.prepare(self.http)
        return response

    def chunk(self, content: Any = None, finish: str | None = None, **more: Any) -> dict[str, Any]:
        choice = {"index": 0, "delta": {"content": content} | more, "finish_reason": finish}
        return self.envelope(choices=[choice])

    def envelope(self, **more: Any) -> dict[str, Any]:
        head = {"id": "x", "object": "chat.completion.chunk", "created": 1}
        return head | {"model": self.body["model"], "system_fingerprint": "b1"} | more

    async def stream(self, text: Any, finish: str = "stop", tokens_in: int | None = None) -> Any:
        """Stream a whole answer in pieces, as a correct server does."""
        response = await self.open()
        for piece in [text[i : i + 4000] for i in range(0, len(text), 4000)] if text else [text]:
            await response.write(event(self.chunk(piece)))
        if tokens_in is None:
            tokens_in = sum(len(m["content"]) for m in self.body["messages"])
        usage = {"prompt_tokens": tokens_in, "completion_tokens": 9, "total_tokens": 9}
        await response.write(event(self.chunk(finish=finish)))
        await response.write(event(self.envelope(choices=[], usage=usage)))
        await response.write(b"data: [DONE]\n\n")
        return response


def event(value: Any) -> bytes:
    return f"data: {json.dumps(value)}\n\n".encode()


# ------------------------------------------------------------------- how each is played


def says(text: str | None, finish: str = "stop", **more: Any) -> Play:
    """Stream a text as the answer; "{good}" in it is replaced by the good one."""

    async def play(scene: Scene) -> web.StreamResponse:
        return await scene.stream(text and text.replace("{good}", scene.good), finish, **more)

    return play


def status(code: int, body: Any, **headers: str) -> Play:
    async def play(scene: Scene) -> web.StreamResponse:
        text = body if isinstance(body, str) else json.dumps(body)
        return web.Response(
            text=text,
            status=code,
            headers={name.replace("_", "-"): value for name, value in headers.items()},
            content_type="text/html" if text.startswith("<") else "application/json",
        )

    return play


def refuses(code: int, message: str, *forms: str, body: Any = None) -> Play:
    """Reject some ways of requesting JSON, and answer others correctly."""

    async def play(scene: Scene) -> web.StreamResponse:
        if scene.body.get("response_format", {}).get("type") in forms:
            error = body or {"error": {"message": message, "code": code}}
            return web.json_response(error, status=code)
        return await scene.stream(scene.good)

    return play


def sends(*blocks: bytes, kind: str = "text/event-stream") -> Play:
    """Send bytes and close the connection cleanly."""

    async def play(scene: Scene) -> web.StreamResponse:
        response = await scene.open(kind)
        for block in blocks:
            await response.write(block)
        return response

    return play


async def hang(scene: Scene) -> web.StreamResponse:
    await asyncio.sleep(HANGS_S)
    return web.Response()


async def reset(scene: Scene) -> web.StreamResponse:
    assert scene.http.transport
    scene.http.transport.abort()
    return web.Response()


def streams(
    *parts: Callable[[Scene], Any], then: Play | None = None, every_s: float = -1.0
) -> Play:
    """Send events of a stream, for ever or with what comes ``then``, and not its end."""

    async def play(scene: Scene) -> web.StreamResponse:
        response = await scene.open()
        for part in cycle(parts) if every_s >= 0 else parts:
            await response.write(event(part(scene)))
            await asyncio.sleep(max(0.0, every_s))
        if then:
            await then(scene)
        return response

    return play


def failure(message: str) -> dict[str, Any]:
    return {"error": {"message": message, "code": 500}}


def huge(code: int, first: bytes = b"") -> Play:
    async def play(scene: Scene) -> web.StreamResponse:
        response = web.StreamResponse(status=code, headers={"Content-Type": "application/json"})
        await response.prepare(scene.http)
        await response.write(first + b"A")
        for _ in range(MANY_BYTES >> 20):
            await response.write(b"A" * (1 << 20))
        return response

    return play


async def gzip_bomb(scene: Scene) -> web.StreamResponse:
    body = await asyncio.to_thread(gzip.compress, b" " * (64 << 20))
    headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
    return web.Response(body=body, headers=headers)


async def wrong_model(scene: Scene) -> web.StreamResponse:
    scene.body["model"] = "another-model"
    return await scene.stream(scene.good)


async def does_not_stream(scene: Scene) -> web.StreamResponse:
    choice = {"index": 0, "message": {"content": scene.good}, "finish_reason": "stop"}
    return web.json_response(scene.envelope(choices=[choice]))


async def no_usage(scene: Scene) -> web.StreamResponse:
    if "stream_options" in scene.body:
        text = {"error": {"message": "Unrecognized request argument: stream_options"}}
        return web.json_response(text, status=400)
    return await scene.stream(scene.good)


async def redirect(scene: Scene) -> web.StreamResponse:
    raise web.HTTPTemporaryRedirect(f"{scene.server.url}/elsewhere")


ONE_TOKEN = {"choices": [{"index": 0, "delta": {"content": "{"}, "finish_reason": None}]}


def beginning(to: Scene) -> Any:
    return to.chunk(to.good[:5])


def reasoning(to: Scene) -> Any:
    return to.chunk(reasoning_content="hm " * 20_000)


def thinking(to: Scene) -> Any:
    return to.chunk(reasoning='Perhaps {"note": 1}?')


def end(to: Scene) -> Any:
    return to.chunk(finish="stop")


TOO_LONG = "Context size has been exceeded."
PLAYS: dict[str, Callable[..., Play]] = {"says": says, "status": status, "refuses": refuses}
FAULTS: tuple[Fault, ...] = (
    *(
        Fault(name, outcome, PLAYS[play](*given, **more))
        for name, outcome, play, *given, more in listed("model_faults.jsonl")
    ),
    # The server is unreachable, or breaks off.
    Fault("hang", "endpoint", hang),
    Fault("slow first token", "endpoint", streams(lambda to: to.chunk(""), then=hang)),
    Fault("stall", "endpoint", streams(beginning, then=hang)),
    Fault("drip", "endpoint", streams(lambda to: to.chunk(" "), every_s=0.02)),
    Fault("reset", "endpoint", reset),
    Fault("reset mid stream", "endpoint", streams(beginning, then=reset)),
    Fault("half stream", "endpoint", streams(lambda to: to.chunk(to.good))),
    Fault("error mid stream", "endpoint", streams(beginning, lambda _: failure("slot lost"))),
    Fault("garbage stream", "endpoint", sends(b"data: \xff\xfe\x00{not json\n\n")),
    Fault("malformed line", "endpoint", sends(event(ONE_TOKEN), b'data: {"choices": [\n\n')),
    Fault("line without end", "endpoint", sends(b"data: ", *[b"A" * (1 << 20)] * 4)),
    Fault("nothing at all", "endpoint", sends()),
    Fault("gzip bomb", "endpoint", gzip_bomb),
    Fault("huge body", "endpoint", huge(200, b'{"choices":[{"message":{"content":"')),
    Fault("huge error", "endpoint", huge(500)),
    Fault("redirect", "endpoint", redirect),
    Fault("endless reasoning", "endpoint", streams(reasoning, every_s=0)),
    # The LLM's answer cannot be used, or the prompt is too long.
    Fault("endless answer", "bad", streams(lambda to: to.chunk("A" * 5000), every_s=0)),
    Fault("huge int", "bad", says('{"note": ' + "9" * 5000 + "}")),
    Fault("deep nesting", "bad", says('{"a":' + "[" * 15_000)),
    Fault("reasoning only", "bad", streams(lambda to: to.chunk(reasoning_content=to.good), end)),
    Fault("overflow mid stream", "long", streams(lambda _: failure(TOO_LONG))),
    # Unusual, and usable.
    Fault("reasoning apart", "ok", streams(thinking, lambda to: to.chunk(to.good), end)),
    Fault("wrong model", "ok", wrong_model),
    Fault("does not stream", "endpoint", does_not_stream),
    Fault("no usage", "ok", no_usage),
)
BY_NAME = {fault.name: fault for fault in FAULTS}


class FaultServer(ScriptedServer):
    """Answers chat requests with a fault.

    Attributes:
        fault: What it does with the next requests, by name.
        open: How many replies are being sent.
    """

    def __init__(self, good_reply: str | Callable[[dict[str, Any]], str]) -> None:
        """Store the good answer, or a function of the request's body."""
        super().__init__(model="tiny")
        reply = good_reply
        self.good_reply = reply if callable(reply) else lambda body: reply
        self.fault, self.open = "none", 0

    async def until_closed(self) -> None:
        """Wait until no reply is being sent."""
        await self.wait_until(lambda: not self.open, 20.0)

    async def _chat(self, http: web.Request) -> web.StreamResponse:
        body = await http.json()
        self.requests.append(body)
        self.open += 1
        try:
            return await BY_NAME[self.fault].play(Scene(self, http, body))
        finally:
            self.open -= 1
            await asyncio.shield(self._notify())
