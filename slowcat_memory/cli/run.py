"""Commands that run for a while: ``demo``, ``chat``, ``idle``, ``ui``, ``mcp``, ``serve``."""

import asyncio
import os
import secrets
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

import typer

from slowcat_memory.cli.setup import endpoint, examine
from slowcat_memory.cli.shell import (
    FAILED,
    INTERRUPTED,
    Settings,
    bars,
    count,
    done,
    err,
    out,
    takes,
    usage,
    warn,
    when,
)
from slowcat_memory.errors import ConfigError, how_to_install

if TYPE_CHECKING:
    from datetime import tzinfo

    from slowcat_memory.engine import MemoryEngine
    from slowcat_memory.idle.forecast import Forecast
    from slowcat_memory.idle.scheduler.task_queue import Wait
    from slowcat_memory.web import PageServer

POLL_S = 0.5  # between two progress updates
DEFAULT_PORT = 8766
TOKEN_BYTES = 24
LEAST_TOKEN = 16  # characters; a shorter one can be guessed

PORT = {"min": 0, "max": 65535}


@contextmanager
def until_stopped() -> Iterator[threading.Event]:
    """Yield an event that Ctrl-C or a request to end sets, instead of raising in this thread."""
    ended = threading.Event()
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, lambda *_: ended.set()) for number in numbers}
    try:
        yield ended
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


# ------------------------------------------------------------------- demo, chat


@takes()
def demo(known: Settings, *, no_vectors: bool = False, fast: bool = False) -> None:
    """Play a conversation of nine weeks, and show what is recalled for each turn.

    Also shows voice commands, a night's idle work, and what was true when. Runs a real Pipecat
    pipeline without microphone and loudspeaker. The store, in a temporary folder, is closed and
    reopened between sessions. A parrot that quotes the recalled memories stands in for the LLM. On
    a terminal it plays at a pace that can be read.

    Needs no network, unless the embedding model has to be downloaded. The exit
    code is 1 when a memory that must come back does not.

    Examples: [bold]slowcat-memory demo[/], [bold]slowcat-memory demo --fast[/]

    Args:
        no_vectors: Search by words alone, without a model.
        fast: Do not wait until a line can have been read.
    """
    from slowcat_memory.cli.demo import play_demo  # with its heavy imports

    with tempfile.TemporaryDirectory(prefix="slowcat-demo-", ignore_cleanup_errors=True) as folder:
        if not play_demo(Path(folder), no_vectors=no_vectors, fast=fast):
            raise typer.Exit(FAILED)


@takes("user")
def chat(known: Settings, *, llm_url: str = "", model: str = "") -> None:
    """Chat with a model on this machine, with a persistent memory.

    Finds LM Studio, Ollama and llama.cpp by itself. Uses the same Pipecat
    pipeline and the same memory as a voice agent. In the chat, /why shows
    what was recalled for the last turn, and /help lists what you can type or say.

    Examples: [bold]slowcat-memory chat[/],
    [bold]slowcat-memory chat --user anna --model qwen3-4b[/]

    Args:
        llm_url (URL): The server, such as http://127.0.0.1:1234/v1.
        model: Its model; by default the first it offers.
    """
    from slowcat_memory.cli.chat import run_chat  # with its heavy imports

    run_chat(known.config, known.scope(), llm_url, model)


# ------------------------------------------------------------------- idle


@takes()
def idle(known: Settings, *, job: list[str] | None = None, retry: bool = False) -> None:
    """Do the work that an agent does while idle: summaries, facts, vectors, upkeep.

    Useful after a large import, after a change of the embedding model, or overnight. Runs every job
    whatever its schedule, and ends when nothing is left; exits with 1 when work is left, because the
    LLM's server does not answer or the configured hours or tokens do not allow it now, or when tasks
    were given up. [bold]slowcat-memory serve[/] goes on with it. Ctrl-C is safe at any time: unfinished tasks are done next time.
    [bold]slowcat-memory show jobs[/] shows the results.

    Example: [bold]slowcat-memory idle[/]

    Args:
        job: Only this job. May be repeated.
        retry: First try again every task that was given up.
    """
    with known.existing().engine() as engine:
        llm = endpoint(engine.config)
        if llm.state != "fine":
            warn(f"LLM: {llm.found.rstrip('.')}. {llm.hint.rstrip('.')}.")
        if retry:
            _retry(engine)
        _until_done(engine, job)


