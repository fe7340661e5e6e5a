"""``slowcat-memory serve``: own a memory without a bot, and serve the programs that use it."""

import signal
import threading
from contextlib import ExitStack
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, cast

import typer

from slowcat_memory.cli.run.mcp import DEFAULT_PORT, mcp_beside
from slowcat_memory.cli.shared.output import count, out, warn
from slowcat_memory.cli.shared.settings import Scope, settings

if TYPE_CHECKING:
    from slowcat_memory.engine.memory import Memory
    from slowcat_memory.owner.member import Member

READY_S = 30.0  # how long the store may take to open
LOOK_S = 0.5  # between two looks at who owns the memory


def serve(
    ctx: typer.Context,
    mcp_http: Annotated[
        bool, typer.Option("--mcp-http", help="Also offer it over MCP; see `mcp --http`.")
    ] = False,
    mcp_port: Annotated[
        int, typer.Option(help="With --mcp-http: the port; 0 for any free one.", min=0, max=65535)
    ] = DEFAULT_PORT,
    mcp_token_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            dir_okay=False,
            help="With --mcp-http: what hosts must send; made if new.",
        ),
    ] = None,
    scope: Scope = None,
) -> None:
    r"""Own the memory without a bot, and serve every program of this user that uses it.

    For a machine that is always on: agents, the command line and MCP hosts are its clients, and
    idle work goes on while no agent runs. While an agent owns the memory, this waits as its client,
    and takes over when that ends, or at once where the agent's configuration has prefer = "serve"
    under owner. Ctrl-C ends it; whoever is connected takes over.

    Examples: [bold]slowcat-memory serve[/], [bold]slowcat-memory serve --mcp-http --user anna[/]
    """
    from slowcat_memory.owner.member import Member

    known = settings(ctx)
    config = known.config
    whose = known.scope(scope) if mcp_http else ""
    if config.owner.mode == "client":
        raise typer.BadParameter('[owner] mode = "client" never owns a memory')
    ended = threading.Event()

    def end(number: int, frame: FrameType | None) -> None:
        ended.set()

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    member = Member(config, name="serve", serves=True)
    try:
        member.start(READY_S)
        if member.availability.trouble:
            raise member.availability.trouble
        with ExitStack() as stack:
            if mcp_http:
                url = stack.enter_context(
                    mcp_beside(cast("Memory", member), whose, mcp_port, mcp_token_file)
                )
                out().print(f"MCP at {url}", markup=False, soft_wrap=True)
            _report_until(ended, member)
    finally:
        member.release()
        for number, handler in before.items():
            signal.signal(number, handler)


def _report_until(ended: threading.Event, member: "Member") -> None:
    """Print a line each time that this process begins to own the memory, or to wait for it."""
    owned: bool | None = None
    while not ended.is_set():
        owns = member.engine is not None
        if owns and owned is not True and member.server is not None:
            owned = True
            turns = count(member.stats()["counts"].get("log", 0), "event")
            where = member.server.where
            out().print(f"Serving {member.config.folder}: {turns}, at {where}", soft_wrap=True)
        elif member.owner is not None and owned is not False:
            owned = False
            holder = f"process {member.owner.pid} ({member.owner.program})"
            warn(f"{holder} owns this memory; it is served from here when that ends.")
        ended.wait(LOOK_S)
