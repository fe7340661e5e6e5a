"""``slowcat-memory ui`` as a person starts it: a process, an address, Ctrl-C."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta

import pytest

from slowcat_memory.engine import MemoryEngine
from tests.cli.conftest import CHAT, CommandLine
from tests.support.memories import Look
from tests.support.other_process import python
from tests.support.page_client import Client
from tests.support.stores import configured

TIMEOUT_S = 60.0


@contextmanager
def started(cli: CommandLine, *args: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run the command without a browser; yield its process and the printed address."""
    command = f"-m slowcat_memory --config {cli.config} --path {cli.store} ui --no-browser"
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, *command.split(), *args], stdout=pipe, stderr=pipe, text=True
    ) as process:
        try:
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


def test_the_printed_address_shows_the_only_person_until_ctrl_c(sm: CommandLine) -> None:
    (sm.folder / "chat.txt").write_text(CHAT)
    sm.ok("import", "chat.txt", "--no-embed", "--user", "anna")
    with started(sm) as (process, url):
        client = Client(url).enter()
        words = [row["words"] for row in client.read("said/conversations")["rows"]]
        assert "We moved to Lisbon." in words
        checks = {row["what"]: row for row in client.read("health/doctor")["rows"]}
        assert checks["store"]["state"] == "fine"
        process.send_signal(signal.SIGINT)
        assert process.wait(TIMEOUT_S) == 0
        assert "Traceback" not in process.stderr.read()
    assert "Lisbon" in sm.ok("search", "Where did Ben move?")  # nobody holds the store any more


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGHUP])
def test_what_was_ordered_to_be_forgotten_is_forgotten_however_the_page_ends(filled, number):
    with started(filled) as (process, url):
        client = Client(url).enter()
        talk = client.read("said/conversations")["rows"][0]
        client.done("forget", session=talk["id"])
        process.send_signal(number)
        assert process.wait(TIMEOUT_S) == (0 if number == signal.SIGHUP else -number)
    assert "Lisbon" not in filled("search", "Where did Ben move?").stdout
    later = datetime.now(UTC) + timedelta(minutes=1)
    with closing(MemoryEngine(configured(filled.store), clock=lambda: later)) as engine:
        engine.flush(indexed=True)
        kept = " ".join(turn.text for turn in Look(engine).turns())
    assert "Lisbon" not in kept and "Max" in kept


def test_a_taken_port_is_an_error_in_one_line(filled: CommandLine) -> None:
    with started(filled) as (process, url):
        port = Client(url).port
        asked = f"--path {filled.store} ui --no-browser --port {port}"
        other = python("-m", "slowcat_memory", *asked.split())
        assert other.returncode == 1
        assert f"cannot listen on port {port}" in " ".join(other.stderr.split())
        assert process.poll() is None