def _retry(engine: "MemoryEngine") -> None:
    from slowcat_memory.idle.scheduler.step import second_try

    with engine.snapshot() as snapshot:
        failed = snapshot.tasks(state="dead")
    for task in failed:
        engine.apply("cli", second_try(task))
    done(f"{count(len(failed), 'task')} will be tried again.")


def _until_done(engine: "MemoryEngine", jobs: Sequence[str] | None) -> None:
    from slowcat_memory.idle.forecast import forecast

    try:
        with _progress(engine) as show:
            left = engine.idle.until_done(jobs, show)
    except KeyError as error:
        raise usage(str(error.args[0]), "--job") from None
    except KeyboardInterrupt:
        warn("Stopped. Unfinished tasks are done next time.")
        raise typer.Exit(INTERRUPTED) from None
    with engine.snapshot() as snapshot:
        dead = sum(forecast(snapshot, jobs or ()).dead.values())
    if dead:
        warn(
            f"{count(dead, 'task')} given up: `slowcat-memory show jobs` says why, "
            "`slowcat-memory idle --retry` tries again."
        )
    if left:
        warn(f"{count(left, 'task')} left: `slowcat-memory show jobs` lists them.")
    if left or dead:
        raise typer.Exit(FAILED)
    done("Nothing is left to do.")


@contextmanager
def _progress(engine: "MemoryEngine") -> "Iterator[Callable[[Forecast], None]]":
    """Show one bar on a terminal, and once each reason why tasks wait."""
    from slowcat_memory.config import time_zone

    most, told = 0, set[tuple[str, ...]]()
    zone, url = time_zone(engine.config), engine.config.thinking.url
    with bars() as bar:

        def show(now: "Forecast") -> None:
            nonlocal most
            left = sum(now.left.values())
            most = max(most, left)
            bar("thinking", most - left, most)
            for wait in now.waits:
                about = (wait.reason, *(() if wait.reason == "server" else wait.jobs))
                if about not in told:
                    told.add(about)
                    warn(describe_wait(wait, zone, url))

        yield show


def describe_wait(wait: "Wait", zone: "tzinfo", url: str = "") -> str:
    """Return what waits, why, until when, and what can be done about it, in a line or two."""
    jobs = ", ".join(f"{job} {n:,}" for job, n in wait.jobs.items())
    until = f" until {when(wait.until, zone)}" if wait.until else ""
    host = urlsplit(url).netloc.rpartition("@")[2]
    causes = {
        "hours": "[idle] from_hour and to_hour do not allow the LLM or the model now",
        "tokens": "[idle] tokens_per_hour are spent",
        "battery": "on battery, and [idle] on_battery is off",
        "later": "not due yet",
        "server": f"the LLM's server{f' at {host}' if host else ''} does not answer. Start it, or "
        "correct [idle_llm] url. Work by rules goes on without it",
    }
    return f"Waiting{until}: {jobs}: {causes[wait.reason]}."


