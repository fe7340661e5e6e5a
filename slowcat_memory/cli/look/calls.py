"""``slowcat-memory calls``: what other programs asked of the memory."""

from typing import TYPE_CHECKING, Annotated

import typer

from slowcat_memory.cli.shared.output import count, out, print_json, row, table, warn, when
from slowcat_memory.cli.shared.settings import AsJson, settings

if TYPE_CHECKING:
    from datetime import tzinfo

    from slowcat_memory.records import CallEntry

NONE = "No program has asked yet: `slowcat-memory mcp` offers the memory to chat applications."


def calls(
    ctx: typer.Context,
    last: Annotated[int, typer.Option(help="How many calls at most.", min=1)] = 20,
    as_json: AsJson = False,
) -> None:
    """Show which programs asked for memories over MCP, when, and how many they were given.

    Latest first. Ids of the memories are in [bold]--json[/]; texts of calls are not kept. The
    configuration says how many calls are kept (ledger_keep). Works while an agent is running.

    Example: [bold]slowcat-memory calls --last 50[/]
    """
    known = settings(ctx).existing()
    with known.engine(readonly=True, words_only=True) as engine:
        with engine.snapshot() as snapshot:
            found = snapshot.calls(last)
        if as_json:
            return print_json(found)
        if not found:
            return warn(NONE)
        _print(found, engine.zone)
    return None


def _print(found: "list[CallEntry]", zone: "tzinfo") -> None:
    made = table("when", "program*", "tool", "of", "result")
    for call in found:
        result = "refused" if call.failed else count(len(call.memories), "memory")
        row(made, when(call.at, zone), call.client, call.tool, call.scope, result)
    out().print(made)
