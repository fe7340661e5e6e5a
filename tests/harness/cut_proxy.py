"""A proxy on loopback before a PostgreSQL, which cuts a connection where it is ordered to."""

import asyncio
import contextlib
import os
import socket
import sys
import traceback
from urllib.parse import parse_qs, urlsplit

IN_REQUEST, BEFORE_ANSWER = b"r", b"a"


class CutProxy:
    """Forwards connections to a server on a Unix socket, in a process of its own."""

    def __init__(self, dsn: str) -> None:
        """Begin to forward; ``dsn`` is the server's."""
        parts = urlsplit(dsn)
        folder = parse_qs(parts.query)["host"][0]
        listening = socket.create_server(("127.0.0.1", 0))
        port = listening.getsockname()[1]
        self.dsn = f"postgresql://{parts.username}@127.0.0.1:{port}{parts.path}"
        orders, self._orders = os.pipe()
        sys.stdout.flush()
        self._pid = os.fork()
        if self._pid == 0:
            try:
                os.close(self._orders)
                asyncio.run(_forward(listening, f"{folder}/.s.PGSQL.5432", orders))
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(0)
        os.close(orders)
        listening.close()

    def cut(self, where: bytes) -> None:
        """Cut the next connection on which something is sent.

        ``IN_REQUEST`` forwards a part of what the client sends; ``BEFORE_ANSWER`` all of it, and
        nothing of the answer.
        """
        os.write(self._orders, where)

    def close(self) -> None:
        os.close(self._orders)
        os.waitpid(self._pid, 0)


async def _forward(listening: socket.socket, upstream: str, orders: int) -> None:
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    due: list[bytes] = []  # at most one cut waits

    def read_orders() -> None:
        got = os.read(orders, 64)
        due[:] = [got[-1:]]
        if not got:
            loop.remove_reader(orders)
            ended.set()

    async def serve(client: asyncio.StreamReader, answers: asyncio.StreamWriter) -> None:
        try:
            server, requests = await asyncio.open_unix_connection(upstream)
        except OSError:
            answers.transport.abort()
            return
        unanswered = False

        def cut() -> None:
            due.clear()
            for one in (answers, requests):
                one.transport.abort()

        async def ask() -> None:
            nonlocal unanswered
            while piece := await client.read(1 << 16):
                if due == [IN_REQUEST]:
                    requests.write(piece[: len(piece) // 2])
                    with contextlib.suppress(ConnectionError):
                        await requests.drain()
                    return cut()
                if due == [BEFORE_ANSWER]:
                    unanswered = True
                    due.clear()
                requests.write(piece)
                await requests.drain()
            requests.close()

        async def reply() -> None:
            while piece := await server.read(1 << 16):
                if unanswered:
                    return cut()
                answers.write(piece)
                await answers.drain()
            answers.close()

        with contextlib.suppress(ConnectionError):
            await asyncio.gather(ask(), reply())

    loop.add_reader(orders, read_orders)
    async with await asyncio.start_server(serve, sock=listening):
        await ended.wait()
