"""A client of the page that says exactly what a test wants it to say."""

import json
import re
import socket
from http.client import HTTPConnection
from typing import Any

from msgspec import Struct

from tests.support.page_memory import Running

TIMEOUT_S = 30.0


class Reply(Struct, frozen=True):
    """A status, headers in lower case, and the body as it came."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def value(self) -> Any:
        return json.loads(self.body)


class Client:
    """Talks to the page at an address, after ``enter`` with its key."""

    def __init__(self, url: str) -> None:
        found = re.fullmatch(r"http://(127\.0\.0\.1:(\d+))/\?token=(\S+)", url)
        assert found, url
        self.host, self.port, self.token, self.key = found[1], int(found[2]), found[3], ""

    def enter(self) -> "Client":
        """Open the page with its token; raises ``AssertionError`` when it does not open."""
        self.key = self.done("enter", token=self.token)["key"]
        return self

    def ask(
        self, method: str, path: str, body: bytes | None = None, **headers: str | None
    ) -> Reply:
        """Send a request; a header that is None is left out, ``_`` in names stands for "-"."""
        given = {"Host": self.host, "X-Slowcat": self.key or None}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection = HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT_S)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in given.items():
                if value is not None:
                    connection.putheader(name, value)
            if body is not None:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            found = connection.getresponse()
            lower = {name.lower(): value for name, value in found.getheaders()}
            return Reply(found.status, lower, found.read())
        finally:
            connection.close()

    def read(self, path: str) -> Any:
        found = self.ask("GET", f"/api/{path}")
        assert found.status == 200, found
        return found.value

    def change(self, path: str, **given: Any) -> Reply:
        """Send a change as the page does."""
        body = json.dumps(given).encode()
        return self.ask("POST", f"/api/{path}", body, Content_Type="application/json")

    def done(self, path: str, **given: Any) -> Any:
        found = self.change(path, **given)
        assert found.status == 200, found
        return found.value

    def undo(self, done: Any) -> Reply:
        """Take a change back, as the page's button does."""
        return self.change(done["undo"]["path"], **done["undo"]["given"])


def entered(running: Running) -> Client:
    """Return a client that has opened the page."""
    return Client(running.server.url()).enter()


class Events:
    """The page's events, as the browser hears them."""

    def __init__(self, client: Client) -> None:
        self._client, self._heard = client, b""
        self._line = socket.create_connection(("127.0.0.1", client.port), TIMEOUT_S)

    def __enter__(self) -> "Events":
        host, key = self._client.host, self._client.key
        asked = f"GET /api/events HTTP/1.1\r\nHost: {host}\r\nX-Slowcat: {key}\r\n\r\n"
        self._line.sendall(asked.encode())
        self._more_until(b"\r\n1\r\n\n")  # the first sign of life
        return self

    def __exit__(self, *raised: object) -> None:
        self._line.close()

    def until(self, what: str) -> dict[str, Any]:
        """Return the next event of a kind; events before it are passed over."""
        while True:
            line = self._more_until(b"\n")
            if line.startswith(b"{") and (event := json.loads(line))["what"] == what:
                return event

    def _more_until(self, mark: bytes) -> bytes:
        """Read on to a mark; return what came before it. Chunks' lengths are lines of their own."""
        while mark not in self._heard:
            more = self._line.recv(4096)
            assert more, "the stream has ended"
            self._heard += more
        before, _, self._heard = self._heard.partition(mark)
        return before
