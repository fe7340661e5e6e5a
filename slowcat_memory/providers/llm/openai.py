"""Client for LLMs behind any OpenAI-compatible server; trusts nothing that a server sends.

Every reply is streamed, because most servers stop for a client that hangs up only then, and read
within deadlines: connecting, the first token, between two tokens, the whole. Only two things are
retried here: a refused JSON mode (``JsonMode``) and, once, an unusable answer. Every failure
is one of three errors; none quotes a text.
"""

import asyncio
import contextlib
import json
import time
from collections.abc import Callable
from typing import Any, TypeVar

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
from slowcat_memory.providers.llm import server as servers
from slowcat_memory.providers.llm.base import Answer, Prompt, ThinkingOptions
from slowcat_memory.providers.llm.http import connect
from slowcat_memory.providers.llm.reply_parsing import MAX_CHARS, parse_reply
from slowcat_memory.providers.llm.server import JsonMode, Server, ServerError, label
from slowcat_memory.providers.loopback import check_loopback, host_and_port, is_elsewhere

T = TypeVar("T", bound=Struct)

MAX_ERROR_CHARS = 64 << 10
_DAY_S = 86_400.0
_TEST_PROMPT = Prompt(
    job="probe", version=1, system="Answer in JSON.", user="Say {}.", max_tokens=8
)


class _Anything(Struct):
    """An answer whose content does not matter."""


class _RefusedError(Exception):
    """The server answered with an error. Never shown: its text may quote the prompt.

    Attributes:
        status: The HTTP status; 0 when the error came in the middle of a reply.
    """

    def __init__(self, status: int, text: str, retry_after: str = "") -> None:
        super().__init__(f"status {status}")
        self.status, self.text, self.retry_after = status, text[:MAX_ERROR_CHARS], retry_after