def duration(seconds: float) -> str:
    """Return a duration: "40 s", "3 min", "2 h 5 min"."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    if hours == 0 or (hours == 1 and minutes < 30):
        return f"{60 * hours + minutes} min"
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


# ------------------------------------------------------------------- ui


@takes("user", port=PORT)
def ui(known: Settings, *, everyone: bool = False, port: int = 0, browser: bool = True) -> None:
    """Show the memory in the browser: what is known, said, recalled, and why. Ctrl-C ends it.

    Works while an agent is running. The page is served on this machine only, and only to the
    browser that opens the printed address, which works once. Facts can be corrected, pinned, muted,
    kept on this machine, and forgotten; every change can be undone.

    Example: [bold]slowcat-memory ui --no-browser[/]

    Args:
        everyone: Show every person's memory, not only one's.
        port: The port; 0 for any free one.
        browser: Whether to open the browser.
    """
    from slowcat_memory.engine import acquire
    from slowcat_memory.web import PageContext, PageServer

    known.existing()
    person = known.scope()  # before this process has the store open
    with closing(acquire(known.config)) as memory:
        page = PageContext(memory, person=person, everyone=everyone, doctor=partial(examine, known))
        asyncio.run(_serve_page(PageServer(page), port, browser))


async def _serve_page(server: "PageServer", port: int, browser: bool) -> None:
    from slowcat_memory.web import open_browser, private_link

    ended, loop = asyncio.Event(), asyncio.get_running_loop()
    try:
        await server.start(port)
        with ExitStack() as stack:
            out().print(server.url(), markup=False, soft_wrap=True)
            hint = "Open it in a browser on this machine; it works once. Ctrl-C ends the page."
            out().print(hint, style="dim")
            if browser:
                open_browser(stack.enter_context(private_link(server.url())))
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                loop.add_signal_handler(number, ended.set)
            await ended.wait()
    finally:
        await server.stop()


# ------------------------------------------------------------------- mcp


@takes("user", port=PORT)
def mcp(
    known: Settings,
    *,
    http: bool = False,
    port: int = DEFAULT_PORT,
    host: str = "127.0.0.1",
    token_file: Path | None = None,
    local_llm: bool = False,
    tools: Literal["basic", "all"] = "basic",
) -> None:
    """Offer the memory to a chat application, by the Model Context Protocol (MCP).

    The application starts this command itself and talks to it over standard input and output; with
    --http it connects to the address that is printed. It can search one person's memory, keep a
    statement, and forget after a preview. Local-only memories are withheld, unless its LLM is on
    this machine. [bold]slowcat-memory show calls[/] shows what was asked. Works while an agent is
    running.

    Examples: [bold]slowcat-memory mcp --user anna[/],
    [bold]slowcat-memory mcp --http --token-file ~/.slowcat/mcp-token[/]

    Args:
        http: Streamable HTTP instead of standard input and output.
        port: The port; 0 for any free one.
        host: With --http and a token: the address to listen on.
        token_file (FILE): A file with the token that hosts must send; made with a new one if there
            is none.
        local_llm: The host's LLM is on this machine: it may read local-only memories.
        tools: Which to offer.
    """
    if token_file and not http:
        raise usage("needs --http", "--token-file")

    whose = known.scope()
    from importlib.util import find_spec

    if find_spec("mcp") is None:
        raise ConfigError("the mcp extra is not installed", hint=how_to_install("mcp"))
    import anyio

    from slowcat_memory.engine import acquire
    from slowcat_memory.mcp.memory_server import MemoryTools, listen, serve_http, serve_stdio

    offered = MemoryTools(
        lambda: acquire(known.existing().config),
        whose,
        local=local_llm,
        every=tools == "all",
    )
    try:
        if not http:
            return anyio.run(serve_stdio, offered)
        token = token_of(token_file)
        by = "that send the token" if token else "of this user"
        ready = partial(err().print, f"MCP for programs {by}:", markup=False, soft_wrap=True)
        serve = partial(serve_http, offered, listen(port, host, token=token))
        return anyio.run(partial(serve, token=token, ready=ready))
    finally:
        offered.close()


def token_of(file: Path | None) -> str:
    """Return the token in a file, "" without one; makes the file if there is none.

    Raises:
        ConfigError: The token is too short to be safe.
    """
    if file is None:
        return ""
    file = file.expanduser()
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        token = file.read_text().strip()
        if len(token) < LEAST_TOKEN:
            hint = f"Use {LEAST_TOKEN} characters or more, or a file that does not exist yet"
            raise ConfigError(f"the token in {file} is too short", hint=hint) from None
        return token
    token = secrets.token_urlsafe(TOKEN_BYTES)
    with os.fdopen(handle, "w") as new:
        new.write(f"{token}\n")
    err().print(f"A new token is in {file}", markup=False)
    return token


# ------------------------------------------------------------------- serve


@takes()
def serve(known: Settings) -> None:
    """Do the memory's idle work without a bot, until Ctrl-C.

    For a machine that is always on. Agents, the command line, the page and MCP hosts use the memory
    meanwhile, and idle work goes on while nobody talks in any of them.

    Example: [bold]slowcat-memory serve[/]
    """
    from slowcat_memory.engine import acquire

    config = known.config
    with until_stopped() as ended, closing(acquire(config)):
        thinking = f"Thinking while nobody talks: {config.folder}"
        out().print(thinking, markup=False, soft_wrap=True)
        ended.wait()
