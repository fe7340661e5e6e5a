"""Client for LLMs behind any OpenAI-compatible server; trusts nothing that a server sends.

Every reply is streamed, because most servers stop for a client that hangs up only then, and read
within deadlines: connecting, the first token, between two tokens, the whole. Only two things are
retried here: a refused JSON mode (``json_modes.py``) and, once, an unusable answer. Every failure
is one of three errors; none quotes a text.
"""

import asyncio
import contextlib
import json
import time
from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import urlsplit

import openai
from loguru import logger
from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.text.normalize import estimate_tokens
from slowcat_memory.errors import (
    BadAnswerError,
    EndpointError,
    EndpointRefusedError,
    PromptTooLongError,
)
from slowcat_memory.providers.llm.base import Answer, Prompt, ThinkingOptions
from slowcat_memory.providers.llm.context_size import ContextSizes, was_cut
from slowcat_memory.providers.llm.http import RefusedError, connect_async
from slowcat_memory.providers.llm.json_modes import JsonMode, JsonModes
from slowcat_memory.providers.llm.reply_parsing import parse_reply
from slowcat_memory.providers.llm.server_info import (
    Server,
    ServerError,
    classify,
    identify,
    label,
    seconds_to_wait,
)
from slowcat_memory.providers.llm.streaming import (
    MAX_EVENT,
    BrokenError,
    Completion,
    read_completion,
)
from slowcat_memory.providers.loopback import check_loopback, host_and_port

T = TypeVar("T", bound=Struct)

MODE_ERRORS = (ServerError.JSON_MODE, ServerError.COUNTING)
_DAY_S = 86_400.0
_TEST_PROMPT = Prompt(
    job="probe", version=1, system="Answer in JSON.", user="Say {}.", max_tokens=8
)


class _Anything(Struct):
    """An answer whose content does not matter."""


