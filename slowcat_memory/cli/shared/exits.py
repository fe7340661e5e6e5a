"""Exit codes of the command line, and the one line in which an error is printed."""

from typing import Any

import typer
from rich.text import Text

from slowcat_memory.errors import SlowcatError

DONE, FAILED, USAGE = 0, 1, 2
INTERRUPTED = 130  # 128 + SIGINT, as shells have it

CODES = {
    DONE: "done",
    FAILED: "failed, or what was asked for was not found",
    USAGE: "wrong usage",
    INTERRUPTED: "interrupted by Ctrl-C",
}


class NotFound(SlowcatError):
    """What was asked for does not exist, or there is nothing to show: exit code 1, no "Error:"."""


def codes_in_words() -> str:
    """Return the table of exit codes in a sentence."""
    return "Exit codes: " + "; ".join(f"{code} {meaning}" for code, meaning in CODES.items()) + "."


def print_error(error: Exception) -> None:
    """Print an error of this package or of the system: what is wrong, and the remedy."""
    if isinstance(error, NotFound):
        _print(error.message[:1].upper() + error.message[1:], error.hint, "")
    elif isinstance(error, SlowcatError):
        _print(error.message, error.hint)
    elif isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        _print(f"{where}{error.strerror}")
    else:
        _print(str(error))


def print_usage_error(error: Any) -> None:
    """Print a usage error of the argument parser, and where the help is."""
    path = error.ctx.command_path if getattr(error, "ctx", None) else "slowcat-memory"
    _print(error.format_message(), f"See `{path} --help`.")


def _print(what: str, remedy: str = "", label: str = "Error: ") -> None:
    from slowcat_memory.cli.shared.output import err

    line = Text(label, style="bold red")
    said = " ".join(map(_sentence, filter(None, (what, remedy))))
    line.append(said, style="default not bold")
    err().print(line, soft_wrap=True)


def _sentence(text: str) -> str:
    return text if text.endswith(("?", "!")) else f"{text.rstrip('.')}."


def usage(message: str, option: str = "") -> typer.BadParameter:
    """Return the error for arguments that make no sense; exit code 2."""
    return typer.BadParameter(message, param_hint=option or None)
