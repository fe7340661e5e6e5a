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
from typing import Any, Literal, Self

from aiohttp import web
from msgspec import Struct

Outcome = Literal["endpoint", "bad", "long", "ok"]
Play = Callable[["Scene"], Awaitable[web.StreamResponse]]
HANGS_S = 30.0  # longer than any test waits
MANY_BYTES = 300 << 20
WHOLE = 1 << 20  # more than any answer has characters
READ_OF_ALL = 7  # tokens read by a server that truncates prompts


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
        await self.pieces(response, text)
        if tokens_in is None:
            tokens_in = sum(len(m["content"]) for m in self.body["messages"])
        usage = {"prompt_tokens": tokens_in, "completion_tokens": 9, "total_tokens": 9}
        await response.write(event(self.chunk(finish=finish)))
        await response.write(event(self.envelope(choices=[], usage=usage)))
        await response.write(b"data: [DONE]\n\n")
        return response

    async def pieces(self, response: web.StreamResponse, text: Any) -> None:
        pieces = [text[i : i + 4000] for i in range(0, len(text), 4000)] if text else [text]
        for piece in pieces:
            await response.write(event(self.chunk(piece)))

    def form(self) -> str:
        return self.body.get("response_format", {}).get("type", "prompt")


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
        if scene.form() in forms:
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


async def abort(scene: Scene) -> web.StreamResponse:
    assert scene.http.transport
    scene.http.transport.abort()
    return web.Response()


def begins(length: int | None, after: Any = None, then: Play | None = None) -> Play:
    """Stream so many characters of the good answer, then an error, and do something else."""

    async def play(scene: Scene) -> web.StreamResponse:
        response = await scene.open()
        if length is not None:
            await scene.pieces(response, scene.good[:length])
        if after:
            await response.write(event({"error": {"message": after, "code": 500}}))
        if then:
            await then(scene)
        return response

    return play


def endless(pause_s: float = 0.0, **delta: str) -> Play:
    """Stream the same piece for ever."""

    async def play(scene: Scene) -> web.StreamResponse:
        response = await scene.open()
        while True:
            await response.write(event(scene.chunk(**delta)))
            await asyncio.sleep(pause_s)

    return play


def huge(status: int, head: bytes = b"") -> Play:
    """Send a body that fills any memory."""

    async def play(scene: Scene) -> web.StreamResponse:
        kind = {"Content-Type": "application/json"}
        response = web.StreamResponse(status=status, headers=kind)
        await response.prepare(scene.http)
        await response.write(head)
        for _ in range(MANY_BYTES >> 20):
            await response.write(b"A" * (1 << 20))
        return response

    return play


async def gzip_bomb(scene: Scene) -> web.StreamResponse:
    body = await asyncio.to_thread(gzip.compress, b" " * (64 << 20))
    headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
    return web.Response(body=body, headers=headers)


async def reasoning_only(scene: Scene) -> web.StreamResponse:
    response = await scene.open()
    await response.write(event(scene.chunk(reasoning_content=scene.good)))
    await response.write(event(scene.chunk(finish="stop")))
    await response.write(b"data: [DONE]\n\n")
    return response


async def reasoning_apart(scene: Scene) -> web.StreamResponse:
    response = await scene.open()
    await response.write(event(scene.chunk(reasoning='Perhaps {"note": 1}?')))
    await scene.pieces(response, scene.good)
    await response.write(event(scene.chunk(finish="stop")))
    return response


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


LLAMA_OVERFLOW = {
    "error": {
        "code": 400,
        "message": "request (36013 tokens) exceeds the available context size (4096 tokens)",
        "type": "exceed_context_size_error",
        "n_prompt_tokens": 36013,
        "n_ctx": 4096,
    }
}
VLLM_OVERFLOW = {
    "object": "error",
    "message": "This model's maximum context length is 4096 tokens. However, you requested 9000.",
}
PEG = "The model produced output that does not match the expected peg-native format"
LM_STUDIO = {"error": "'response_format.type' must be 'json_schema' or 'text'"}
ONE_TOKEN = {"choices": [{"index": 0, "delta": {"content": "{"}, "finish_reason": None}]}

