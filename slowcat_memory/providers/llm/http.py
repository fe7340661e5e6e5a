"""Isolated connections to an OpenAI-compatible server.

Nothing of the environment reaches a request: no key, organisation, header or proxy. Redirects are
not followed, nothing is retried. The body of an error is read up to a limit; compressed replies,
whose size has no limit, are refused.
"""

from typing import Any

import openai

MAX_ERROR_BYTES = 64 << 10  # of an error's body
_API_KEY = "local"
_HEADERS = {
    "host",
    "accept",
    "connection",
    "content-type",
    "content-length",
    "authorization",
    "x-stainless-raw-response",  # marks a streamed reply for the client
}


class RefusedError(Exception):
    """A server answered with an error. Caught in this package, never shown: it may quote texts.

    Attributes:
        status: The HTTP status; 0 when the error came in the middle of a reply.
        text: The body, at most ``MAX_ERROR_BYTES`` bytes.
        retry_after: Its ``Retry-After`` header, "" without one.
    """

    def __init__(self, status: int, text: str = "", retry_after: str = "") -> None:
        super().__init__(f"status {status}")
        self.status, self.text, self.retry_after = status, text, retry_after


def connect(url: str, read_s: float, connect_s: float) -> openai.OpenAI:
    """Return a client for threads; nothing is sent yet."""
    http = openai.DefaultHttpxClient(
        trust_env=False,
        follow_redirects=False,
        timeout=openai.Timeout(read_s, connect=connect_s),
        event_hooks={"request": [_only_our_headers]},
    )
    return openai.OpenAI(base_url=url, api_key=_API_KEY, max_retries=0, http_client=http)


def connect_async(url: str, read_s: float, connect_s: float) -> tuple[openai.AsyncOpenAI, Any]:
    """Return a client for one event loop, and its HTTP client; nothing is sent yet.

    Its requests raise ``RefusedError`` on any error.
    """

    async def only_our_headers(request: Any) -> None:
        _only_our_headers(request)

    http = openai.DefaultAsyncHttpxClient(
        trust_env=False,
        follow_redirects=False,
        timeout=openai.Timeout(read_s, connect=connect_s),
        event_hooks={"request": [only_our_headers], "response": [_refuse_errors]},
    )
    client = openai.AsyncOpenAI(base_url=url, api_key=_API_KEY, max_retries=0, http_client=http)
    return client, http


def _only_our_headers(request: Any) -> None:
    """Remove headers from the environment, and those that describe this machine."""
    for name in list(request.headers):
        if name.lower() not in _HEADERS:
            del request.headers[name]
    request.headers["authorization"] = f"Bearer {_API_KEY}"


async def _refuse_errors(response: Any) -> None:
    """Raise before the client would read the whole body of an error, of any length."""
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        raise RefusedError(response.status_code, "it compresses what it sends")
    if response.status_code == 200:
        return
    body = bytearray()
    async for block in response.aiter_raw():
        body += block
        if len(body) >= MAX_ERROR_BYTES:
            break
    text = bytes(body[:MAX_ERROR_BYTES]).decode("utf-8", "replace")
    raise RefusedError(response.status_code, text, response.headers.get("retry-after", ""))
