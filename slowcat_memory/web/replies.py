"""Answers of the page's interface, and what is read from its requests."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec
from aiohttp import web

PAGE, MOST_CHARS = 50, 4000  # rows of a page, and characters of a text that a request has


class Refusal(Exception):
    """A request that is not answered: a status, and why in words for the person."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status, self.words = status, words


def reply(value: Any, status: int = 200) -> web.Response:
    """Return a value as JSON."""
    return web.Response(
        body=msgspec.json.encode(value), status=status, content_type="application/json"
    )


def number(given: Mapping[str, str], name: str, default: int = 0) -> int:
    """Return a parameter that is a number, at least 0.

    Raises:
        Refusal: It is none.
    """
    value = given.get(name, "")
    if not value:
        return default
    if not value.isascii() or not value.isdecimal() or len(value) > 18:
        raise Refusal(400, f"{name} is not a number.")
    return int(value)


def moment(given: Mapping[str, str], name: str) -> datetime | None:
    """Return a parameter that is a time in ISO 8601, in UTC; None when it is not given.

    Raises:
        Refusal: It is no time, or has no time zone.
    """
    value = given.get(name, "")
    if not value:
        return None
    try:
        at = datetime.fromisoformat(value)
    except ValueError:
        at = None
    if at is None or at.tzinfo is None:
        raise Refusal(400, f"{name} is not a time.")
    return at.astimezone(UTC)


def text(given: Mapping[str, Any], name: str) -> str:
    """Return a field of a request's body that is text, without space around it.

    Raises:
        Refusal: It is missing, not text, or longer than ``MOST_CHARS``.
    """
    value = given.get(name)
    if not isinstance(value, str) or not value.strip():
        raise Refusal(400, f"{name} is missing.")
    if len(value) > MOST_CHARS:
        raise Refusal(400, f"{name} is longer than {MOST_CHARS} characters.")
    return value.strip()


async def body(request: web.Request, most: int) -> dict[str, Any]:
    """Return a request's JSON object.

    Raises:
        Refusal: It is none, or larger than ``most`` bytes.
    """
    if request.content_type != "application/json":
        raise Refusal(415, "Only JSON is read.")
    if (request.content_length or 0) > most:
        raise Refusal(413, "That is too much at once.")
    try:
        value = msgspec.json.decode(await request.read())
    except (msgspec.DecodeError, RecursionError):  # brackets in brackets in …
        value = None
    if not isinstance(value, dict):
        raise Refusal(400, "That is not a JSON object.")
    return value
