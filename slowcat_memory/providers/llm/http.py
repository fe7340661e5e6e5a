"""Connections to an OpenAI-compatible server of which nothing escapes, in either direction.

Nothing of the environment reaches a request: no key, no organisation, no header, no proxy. No
redirect is followed, nothing is tried again. What a server sends with an error is read to a bound;
compressed replies, which have none, are refused.
"""

from typing import Any

import openai

MAX_COMPLAINT = 64 << 10  # bytes of what a server says with an error
_API_KEY = "local"
_HEADERS = {
    "host",
    "accept",
    "connection",
    "content-type",
    "content-length",
    "authorization",
    "x-stainless-raw-response",  # by it the client remembers that the reply is streamed
}


class RefusedError(Exception):
    """A server answered with an error. Caught in this room, and never shown: it may quote texts.

    Attributes:
        status: The HTTP status; 0 when the error came in the middle of a reply.
        text: What the server said, at most ``MAX_COMPLAINT`` bytes.
        retry_after: Its ``Retry-After`` header, "" without one.
    """

    def __init__(self, status: int, text: str = "", retry_after: str = "") -> None:
        """Keep what the server said.

        Args:
            status: The HTTP status, 0 in the middle of a reply.
            text: What it said.
            retry_after: Its ``Retry-After`` header.
        """
        super().__init__(f"status {status}")
        self.status, self.text, self.retry_after = status, text, retry_after


def connect(url: str, read_s: float, connect_s: float) -> openai.OpenAI:
    """Make a client for threads.

    Args:
        url: The server's base URL.
        read_s: Seconds that a read may wait.
        connect_s: Seconds that connecting may take.

    Returns:
        The client; nothing is sent yet.
    """
    http = openai.DefaultHttpxClient(
        trust_env=False,
        follow_redirects=False,
        timeout=openai.Timeout(read_s, connect=connect_s),
        event_hooks={"request": [_only_our_headers]},
    )
    return openai.OpenAI(base_url=url, api_key=_API_KEY, max_retries=0, http_client=http)


def connect_async(url: str, read_s: float, connect_s: float) -> tuple[openai.AsyncOpenAI, Any]:
    """Make a client for one event loop, whose requests raise ``RefusedError`` on any error.

    Args:
        url: The server's base URL.
        read_s: Seconds that a read may wait.
        connect_s: Seconds that connecting may take.

    Returns:
        The client, and the HTTP client below it; nothing is sent yet.
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
    """Drop what the client takes from the environment, and what it tells about the machine."""
    for name in list(request.headers):
        if name.lower() not in _HEADERS:
            del request.headers[name]
    request.headers["authorization"] = f"Bearer {_API_KEY}"


async def _refuse_errors(response: Any) -> None:
    """Raise before the client would read an error's whole body, however long."""
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        raise RefusedError(response.status_code, "it compresses what it sends")
    if response.status_code == 200:
        return
    body = bytearray()
    async for block in response.aiter_raw():
        body += block
        if len(body) >= MAX_COMPLAINT:
            break
    text = bytes(body[:MAX_COMPLAINT]).decode("utf-8", "replace")
    raise RefusedError(response.status_code, text, response.headers.get("retry-after", ""))
