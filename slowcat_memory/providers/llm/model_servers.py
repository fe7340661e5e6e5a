"""Finds the model servers on this machine and chooses one; and the LLM for idle work on one of them.

Tries the usual loopback ports, without proxy, redirects or name resolution, and only
requests the list of models. While the server of idle work is away it only gets cheap probes.

The circuit breaker is our own: pybreaker's wait is the same after each failure, and its calls hold a
lock; a server here is left alone longer each time, or for as long as its ``Retry-After`` says.
"""

import asyncio
import http.client
import json
import os
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import closing, suppress
from typing import Any, TypeVar
from urllib.parse import urlsplit

from loguru import logger
from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.errors import EndpointError, SlowcatError
from slowcat_memory.providers.llm.base import AUTO, LLM, Answer, Prompt, ThinkingOptions, is_remote
from slowcat_memory.providers.llm.server import label
from slowcat_memory.providers.loopback import check_loopback, is_own_server

T = TypeVar("T", bound=Struct)

_MOST_BYTES = 1 << 20  # of a list of models
_LOCAL_ANSWER_S = 1.0
_FIRST_ANSWER_S = 5.0  # a server that was named may be slow to answer


Models = dict[str, bool]
"""LLMs that run on this machine, and whether they are loaded."""


def _any_models(root: str) -> Models:
    return dict.fromkeys(list_models(f"{root}/v1", _LOCAL_ANSWER_S), True)


def _lm_studio_models(root: str) -> Models:
    rows = _fetch(f"{root}/api/v0/models")["data"]
    return {row["id"]: row["state"] == "loaded" for row in rows if row["type"] in ("llm", "vlm")}


def _ollama_models(root: str) -> Models:
    """Leave out models that Ollama passes on to another machine, and those that only embed."""
    running = [row["name"] for row in _fetch(f"{root}/api/ps")["models"]]
    return {
        row["name"]: row["name"] in running
        for row in _fetch(f"{root}/api/tags")["models"]
        if not (row.get("remote_host") or row.get("remote_model"))
        and not row["name"].endswith("cloud")
        and "bert" not in row.get("details", {}).get("family", "")
    }


def _llama_cpp_models(root: str) -> Models:
    """Raise ``LookupError`` for a server of another kind."""
    rows = _fetch(f"{root}/v1/models")["data"]
    if any(row["owned_by"] != "llamacpp" for row in rows):
        raise LookupError
    return {row["id"]: row.get("status", {}).get("value", "loaded") == "loaded" for row in rows}


class ServerKind(Struct, frozen=True):
    """A kind of model server: its default port, and commands that start it with a small model.

    ``models`` reads its models by the server's root URL.
    """

    name: str
    port: int
    start: tuple[str, ...]
    models: Callable[[str], Models] = _any_models


KNOWN = (
    ServerKind(
        "LM Studio",
        1234,
        ("lms get qwen3-4b", "lms load qwen3-4b", "lms server start"),
        _lm_studio_models,
    ),
    ServerKind("Ollama", 11434, ("ollama serve", "ollama pull llama3.2"), _ollama_models),
    ServerKind(
        "llama.cpp",
        8080,
        ("llama-server -hf ggml-org/gemma-3-4b-it-GGUF --port 8080",),
        _llama_cpp_models,
    ),
)


def _talking(models: Iterable[str]) -> list[str]:
    """Return the chat models of this machine: of others, Ollama ends the names with "cloud"."""
    return [
        name for name in models if "embed" not in name.casefold() and not name.endswith("cloud")
    ]


class ModelServer(Struct, frozen=True):
    """A model server that answers; ``url`` ends with ``/v1``."""

    name: str
    url: str
    models: tuple[str, ...]

    def model(self, wanted: str = "") -> str:
        """Return ``wanted``, or the first chat model of this machine.

        Raises:
            EndpointError: The server offers none.
        """
        if wanted or (talks := _talking(self.models)):
            return wanted or talks[0]
        raise EndpointError(f"{self.name} at {self.url} has no model loaded", hint="Load one")


def find_servers(timeout_s: float = 0.3, known: Sequence[ServerKind] = KNOWN) -> list[ModelServer]:
    """Return the servers on this machine, in the order of ``known``."""
    servers = []
    for kind in known:
        url = f"http://127.0.0.1:{kind.port}/v1"
        with suppress(EndpointError):
            servers.append(ModelServer(kind.name, url, list_models(url, timeout_s)))
    return servers


