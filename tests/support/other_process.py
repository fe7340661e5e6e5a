"""A process of its own that uses a store: ``python -m`` with a folder.

It reads commands from standard input, one JSON list a line, and answers each with a line.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

ROOT = Path(__file__).parents[2]
WAIT_S = 120.0  # for an answer; a process that hangs is killed, and its test fails


def python(
    *arguments: str, timeout_s: float = 240.0, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end; it finds this package, and has what is printed as text."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    command, out = [sys.executable, *arguments], {"capture_output": True, "text": True}
    return subprocess.run(command, errors="replace", timeout=timeout_s, env=env, **out)


def printed_by(code: str, *arguments: object, ends: int = 0) -> str:
    """Run code in a process of its own; return what it prints."""
    done = python("-c", code, *map(str, arguments))
    assert done.returncode == ends, done.stderr
    return done.stdout


class OtherProcess:
    """A running process; ``call`` has it do something."""

    def __init__(self, folder: Path, **sections: dict[str, Any]) -> None:
        """Start it, and wait until its memory is ready."""
        command = [sys.executable, "-m", __name__, str(folder), json.dumps(sections)]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        try:
            self.ready = self._answer()
        except BaseException:
            self.kill()
            raise

    def call(self, *command: Any, scope: str = "anna") -> Any:
        self.process.stdin.write(json.dumps([scope, *command]) + "\n")
        self.process.stdin.flush()
        return self._answer()

    def _answer(self) -> Any:
        watch = threading.Timer(WAIT_S, self.process.kill)
        watch.start()
        try:
            line = self.process.stdout.readline()
        finally:
            watch.cancel()
        assert line, "the process ended, or did not answer"
        return json.loads(line)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(30)

    def __enter__(self) -> "OtherProcess":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if self.process.poll() is None and kind is None:
                self.process.stdin.close()
                self.process.wait(WAIT_S)
        finally:
            self.kill()
            self.process.stdout.close()


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    """Stop a process; it does nothing more until the block ends."""
    os.kill(pid, signal.SIGSTOP)
    try:
        ends = time.monotonic() + WAIT_S
        while not _is_stopped(pid):
            assert time.monotonic() < ends, "it goes on"
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def _is_stopped(pid: int) -> bool:
    """Whether each of its threads is stopped: a signal reaches them one after another."""
    tasks = Path(f"/proc/{pid}/task")
    if not tasks.exists():  # no procfs: the signal is all there is
        return True
    try:
        stats = [(task / "stat").read_text() for task in tasks.iterdir()]
    except (FileNotFoundError, ProcessLookupError):  # a thread ended meanwhile
        return False
    states = [stat.rpartition(")")[2].split()[0] for stat in stats]
    return all(state in "Tt" for state in states)


def main() -> None:
    from slowcat_memory.engine import MemoryEngine
    from slowcat_memory.store.care import copies
    from slowcat_memory.testing import memory_config

    copies.CONFIRM_S = WAIT_S  # on a busy machine the others confirm late
    engine = MemoryEngine(memory_config(sys.argv[1], **json.loads(sys.argv[2])))
    print(json.dumps(os.getpid()), flush=True)
    for line in sys.stdin:
        print(json.dumps(obey(engine, *json.loads(line))), flush=True)
    engine.close()


def obey(engine: Any, scope: str, what: str, *arguments: Any) -> Any:
    from slowcat_memory.records import Forget
    from tests.support.said import turn_at

    if what == "say":
        acks = [engine.append(turn_at(text, scope=scope)) for text in arguments]
        engine.flush(30, indexed=True)
        return [ack.id for ack in acks]
    if what == "search":
        return [hit.memory.text for hit in engine.search(arguments[0], scope).hits]
    if what == "forget":
        gone = engine.forget(Forget(turns=tuple(arguments)))
        return [gone.erased, list(gone.problems)]
    if what == "note":
        return engine.remember(arguments[0], scope).id
    if what == "seal":
        return engine.upkeep.seal(scope)
    if what == "idle turn":
        with engine.store.idle_turn() as is_free:
            return is_free
    raise ValueError(what)


if __name__ == "__main__":
    main()
