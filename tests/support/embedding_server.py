"""A real HTTP server on loopback that plays an embeddings endpoint, correct or faulty."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

DIM = 6


class EmbeddingServer(ThreadingHTTPServer):
    """``mode`` sets how it answers; ``requests`` keeps (path, headers, body) of each."""

    daemon_threads = True
    request_queue_size = 64  # a full queue makes the client's system wait a second

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.mode = "good"
        self.requests: list[tuple[str, dict[str, str], Any]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


@contextmanager
def running() -> Iterator[EmbeddingServer]:
    server = EmbeddingServer()
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def vector(text: str, dim: int = DIM) -> list[float]:
    return [float(len(text)), float(sum(map(ord, text)) % 97)] + [2.0] * (dim - 2)


def items(texts: list[str], mode: str) -> list[dict[str, Any]]:
    dim = DIM + (mode == "wider")
    data = [{"index": i, "embedding": vector(text, dim)} for i, text in enumerate(texts)]
    if mode == "short":
        return data[:-1]
    if mode == "twice":
        return data[:1] * len(data)
    if mode == "zero":
        return [item | {"embedding": [0.0] * DIM} for item in data]
    return data[::-1]  # a client must use the index


class _Handler(BaseHTTPRequestHandler):
    server: EmbeddingServer
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.requests.append((self.path, dict(self.headers), request))
        mode = self.server.mode
        if mode == "slow":
            time.sleep(3)
        body = json.dumps({"data": items(request["input"], mode)})
        away = {"location": f"{self.server.url}/elsewhere"}
        match mode:
            case "500":
                self._reply(500, '{"error": "out of memory"}')
            case "redirect":
                self._reply(307, "", away)
            case "html":
                self._reply(200, "<html>hello</html>")
            case _:
                self._reply(
                    200, body.replace("2.0", {"nan": "NaN", "huge": "1e300"}.get(mode, "2.0"))
                )

    def _reply(self, status: int, body: str, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"content-length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        with suppress(OSError):  # the client did not wait
            self.wfile.write(body.encode())

    def log_message(self, *args: Any) -> None: ...
