"""The scripted LLM server in a process of its own, as a local LLM is; it ends with its parent.

``serving`` starts this module as a program, which prints its URL and serves until its input ends.
"""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from slowcat_memory.testing.server import ScriptedServer

ANSWER = "I see."


@contextmanager
def serving() -> Iterator[str]:
    """Start the server; it answers every chat request with ``ANSWER``.

    Yields:
        Its base URL.
    """
    command = [sys.executable, "-m", "benchmarks.server_process"]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert server.stdin and server.stdout
    try:
        url = server.stdout.readline().strip()
        if not url:
            raise RuntimeError("the LLM server did not start")
        yield url
    finally:
        server.stdin.close()
        server.wait()
        server.stdout.close()


async def _program() -> None:
    async with ScriptedServer(reply=lambda _: ANSWER) as server:
        print(server.url, flush=True)
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(_program())
