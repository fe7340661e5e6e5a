"""``slowcat-memory config``: the knobs in effect, and the source of each value."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slowcat_memory.cli.shared.output import count, out, print_json, row, table, warn
from slowcat_memory.cli.shared.settings import AsJson, Settings, settings

if TYPE_CHECKING:
    from slowcat_memory.config import Config

app = typer.Typer(no_args_is_help=True, help="Check and show the configuration.")
FileArgument = Annotated[
    Path | None,
    typer.Argument(
        help="The file; by default that of --config or SLOWCAT_CONFIG, else ~/.slowcat/config.toml.",
        show_default=False,
    ),
]


@app.command()
def check(ctx: typer.Context, file: FileArgument = None, as_json: AsJson = False) -> None:
    """Read the configuration and the environment, and show every option that is not at its default.

    A wrong key or value is an error that names its path; the exit code is then 1.

    Example: [bold]slowcat-memory config check config.toml[/]
    """
    known = _known(ctx, file)
    _check_names(known.config)
    changed = list(changed_options(known))
    used = known.file_read
    if as_json:
        return print_json(
            {"file": str(used or ""), "preset": known.config.preset, "changed": changed}
        )
    if used is None:
        out().print("No configuration file; using the defaults.")
    else:
        out().print(f"[green]✓[/] {used}: the configuration is valid.", soft_wrap=True)
    if not changed:
        if used is not None:
            out().print("Every knob is at its default.")
        return None
    made = table("knob", "value*", "default", "from")
    for option in changed:
        row(made, option["knob"], option["value"], option["default"], option["from"])
    out().print(made)
    out().print(f"[dim]{count(len(changed), 'knob')} not at the default[/]")
    if expert := [option["knob"] for option in changed if option["expert"]]:
        warn(f"Expert options, without support: {', '.join(expert)}.")
    return None


@app.command()
def show(
    ctx: typer.Context,
    file: FileArgument = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Every knob with its meaning, and the expert options.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show the value of every knob, as TOML.

    Examples: [bold]slowcat-memory config show[/], [bold]slowcat-memory config show --all | less[/]
    """
    from slowcat_memory.config import KNOBS
    from slowcat_memory.config.knobs import value_of

    config = _known(ctx, file).config
    if as_json:
        return print_json(config)
    if everything:
        return _show_reference(config)
    section = ""
    for knob in KNOBS:
        section = _heading(knob.path, section)
        _line(knob.path.rpartition(".")[2], value_of(config, knob.target), _defaults()[knob.target])
    return None


def _show_reference(config: "Config") -> None:
    """Print every knob with its sentence, and every expert option."""
    from slowcat_memory.cli.setup.config_file import expert_options, sentence
    from slowcat_memory.config import KNOBS
    from slowcat_memory.config.knobs import value_of

    section = ""
    for knob in KNOBS:
        section = _heading(knob.path, section)
        out().print(f"# {sentence(knob)}", style="dim", highlight=False, markup=False)
        _line(knob.path.rpartition(".")[2], value_of(config, knob.target), _defaults()[knob.target])
    out().print("\n[bold]\\[expert][/]  [dim]# without support; may change in any release[/]")
    for target, default, text in expert_options():
        if text:
            out().print(f"# {text}", style="dim", highlight=False, markup=False)
        _line(f'"{target}"', value_of(config, target), default)


def _heading(path: str, section: str) -> str:
    """Print the section of a knob when it differs from the last one, and return it."""
    from rich.text import Text

    own = path.rpartition(".")[0]
    if own != section:
        out().print(Text(f"\n[{own}]", style="bold"))
    return own


def _line(key: str, value: Any, default: Any) -> None:
    from rich.text import Text

    from slowcat_memory.cli.setup.config_file import toml

    line = Text(f"{key} = {toml(value)}", style="" if value == default else "green")
    out().print(line if value == default else line.append(f"  # default {toml(default)}", "dim"))


def _defaults() -> dict[str, Any]:
    from slowcat_memory.config import options

    return {target: default for target, _, default in options()}


def _check_names(config: "Config") -> None:
    """Check that the named scopes, time zone, language, jobs and embedding model exist."""
    from slowcat_memory import providers
    from slowcat_memory.config import check_names

    check_names(config)
    _check_urls(config)
    _, report = providers.open_query_embedder(config.embedding)
    if report.state == "missing":
        warn(f"Search is by words only: {report.source}. {report.hint}")


def _check_urls(config: "Config") -> None:
    """Check that every server's URL is one, and names this machine unless others are allowed."""
    from slowcat_memory.errors import ConfigError, SlowcatError
    from slowcat_memory.providers import check_loopback
    from slowcat_memory.providers.llm.base import AUTO

    idle, chat, vectors = config.thinking, config.llm, config.embedding
    for path, url, allowed in (
        ("idle_llm.url", idle.url, idle.allow_remote),
        ("chat_llm.url", chat.url, chat.allow_remote),
        ("embedding.endpoint_url", vectors.endpoint_url, vectors.allow_remote),
    ):
        try:
            if url not in ("", AUTO):
                check_loopback(url, allowed)
        except SlowcatError as error:
            raise ConfigError(f"{path}: {error.message}", hint=error.hint) from error


def _known(ctx: typer.Context, file: Path | None) -> Settings:
    known = settings(ctx)
    return Settings(file.expanduser(), known.store, known.debug) if file else known


def changed_options(known: Settings) -> Iterator[dict[str, Any]]:
    """Yield name, value, default, source and expert flag of each option not at its default."""
    from slowcat_memory.config.knobs import BY_TARGET, value_of

    for target, default in _defaults().items():
        value = value_of(known.config, target)
        if value != default:
            knob = BY_TARGET.get(target)
            yield {
                "knob": knob.path if knob else f"expert.{target}",
                "value": value,
                "default": default,
                "from": _origin(known, target),
                "expert": knob is None,
            }


def _origin(known: Settings, target: str) -> str:
    from slowcat_memory.config.loader import origin, read, variable_of

    if target == "memory.path" and known.store is not None:
        return "--path"
    file = known.file_read
    place = origin(target, read(file) if file else {}, os.environ)
    if place == "file":
        return str(file)
    if place == "environment":
        return variable_of(target)
    return f"preset {known.config.preset}" if place == "preset" else place
