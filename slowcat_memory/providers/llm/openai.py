"""The LLM that idle thinking asks: any OpenAI-compatible server, of which the worst is expected.

Every reply is streamed, since most servers stop for a client that hangs up only then, and read
within deadlines: connecting, the first token, between two tokens, the whole. Nothing is tried
again here but a refused way of asking (``ladder.py``) and, once, an answer that cannot be used.
Whatever goes wrong is one of three errors, and none of them quotes a text.
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
from slowcat_memory.providers.llm.base import Answer, Prompt
from slowcat_memory.providers.llm.factory import ThinkingOptions
from slowcat_memory.providers.llm.http import RefusedError, connect_async
from slowcat_memory.providers.llm.json_modes import Ladder, Rung
from slowcat_memory.providers.llm.parsing import parse
from slowcat_memory.providers.llm.server_errors import meaning_of, seconds_to_wait
from slowcat_memory.providers.llm.server_info import Server, look
from slowcat_memory.providers.llm.streaming import (
    MAX_EVENT,
    BrokenError,
    Completion,
    read_completion,
)
from slowcat_memory.providers.loopback import check_loopback, host_and_port

T = TypeVar("T", bound=Struct)

UNKNOWN_CONTEXT_PROMPT = 2500  # tokens: fits into 4,096, the least that servers run with
SHARE_OF_CONTEXT = (
    0.6  # for the prompt; the estimate may be wrong by a third, and the answer is long
)
TRUNCATED_BELOW = 0.6  # of our estimate: a server that read less has cut the prompt
TRUNCATION_SEEN_FROM = 256  # tokens; the estimate is too rough below
_DAY_S = 86_400.0
_HARMLESS = Prompt(job="probe", version=1, system="Answer in JSON.", user="Say {}.", max_tokens=8)


class _Anything(Struct):
    """An answer of which nothing is wanted."""


class OpenAILLM:
    """Asks one server, one prompt at a time. Belongs to the event loop that uses it."""

    def __init__(
        self, options: ThinkingOptions, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Prepare; nothing is sent yet.

        Args:
            options: Which server, and how patient to be.
            clock: Seconds that never go back; for tests.

        Raises:
            ConfigError: The URL is malformed.
            EndpointRefusedError: The server is not on this machine, and that is not allowed.
        """
        self.name = host_and_port(options.url)
        self._options, self._clock = options, clock
        self._ladder = Ladder()
        self._server: Server | None = None
        self._answered_by = ""
        self._client: openai.AsyncOpenAI | None = None
        self._http: Any = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._warned: float | None = None
        with contextlib.suppress(EndpointError):  # a name that is not known may be, later
            self._check_host()

    @property
    def prompt_tokens(self) -> int:
        """Tokens that a prompt may have, instruction included."""
        context = self._context()
        return int(context * SHARE_OF_CONTEXT) if context else UNKNOWN_CONTEXT_PROMPT

    @property
    def remote(self) -> bool:
        """Whether it is on another machine, or nowhere: what is local-only may not go there."""
        try:
            check_loopback(self._options.url)
        except (EndpointRefusedError, EndpointError):
            return True
        return False

    async def probe(self) -> bool:
        """Ask the server what it is; cheap, and no model thinks.

        Returns:
            Whether it is there and offers a model.
        """
        try:
            self._check_host()
            self._server = await look(self._get, self._options.model)
        except (EndpointError, EndpointRefusedError):
            self._server = None
        return self._server is not None

    async def complete(self, prompt: Prompt, into: type[T]) -> Answer[T]:
        """Ask; see ``LLM.complete``.

        Args:
            prompt: The question.
            into: Type of the answer.

        Returns:
            The answer.

        Raises:
            EndpointError: The server is away, refuses, or took too long.
            BadAnswerError: The answer cannot be used, after one repair.
            PromptTooLongError: The prompt is longer than the server reads.
        """
        try:
            self._check_host()
        except EndpointRefusedError as error:
            raise EndpointError(error.message, hint=error.hint) from error
        spent = [0, 0]
        try:
            return await self._answer(prompt, into, spent)
        except BadAnswerError as error:
            logger.debug(f"{prompt.job}: the LLM's answer cannot be used: {error.message}")
            return await self._answer(_repaired(prompt, error.message), into, spent)

    async def close(self) -> None:
        """Close the connections; the next call opens new ones."""
        if self._client:
            await self._client.close()
        self._client = None

    async def _answer(self, prompt: Prompt, into: type[T], spent: list[int]) -> Answer[T]:
        if not self._server and not await self.probe():
            raise self._away("cannot be reached, or offers no model")
        assert self._server
        self._refuse_what_never_fits(prompt)
        done = await self._climb(prompt, into, self._server)
        spent[0] += done.tokens_in
        spent[1] += done.tokens_out
        self._refuse_truncated(prompt, done)
        model = self._fingerprint(done, self._server)
        value = parse(done.text, into)
        return Answer(value=value, model=model, tokens_in=spent[0], tokens_out=spent[1])

    async def _climb(self, prompt: Prompt, into: type[T], server: Server) -> Completion:
        """Ask in the strictest way that the server takes."""
        key = (self._options.url, server.model, server.kind)
        rung = self._ladder.rung(key)
        while True:
            try:
                done = await self._send(prompt, into, server, rung)
            except RefusedError as refused:
                if self._is_last(rung, refused) and await self._answers(server, rung):
                    raise BadAnswerError("the server refuses this request, and no other") from None
                rung = self._next(rung, refused)
            else:
                self._ladder.took(key, rung)
                return done

    def _is_last(self, rung: Rung, refused: RefusedError) -> bool:
        """Tell whether the server finds fault with a request in the plainest way of asking."""
        meaning = meaning_of(refused.status, refused.text)
        return meaning in ("form", "counting") and not rung.below(meaning == "counting")

    async def _answers(self, server: Server, rung: Rung) -> bool:
        """Tell whether the server answers a small harmless request, asked in the same way.

        If it does, the refused request is at fault, not the server: it is a bad answer, of which a
        task has only so many, and no reason to leave the server alone.
        """
        try:
            await self._send(_HARMLESS, _Anything, server, rung)
        except BadAnswerError:  # it answered; what, is all the same
            return True
        except (EndpointError, RefusedError):
            return False
        return True

    def _next(self, rung: Rung, refused: RefusedError) -> Rung:
        """Step down, or raise what the refusal means."""
        meaning = meaning_of(refused.status, refused.text)
        if meaning == "too long":
            raise PromptTooLongError("the prompt is longer than the LLM reads") from None
        if meaning == "bad answer":
            raise BadAnswerError("the server could not read the LLM's answer") from None
        if meaning in ("form", "counting") and (lower := rung.below(meaning == "counting")):
            return lower
        self._server = None  # whatever it is now, it is asked again what it is
        wait_s = seconds_to_wait(refused.retry_after)
        what = f"answered {refused.status}" if refused.status else "broke off with an error"
        hint = "Name a model that it has" if meaning == "unknown model" else ""
        raise self._away(what, hint, wait_s) from None

    async def _send(self, prompt: Prompt, into: type[T], server: Server, rung: Rung) -> Completion:
        """Send one request, and see that its connection is closed whatever happens.

        Raises:
            RefusedError: The server answered with an error.
            BadAnswerError: The answer was cut off, or had no end.
            EndpointError: The server is away, broke off, or took too long.
        """
        options = self._options
        temperature = options.temperature if options.temperature >= 0 else prompt.temperature
        try:
            async with (
                asyncio.timeout(options.total_s),
                asyncio.timeout(options.first_token_s) as patience,
                self._connected().chat.completions.with_streaming_response.create(
                    model=server.model,
                    messages=[
                        {"role": "system", "content": _sendable(rung.system(prompt.system, into))},
                        {"role": "user", "content": _sendable(prompt.user)},
                    ],
                    max_tokens=prompt.max_tokens + options.reasoning_tokens,
                    temperature=temperature,
                    stream=True,
                    **rung.arguments(prompt.job, into),
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
        except Exception as error:  # the client's, and those of what it is made of
            if isinstance(error.__cause__, RefusedError):
                raise error.__cause__ from None
            raise self._away(f"cannot be reached ({type(error).__name__})") from None

    async def _get(self, path: str) -> Any:
        """Get JSON from the server's root, within a second or two; None when it fails."""
        parts = urlsplit(self._options.url)
        root = self._options.url.rstrip("/") if path.startswith("/v1/") else ""
        url = root + path[3:] if root else f"{parts.scheme}://{parts.netloc}{path}"
        patience_s = 2 * self._options.connect_s
        try:
            async with asyncio.timeout(patience_s):
                self._connected()
                body = b""
                async with self._http.stream("GET", url) as reply:
                    async for block in reply.aiter_bytes():
                        body += block
                        if len(body) > MAX_EVENT:
                            return None
                return json.loads(body)
        except Exception:  # whatever it is, the server does not tell
            return None

    def _connected(self) -> openai.AsyncOpenAI:
        """Take the client, a new one in another event loop: its connections belong to one."""
        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:
            total_s, connect_s = self._options.total_s, self._options.connect_s
            self._client, self._http = connect_async(self._options.url, total_s, connect_s)
            self._loop = loop
        return self._client

    def _context(self) -> int:
        return self._options.context_tokens or (self._server.context if self._server else 0)

    def _refuse_what_never_fits(self, prompt: Prompt) -> None:
        context = self._context()
        if context and _size(prompt) > context:
            raise PromptTooLongError(f"the prompt is longer than the {context} tokens of the LLM")

    def _refuse_truncated(self, prompt: Prompt, done: Completion) -> None:
        size = _size(prompt)
        if size >= TRUNCATION_SEEN_FROM and 0 < done.tokens_in < TRUNCATED_BELOW * size:
            raise PromptTooLongError(
                f"the LLM read {done.tokens_in} tokens of about {size}: its server cuts prompts",
                hint="Give the model a longer context, or set thinking.context_tokens",
            )

    def _fingerprint(self, done: Completion, server: Server) -> str:
        """Name who answered; when that changes, the server is asked again what it is."""
        parts = [f"{done.model or server.model}@{server.kind}", done.fingerprint]
        name = ":".join(part for part in parts if part)[:200]
        if self._answered_by and name != self._answered_by:
            logger.info(f"Another LLM thinks: {name}, before it {self._answered_by}")
            self._server = None
        self._answered_by = name
        return name

    def _check_host(self) -> None:
        """Refuse another machine, or warn once a day when it is allowed."""
        check_loopback(self._options.url, self._options.allow_remote)
        if not self._options.allow_remote:
            return
        try:
            check_loopback(self._options.url)
        except Exception:  # not here, or nowhere
            now = self._clock()
            if self._warned is None or now - self._warned >= _DAY_S:
                self._warned = now
                logger.warning(f"Memories leave this machine for the LLM at {self.name}")

    def _away(self, what: str, hint: str = "", retry_after: float = 0.0) -> EndpointError:
        return EndpointError(
            f"the LLM server at {self.name} {what}", hint=hint, retry_after=retry_after
        )


def _repaired(prompt: Prompt, why: str) -> Prompt:
    """Ask again, with the fault named; the prompt stays as it was before that, and cached."""
    more = (
        f"\n\nAn earlier answer could not be used: {why}. Answer again, with the JSON object only."
    )
    return replace(prompt, user=prompt.user + more)


def _size(prompt: Prompt) -> int:
    return estimate_tokens(prompt.system) + estimate_tokens(prompt.user)


def _sendable(text: str) -> str:
    """Drop lone surrogates, which cannot be sent."""
    return text.encode("utf-8", "ignore").decode("utf-8")