class OpenAILLM:
    """Sends prompts to one server, one at a time. Belongs to the event loop that uses it."""

    def __init__(
        self, options: ThinkingOptions, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Check the URL; nothing is sent yet.

        Raises:
            ConfigError: The URL is malformed.
            EndpointRefusedError: The server is not on this machine, and that is not allowed.
        """
        self.name = host_and_port(options.url)
        self._options, self._clock = options, clock
        self._json_modes, self._contexts = JsonModes(), ContextSizes()
        self._server: Server | None = None
        self._answered_by: dict[str, str] = {}  # fingerprint by wanted model
        self._client: openai.AsyncOpenAI | None = None
        self._http: Any = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._warned_at: float | None = None
        with contextlib.suppress(
            EndpointError
        ):  # a host name that does not resolve may do so later
            self._check_host()

    @property
    def prompt_tokens(self) -> int:
        return self._contexts.prompt_tokens(self._place(), self._told())

    @property
    def remote(self) -> bool:
        """True as well if the host name does not resolve."""
        try:
            check_loopback(self._options.url)
        except (EndpointRefusedError, EndpointError):
            return True
        return False

    async def probe(self) -> bool:
        """Return whether the server is reachable and offers a model. Cheap: no model runs."""
        try:
            self._check_host()
            self._server = await identify(self._get, self._options.model)
        except (EndpointError, EndpointRefusedError):
            self._server = None
        return self._server is not None

    async def complete(self, prompt: Prompt, into: type[T]) -> Answer[T]:
        try:
            self._check_host()
        except EndpointRefusedError as error:
            raise EndpointError(error.message, hint=error.hint) from error
        spent = [0, 0]
        try:
            return await self._answer(prompt, into, spent)
        except BadAnswerError as error:
            logger.debug(f"{prompt.job}: the LLM's answer cannot be used: {error.message}")
            again = _with_fault_named(prompt, error.message)
            return await self._answer(again, into, spent, prose=True)

    async def close(self) -> None:
        """Close the connections; the next call opens new ones."""
        if self._client:
            await self._client.close()
        self._client = None

    async def _answer(
        self, prompt: Prompt, into: type[T], spent: list[int], *, prose: bool = False
    ) -> Answer[T]:
        if not self._server:
            await self.probe()
        server = self._server
        if not server:
            raise self._away("cannot be reached, or offers no model")
        self._check_fits(prompt)
        done, began, ended = await self._in_best_mode(prompt, into, server)
        spent[0] += done.tokens_in
        spent[1] += done.tokens_out
        self._check_not_truncated(prompt, done)
        model = self._fingerprint(done, server, prompt.model)
        parsed = parse_reply(done.text, into, prose=prose and done.whole)
        if parsed.lost:
            logger.debug(f"{prompt.job}: parts of the LLM's answer are left out: {parsed.lost}")
        return Answer(
            value=parsed.value,
            model=model,
            tokens_in=spent[0],
            tokens_out=spent[1],
            lost=parsed.lost,
            whole=parsed.whole,  # JSON that ends is whole, also at the most tokens
            tries=2 if prose else 1,
            first_s=max(done.first_at - began, 0.0),
            total_s=ended - began,
        )

    async def _in_best_mode(
        self, prompt: Prompt, into: type[T], server: Server
    ) -> tuple[Completion, float, float]:
        """Return a completion, and when its request began and ended, by the event loop's time."""
        loop = asyncio.get_running_loop()
        key = (self._options.url, prompt.model or server.model, server.kind)
        mode = self._json_modes.mode_of(key)
        while True:
            began = loop.time()
            try:
                done = await self._send(prompt, into, server, mode)
            except RefusedError as refused:
                if self._is_weakest_refused(mode, refused) and await self._answers_others(
                    server, mode, prompt.model
                ):
                    raise BadAnswerError("the server refuses this request, and no other") from None
                if classify(refused.status, refused.text) is ServerError.TOO_LONG:
                    place = self._place(prompt.model)
                    self._contexts.refused(place, self._told(), _size(prompt), refused.text)
                mode = self._next_mode(mode, refused)
            else:
                self._json_modes.remember(key, mode)
                return done, began, loop.time()

    def _is_weakest_refused(self, mode: JsonMode, refused: RefusedError) -> bool:
        error = classify(refused.status, refused.text)
        return error in MODE_ERRORS and not mode.weaker(error is ServerError.COUNTING)

    async def _answers_others(self, server: Server, mode: JsonMode, model: str) -> bool:
        """Return whether the server answers a small harmless request in the same mode.

        If so, the request is at fault, not the server: that counts as a bad answer, of which a task
        has few tries, and does not open the circuit breaker.
        """
        try:
            await self._send(replace(_TEST_PROMPT, model=model), _Anything, server, mode)
        except BadAnswerError:  # the server answered
            return True
        except (EndpointError, RefusedError):
            return False
        return True

    def _next_mode(self, mode: JsonMode, refused: RefusedError) -> JsonMode:
        """Return the next weaker mode, or raise the error that the refusal means."""
        error = classify(refused.status, refused.text)
        if error is ServerError.TOO_LONG:
            raise PromptTooLongError("the prompt is longer than the LLM reads") from None
        if error is ServerError.BAD_ANSWER:
            raise BadAnswerError("the server could not read the LLM's answer") from None
        if error in MODE_ERRORS and (weaker := mode.weaker(error is ServerError.COUNTING)):
            return weaker
        self._server = None  # it may be another one now: probe again
        wait_s = seconds_to_wait(refused.retry_after)
        what = f"answered {refused.status}" if refused.status else "broke off with an error"
        hint = "Name a model that it has" if error is ServerError.UNKNOWN_MODEL else ""
        raise self._away(what, hint, wait_s) from None

    async def _send(
        self, prompt: Prompt, into: type[T], server: Server, mode: JsonMode
    ) -> Completion:
        """Send one request; its connection is closed whatever happens.

        Raises:
            RefusedError: The server answered with an error.
            BadAnswerError: The answer was cut off, or had no end.
            EndpointError: The server is away, broke off, or took too long.
        """
        options = self._options
        temperature = prompt.temperature if options.temperature < 0 else options.temperature
        if prompt.job_temperature is not None:
            temperature = prompt.job_temperature
        try:
            async with (
                asyncio.timeout(options.total_s),
                asyncio.timeout(options.first_token_s) as patience,
                self._connected().chat.completions.with_streaming_response.create(
                    model=prompt.model or server.model,
                    messages=[
                        {"role": "system", "content": _sendable(mode.system(prompt.system, into))},
                        {"role": "user", "content": _sendable(prompt.user)},
                    ],
                    max_tokens=prompt.max_tokens + options.reasoning_tokens,
                    temperature=temperature,
                    stream=True,
                    **mode.arguments(prompt.job, into),
                ) as reply,
            ):
                return await read_completion(
                    reply.iter_bytes(),
                    patience,
                    options.between_tokens_s,
                    options.max_answer_chars,
                )
        except (RefusedError, BadAnswerError):
            raise
        except (TimeoutError, openai.APITimeoutError):
            raise self._away("took too long") from None
        except BrokenError as error:
            raise self._away(str(error)) from None
        except Exception as error:  # of the client and of the libraries below it
            if isinstance(error.__cause__, RefusedError):
                raise error.__cause__ from None
            raise self._away(f"cannot be reached ({type(error).__name__})") from None

    async def _get(self, path: str) -> Any:
        """Return JSON from a path of the server, within a second or two; None on failure."""
        parts = urlsplit(self._options.url)
        root = self._options.url.rstrip("/") if path.startswith("/v1/") else ""
        url = root + path[3:] if root else f"{parts.scheme}://{parts.netloc}{path}"
        timeout_s = 2 * self._options.connect_s
        try:
            async with asyncio.timeout(timeout_s):
                self._connected()
                body = b""
                async with self._http.stream("GET", url) as reply:
                    async for block in reply.aiter_bytes():
                        body += block
                        if len(body) > MAX_EVENT:
                            return None
                return json.loads(body)
        except Exception:  # any failure means "unknown"
            return None

    def _connected(self) -> openai.AsyncOpenAI:
        """Return the client, a new one for another event loop: connections belong to one loop."""
        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:
            total_s, connect_s = self._options.total_s, self._options.connect_s
            self._client, self._http = connect_async(self._options.url, total_s, connect_s)
            self._loop = loop
        return self._client

    def _told(self) -> int:
        """Return the context length that is configured or that the server tells, 0 for neither."""
        return self._options.context_tokens or (self._server.context if self._server else 0)

    def _place(self, model: str = "") -> tuple[str, str]:
        """Return what a context length belongs to."""
        return self._options.url, model or (self._server.model if self._server else "")

    def _check_fits(self, prompt: Prompt) -> None:
        """Refuse a prompt that was made before the context length was known, or became smaller."""
        place, told, size = self._place(prompt.model), self._told(), _size(prompt)
        context = self._contexts.known(place, told)
        room = self._contexts.prompt_tokens(place, told)
        if context and size > room and size + prompt.max_tokens > context:
            raise PromptTooLongError(
                f"the prompt and its answer are longer than the {context} tokens of the LLM"
            )

    def _check_not_truncated(self, prompt: Prompt, done: Completion) -> None:
        size, place = _size(prompt), self._place(prompt.model)
        if was_cut(size, done.tokens_in, known=self._told() > 0):
            self._contexts.refused(place, self._told(), size)
            raise PromptTooLongError(
                f"the LLM read {done.tokens_in} tokens of about {size}: its server cuts prompts",
                hint="Give the model a longer context, or set idle_llm.context_tokens",
            )

    def _fingerprint(self, done: Completion, server: Server, wanted: str) -> str:
        """Return the fingerprint of the model that answered; probe again if it changed."""
        model = done.model or label(wanted) or server.name
        parts = [f"{model}@{server.kind}", done.fingerprint]
        name = ":".join(part for part in parts if part)
        before = self._answered_by.get(wanted, name)
        if name != before:
            logger.info(f"The LLM changed from {before} to {name}")
            self._server = None
        self._answered_by[wanted] = name
        return name

    def _check_host(self) -> None:
        """Refuse a server on another machine, or warn once a day if that is allowed."""
        check_loopback(self._options.url, self._options.allow_remote)
        if not self._options.allow_remote:
            return
        try:
            check_loopback(self._options.url)
        except Exception:  # on another machine, or its name does not resolve
            now = self._clock()
            if self._warned_at is None or now - self._warned_at >= _DAY_S:
                self._warned_at = now
                logger.warning(f"Memories leave this machine for the LLM at {self.name}")

    def _away(self, what: str, hint: str = "", retry_after: float = 0.0) -> EndpointError:
        return EndpointError(
            f"the LLM server at {self.name} {what}", hint=hint, retry_after=retry_after
        )


def _with_fault_named(prompt: Prompt, why: str) -> Prompt:
    """Append the fault, so that the cached beginning of the prompt stays the same."""
    more = (
        f"\n\nAn earlier answer could not be used: {why}. Answer again, with the JSON object only."
    )
    return replace(prompt, user=prompt.user + more)


def _size(prompt: Prompt) -> int:
    return estimate_tokens(prompt.system) + estimate_tokens(prompt.user)


def _sendable(text: str) -> str:
    return text.encode("utf-8", "ignore").decode("utf-8")
