"""Who may talk to the page: one browser on this machine, and nothing that it was lured into.

A page on the loopback interface is reachable by every program and every web site that the machine's
user visits. Each rule here answers one attack, and ``tests/web/test_safety.py`` makes each attack:

- a web site whose name is made to resolve to 127.0.0.1 (DNS rebinding): the Host must be ours;
- another local user, or a program that scans ports: a connection of another user is refused, and
  every read and change needs a key in a header, got only for a one-use token;
- a server on another port of this machine, which gets the cookies of all ports: there is none, and
  the browser keeps the key for this origin alone;
- a form or script of a web site: no form can send the header, the Origin must be ours, and no
  answer allows another origin;
- memory text that is markup: the policy runs no script but the files of this package.
"""

import hashlib
import html
import os
import secrets
import webbrowser
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from aiohttp import web
from loguru import logger

from slowcat_memory.errors import ConfigError, SlowcatError, StoreError, describe_error
from slowcat_memory.providers import loopback
from slowcat_memory.web.context import Refusal, reply

KEY_HEADER = "X-Slowcat"
MOST_BYTES = 64 * 1024  # of a request's body
API, ENTER = "/api/", "/api/enter"

POLICY = (
    "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "object-src 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
    "Server": "slowcat-memory",
}

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def _new(hashes: set[bytes]) -> str:
    hashes.add(_hash(secret := secrets.token_urlsafe(32)))
    return secret


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode(errors="surrogateescape")).digest()


class Guard:
    """Checks each request before a handler sees it, and each answer before it leaves.

    Of tokens and keys only hashes are kept and compared, so that the time of a comparison says nothing
    of them. Belongs to the page's event loop.

    Attributes:
        port: The port that the page listens on; 0 until it does, and nothing is answered then.
    """

    def __init__(self) -> None:
        self._tokens, self._keys, self.port = set[bytes](), set[bytes](), 0

    def token(self) -> str:
        """Return a new token: it opens the page once."""
        return _new(self._tokens)

    def redeem(self, token: str) -> str | None:
        """Return a new key for a token, which is then used; None for any other."""
        if _hash(token) not in self._tokens:
            return None
        self._tokens.remove(_hash(token))
        return _new(self._keys)

    def check(self, request: web.Request) -> None:
        """Let a request pass.

        Raises:
            Refusal: It is not this page's, or not of this browser.
        """
        ends = request.get_extra_info("peername"), request.get_extra_info("sockname")
        if loopback.can_tell() and not (all(ends) and loopback.is_own_user(*ends)):
            raise Refusal(403, "This page belongs to another user of this machine.")
        names = ("127.0.0.1", "localhost", "[::1]") if self.port else ()
        hosts = [f"{name}:{self.port}" for name in names]
        if request.headers.getall("Host", []) not in ([host] for host in hosts):
            raise Refusal(421, "This page answers under its own address only.")
        if request.headers.get("Sec-Fetch-Site", "same-origin") not in ("same-origin", "none"):
            if request.path != "/":  # a link, or the file that opens the page, may lead to it
                raise Refusal(403, "This request comes from another page.")
        origin = request.headers.get("Origin")
        if origin is not None and origin not in {f"http://{host}" for host in hosts}:
            raise Refusal(403, "This request comes from another page.")
        if request.path.startswith(API) and request.path != ENTER:
            if _hash(request.headers.get(KEY_HEADER, "")) not in self._keys:
                raise Refusal(401, "Open the address that `slowcat-memory ui` prints.")

    @web.middleware
    async def middleware(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Run around every handler."""
        try:
            self.check(request)
            return await handler(request)
        except Exception as error:
            return refused(error)


async def add_headers(request: web.Request, response: web.StreamResponse) -> None:
    """Add the headers to an answer, whoever made it: a signal of the application."""
    for name, value in HEADERS.items():
        response.headers[name] = value


def refused(error: Exception) -> web.Response:
    """Return the answer to an error: what it means for the person; details go to the log alone."""
    if isinstance(error, Refusal):
        return reply({"error": error.words}, error.status)
    if isinstance(error, web.HTTPException):
        return reply({"error": error.reason}, error.status)
    if isinstance(error, (ConfigError, ValueError, KeyError)):
        logger.debug("the page: a request that cannot be answered: {}", describe_error(error))
        return reply({"error": "The memory cannot do that."}, 400)
    level = "WARNING" if isinstance(error, SlowcatError) else "ERROR"
    logger.log(level, "the page: a request failed: {}", describe_error(error))
    if isinstance(error, StoreError):
        return reply({"error": "The memory cannot be read or changed now. Try again."}, 503)
    return reply({"error": "Something went wrong; the terminal says what."}, 500)


# ------------------------------------------------------------------- opening the browser
# Command lines are public (``ps``), so the browser gets the name of a private file, which leads it to
# the page; the file is deleted when the page ends.

FILE = "open.html"


@contextmanager
def private_link(url: str) -> Iterator[Path]:
    """Write a file that leads to an address, readable by this user alone, while the context lasts."""
    safe = html.escape(url, quote=True)
    leading = (
        '<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer">'
        f'<meta http-equiv="refresh" content="0; url={safe}"><title>slowcat</title>'
        f'<a href="{safe}">Open the page</a>\n'
    )
    place = os.environ.get("XDG_RUNTIME_DIR", "")
    within = place if place and os.access(place, os.W_OK) else None
    with TemporaryDirectory(prefix="slowcat-page-", dir=within) as folder:  # this user's alone
        file = Path(folder, FILE)
        with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
            out.write(leading)
        yield file


def open_browser(file: Path, opener: Callable[[str], bool] = webbrowser.open) -> bool:
    """Open a file in the user's browser; return whether one was found."""
    try:
        return opener(file.as_uri())
    except (OSError, webbrowser.Error):
        return False
