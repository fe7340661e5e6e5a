"""The command line: global options, the list of commands, and how errors are printed."""

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from msgspec import Struct
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from slowcat_memory import __version__
from slowcat_memory.cli.change import blocks, forget, icebreaker, marks, remember, undo
from slowcat_memory.cli.data import backup, export, import_, replay, tidy
from slowcat_memory.cli.fleet import commands as fleet_commands
from slowcat_memory.cli.look import (
    calls,
    facts,
    hotwords,
    notes,
    people,
    search,
    show,
    stats,
    summaries,
    timeline,
    why,
)
from slowcat_memory.cli.run import idle, jobs, mcp, serve, ui
from slowcat_memory.cli.setup import config as config_commands
from slowcat_memory.cli.setup import doctor, init
from slowcat_memory.cli.shared.exits import (
    DONE,
    FAILED,
    INTERRUPTED,
    USAGE,
    codes_in_words,
    print_error,
    print_usage_error,
)
from slowcat_memory.cli.shared.settings import Settings
from slowcat_memory.errors import SlowcatError

UsageError: Any = typer.BadParameter.__mro__[1]  # the parser's own, in whichever module it lies
NO_ARGUMENTS = "NoArgsIsHelpError"  # a subclass of it, whose message is the help page
TRY, LOOK, CHANGE, CARE = "Try it", "Look into a memory", "Change a memory", "Set up"


class Late(Struct, frozen=True):
    """A command that is imported only when it runs, because its imports take long."""

    name: str
    module: str
    help: str

    def listed(self, panel: str) -> TyperCommand:
        """Return a placeholder for the list of commands, with help alone."""
        return TyperCommand(self.name, help=self.help, rich_help_panel=panel)

    def command(self) -> Any:
        alone = typer.Typer(
            rich_markup_mode="rich",
            pretty_exceptions_enable=False,
            add_completion=False,
            context_settings={"help_option_names": ["-h", "--help"]},
        )
        alone.command(self.name)(getattr(import_module(self.module), self.name))
        return get_command(alone)


LATE = (
    Late(
        "demo",
        "slowcat_memory.cli.demo.command",
        "Play a conversation of nine weeks, and see what is recalled.",
    ),
    Late(
        "chat", "slowcat_memory.cli.run.chat", "Chat with a model on this machine, with a memory."
    ),
)


class Commands(TyperGroup):
    """Turns errors into one line and an exit code, and imports some commands late."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands, starting with those for first use."""
        return [*(late.name for late in LATE), *super().list_commands(ctx)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        late = next((late for late in LATE if late.name == cmd_name), None)
        return late.listed(TRY) if late else super().get_command(ctx, cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        _set_up_log(bool(ctx.params.get("debug")))  # before a late import writes to it
        late = next((late for late in LATE if late.name == args[0]), None)
        return (late.name, late.command(), args[1:]) if late else super().resolve_command(ctx, args)

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
                print_usage_error(error)
            sys.exit(USAGE)
        sys.exit(code if isinstance(code, int) else DONE)


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=codes_in_words(),
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"slowcat-memory {__version__}")
        raise typer.Exit


@app.callback()
def options(
    ctx: typer.Context,
    config: Annotated[
        Path | None,
        typer.Option(
            help="The configuration file.", envvar="SLOWCAT_CONFIG", metavar="FILE", dir_okay=False
        ),
    ] = None,
    path: Annotated[
        Path | None,
        typer.Option(help="The store's folder; overrides the configuration.", metavar="FOLDER"),
    ] = None,
    user: Annotated[
        str | None,
        typer.Option(
            help="Whose memory; by default the configured user's, or that of the only person in it.",
            metavar="NAME",
        ),
    ] = None,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks and debug logs.")] = False,
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", is_eager=True, callback=_version),
    ] = False,
) -> None:
    """Long-term memory for local voice agents. Nothing leaves this machine.

    Start with [bold]slowcat-memory demo[/], or [bold]slowcat-memory init[/] for a memory of your
    own. Every command has help, and works while an agent is running:
    [bold]slowcat-memory search --help[/].
    """
    _set_up_log(debug)
    ctx.obj = Settings(config.expanduser() if config else None, path, debug, user)


def _print_log_line(line: str) -> None:
    """Print a line of the log, wrapped between words."""
    from slowcat_memory.cli.shared.output import warn

    warn(line.rstrip())


def _set_up_log(debug: bool) -> None:
    from loguru import logger

    logger.remove()
    if debug:
        logger.add(sys.stderr, level="DEBUG", format="{message}")
    else:
        logger.add(_print_log_line, level="WARNING", format="{message}")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")


app.command("search", rich_help_panel=LOOK)(search.search)
app.command("ui", rich_help_panel=LOOK)(ui.ui)
app.command("show", rich_help_panel=LOOK)(show.show)
app.command("notes", rich_help_panel=LOOK)(notes.notes)
app.command("summaries", rich_help_panel=LOOK)(summaries.summaries)
app.command("facts", rich_help_panel=LOOK)(facts.facts)
app.command("people", rich_help_panel=LOOK)(people.people)
app.command("timeline", rich_help_panel=LOOK)(timeline.timeline)
app.command("as-of", rich_help_panel=LOOK)(timeline.as_of)
app.command("blocks", rich_help_panel=LOOK)(blocks.blocks)
app.command("why", rich_help_panel=LOOK)(why.why)
app.command("calls", rich_help_panel=LOOK)(calls.calls)
app.command("replay", rich_help_panel=LOOK)(replay.replay)
app.command("stats", rich_help_panel=LOOK)(stats.stats)
app.command("hotwords", rich_help_panel=LOOK)(hotwords.hotwords)
app.command("export", rich_help_panel=LOOK)(export.export)
app.command("import", rich_help_panel=CHANGE)(import_.import_)
app.command("remember", rich_help_panel=CHANGE)(remember.remember)
app.command("pin", rich_help_panel=CHANGE)(marks.pin)
app.command("local", rich_help_panel=CHANGE)(marks.local)
app.command("mute", rich_help_panel=CHANGE)(marks.mute)
app.command("unmute", rich_help_panel=CHANGE)(marks.unmute)
app.command("forget", rich_help_panel=CHANGE)(forget.forget)
app.command("undo", rich_help_panel=CHANGE)(undo.undo)
app.add_typer(icebreaker.app, name="icebreaker", rich_help_panel=CHANGE)
app.command("init", rich_help_panel=CARE)(init.init)
app.command("mcp", rich_help_panel=CARE)(mcp.mcp)
app.command("serve", rich_help_panel=CARE)(serve.serve)
app.command("idle", rich_help_panel=CARE)(idle.idle)
app.command("doctor", rich_help_panel=CARE)(doctor.doctor)
app.command("backup", rich_help_panel=CARE)(backup.backup)
app.command("restore", rich_help_panel=CARE)(backup.restore)
app.command("reindex", rich_help_panel=CARE)(tidy.reindex)
app.command("tidy", rich_help_panel=CARE)(tidy.tidy)
app.add_typer(config_commands.app, name="config", rich_help_panel=CARE)
app.add_typer(jobs.app, name="jobs", rich_help_panel=CARE)
app.add_typer(fleet_commands.app, name="fleet", rich_help_panel=CARE)
