"""``slowcat-memory init``: makes a configuration, a store and a model, and reports the findings."""

import shutil
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from slowcat_memory.cli.shared.output import out, print_json, row, size, table, waiting
from slowcat_memory.cli.shared.settings import AsJson, Settings, settings
from slowcat_memory.errors import ProviderError

if TYPE_CHECKING:
    from slowcat_memory.config import Config

ENOUGH_BYTES = 1_000_000_000
Finding = tuple[bool, str, str]
"""Whether it is as it should be, what, and the sentence about it."""


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
    known = settings(ctx)
    file, written = _write_config(known)
    known = Settings(file, known.store, known.debug, known.user)
    found = [
        _config_finding(file, written),
        _store(known),
        _model(known.config, model, as_json),
        _servers(),
        _disk(known.config),
    ]
    if as_json:
        return print_json({what: {"ok": ok, "found": line} for ok, what, line in found})
    _print(found, file)
    return None


def _write_config(known: Settings) -> tuple[Path, bool]:
    """Write the configuration unless one exists; return its path and whether it is new."""
    from slowcat_memory.cli.setup.config_file import render_short
    from slowcat_memory.config.loader import default_file

    file = (known.file or default_file()).expanduser().absolute()
    if file.exists():
        return file, False
    store = str(known.store.expanduser().absolute()) if known.store else ""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    file.touch(0o600)
    file.write_text(render_short(store), "utf-8")
    return file, True


def _config_finding(file: Path, written: bool) -> Finding:
    return True, "configuration", f"{file} ({'written' if written else 'it was there already'})"


def _store(known: Settings) -> Finding:
    with known.engine(words_only=True) as engine:
        opened, path = engine.opened, engine.config.folder
        with engine.snapshot() as snapshot:
            turns = sum(session.turns for session in snapshot.sessions())
    mode = stat.S_IMODE(path.stat().st_mode)
    state = "made" if opened.created else f"it was there already, with {turns:,} turns"
    access = "for you alone" if mode == 0o700 else f"mode {mode:o}: others may look into it"
    return mode == 0o700, "store", f"{path} ({state}; {access})"


def _model(config: "Config", wanted: bool, quiet: bool) -> Finding:
    from slowcat_memory import providers

    _, report = providers.open_query_embedder(config.embedding)
    if report.state == "needs export" and wanted:
        try:
            _export(config, quiet)
        except ProviderError as error:
            return False, "embedding", f"none, search is by words only: {error}"
        _, report = providers.open_query_embedder(config.embedding)
    ready = report.state in ("ready", "endpoint")
    if ready:
        return True, "embedding", f"{report.source}, {report.dim} dimensions"
    hint = report.hint or "It is made ready by the first agent, or by `slowcat-memory init`."
    if report.state == "none":
        return True, "embedding", report.source
    return False, "embedding", f"not ready, search is by words only: {report.source}. {hint}"


def _export(config: "Config", quiet: bool) -> None:
    from slowcat_memory import providers

    with waiting(_what_is_prepared(config.embedding.model), quiet) as step:
        providers.export_model(config.embedding, step)


def _what_is_prepared(model: str) -> str:
    from slowcat_memory.providers.embedding.model_files import is_on_this_machine

    if is_on_this_machine(model):
        return "making the embedding model ready"
    return f"downloading {model} once (the default one: 90 MB) and making it ready"


def _servers() -> Finding:
    from slowcat_memory.providers.llm.model_servers import find_servers

    found = find_servers()
    if not found:
        sentence = "none on this machine; `chat` needs LM Studio, Ollama or llama.cpp"
        return True, "LLM server", sentence
    parts = (f"{s.name} at {s.url} ({', '.join(s.models[:3]) or 'no model loaded'})" for s in found)
    return True, "LLM server", "; ".join(parts)


def _disk(config: "Config") -> Finding:
    free = shutil.disk_usage(config.folder).free
    needed = max(ENOUGH_BYTES, config.store.min_free_mb * 1_000_000)
    return free > needed, "disk", f"{size(free)} free"


def _print(found: list[Finding], file: Path) -> None:
    from slowcat_memory.config.loader import default_file

    made: Any = table("", "", "*")
    made.show_header = False
    for ok, what, line in found:
        row(made, Text("✓", "green") if ok else Text("!", "yellow"), what, line)
    out().print(made)
    console = out()
    console.print("Try it:           [bold]slowcat-memory demo[/]", soft_wrap=True)
    if file != default_file():
        console.print(f"Use this file:    [bold]export SLOWCAT_CONFIG={file}[/]", soft_wrap=True)
    console.print(
        "In your pipeline: [bold]HybridContextualMemoryProcessor()[/], between the user aggregator "
        "and the LLM",
        soft_wrap=True,
    )