FAULTS: tuple[Fault, ...] = (
    # The server is unreachable, or breaks off.
    Fault("hang", "endpoint", hang),
    Fault("slow first token", "endpoint", begins(0, then=hang)),
    Fault("stall", "endpoint", begins(5, then=hang)),
    Fault("drip", "endpoint", endless(0.02, content=" ")),
    Fault("reset", "endpoint", abort),
    Fault("reset mid stream", "endpoint", begins(5, then=abort)),
    Fault("half stream", "endpoint", begins(WHOLE)),
    Fault("error mid stream", "endpoint", begins(5, "slot lost")),
    Fault("garbage stream", "endpoint", sends(b"data: \xff\xfe\x00{not json\n\n")),
    Fault("malformed line", "endpoint", sends(event(ONE_TOKEN), b'data: {"choices": [\n\n')),
    Fault("line without end", "endpoint", sends(b"data: ", *[b"A" * (1 << 20)] * 4)),
    Fault("nothing at all", "endpoint", sends()),
    Fault("500", "endpoint", status(500, {"error": {"message": "out of memory"}})),
    Fault("503", "endpoint", status(503, {"error": {"message": "Loading model"}})),
    Fault("429", "endpoint", status(429, {"error": {"message": "slow down"}}, Retry_After="100")),
    Fault("401", "endpoint", status(401, {"error": {"message": "Invalid API key"}})),
    Fault("404", "endpoint", status(404, {"error": {"message": "model 'x' not found"}})),
    Fault("html", "endpoint", status(200, "<html>It works!</html>")),
    Fault("html error", "endpoint", status(502, "<html>502 Bad Gateway</html>")),
    Fault("gzip bomb", "endpoint", gzip_bomb),
    Fault("huge body", "endpoint", huge(200, b'{"choices":[{"message":{"content":"')),
    Fault("huge error", "endpoint", huge(500)),
    Fault("array body", "endpoint", status(200, [1, 2, 3])),
    Fault("text body", "endpoint", status(200, '"OK"')),
    Fault("redirect", "endpoint", redirect),
    Fault("endless reasoning", "endpoint", endless(reasoning_content="hm " * 20_000)),
    # The LLM's answer cannot be used.
    Fault("endless answer", "bad", endless(content="A" * 5000)),
    Fault("empty choices", "endpoint", status(200, {"choices": []})),
    Fault("content null", "bad", says(None)),
    Fault("empty answer", "bad", says("")),
    Fault("finish length", "bad", says('{"note": "it goes on', "length")),
    Fault("schema violation", "bad", says('{"facts": [{"subject": 1, "pred": "x"}], "x": 1}')),
    Fault("nan", "bad", says('{"note": NaN, "value": Infinity}')),
    Fault("huge int", "bad", says('{"note": ' + "9" * 5000 + "}")),
    Fault("deep nesting", "bad", says('{"a":' + "[" * 15_000)),
    Fault("unclosed think", "bad", says("<think>\nPerhaps {good}, or")),
    Fault("reasoning only", "bad", reasoning_only),
    Fault("prose only", "bad", says("I am sorry, I cannot do that {really}.")),
    Fault("answer lost", "bad", status(500, {"error": {"message": PEG, "code": 500}})),
    # What is whole of it is used.
    Fault("whole but cut", "ok", says("{good}", "length")),
    # The prompt is too long.
    Fault("overflow 400", "long", status(400, LLAMA_OVERFLOW)),
    Fault("overflow 400 vllm", "long", status(400, VLLM_OVERFLOW)),
    Fault("overflow 500", "long", status(500, {"error": "Context size has been exceeded."})),
    Fault("overflow mid stream", "long", begins(None, "Context size has been exceeded.")),
    Fault("silent truncation", "long", says("{good}", tokens_in=READ_OF_ALL)),
    # Unusual, and usable.
    Fault("none", "ok", says("{good}")),
    Fault("fence", "ok", says("Sure! Here you go:\n```json\n{good}\n```\nHope this helps.")),
    Fault("prose around", "ok", says("The {short} answer is {good} as {you} wanted {it.")),
    Fault("think", "ok", says('<think>\nI might say {"note": 1}\n</think>\n{good}')),
    Fault("think without opening", "ok", says('Or {"note": 1}?\n</think>\n\n{good}')),
    Fault("reasoning apart", "ok", reasoning_apart),
    Fault("wrong model", "ok", wrong_model),
    Fault("does not stream", "ok", does_not_stream),
    Fault("no usage", "ok", no_usage),
    Fault(
        "format refused 400",
        "ok",
        refuses(400, "'response_format' is not supported", "json_schema", "json_object"),
    ),
    Fault("format refused 422", "ok", refuses(422, "Extra inputs", "json_schema")),
    Fault(
        "format refused 500", "ok", refuses(500, "Input should be: literal_error", "json_schema")
    ),
    Fault("grammar refused", "ok", refuses(400, "failed to parse grammar", "json_schema")),
    Fault("string error", "ok", refuses(400, "", "json_schema", "json_object", body=LM_STUDIO)),
)
BY_NAME = {fault.name: fault for fault in FAULTS}


class FaultServer:
    """Serves on loopback while its block runs.

    Attributes:
        fault: What it does with the next requests, by name.
        url: The base URL, with "/v1".
        requests: Every chat request's body.
        open: How many replies are being sent.
        models: What "/v1/models" lists; None to be away there too.
    """

    def __init__(self, good_reply: str | Callable[[dict[str, Any]], str]) -> None:
        """Store the good answer, or a function of the request's body."""
        reply = good_reply
        self.good_reply = reply if callable(reply) else lambda body: reply
        self.fault, self.url, self.open = "none", "", 0
        self.requests: list[dict[str, Any]] = []
        self.models: list[dict[str, Any]] | None = [{"id": "tiny", "object": "model"}]
        self._changed = asyncio.Event()

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=64 << 20)
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_get("/v1/models", self._list)
        self._runner = web.AppRunner(app, handler_cancellation=True, access_log=None)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0, shutdown_timeout=0.05).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._runner.cleanup()

    async def until_closed(self, timeout_s: float = 20.0) -> None:
        """Wait until no reply is being sent."""
        async with asyncio.timeout(timeout_s):
            while self.open:
                self._changed.clear()
                await self._changed.wait()

    async def _list(self, _: web.Request) -> web.Response:
        if self.models is None:
            return web.Response(status=503)
        return web.json_response({"object": "list", "data": self.models})

    async def _chat(self, http: web.Request) -> web.StreamResponse:
        body = await http.json()
        self.requests.append(body)
        self.open += 1
        try:
            return await BY_NAME[self.fault].play(Scene(self, http, body))
        finally:
            self.open -= 1
            self._changed.set()
