"""``slowcat-memory ui``: the page that shows a memory, in the browser."""

import asyncio
import signal
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from slowcat_memory.cli.shared.output import out, say
from slowcat_memory.cli.shared.settings import Scope, Settings, settings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from slowcat_memory.engine.memory import Memory
    from slowcat_memory.web import Finding, PageServer


def ui(
    ctx: typer.Context,
    scope: Scope = None,
    everyone: Annotated[
        bool, typer.Option("--everyone", help="Show every person's memory, not only one's.")
    ] = False,
    port: Annotated[
        int, typer.Option(help="The port; by default a free one.", min=0, max=65535)
    ] = 0,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Whether to open the browser.")
    ] = True,
) -> None:
    """Show the memory in the browser: what is known, said, recalled, and why. Ctrl-C ends it.

    Works while an agent is running. The page is served on this machine only, and only to the
    browser that opens the printed address, which works once. Facts can be corrected, pinned, muted,
    kept on this machine, and forgotten; every change can be undone.

    Example: [bold]slowcat-memory ui --no-browser[/]
    """
    from slowcat_memory.owner import open_memory

    known = settings(ctx).existing()
    person = known.scope(scope)  # before this process has the store open
    memory = open_memory(known.config, client="page")
    try:
        asyncio.run(_serve(known, memory, person, everyone, port, browser))
    finally:
        memory.release()


async def _serve(
    known: Settings, memory: "Memory", person: str, everyone: bool, port: int, browser: bool
) -> None:
    from slowcat_memory.web import PageContext, PageServer

    page = PageContext(memory, person=person, everyone=everyone, doctor=_doctor(known))
    server = PageServer(page)
    try:
        await server.start(port)
        with ExitStack() as stack:
            _announce(server, stack, browser)
            await _interrupted()
    finally:
        await server.stop()


def _announce(server: "PageServer", stack: ExitStack, browser: bool) -> None:
    from slowcat_memory.web import open_browser, private_link

    out().print(server.url(), markup=False, soft_wrap=True)
    say("[dim]Open it in a browser on this machine; it works once. Ctrl-C ends the page.[/]")
    if browser:
        open_browser(stack.enter_context(private_link(server.url())))


async def _interrupted() -> None:
    """Wait for Ctrl-C, for a request to end, or for the end of the terminal."""
    ended, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, ended.set)
    await ended.wait()


def _doctor(known: Settings) -> "Callable[[Memory], Sequence[Finding]]":
    from slowcat_memory.cli.setup.doctor import examine
    from slowcat_memory.web import Finding

    def checks(memory: "Memory") -> "Sequence[Finding]":
        return [
            Finding(what=one.what, state=one.state, found=one.found, hint=one.hint)
            for one in examine(known, memory)
        ]

    return checks