class _Completion(Struct, frozen=True, kw_only=True):
    text: str
    model: str  # as the server names it, "" if it does not
    fingerprint: str  # the server's ``system_fingerprint``, "" without one
    tokens_in: int  # prompt tokens, 0 if the server does not count
    tokens_out: int  # tokens of the answer, or streamed pieces if the server does not count
    whole: bool  # False if it was cut off at the most tokens


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
        self._learned: dict[str, int] = {}  # context lengths, by model
        # what each (model, kind of server) accepted last
        self._modes: dict[tuple[str, str], JsonMode] = {}
        self._server: Server | None = None
        self._answered_by: dict[str, str] = {}  # fingerprint by wanted model
        self._client = connect(options.url, options.total_s, options.connect_s)
        self._warned_at: float | None = None
        with contextlib.suppress(EndpointError):  # a host's name may resolve later
            self._check_host()

    @property
    def prompt_tokens(self) -> int:
        options, server = self._options, self._server
        return self._room(server.model(options.model) if server else options.model)

    @property
    def remote(self) -> bool:
        """True as well if the host name does not resolve."""
        return is_elsewhere(self._options.url)

    async def probe(self) -> bool:
        """Return whether the server is reachable and offers a model. Cheap: no model runs."""
        options, self._server = self._options, None
        with contextlib.suppress(EndpointError, EndpointRefusedError):
            self._check_host()
            server = await asyncio.to_thread(
                servers.read_server, options.url, 2 * options.connect_s
            )
            if server.model(options.model):
                self._server = server
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
            # At the end, so that the cached beginning of the prompt stays the same.
            fault = f"An earlier answer could not be used: {error.message}."
            wish = "Answer again, with the JSON object only."
            again = replace(prompt, user=f"{prompt.user}\n\n{fault} {wish}")
            return await self._answer(again, into, spent, prose=True)

    async def close(self) -> None:
        """Close the connections, for good."""
        await self._client.close()

    async def _answer(
        self, prompt: Prompt, into: type[T], spent: list[int], *, prose: bool = False
    ) -> Answer[T]:
        if not self._server:
            await self.probe()
        server = self._server
        if not server:
            raise self._away("cannot be reached, or offers no model")
        prompt = replace(prompt, model=server.model(prompt.model or self._options.model))
        self._check_fits(prompt)
        done = await self._in_best_mode(prompt, into, server.kind)
        spent[0] += done.tokens_in
        spent[1] += done.tokens_out
        self._check_not_truncated(prompt, done)
        model = self._fingerprint(done, server.kind, prompt.model)
        answer = parse_reply(done.text, into, prose=prose and done.whole)
        if answer.lost:
            logger.debug(f"{prompt.job}: parts of the LLM's answer are left out: {answer.lost}")
        return replace(answer, model=model, tokens_in=spent[0], tokens_out=spent[1])

    async def _in_best_mode(self, prompt: Prompt, into: type[T], kind: str) -> _Completion:
        key = (prompt.model, kind)
        mode = self._modes.get(key, JsonMode())
        while True:
            try:
                done = await self._send(prompt, into, mode)
            except _RefusedError as refused:
                mode = await self._weaker(refused, mode, prompt)
            else:
                self._modes[key] = mode
                return done

    async def _weaker(self, refused: _RefusedError, mode: JsonMode, prompt: Prompt) -> JsonMode:
        """Return the next weaker mode, or raise the error that the refusal means."""
        error = servers.classify(refused.status, refused.text)
        if error in (ServerError.JSON_MODE, ServerError.COUNTING):
            if weaker := mode.weaker(error is ServerError.COUNTING):
                return weaker
            if await self._answers_others(mode, prompt.model):
                raise BadAnswerError("the server refuses this request, and no other") from None
        if error is ServerError.TOO_LONG:
            self._learn(prompt.model)
            raise PromptTooLongError("the prompt is longer than the LLM reads") from None
        if error is ServerError.BAD_ANSWER:
            raise BadAnswerError("the server could not read the LLM's answer") from None
        self._server = None  # it may be another one now: probe again
        wait_s = servers.seconds_to_wait(refused.retry_after)
        what = f"answered {refused.status}" if refused.status else "broke off with an error"
        hint = "Name a model that it has" if error is ServerError.UNKNOWN_MODEL else ""
        raise self._away(what, hint, wait_s) from None

    async def _answers_others(self, mode: JsonMode, model: str) -> bool:
        """Return whether the server answers a small harmless request in the same mode.

        If so, the request is at fault, not the server: that counts as a bad answer, of which a task
        has few tries, and does not open the circuit breaker.
        """
        try:
            with contextlib.suppress(BadAnswerError):  # the server answered
                await self._send(replace(_TEST_PROMPT, model=model), _Anything, mode)
        except (EndpointError, _RefusedError):
            return False
        return True

    async def _send(self, prompt: Prompt, into: type[T], mode: JsonMode) -> _Completion:
        """Send one request; its connection is closed whatever happens.

        Raises:
            _RefusedError: The server answered with an error.
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
                await self._client.chat.completions.create(
                    model=prompt.model,
                    messages=[
                        {"role": "system", "content": _sendable(mode.system(prompt.system, into))},
                        {"role": "user", "content": _sendable(prompt.user)},
                    ],
                    max_tokens=prompt.max_tokens + options.reasoning_tokens,
                    temperature=temperature,
                    stream=True,
                    **mode.arguments(prompt.job, into),
                ) as stream,
            ):
                return await _read(stream, patience, options)
        except BadAnswerError:
            raise
        except (TimeoutError, openai.APITimeoutError):
            raise self._away("took too long") from None
        except openai.APIStatusError as error:
            reply = error.response
            wait = reply.headers.get("retry-after", "")
            raise _RefusedError(reply.status_code, reply.text, wait) from None
        except Exception as error:  # of the client and of the libraries below it
            if isinstance(error, openai.APIError) and error.body:  # in the middle of a reply
                raise _RefusedError(0, json.dumps(error.body)) from None
            what = f"cannot be reached, or sent no completion ({type(error).__name__})"
            raise self._away(what) from None

    def _told(self, model: str) -> int:
        """Return the context length that is configured or that the server tells, 0 for neither."""
        read = self._server.models.get(model) if self._server else 0
        return self._options.context_tokens or read or 0

    def _context(self, model: str) -> int:
        """Return the context length in tokens: the smaller of what was told and learned, 0 for none."""
        return min(filter(None, (self._told(model), self._learned.get(model, 0))), default=0)

    def _room(self, model: str) -> int:
        """Return how many tokens a prompt may have."""
        return int((self._context(model) or servers.ASSUMED) * servers.SHARE_OF_CONTEXT)

    def _learn(self, model: str) -> None:
        """Learn from a prompt that was refused as too long, or was cut."""
        if not self._told(model):
            half = (self._context(model) or servers.ASSUMED) // 2
            self._learned[model] = max(half, servers.SMALLEST)

    def _check_fits(self, prompt: Prompt) -> None:
        """Refuse a prompt that was made before the context length was known, or became smaller."""
        model, size = prompt.model, _size(prompt)
        context = self._context(model)
        if context and size > self._room(model) and size + prompt.max_tokens > context:
            raise PromptTooLongError(
                f"the prompt and its answer are longer than the {context} tokens of the LLM"
            )

    def _check_not_truncated(self, prompt: Prompt, done: _Completion) -> None:
        size = _size(prompt)
        if servers.was_cut(size, done.tokens_in, known=self._told(prompt.model) > 0):
            self._learn(prompt.model)
            raise PromptTooLongError(
                f"the LLM read {done.tokens_in} tokens of about {size}: its server cuts prompts",
                hint="Give the model a longer context, or set idle_llm.context_tokens",
            )

    def _fingerprint(self, done: _Completion, kind: str, wanted: str) -> str:
        """Return the fingerprint of the model that answered; probe again if it changed."""
        model = done.model or label(wanted)
        name = ":".join(filter(None, (f"{model}@{kind}", done.fingerprint)))
        before = self._answered_by.get(wanted, name)
        if name != before:
            logger.info(f"The LLM changed from {before} to {name}")
            self._server = None
        self._answered_by[wanted] = name
        return name

    def _check_host(self) -> None:
        """Refuse a server on another machine, or warn once a day if that is allowed."""
        check_loopback(self._options.url, self._options.allow_remote)
        now = self._clock()
        is_due = self._warned_at is None or now - self._warned_at >= _DAY_S
        if self._options.allow_remote and is_due and self.remote:
            self._warned_at = now
            logger.warning(f"Memories leave this machine for the LLM at {self.name}")

    def _away(self, what: str, hint: str = "", retry_after: float = 0.0) -> EndpointError:
        return EndpointError(
            f"the LLM server at {self.name} {what}", hint=hint, retry_after=retry_after
        )


async def _read(
    stream: openai.AsyncStream[Any], patience: asyncio.Timeout, options: ThinkingOptions
) -> _Completion:
    """Read a completion that the LLM ended itself, or that reached the most tokens.

    Reasoning that a server sends separately extends the time limit, and is discarded.

    Args:
        patience: Time limit, extended by ``between_tokens_s`` with each token.

    Raises:
        BadAnswerError: It did not end, is too long, or was cut off before anything.
        EOFError: It broke off.
        Exception: Anything: the client does not check the types of what a server sends.
    """
    loop = asyncio.get_running_loop()
    texts: list[str] = []
    size = pieces = 0
    model = fingerprint = finish = ""
    usage = None
    async for chunk in stream:
        model = label(chunk.model or "") or model
        fingerprint = label(chunk.system_fingerprint or "") or fingerprint
        usage = chunk.usage or usage
        for choice in (chunk.choices or [])[:1]:
            finish = choice.finish_reason or finish
            delta = choice.delta
            thought = getattr(delta, "reasoning_content", "") or getattr(delta, "reasoning", "")
            if delta.content or thought:
                patience.reschedule(loop.time() + options.between_tokens_s)
                pieces += 1
            texts.append(delta.content or "")
            size += len(texts[-1])
            if size > MAX_CHARS:
                raise BadAnswerError(f"it is longer than {MAX_CHARS} characters")
    if not finish:
        raise EOFError
    text = "".join(texts)
    if finish == "length" and not text.strip():
        raise BadAnswerError("it was cut off: be shorter")
    if finish not in ("stop", "length"):
        raise BadAnswerError("it did not end")
    return _Completion(
        text=text,
        model=model,
        fingerprint=fingerprint,
        tokens_in=max(usage and usage.prompt_tokens or 0, 0),
        tokens_out=max(usage and usage.completion_tokens or pieces, 0),
        whole=finish == "stop",
    )


def _size(prompt: Prompt) -> int:
    return estimate_tokens(prompt.system) + estimate_tokens(prompt.user)


def _sendable(text: str) -> str:
    return text.encode("utf-8", "ignore").decode("utf-8")
