"""Every command beside a process that has the memory open: none is refused."""

from slowcat_memory.cli.app import app
from slowcat_memory.cli.look import KINDS
from tests.support.other_process import OtherProcess

ELSEWHERE = {  # what runs until it is stopped, or has a store of its own
    "chat", "demo", "mcp", "serve", "ui",
    "fleet housekeeping", "fleet init", "fleet pull", "fleet push", "fleet status", "fleet work",
}  # fmt: skip
COMMANDS: dict[str, tuple[tuple[str, ...], ...]] = {
    "search": (("dog",),),
    "show": ((), ("2",), *((kind,) for kind in KINDS)),
    "facts": ((),),
    "people": ((),),
    "timeline": (("Anna",),),
    "as-of": (("yesterday",),),
    "why": ((),),
    "replay": (("--dry-run",), ("--yes",)),
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
    assert names() == COMMANDS.keys() | ELSEWHERE


def test_beside_owner_every_command_works_and_writes_its_memory(filled) -> None:
    with OtherProcess(filled.store) as bot:
        (filled.folder / "more.txt").write_text("# 2024-06-01 10:00\nAnna: Max learned to swim.\n")
        for name, calls in COMMANDS.items():
            for arguments in calls:
                result = filled(*name.split(), *arguments)
                said = f"{name} {arguments}: {result.output}"
                assert result.exit_code == 0 or name in NOTHING, said
                assert "Error:" not in result.output and "readonly" not in result.output, said
        assert [one["pid"] for one in filled.json("show", "stats")["processes"]] == [
            bot.process.pid
        ]
        filled.ok("remember", "The spare key hangs behind the clock.", "--pin")
        assert [hit["memory"]["pinned"] for hit in filled.json("search", "spare key")["hits"]][
            :1
        ] == [True]
        filled.ok("forget", "spare key", "--yes")
        assert "clock" not in filled.ok("search", "dog")
        assert filled("search", "spare key").stdout.count("spare key") == 0
