"""The command line: global options, the list of commands, and how errors are printed."""

import os
import sys
from pathlib import Path
from typing import Any

import typer
from rich.text import Text
from typer.core import TyperGroup

from slowcat_memory import __version__
from slowcat_memory.cli import facts, files, look, serve, setup
from slowcat_memory.cli.shell import (
    CODES,
    DONE,
    FAILED,
    INTERRUPTED,
    USAGE,
    NotFound,
    Settings,
    err,
    takes,
    warn,
)
from slowcat_memory.errors import SlowcatError

UsageError: Any = typer.BadParameter.__mro__[1]  # the parser's own, in whichever module it lies
NO_ARGUMENTS = "NoArgsIsHelpError"  # a subclass of it, whose message is the help page
TRY, LOOK, CHANGE, CARE = "Try it", "Look into a memory", "Change a memory", "Set up"


def print_error(error: Any) -> None:
    """Print an error in one line: what is wrong, and the remedy."""
    label = "Error: "
    if isinstance(error, NotFound):
        label, parts = "", [error.message[:1].upper() + error.message[1:], error.hint]
    elif isinstance(error, SlowcatError):
        parts = [error.message, error.hint]
    elif isinstance(error, OSError) and error.strerror:
        parts = [f"{error.filename}: {error.strerror}" if error.filename else error.strerror]
    elif hasattr(error, "format_message"):  # of the parser
        path = error.ctx.command_path if getattr(error, "ctx", None) else "slowcat-memory"
        parts = [error.format_message(), f"See `{path} --help`."]
    else:
        parts = [str(error)]
    ended = (
        part if part.endswith(("?", "!")) else f"{part.rstrip('.')}." for part in parts if part
    )
    line = Text(label, style="bold red").append(" ".join(ended), style="default not bold")
    console = err()
    console.print(line, soft_wrap=not console.is_terminal)  # a script reads one line


class Commands(TyperGroup):
    """Turns errors into one line and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command; errors become one line on stderr and exit code 1."""
        try:
            return super().invoke(ctx)
        except (SlowcatError, OSError) as error:
            debug = isinstance(ctx.obj, Settings) and ctx.obj.debug
            if debug or isinstance(error, BrokenPipeError):
                raise
            print_error(error)
            raise typer.Exit(FAILED) from error
        except KeyboardInterrupt as error:
            raise typer.Exit(INTERRUPTED) from error

    def main(self, *args: Any, **how: Any) -> Any:
        """Run a command line; wrong usage becomes one line on stderr and exit code 2."""
        if not how.get("standalone_mode", True):
            return super().main(*args, **how)
        try:
            code = super().main(*args, **{**how, "standalone_mode": False})
        except typer.Abort:  # no to a question
            print("Nothing was changed.", file=sys.stderr)
            sys.exit(FAILED)
        except UsageError as error:
            if type(error).__name__ == NO_ARGUMENTS:
                error.show()
            else:
                print_error(error)
            sys.exit(USAGE)
        sys.exit(code if isinstance(code, int) else DONE)


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: " + "; ".join(f"{code} {what}" for code, what in CODES.items()) + ".",
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"slowcat-memory {__version__}")
        raise typer.Exit


@app.callback()
@takes(config={"envvar": "SLOWCAT_CONFIG"}, version={"is_eager": True, "callback": _version})
def options(
    known: Settings,
    *,
    config: Path | None = None,
    path: Path | None = None,
    user: str | None = None,
    debug: bool = False,
    version: bool = False,
) -> None:
    """Long-term memory for local voice agents. Nothing leaves this machine.

    Start with [bold]slowcat-memory demo[/], or [bold]slowcat-memory init[/] for a memory of your
    own. Every command works while an agent is running, and has help of its own.

    Args:
        config (FILE): The configuration file.
        path (FOLDER): The store's folder; overrides the configuration.
        user (NAME): Whose memory; by default the configured user's, or that of the only person in
            it.
        debug: Show tracebacks and debug logs.
        version: Show the version.
    """
    from loguru import logger

    known.file = config.expanduser() if config else None
    known.store, known.user, known.debug = path, user, debug
    logger.remove()
    if debug:
        logger.add(sys.stderr, level="DEBUG", format="{message}")
    else:
        logger.add(lambda line: warn(line.rstrip()), level="WARNING", format="{message}")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")


for panel, commands in {
    TRY: (serve.demo, serve.chat),
    LOOK: (look.search, serve.ui, look.show, facts.facts, facts.people, facts.timeline, facts.as_of)
    + (look.why, look.replay, files.export),
    CHANGE: (files.import_, facts.remember, facts.mark, facts.forget, facts.undo),
    CARE: (
        setup.init,
        serve.mcp,
        serve.serve,
        serve.idle,
        setup.doctor,
        files.backup,
        files.restore,
    ),
}.items():
    for command in commands:
        name = command.__name__.rstrip("_").replace("_", "-")
        app.command(name, rich_help_panel=panel)(command)
app.add_typer(setup.app, name="config", rich_help_panel=CARE)
app.add_typer(serve.app, name="fleet", rich_help_panel=CARE)
