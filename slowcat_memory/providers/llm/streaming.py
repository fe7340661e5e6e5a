"""Reads a streamed completion within limits of time and size.

Reasoning that a server sends separately resets the time limit, and is discarded.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import msgspec
from msgspec import Struct

from slowcat_memory.errors import BadAnswerError
from slowcat_memory.providers.llm.http import RefusedError
from slowcat_memory.providers.llm.server_info import label

MAX_BYTES = 16 << 20  # of a whole stream: a token takes about 250 bytes, reasoning included
MAX_EVENT = 1 << 20  # of one event, or of a reply that is not streamed


class Completion(Struct, frozen=True, kw_only=True):
    """A completion."""

    text: str
    model: str  # as the server names it, "" if it does not
    fingerprint: str  # the server's ``system_fingerprint``, "" without one
    tokens_in: int  # prompt tokens, 0 if the server does not count
    tokens_out: int  # tokens of the answer, or streamed pieces if the server does not count
    whole: bool = True  # False if it was cut off at the most tokens
    first_at: float = 0.0  # time of the event loop at the first token, 0 if there was none


class BrokenError(Exception):
    """The reply is malformed or incomplete; the message quotes nothing."""


class _Delta(Struct):
    content: str | None = None
    reasoning_content: Any = None
    reasoning: Any = None


class _Choice(Struct):
    delta: _Delta | None = None
    message: _Delta | None = None  # of a server that does not stream
    finish_reason: str | None = None


class _Usage(Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _Chunk(Struct):
    choices: list[_Choice] | None = None
    model: str | None = None
    system_fingerprint: str | None = None
    usage: _Usage | None = None
    error: Any = None


async def read_completion(
    blocks: AsyncIterator[bytes],
    patience: asyncio.Timeout,
    between_tokens_s: float,
    max_chars: int,
) -> Completion:
    """Read a completion that the LLM ended itself, or that reached the most tokens.

    Args:
        patience: Time limit, extended by ``between_tokens_s`` with each token.

    Raises:
        BadAnswerError: It did not end, is longer than ``max_chars``, or was cut off before anything.
        BrokenError: The reply is not a completion, or has no end.
        RefusedError: The server reported an error in the middle of it.
    """
    loop = asyncio.get_running_loop()
    texts: list[str] = []
    size, pieces, first_at = 0, 0, 0.0
    model = fingerprint = finish = ""
    usage = _Usage()
    async for event in _events(blocks):
        chunk = _chunk(event)
        model = label(chunk.model or "") or model
        fingerprint = label(chunk.system_fingerprint or "") or fingerprint
        usage = chunk.usage or usage
        for choice in (chunk.choices or [])[:1]:
            finish = choice.finish_reason or finish
            delta = choice.delta or choice.message or _Delta()
            if delta.content or delta.reasoning_content or delta.reasoning:
                patience.reschedule(loop.time() + between_tokens_s)
                pieces += 1
                first_at = first_at or loop.time()
            texts.append(delta.content or "")
            size += len(texts[-1])
            if size > max_chars:
                raise BadAnswerError(f"it is longer than {max_chars} characters")
    if not finish:
        raise BrokenError("broke off in the middle of an answer")
    text = "".join(texts)
    if finish == "length" and not text.strip():
        raise BadAnswerError("it was cut off: be shorter")
    if finish not in ("stop", "length"):
        raise BadAnswerError("it did not end")
    return Completion(
        text=text,
        model=model,
        fingerprint=fingerprint,
        tokens_in=max(usage.prompt_tokens or 0, 0),
        tokens_out=max(usage.completion_tokens or pieces, 0),
        whole=finish == "stop",
        first_at=first_at,
    )


async def _events(blocks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the data of each event; the whole body if there are no events."""
    total, rest, plain = 0, b"", b""
    seen = False
    async for block in blocks:
        total += len(block)
        *lines, rest = (rest + block).split(b"\n")
        if total > MAX_BYTES or len(rest) > MAX_EVENT or len(plain) > MAX_EVENT:
            raise BrokenError("answered without an end")
        for line in lines:
            if line.startswith(b"data:"):
                data = line[5:].strip()
                if data == b"[DONE]":
                    return
                seen = True
                yield data
            elif not seen:
                plain += line + b"\n"
    if rest.startswith(b"data:"):
        if (data := rest[5:].strip()) != b"[DONE]":
            yield data
    elif not seen and (plain + rest).strip():
        yield plain + rest


def _chunk(data: bytes) -> _Chunk:
    try:
        chunk = msgspec.convert(json.loads(data), _Chunk)
    except (ValueError, RecursionError, msgspec.MsgspecError):
        raise BrokenError("answered something that is no completion") from None
    if chunk.error is not None:
        raise RefusedError(0, json.dumps(chunk.error)[: 64 << 10])
    return chunk
