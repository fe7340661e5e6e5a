"""``slowcat-memory serve``: own a memory without a bot, and serve the programs that use it."""

import signal
import threading
from types import FrameType
from typing import TYPE_CHECKING

import typer

from slowcat_memory.cli.shared.output import count, out, warn
from slowcat_memory.cli.shared.settings import settings

if TYPE_CHECKING:
    from slowcat_memory.owner.member import Member

READY_S = 30.0  # how long the store may take to open
LOOK_S = 0.5  # between two looks at who owns the memory


def serve(ctx: typer.Context) -> None:
    r"""Own the memory without a bot, and serve every program of this user that uses it.

    For a machine that is always on: agents, the command line and MCP hosts are its clients, and
    idle work goes on while no agent runs. While an agent owns the memory, this waits as its client,
    and takes over when that ends, or at once with [bold]\[owner] prefer = "serve"[/] in the agent's
    configuration. Ctrl-C ends it; whoever is connected takes over.

    Example: [bold]slowcat-memory serve[/]
    """
    from slowcat_memory.owner.member import Member

    config = settings(ctx).config
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
