"""Isolated connections to an OpenAI-compatible server.

Nothing of the environment reaches a request: no key, organisation, header or proxy. Redirects are
not followed, nothing is retried. A reply is read up to a limit; compressed ones, whose size has no
limit, are refused.
"""

from collections.abc import AsyncIterator
from typing import Any

import openai

MAX_BYTES = 16 << 20  # of a whole stream: a token takes about 250 bytes, reasoning included
API_KEY = "local"
_HEADERS = {
    "host",
    "accept",
    "connection",
    "content-type",
    "content-length",
    "authorization",
    "x-stainless-raw-response",  # marks a streamed reply for the client
}


def connect(url: str, read_s: float, connect_s: float) -> openai.AsyncOpenAI:
    """Return a client for one event loop; nothing is sent yet."""

    async def cleaned(request: Any) -> None:
        only_our_headers(request)
        request.headers["connection"] = "close"  # a server may close a kept one as it is used again

    hooks: dict[str, Any] = {"request": [cleaned], "response": [_limit]}
    http = openai.DefaultAsyncHttpxClient(**_isolated(read_s, connect_s), event_hooks=hooks)
    return openai.AsyncOpenAI(base_url=url, api_key=API_KEY, max_retries=0, http_client=http)


def connect_for_threads(url: str, read_s: float, connect_s: float) -> openai.OpenAI:
    """Return a client for threads, whose replies have no limit of their own."""
    hooks: dict[str, Any] = {"request": [only_our_headers]}
    http = openai.DefaultHttpxClient(**_isolated(read_s, connect_s), event_hooks=hooks)
    return openai.OpenAI(base_url=url, api_key=API_KEY, max_retries=0, http_client=http)


def _isolated(read_s: float, connect_s: float) -> dict[str, Any]:
    timeout = openai.Timeout(read_s, connect=connect_s)
    return {"trust_env": False, "follow_redirects": False, "timeout": timeout}


def only_our_headers(request: Any) -> None:
    """Remove headers from the environment, and those that describe this machine."""
    for name in list(request.headers):
        if name.lower() not in _HEADERS:
            del request.headers[name]
    request.headers["authorization"] = f"Bearer {API_KEY}"


async def _limit(response: Any) -> None:
    """Let the reply break off after ``MAX_BYTES``; the client would read errors and lines whole."""
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        raise ValueError("it compresses what it sends")
    read = response.aiter_bytes

    async def limited(chunk_size: int | None = None) -> AsyncIterator[bytes]:
        async for block in read(chunk_size):
            if response.num_bytes_downloaded > MAX_BYTES:
                raise ValueError("it answers without an end")
            yield block

    response.aiter_bytes = limited
