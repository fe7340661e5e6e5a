"""``slowcat-memory init`` and ``config``: a configuration, a store and a model."""

import shutil
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from slowcat_memory.cli.output import out, print_json, row, size, table, waiting
from slowcat_memory.cli.settings import AsJson, Settings, settings
from slowcat_memory.errors import ProviderError

if TYPE_CHECKING:
    from slowcat_memory.config import Config

ENOUGH_BYTES = 1_000_000_000
InitFinding = tuple[bool, str, str]
"""Whether it is as it should be, what, and the sentence about it."""
app = typer.Typer(no_args_is_help=True, help="Check and show the configuration.")
FileArgument = Annotated[
    Path | None,
    typer.Argument(
        help="The file; by default that of --config or SLOWCAT_CONFIG, else ~/.slowcat/config.toml.",
        show_default=False,
    ),
]


def init(
    ctx: typer.Context,
    model: Annotated[
        bool, typer.Option("--model/--no-model", help="Make the embedding model ready.")
    ] = True,
    as_json: AsJson = False,
) -> None:
    """Write a configuration, prepare the store and the model, and report what was found.

    The configuration goes to --config or SLOWCAT_CONFIG, else to ~/.slowcat/config.toml, which
    agents and commands read by themselves. An existing file is not changed. Can be run again at any
    time.

    Examples: [bold]slowcat-memory init[/],
    [bold]slowcat-memory --config ~/bot.toml --path ~/bot-memory init[/]
    """
    from slowcat_memory.config.loader import default_file

    known = settings(ctx)
    file = (known.file or default_file()).expanduser().absolute()
    written = "it was there already" if file.exists() else "written"
    if not file.exists():
        _write_config(file, known.store)
    known = Settings(file, known.store, known.debug, known.user)
    found = [
        (True, "configuration", f"{file} ({written})"),
        _store(known),
        _model(known.config, model, as_json),
        _servers(),
        _disk(known.config),
    ]
    if as_json:
        return print_json({what: {"ok": ok, "found": line} for ok, what, line in found})
    made = table("", "", "*")
    for ok, what, line in found:
        row(made, Text("✓", "green") if ok else Text("!", "yellow"), what, line)
    out().print(made)
    out().print("Try it:           [bold]slowcat-memory demo[/]")
    if file != default_file():
        use = f"Use this file:    [bold]export SLOWCAT_CONFIG={file}[/]"
        out().print(use, soft_wrap=True)
    processor = "[bold]HybridContextualMemoryProcessor()[/]"
    place = "between the user aggregator and the LLM"
    out().print(f"In your pipeline: {processor}, {place}", soft_wrap=True)
    return None


def _write_config(file: Path, store: Path | None) -> None:
    from slowcat_memory.cli.config_file import render_short

    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    file.touch(0o600)
    file.write_text(render_short(str(store.expanduser().absolute()) if store else ""), "utf-8")


def _store(known: Settings) -> InitFinding:
    with known.engine(words_only=True) as engine, engine.snapshot() as snapshot:
        created, path = engine.opened.created, engine.config.folder
        turns = sum(session.turns for session in snapshot.sessions())
    mode = stat.S_IMODE(path.stat().st_mode)
    state = "made" if created else f"it was there already, with {turns:,} turns"
    access = "for you alone" if mode == 0o700 else f"mode {mode:o}: others may look into it"
    return mode == 0o700, "store", f"{path} ({state}; {access})"


def _model(config: "Config", wanted: bool, quiet: bool) -> InitFinding:
    from slowcat_memory import providers
    from slowcat_memory.providers.embedding.model_files import is_on_this_machine

    name = config.embedding.model
    _, report = providers.open_query_embedder(config.embedding)
    if report.state == "needs export" and wanted:
        what = "making the embedding model ready"
        if not is_on_this_machine(name):
            what = f"downloading {name} once (the default one: 90 MB) and making it ready"
        try:
            with waiting(what, quiet) as step:
                providers.export_model(config.embedding, step)
        except ProviderError as error:
            return False, "embedding", f"none, search is by words only: {error}"
        _, report = providers.open_query_embedder(config.embedding)
    if report.state in ("ready", "endpoint"):
        return True, "embedding", f"{report.source}, {report.dim} dimensions"
    if report.state == "none":
        return True, "embedding", report.source
    hint = report.hint or "It is made ready by the first agent, or by `slowcat-memory init`."
    return False, "embedding", f"not ready, search is by words only: {report.source}. {hint}"


def _servers() -> InitFinding:
    from slowcat_memory.providers.llm.model_servers import find_servers

    parts = [
        f"{server.name} at {server.url} ({', '.join(server.models[:3]) or 'no model loaded'})"
        for server in find_servers()
    ]
    none = "none on this machine; `chat` needs LM Studio, Ollama or llama.cpp"
    return True, "LLM server", "; ".join(parts) or none


def _disk(config: "Config") -> InitFinding:
    free = shutil.disk_usage(config.folder).free
    needed = max(ENOUGH_BYTES, config.store.min_free_mb * 1_000_000)
    return free > needed, "disk", f"{size(free)} free"


# ------------------------------------------------------------------- config


@app.command()
def check(ctx: typer.Context, file: FileArgument = None, as_json: AsJson = False) -> None:
    """Read the configuration and the environment, and show every option that is not at its default.

    A wrong key or value is an error that names its path, as are settings that do nothing together;
    the exit code is then 1.

    Example: [bold]slowcat-memory config check config.toml[/]
    """
    from slowcat_memory.cli.config_file import print_checked

    print_checked(_known(ctx, file), as_json)


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
    from slowcat_memory.cli.config_file import print_knobs

    config = _known(ctx, file).config
    return print_json(config) if as_json else print_knobs(config, everything)


def _known(ctx: typer.Context, file: Path | None) -> Settings:
    known = settings(ctx)
    return Settings(file.expanduser(), known.store, known.debug) if file else known