def choose_server(url: str = "", allow_remote: bool = False) -> ModelServer | None:
    """Return the server at ``url``, or one found on this machine if ``url`` is "".

    None when none is found.

    Raises:
        ConfigError: The URL is malformed.
        EndpointRefusedError: It is not on this machine, and ``allow_remote`` is off.
        EndpointError: It does not answer.
    """
    if url:
        check_loopback(url, allow_remote)
        models = list_models(url, _FIRST_ANSWER_S)
        servers = [ModelServer("the server", url.rstrip("/"), models)]
    else:
        servers = find_servers()
    server = max(servers, key=lambda row: bool(row.models), default=None)  # of equals the first
    if server and not allow_remote:
        _bypass_proxies(server.url)
    return server


def list_models(url: str, timeout_s: float) -> tuple[str, ...]:
    """Return the names of the models of the server at ``url``, which ends with `/v1`.

    Raises:
        EndpointError: It does not answer, or not with a list of models.
    """
    try:
        entries = _fetch(f"{url}/models", timeout_s)["data"] or ()
        return tuple(str(entry["id"]) for entry in entries)
    except (LookupError, TypeError) as error:
        raise _no_server(url) from error


def find_loaded(
    options: ThinkingOptions, used: str = "", known: Sequence[ServerKind] = KNOWN
) -> ModelServer:
    """Return the server for idle work, and the one model to use of it.

    The model is loaded and runs on this machine. That of ``options.first_url``, the conversation's
    own server, comes first; at another one only programs of this user may listen. Blocks for
    seconds at most.

    Args:
        used: The model that was used before: enough if the server has it, and none is loaded.

    Raises:
        EndpointError: There is none; says why.
    """
    own, reason = options.first_url.rstrip("/"), "no LLM is loaded on this machine"
    hint = "Load a model in LM Studio, Ollama or llama.cpp, or set [idle_llm] url"
    places = [(kind, own) for kind in (*known, ServerKind("the server", 0, ()))] if own else []
    places += [(kind, f"http://127.0.0.1:{kind.port}/v1") for kind in known]
    answered = set[str]()
    for kind, url in places:
        try:
            check_loopback(url)
            models = {} if url in answered else kind.models(url.removesuffix("/v1"))
            talks = _talking(name for name, on in models.items() if on)
        except (SlowcatError, LookupError, TypeError, AttributeError):
            continue  # it is of another kind, or none
        answered.add(url)
        model = options.model or (talks or [used])[0]
        if model not in models:
            continue
        if url == own or is_own_server(kind.port):
            return ModelServer(kind.name, url, (model,))
        reason = f"{kind.name} at {url} is another user's"
        hint = "Set [idle_llm] url to use it all the same"
    raise EndpointError(reason, hint=hint)


def _fetch(url: str, timeout_s: float = _LOCAL_ANSWER_S) -> Any:
    """Return the JSON at a URL.

    Raises:
        EndpointError: There is none.
    """
    parts = urlsplit(url)
    secure = parts.scheme == "https"
    kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
    try:
        with closing(kind(parts.hostname or "", parts.port, timeout=timeout_s)) as connection:
            connection.request("GET", parts.path)
            response = connection.getresponse()
            body = response.read(_MOST_BYTES)
        if response.status != 200:
            hint = "Does the URL end in /v1?"
            raise EndpointError(f"{url} answers with status {response.status}", hint=hint)
        return json.loads(body)
    except (OSError, http.client.HTTPException, ValueError, RecursionError) as error:
        raise _no_server(url) from error


def _no_server(url: str) -> EndpointError:
    hint = "Is the server running, and does the URL end in /v1?"
    return EndpointError(f"no model server answers at {url}", hint=hint)


def _bypass_proxies(url: str) -> None:
    """Exclude the server's host from the environment's proxies."""
    host = urlsplit(url).hostname or ""
    for name in ("NO_PROXY", "no_proxy"):
        named = [part for part in os.environ.get(name, "").split(",") if part]
        if host not in named:
            os.environ[name] = ",".join([*named, host])


# ------------------------------------------------------------------- the LLM for idle work


FAILURES = 3  # in a row, after which the breaker is open
FIRST_WAIT_S, GROWTH, LONGEST_WAIT_S = 5.0, 2.0, 300.0


