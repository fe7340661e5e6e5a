"""Every command beside a process that has the memory open: none is refused."""

import shlex

from slowcat_memory.cli.app import app
from slowcat_memory.cli.look import KINDS
from tests.support.other_process import OtherProcess
from tests.support.rows import listed, listed_texts

# What runs until it is stopped, or has a store of its own.
ELSEWHERE = {*listed_texts("cli/beside_owner", "elsewhere")}
CALLS = [("show", [kind], "maybe") for kind in KINDS]
CALLS += [
    (name, shlex.split(given), maybe) for name, given, maybe in listed("cli/beside_owner", "beside")
]


def names() -> set[str]:
    """Return the names of all commands, from the command line itself."""
    found = {one.name or "" for one in app.registered_commands}
    return found | {
        f"{group.name} {one.name or one.callback.__name__}"
        for group in app.registered_groups
        for one in group.typer_instance.registered_commands
    }


def test_beside_owner_every_command_is_listed_here() -> None:
    assert names() == {name for name, _, _ in CALLS} | ELSEWHERE


def test_beside_owner_every_command_works_and_writes_its_memory(filled) -> None:
    with OtherProcess(filled.store) as bot:
        (filled.folder / "more.txt").write_text("# 2024-06-01 10:00\nAnna: Max learned to swim.\n")
        for name, arguments, maybe in CALLS:
            result = filled(*name.split(), *arguments)
            said = f"{name} {arguments}: {result.output}"
            assert result.exit_code == 0 or maybe, said
            assert "Error:" not in result.output and "readonly" not in result.output, said
        (other,) = filled.json("show", "stats")["processes"]
        assert other["pid"] == bot.process.pid
        filled.ok("remember", "The spare key hangs behind the clock.", "--pin")
        assert filled.json("search", "spare key")["hits"][0]["memory"]["pinned"] is True
        filled.ok("forget", "spare key", "--yes")
        assert "clock" not in filled.ok("search", "dog")
        assert filled("search", "spare key").stdout.count("spare key") == 0
