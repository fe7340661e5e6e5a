import importlib.util
import json
import queue
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

READY_S = 30.0


class Llama(NamedTuple):
    """A running server."""

    letters: str
    url: str

    def busy(self) -> bool:
        with urllib.request.urlopen(self.url.removesuffix("/v1") + "/slots", timeout=5) as reply:
            return any(slot["is_processing"] for slot in json.load(reply))


@pytest.fixture(scope="session", params=["byte", "ascii"])
def llama(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator:
    """A real llama.cpp server with a model that was drawn at random."""
    for package in ("xllamacpp", "gguf"):
        if not importlib.util.find_spec(package):
            pytest.skip(f"{package} (extra: dev) is not installed, or has no build for this system")
    from tests.llama.tiny_gguf import write_model

    model = tmp_path_factory.mktemp("llama") / f"{request.param}.gguf"
    write_model(model, request.param)
    serve = Path(__file__).with_name("serve.py")
    process = subprocess.Popen(
        [sys.executable, str(serve), str(model)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    try:
        yield Llama(request.param, f"{_address(process)}/v1")
    finally:
        process.stdin.close()
        process.wait(30)


def _address(process: subprocess.Popen[str]) -> str:
    """Read where the server listens."""
    lines: queue.Queue[str] = queue.Queue()

    def read() -> None:
        for line in process.stdout:
            lines.put(line)
        lines.put("ended")

    threading.Thread(target=read, daemon=True).start()
    while not (line := lines.get(timeout=READY_S)).startswith("ready "):
        assert line != "ended", "the llama.cpp server ended before it listened"
    return line.split()[1]
