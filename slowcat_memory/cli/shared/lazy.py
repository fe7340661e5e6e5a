"""Commands that are imported only when they run, because what they need takes long to import."""

from importlib import import_module
from typing import Any

import typer
from msgspec import Struct
from typer.core import TyperCommand
from typer.main import get_command


class Late(Struct, frozen=True):
    """Where a command is, and what the list of commands says of it.

    Attributes:
        name: Its name.
        module: Its module, which has a function of the same name.
        help: One line.
    """

    name: str
    module: str
    help: str

    def listed(self, panel: str) -> TyperCommand:
        """Stand for the command in the list of commands.

        Returns:
            A command that only has words.
        """
        return TyperCommand(self.name, help=self.help, rich_help_panel=panel)

    def command(self) -> Any:
        """Import the command."""
        alone = typer.Typer(
            rich_markup_mode="rich",
            pretty_exceptions_enable=False,
            add_completion=False,
            context_settings={"help_option_names": ["-h", "--help"]},
        )
        alone.command(self.name)(getattr(import_module(self.module), self.name))
        return get_command(alone)
