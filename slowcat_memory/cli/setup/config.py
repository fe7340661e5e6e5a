"""``slowcat-memory config``: which knobs are set, and where that comes from."""

import os
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slowcat_memory.cli.shared.output import count, out, print_json, row, table, warn
from slowcat_memory.cli.shared.settings import AsJson, Settings, settings

if TYPE_CHECKING:
    from slowcat_memory.config import Config

app = typer.Typer(no_args_is_help=True, help="Check and show the configuration.")
HERE = Path("config.toml")
FileArgument = Annotated[
    Path | None,
    typer.Argument(
        help="The file; by default that of --config or SLOWCAT_CONFIG.", show_default=False
    ),
]


@app.command()
def check(ctx: typer.Context, file: FileArgument = None, as_json: AsJson = False) -> None:
    """Read the configuration and the environment, and show every knob that is not at its default.

    A wrong key or value is an error that names its path; the exit code is then 1.

    Example: [bold]slowcat-memory config check config.toml[/]
    """
    known = _known(ctx, file)
    _check_names(known.config)
    set_here = list(changed(known))
    if as_json:
        file_name = str(known.file or "")
        return print_json({"file": file_name, "preset": known.config.preset, "changed": set_here})
    out().print(
        f"[green]✓[/] {known.file or 'No file'}: the configuration is right.", soft_wrap=True
    )
    if known.file is None and HERE.is_file():
        warn(
            "There is a config.toml here, which is not read unless --config or SLOWCAT_CONFIG says so."
        )
    if not set_here:
        out().print("Every knob is at its default.")
        return None
    made = table("knob", "value*", "default", "from")
    for knob in set_here:
        row(made, knob["knob"], knob["value"], knob["default"], knob["from"])
    out().print(made)
    out().print(f"[dim]{count(len(set_here), 'knob')} not at the default[/]")
    return None


@app.command()
def show(ctx: typer.Context, file: FileArgument = None, as_json: AsJson = False) -> None:
    """Show the value of every knob, as TOML.

    Example: [bold]slowcat-memory config show | less[/]
    """
    from rich.text import Text

    from slowcat_memory.cli.setup.config_file import toml

    config = _known(ctx, file).config
    if as_json:
        return print_json(config)
    section = ""
    for path, value, default in _values(config):
        table_, _, key = path.rpartition(".")
        if table_ != section:
            section = table_
            out().print(Text(f"\n[{section}]", style="bold"))
        same = value == default
        line = Text(f"{key} = {toml(value)}", style="" if same else "green")
        out().print(line if same else line.append(f"  # default {toml(default)}", style="dim"))
    return None


def _check_names(config: "Config") -> None:
    """Look up what is named: a scope, a time zone, a language, a model."""
    from slowcat_memory import providers
    from slowcat_memory.config import check_names

    check_names(config)
    _, report = providers.open_query_embedder(config.embedding)
    if report.state == "missing":
        warn(f"Search is by words only: {report.source}. {report.hint}")


def _known(ctx: typer.Context, file: Path | None) -> Settings:
    known = settings(ctx)
    return Settings(file.expanduser(), known.store, known.debug) if file else known


def _values(config: "Config") -> Iterator[tuple[str, Any, Any]]:
    """Walk every knob: path, value, default."""
    from slowcat_memory.config import knobs

    for path, default in knobs():
        value: Any = config
        for name in path.split("."):
            value = getattr(value, name)
        yield path, value, default


def changed(known: Settings) -> Iterator[dict[str, Any]]:
    """List the knobs that are not at their default.

    Args:
        known: The settings.

    Yields:
        Knob, value, default, and where the value comes from.
    """
    for path, value, default in _values(known.config):
        if value != default:
            yield {"knob": path, "value": value, "default": default, "from": _origin(known, path)}


def _origin(known: Settings, path: str) -> str:
    from slowcat_memory.config import PREFIX, PRESETS, SEPARATOR

    variable = PREFIX + path.replace(".", SEPARATOR).upper()
    section, _, key = path.rpartition(".")
    if path == "memory.path" and known.store is not None:
        return "--path"
    if variable in os.environ:
        return variable
    if known.file and _in(tomllib.loads(known.file.read_text()), section, key):
        return str(known.file)
    if _in(PRESETS[known.config.preset], section, key):
        return f"preset {known.config.preset}"
    return "default"


def _in(tables: Any, section: str, key: str) -> bool:
    return key in (tables.get(section, {}) if section else tables)
