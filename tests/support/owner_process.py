"""A process of its own that uses a store, as an owner or a client: ``python -m`` with a folder.

It reads commands from standard input, one JSON list a line, and answers each with a line.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any

ROOT = Path(__file__).parents[2]


class OwnerProcess:
    """A running process; ``call`` has it do something."""

    def __init__(self, folder: Path, **sections: dict[str, Any]) -> None:
        """Start it, and wait until its memory is ready."""
        command = [sys.executable, "-m", __name__, str(folder), json.dumps(sections)]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        self.ready = self._answer()

    def call(self, *command: Any, scope: str = "anna") -> Any:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps([scope, *command]) + "\n")
        self.process.stdin.flush()
        return self._answer()

    def _answer(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the process ended"
        return json.loads(line)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(30)

    def __enter__(self) -> "OwnerProcess":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        if self.process.poll() is None:
            self.process.stdin.close()
            self.process.wait(30)
        self.process.stdout.close()


def main() -> None:
    from slowcat_memory.owner.member import Member
    from slowcat_memory.testing import memory_config

    config = memory_config(sys.argv[1], **json.loads(sys.argv[2]))
    member = Member(config, name="other")
    member.start(30)
    print(json.dumps(role(member)), flush=True)
    for line in sys.stdin:
        print(json.dumps(obey(member, *json.loads(line))), flush=True)
    member.release()


def role(member: Any) -> str:
    return "owner" if member.engine else "client" if member.owner else "none"


def obey(member: Any, scope: str, what: str, *arguments: Any) -> Any:
    from tests.support.said import turn_at

    if what == "role":
        return role(member)
    if what == "say":
        acks = [member.append(turn_at(text, scope=scope)) for text in arguments]
        member.flush(30, indexed=True)
        return [ack.id for ack in acks]
    if what == "search":
        return [hit.memory.text for hit in member.search(*arguments).hits]
    raise ValueError(what)


if __name__ == "__main__":
    main()
