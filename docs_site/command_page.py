"""Writes docs/command-line.md from the command line itself.

``python -m docs_site.command_page > docs/command-line.md``; ``make docs`` does so, and a test
compares the page with the commands.
"""

import re
import textwrap
from collections.abc import Iterator
from typing import Any

from typer.main import get_command

from slowcat_memory.cli.app import app
from slowcat_memory.cli.shell import CODES

HEAD = """\
# Command line

Every command of `slowcat-memory`, as the program itself describes it. Options of the first table stand before the command: `slowcat-memory --user anna search "dog"`. Every command works while an agent is running, and with `--json`, where it is offered, prints JSON alone."""
LEFT_OUT = {"--help", "--install-completion", "--show-completion"}
MARKUP = re.compile(r"\[/?(?:bold|dim|italic|cyan|green|yellow|red|/)?\]")
EXAMPLES = re.compile(r"\n+Examples?: (.*)", re.S)


def page() -> str:
    """Return the whole page as Markdown."""
    root = get_command(app)
    context = root.make_context("slowcat-memory", ["--help"], resilient_parsing=True)
    commands = list(_below(root, context))
    parts = [HEAD, _options(root), _exit_codes(), *_overview(commands)]
    for command in commands:
        parts += _section(command, "slowcat-memory", context, 2)
    return "\n\n".join(part for part in parts if part) + "\n"


def _below(group: Any, context: Any) -> Iterator[Any]:
    """Yield the commands of a group in the order of its help; none of a plain command."""
    names = group.list_commands(context) if hasattr(group, "list_commands") else []
    for name in names:
        yield group.get_command(context, name)


def _overview(commands: list[Any]) -> Iterator[str]:
    """Yield a table of commands for each panel of the help."""
    panels: dict[str, list[Any]] = {}
    for command in commands:
        panel = getattr(command, "rich_help_panel", None)
        panels.setdefault(panel if isinstance(panel, str) else "Others", []).append(command)
    for panel, those in panels.items():
        rows = [f"| [`{one.name}`](#slowcat-memory-{one.name}) | {_first(one)} |" for one in those]
        yield "\n".join([f"**{panel}**", "", "| command | |", "|---|---|", *rows])


def _exit_codes() -> str:
    rows = [f"| {code} | {meaning} |" for code, meaning in CODES.items()]
    return "\n".join(["| exit code | |", "|---|---|", *rows])


def _first(command: Any) -> str:
    """Return the first paragraph of a command's help, for a table."""
    return _cell(EXAMPLES.sub("", _plain(command.help or "")).partition("\n\n")[0])


def _section(command: Any, above: str, context: Any, level: int) -> Iterator[str]:
    path = f"{above} {command.name}"
    text = _plain(command.help or "")
    examples = EXAMPLES.search(text)
    yield f"{'#' * level} `{path}`"
    yield EXAMPLES.sub("", text).strip()
    yield f"```text\n{path} {_usage(command)}\n```"
    yield _options(command)
    if examples:
        lines = (" ".join(line.split()) for line in re.findall(r"`(.+?)`", examples[1], re.S))
        yield "```sh\n" + "\n".join(lines) + "\n```"
    for below in _below(command, context):
        yield from _section(below, path, context, level + 1)


def _usage(command: Any) -> str:
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    named = [_value(one) if one.required else f"[{_value(one)}]" for one in arguments]
    return " ".join(["[OPTIONS]", *named, *["COMMAND"] * hasattr(command, "list_commands")])


def _options(command: Any) -> str:
    rows = [f"| `{_cell(_names(one))}` | {_cell(_about(one))} |" for one in _shown(command)]
    return "\n".join(["| option | |", "|---|---|", *rows]) if rows else ""


def _shown(command: Any) -> Iterator[Any]:
    for one in command.params:
        if not (getattr(one, "hidden", False) or LEFT_OUT & set(one.opts)):
            yield one


def _names(one: Any) -> str:
    if one.param_type_name == "argument":
        return _value(one)
    names = ", ".join([*one.opts, *one.secondary_opts])
    return names if getattr(one, "is_flag", False) else f"{names} {_value(one)}"


def _value(one: Any) -> str:
    dots = "..." if one.nargs == -1 else ""
    return (one.metavar or one.name.upper().strip("_")) + dots


def _about(one: Any) -> str:
    """Return a parameter's help, and its default where that says something."""
    plain = isinstance(one.default, str | int | float) and not isinstance(one.default, bool)
    tail = f" Default: `{one.default}`." if plain and one.default != "" else ""
    env = f" Environment: `{one.envvar}`." if isinstance(one.envvar, str) else ""
    return _plain(getattr(one, "help", "") or "") + tail + env


def _plain(text: str) -> str:
    """Return a help text as Markdown: bold passages of the terminal are code here."""
    text = textwrap.dedent(text).replace("\f", "").strip()
    text = re.sub(r"\[bold\](.+?)\[/(?:bold)?\]", r"`\1`", text, flags=re.S)
    text = MARKUP.sub("", text).replace("\\[", "[")
    return "\n\n".join(" ".join(one.split()) for one in re.split(r"\n\s*\n", text))


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    print(page(), end="")
