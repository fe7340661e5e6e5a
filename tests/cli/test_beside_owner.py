"""Every command beside a process that has the memory open: none is refused."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from slowcat_memory.cli.app import app
from slowcat_memory.cli.look import KINDS

BOT = """
import sys
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.testing import memory_config
memory = MemoryEngine(memory_config(sys.argv[1]))
print("up", flush=True)
sys.stdin.read()
memory.close()
"""
ELSEWHERE = {  # what runs until it is stopped, or has a store of its own
    "chat": "tests/cli/test_chat.py",
    "demo": "tests/cli/test_demo.py",
    "fleet init": "tests/fleet/test_commands.py",
    "fleet pull": "tests/fleet/test_commands.py",
    "fleet push": "tests/fleet/test_commands.py",
    "fleet status": "tests/fleet/test_commands.py",
    "fleet work": "tests/fleet/test_commands.py",
    "mcp": "tests/mcp",
    "serve": "tests/cli/test_running.py",
    "ui": "tests/web",
}
COMMANDS: dict[str, tuple[tuple[str, ...], ...]] = {
    "search": (("dog",),),
    "show": ((), ("2",), *((kind,) for kind in KINDS)),
    "facts": ((),),
    "people": ((),),
    "timeline": (("Anna",),),
    "as-of": (("yesterday",),),
    "why": ((),),
    "replay": (("--turn", "2"), ("--yes",)),
    "export": (("-o", "out.jsonl"),),
    "import": (("more.txt", "--no-embed"),),
    "remember": (("Max is a spaniel.",),),
    "mark": (("pin", "2"), ("mute", "3"), ("off", "3")),
    "forget": (("4", "--yes"),),
    "undo": (("--list",),),
    "init": (("--no-model",),),
    "idle": (("--job", "facts"),),
    "doctor": ((), ("--repair",)),
    "backup": (("copy.mdb",),),
    "restore": (("copy.mdb", "--yes"),),
    "config check": ((),),
    "config show": ((),),
}
NOTHING = {"show", "facts", "people", "timeline", "as-of", "why", "undo", "doctor"}
"""May have nothing to show, which is exit code 1 and no error."""


def names() -> set[str]:
    """Return the names of all commands, from the command line itself."""
    found = {one.name or "" for one in app.registered_commands}
    for group in app.registered_groups:
        subcommands = {f"{group.name} {one.name or one.callback.__name__}" for one in
                       group.typer_instance.registered_commands}  # fmt: skip
        found |= subcommands
    return found


def test_beside_owner_every_command_is_listed_here() -> None:
    assert names() == COMMANDS.keys() | ELSEWHERE.keys()


@pytest.fixture
def bot(filled) -> Iterator[subprocess.Popen[str]]:
    script = [sys.executable, "-c", BOT, str(filled.store)]
    with subprocess.Popen(script, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as bot:
        assert bot.stdin is not None and bot.stdout is not None
        assert bot.stdout.readline() == "up\n"
        yield bot
        bot.stdin.close()
        assert bot.wait(30) == 0


def test_beside_owner_every_command_works_and_writes_its_memory(filled, bot) -> None:
    (Path(filled.folder) / "more.txt").write_text(
        "# 2024-06-01 10:00\nAnna: Max learned to swim.\n"
    )
    for name, calls in COMMANDS.items():
        for arguments in calls:
            result = filled(*name.split(), *arguments)
            said = f"{name} {arguments}: {result.output}"
            assert result.exit_code == 0 or name in NOTHING, said
            assert "Error:" not in result.output and "readonly" not in result.output, said
    assert [one["pid"] for one in filled.json("show", "stats")["processes"]] == [bot.pid]
    filled.ok("remember", "The spare key hangs behind the clock.", "--pin")
    assert [hit["memory"]["pinned"] for hit in filled.json("search", "spare key")["hits"]][:1] == [
        True
    ]
    filled.ok("forget", "spare key", "--yes")
    assert "clock" not in filled.ok("search", "dog")
    assert filled("search", "spare key").stdout.count("spare key") == 0