class CircuitBreakerLLM:
    """An LLM that gets no prompts while its server is unreachable.

    ``FAILURES`` in a row open the breaker for ``FIRST_WAIT_S``; then the server is probed. A failed
    probe opens it again, ``GROWTH`` times as long, up to ``LONGEST_WAIT_S``. A good one closes it and
    keeps the wait, for it shows less than an answer, which resets it. The first ``ready`` or
    ``complete`` probes. Not locked; a lost update costs one call.

    Attributes:
        inner: The LLM; None while none is found on this machine.
    """

    def __init__(
        self,
        inner: LLM | None,
        probe: Callable[[], Awaitable[bool]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Wrap an LLM.

        Args:
            probe: Checks that the server is reachable, without running the model.
            clock: Monotonic seconds. If it jumps back to before the last failure, the wait is over.
        """
        self.inner, self._probe, self._clock = inner, probe, clock
        self._failures, self._next_wait_s = FAILURES, FIRST_WAIT_S
        self._opened_at, self._wait_s = clock(), 0.0

    @property
    def prompt_tokens(self) -> int:
        return self.inner.prompt_tokens if self.inner else 0

    @property
    def remote(self) -> bool:
        return self.inner is not None and is_remote(self.inner)

    @property
    def found(self) -> bool:
        """Whether there is one: False until the first is found on this machine."""
        return self.inner is not None

    @property
    def seconds_until_probe(self) -> float:
        """Seconds until ``ready`` probes again; 0 if it would now, or if the server is there."""
        passed = self._clock() - self._opened_at
        open_ = self._failures >= FAILURES and 0 <= passed < self._wait_s
        return self._wait_s - passed if open_ else 0.0

    async def ready(self) -> bool:
        """Return whether the LLM is available; probes if due, which takes seconds at most."""
        if self._failures >= FAILURES and not self.seconds_until_probe:
            if await self._probe():
                self._failures = 0
            else:
                self._failed()
        return self._failures < FAILURES

    async def complete(self, prompt: Prompt, into: type[T]) -> Answer[T]:
        """See ``LLM.complete``. Raises ``EndpointError`` at once while the breaker is open."""
        if not await self.ready() or self.inner is None:
            raise EndpointError("the LLM server is away", retry_after=self.seconds_until_probe)
        try:
            answer = await self.inner.complete(prompt, into)
        except EndpointError as error:
            self._failed(error.retry_after)
            raise
        self._failures, self._next_wait_s = 0, FIRST_WAIT_S
        return answer

    def _failed(self, retry_after: float = 0.0) -> None:
        """Count a failure. A ``retry_after`` opens the breaker at once, at least that long."""
        self._failures = max(FAILURES, self._failures) if retry_after else self._failures + 1
        if self._failures >= FAILURES:
            self._opened_at, self._wait_s = self._clock(), max(self._next_wait_s, retry_after)
            self._next_wait_s = min(GROWTH * self._next_wait_s, LONGEST_WAIT_S)

    async def close(self) -> None:
        close = getattr(self.inner, "close", None)
        if close:
            await close()


class LocalLLM(CircuitBreakerLLM):
    """An LLM on this machine; each probe looks for it, see ``find_loaded``."""

    def __init__(self, options: ThinkingOptions) -> None:
        """Look for nothing yet."""
        super().__init__(None, self._look)
        self._options, self._model = options, options.model
        self._place = self._reason = ""

    async def _look(self) -> bool:
        from slowcat_memory.providers.llm.openai import OpenAILLM  # takes half a second

        try:
            server = await asyncio.to_thread(find_loaded, self._options, self._model)
        except EndpointError as error:
            if not self.inner and error.message != self._reason:
                self._reason = error.message
                logger.info(f"No LLM for idle work, for now: {error}")
            return False
        place = f"{label(server.models[0])} of {server.name} at {server.url}"
        if not isinstance(self.inner, OpenAILLM) or place != self._place:
            await self.close()
            self._place, self._model = place, server.models[0]
            self.inner = OpenAILLM(replace(self._options, url=server.url, model=self._model))
            logger.info(f"Idle work uses {place}")
        return await self.inner.probe()


def open_llm(options: ThinkingOptions) -> CircuitBreakerLLM | None:
    """Return the LLM, or None and log a line if no URL is set; nothing is sent yet.

    Another provider is another branch here.

    Raises:
        ConfigError: The URL is malformed.
        EndpointRefusedError: The server is not on this machine, and that is not allowed.
    """
    if not options.url:
        logger.info(
            "No LLM for idle work. To have one, start LM Studio, Ollama or llama.cpp on this "
            'machine and set [idle_llm] url = "auto"'
        )
        return None
    if options.url == AUTO:
        return LocalLLM(options)
    from slowcat_memory.providers.llm.openai import OpenAILLM  # takes half a second

    llm = OpenAILLM(options)
    return CircuitBreakerLLM(llm, llm.probe)
