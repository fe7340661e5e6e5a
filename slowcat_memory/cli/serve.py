"""``idle``, ``ui``, ``mcp``, ``serve``, and the group ``fleet``: commands that run for a while, or for many people."""

import asyncio
import importlib.util
import os
import secrets
import signal
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import typer

from slowcat_memory.cli import shell
from slowcat_memory.cli.setup import endpoint, examine
from slowcat_memory.cli.shell import FAILED, Settings, count, done, dots, say, takes, waiting, warn
from slowcat_memory.errors import ConfigError, FleetError, how_to_install

if TYPE_CHECKING:
    from slowcat_memory.engine import MemoryEngine
    from slowcat_memory.fleet import Fleet
    from slowcat_memory.fleet.housekeeping import Copy
    from slowcat_memory.fleet.idle_worker import Worked
    from slowcat_memory.idle.scheduler.task_queue import Forecast
    from slowcat_memory.web import PageServer


DEFAULT_PORT = 8766
TOKEN_BYTES = 24
LEAST_TOKEN = 16  # characters; a shorter one can be guessed

PORT = {"min": 0, "max": 65535}


@contextmanager
def until_stopped() -> Iterator[threading.Event]:
    """Yield an event that Ctrl-C or a request to end sets, instead of raising in this thread."""
    ended = threading.Event()
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, lambda *_: ended.set()) for number in numbers}
    try:
        yield ended
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


# ------------------------------------------------------------------- demo, chat


@takes()
def demo(known: Settings, *, no_vectors: bool = False) -> None:
    """Play a conversation of nine weeks, and show what is recalled for each turn.

    Also shows voice commands, a night's idle work, and what was true when. Runs a real Pipecat
    pipeline without microphone and loudspeaker. The store, in a temporary folder, is closed and
    reopened between sessions. A parrot that quotes the recalled memories stands in for the LLM.

    Needs no network, unless the embedding model has to be downloaded. The exit
    code is 1 when a memory that must come back does not.

    Example: [bold]slowcat-memory demo[/]

    Args:
        no_vectors: Search by words alone, without a model.
    """
    from slowcat_memory.cli.talk import play_demo  # with its heavy imports

    with tempfile.TemporaryDirectory(prefix="slowcat-demo-", ignore_cleanup_errors=True) as folder:
        if not play_demo(Path(folder), no_vectors=no_vectors):
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
    from slowcat_memory.cli.talk import run_chat  # with its heavy imports

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
    from slowcat_memory.idle.scheduler.step import second_try

    with known.existing().engine() as engine:
        llm = endpoint(engine.config)
        if llm.state != "fine":
            warn(f"LLM: {llm.found.rstrip('.')}. {llm.hint.rstrip('.')}.")
        if retry:
            with engine.snapshot() as snapshot:
                failed = snapshot.tasks(state="dead")
            for task in failed:
                engine.apply("cli", second_try(task))
            done(f"{count(len(failed), 'task')} will be tried again.")
        _until_done(engine, job)


def _until_done(engine: "MemoryEngine", jobs: Sequence[str] | None) -> None:
    """Do all work; show one bar on a terminal, and once each reason why tasks wait."""
    from slowcat_memory.idle.scheduler.task_queue import forecast

    most, told = 0, set[str]()
    try:
        with shell.bars() as bar:

            def show(now: "Forecast") -> None:
                nonlocal most
                rest = sum(now.left.values())
                most = max(most, rest)
                bar("thinking", most - rest, most)
                for reason, jobs in now.waits.items():
                    if reason not in told:
                        told.add(reason)
                        warn(_describe_wait(reason, jobs, engine.config.thinking.url))

            rest = engine.idle.until_done(jobs, show)
    except KeyError as error:
        raise shell.usage(str(error.args[0]), "--job") from None
    except KeyboardInterrupt:
        warn("Stopped. Unfinished tasks are done next time.")
        raise typer.Exit(shell.INTERRUPTED) from None
    with engine.snapshot() as snapshot:
        dead = sum(forecast(snapshot, jobs or ()).dead.values())
    if dead:
        warn(
            f"{count(dead, 'task')} given up: `slowcat-memory show jobs` says why, "
            "`slowcat-memory idle --retry` tries again."
        )
    if rest:
        warn(f"{count(rest, 'task')} left: `slowcat-memory show jobs` lists them.")
    if rest or dead:
        raise typer.Exit(FAILED)
    done("Nothing is left to do.")


def _describe_wait(reason: str, jobs: Mapping[str, int], url: str) -> str:
    """Return what waits, why, and what can be done about it, in a line or two."""
    host = urlsplit(url).netloc.rpartition("@")[2]
    causes = {
        "hours": "[idle] from_hour and to_hour do not allow the LLM or the model now",
        "tokens": "[idle] tokens_per_hour are spent",
        "battery": "on battery, and [idle] on_battery is off",
        "server": f"the LLM's server{f' at {host}' if host else ''} does not answer. Start it, or "
        "correct [idle_llm] url. Work by rules goes on without it",
    }
    return f"Waiting: {', '.join(f'{job} {n:,}' for job, n in jobs.items())}: {causes[reason]}."


def duration(seconds: float) -> str:
    """Return a duration: "0:00:40", "2:05:00"."""
    return str(timedelta(seconds=round(seconds)))


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
    from slowcat_memory.engine import MemoryEngine
    from slowcat_memory.web import PageContext, PageServer

    known.existing()
    person = known.scope()  # before this process has the store open
    with closing(MemoryEngine(known.config)) as memory:
        page = PageContext(memory, person=person, everyone=everyone, doctor=partial(examine, known))
        asyncio.run(_serve_page(PageServer(page), port, browser))


async def _serve_page(server: "PageServer", port: int, browser: bool) -> None:
    from slowcat_memory.web import open_browser, private_link

    try:
        await server.start(port)
        with until_stopped() as ended, ExitStack() as stack:
            say(server.url(), soft_wrap=True)
            hint = "Open it in a browser on this machine; it works once. Ctrl-C ends the page."
            say(hint, "dim")
            if browser:
                open_browser(stack.enter_context(private_link(server.url())))
            await asyncio.to_thread(ended.wait)
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
    """
    if token_file and not http:
        raise shell.usage("needs --http", "--token-file")

    whose = known.scope()
    if importlib.util.find_spec("mcp") is None:
        raise ConfigError("the mcp extra is not installed", hint=how_to_install("mcp"))
    import anyio

    from slowcat_memory.engine import MemoryEngine
    from slowcat_memory.mcp.memory_server import MemoryTools, listen, serve_http, serve_stdio

    offered = MemoryTools(lambda: MemoryEngine(known.existing().config), whose, local=local_llm)
    with closing(offered):
        if not http:
            return anyio.run(serve_stdio, offered)
        token = token_of(token_file)
        by = "that send the token" if token else "of this user"
        ready = partial(shell.err().print, f"MCP for programs {by}:", markup=False, soft_wrap=True)
        serve = partial(serve_http, offered, listen(port, host, token=token))
        return anyio.run(partial(serve, token=token, ready=ready))


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
    say(f"A new token is in {file}", to=shell.err())
    return token


# ------------------------------------------------------------------- serve


@takes()
def serve(known: Settings) -> None:
    """Do the memory's idle work without a bot, until Ctrl-C.

    For a machine that is always on. Agents, the command line, the page and MCP hosts use the memory
    meanwhile, and idle work goes on while nobody talks in any of them.

    Example: [bold]slowcat-memory serve[/]
    """
    from slowcat_memory.engine import MemoryEngine

    config = known.config
    with until_stopped() as ended, closing(MemoryEngine(config)):
        say(f"Thinking while nobody talks: {config.folder}", soft_wrap=True)
        ended.wait()


UPGRADE_S = 600.0
SHOWN = 20  # entries of a list; --json has all

app = typer.Typer(
    no_args_is_help=True,
    help=(
        "Keep the memories of many people in a PostgreSQL database, for many workers.\n\n"
        "For deployments in which any of several machines may get any caller; one home or one "
        "machine needs none of it. The database is [bold]\\[fleet] dsn[/] in the configuration; "
        "docs/fleet.md says how to set it up.\n\n"
        "Example: [bold]slowcat-memory fleet status[/]"
    ),
)


@contextmanager
def _fleet(known: Settings) -> "Iterator[Fleet]":
    """Yield this machine's part in the configured fleet, and close its connections at the end."""
    config = known.config
    if importlib.util.find_spec("asyncpg") is None:
        raise ConfigError("the postgres extra is not installed", hint=how_to_install("postgres"))
    from slowcat_memory.fleet import Fleet

    with closing(Fleet(config)) as fleet:
        yield fleet


@app.command()
@takes("as_json")
def init(known: Settings, *, role: str = "") -> None:
    r"""Make the tables, and let a role use the tenant.

    Run it once as the owner of the database, and again after each upgrade. Workers should have a
    role of their own that is no superuser: then the database itself keeps tenants apart.

    Example: [bold]slowcat-memory fleet init --role worker[/]

    Args:
        role (ROLE): The database role of the workers; by default the one of \[fleet] dsn.
    """
    with _fleet(known) as fleet:
        from slowcat_memory.fleet import schema

        database, tenant = fleet.database, fleet.worker.tenant
        is_new = database.run(schema.upgrade, timeout_s=UPGRADE_S)
        used_by, bypasses = database.run(schema.allow, tenant, role)
    version = schema.VERSION
    if known.as_json:
        roles = {"tenant": tenant, "role": used_by, "bypasses_row_security": bypasses}
        return shell.print_json({"version": version, "added": [version] if is_new else [], **roles})
    done(f"The tables {'were made' if is_new else 'are up to date'} (version {version}).")
    say(f"The role {used_by} may use the tenant {tenant}.")
    if bypasses:
        warn(
            f"Row-level security does not bind {used_by}: a worker with it can read every tenant. "
            "Make a role that is no superuser, and run `slowcat-memory fleet init --role ROLE`."
        )


@app.command()
@takes("as_json")
def push(known: Settings, person: str) -> None:
    """Put a memory of this machine into the database, as a person's.

    It is stored whole or not at all, read back and counted before it counts. The store itself is
    only read; stop the bot that writes to it first, since what is said later stays there. A person
    who has a memory in the database is refused.

    Example: [bold]slowcat-memory --path ~/anna fleet push anna[/]

    Args:
        person (PERSON): A user id, as in your bot.
    """
    with _fleet(known) as fleet:
        from slowcat_memory.fleet.hydration import push as put
        from slowcat_memory.runtime.namespaces.registry import scope_of_user
        from slowcat_memory.store.sharing import living

        person = scope_of_user(person, "PERSON")
        folder = known.existing().config.folder
        if known.people and person not in known.people:
            raise FleetError(
                f"{folder} has nothing of {person}, but of {shell.listed(known.people)}",
                hint="Push it under that name: a conversation recalls what was said under its own",
            )
        if living(folder):
            warn(f"A bot has {folder} open: what is said from now on is not in the database.")
        with waiting("storing it"):
            rows, stored = put(fleet.worker, folder, person, known.config.store)
    words = f"{_events(rows)} of {person}, {shell.size(stored)} compressed, checked."
    known.report({"person": person, "rows": rows, "bytes": stored}, words)


def _events(rows: dict[str, int]) -> str:
    return count(rows.get("log", 0) + rows.get("places", 0), "event")


@app.command()
@takes("as_json")
def pull(known: Settings, person: str, *, to: Path) -> None:
    """Make an ordinary store of a person's memory in the database.

    The database keeps its own. The person may be talking: what is said from now on is not in the
    store. Nothing that exists is overwritten.

    Example: [bold]slowcat-memory fleet pull anna --to ~/anna[/]

    Args:
        person (PERSON): A user id, as in your bot.
        to (FOLDER): A new folder for the store.
    """
    with _fleet(known) as fleet:
        from slowcat_memory.fleet.hydration import pull as take
        from slowcat_memory.runtime.namespaces.registry import scope_of_user

        person = scope_of_user(person, "PERSON")
        with waiting("reading it"):
            rows = take(fleet.worker, person, folder := to.expanduser().absolute())
    pulled = {"person": person, "folder": folder, "rows": rows}
    known.report(pulled, f"{_events(rows)} of {person}:", str(folder))


@app.command()
@takes("as_json")
def status(known: Settings) -> None:
    """Show the database, who holds whom, what idle work is due, and what waits on this machine.

    Exits with 1 when the database cannot be reached; the copies on this machine are shown all the
    same. "unsent" are changes that only this machine has.

    Example: [bold]slowcat-memory fleet status --json | jq .database.tasks[/]
    """
    _status(known)


def _status(known: Settings) -> None:
    with _fleet(known) as fleet:
        from slowcat_memory.fleet import housekeeping as keeping

        tenant, cache = fleet.worker.tenant, fleet.worker.cache
        seen, error, kept = None, None, []
        try:
            seen = fleet.database.run(keeping.look, tenant, timeout_s=keeping.LOOK_S)
            kept = fleet.database.run(keeping.kept, fleet.worker)
        except FleetError as away:
            error = away
            fleet.database.close()  # it is not tried again for each copy
        here = keeping.copies_here(fleet.worker)
    if known.as_json:
        message = error and error.message
        status = {"tenant": tenant, "error": message, "database": seen, "kept": kept}
        shell.print_json(status | {"copies": here})
    else:
        if seen is not None:
            _print_seen(seen, tenant)
        _print_copies(here, cache)
        for name in kept:
            warn(f"No forgetting reaches {name}.")
    if error is not None:
        raise error


def _print_seen(seen: dict[str, Any], tenant: str) -> None:
    """Print what the database has of a tenant."""
    people = "1 person" if seen["people"] == 1 else f"{seen['people']:,} people"
    log, snapshots = count(seen["log_rows"], "row"), count(seen["snapshot_rows"], "row")
    held, failed = seen["held"], seen["failed"]
    lines = [
        f"The tenant {tenant} has {people}: {log} of log ({shell.size(seen['log_bytes'])}), "
        f"{snapshots} of snapshots ({shell.size(seen['snapshot_bytes'])}).",
        f"Idle work: {', '.join(f'{n:,} {state}' for state, n in seen['tasks'].items())}.",
        f"{count(len(held), 'memory')} held." if held else "Nobody is held.",
    ]
    say("\n".join(lines))
    rows = []
    for row in held[:SHOWN]:
        rest = f"{duration(row['left_s'])} left" if row["left_s"] > 0 else "run out"
        rows.append((row["person"], dots(row["purpose"], row["holder"], rest)))
    for row in failed[:SHOWN]:
        again = "given up" if row["again_s"] is None else f"again in {duration(row['again_s'])}"
        rows.append((row["person"], dots(f"failed {row['attempts']} times", row["error"], again)))
    shell.print_entries(rows)
    if (more := len(held) + len(failed) - len(rows)) > 0:
        say(f"… and {more:,} more: --json lists them all.", "dim")
    if seen["purged"]:
        warn(
            "Forgotten, and in the tables' files yet: something of "
            f"{count(seen['purged'], 'memory')}. "
            "Run `slowcat-memory fleet housekeeping --full` at a quiet hour."
        )
    if seen["version"] < seen["newest"]:
        versions = f"version {seen['version']} of {seen['newest']}"
        warn(f"The tables have {versions}: run `slowcat-memory fleet init`.")


def _print_copies(here: "list[Copy]", cache: Path) -> None:
    """Print how many copies this machine has, and those that have something to send."""
    used = sum(copy.state == "in use" for copy in here)
    copies = count(len(here), "copy")
    say(f"{cache} has {copies}, {used:,} in use.", soft_wrap=True)
    for copy in here:
        if copy.unsent or (copy.unsent is None and copy.state == "closed"):
            n = "some changes" if copy.unsent is None else count(copy.unsent, "change")
            warn(f"Unsent: {n} of {copy.person}, in {copy.folder}. Do not delete it.")
        if copy.state == "unreadable":
            warn(f"Cannot be read: {copy.folder}.")


@app.command()
@takes("as_json")
def housekeeping(known: Settings, *, full: bool = False) -> None:
    """Remove what there is yet of what was forgotten, and show the status.

    Deletes copies on this machine that have it, and sends what waits here. With [bold]--full[/] the
    tables lose their deleted rows: nobody is served meanwhile. For WAL and backups: docs/fleet.md.

    Example: [bold]slowcat-memory fleet housekeeping --full[/]

    Args:
        full: Rewrite the tables (VACUUM FULL); only their owner may.
    """
    with _fleet(known) as fleet, waiting("tidying up"):
        from slowcat_memory.fleet.person_log import REWRITE_S, rewrite

        fleet.tidy()
        if full:
            fleet.database.run(rewrite, timeout_s=2 * REWRITE_S)
    _status(known)


@app.command()
@takes()
def work(known: Settings, *, until_done: bool = False) -> None:
    """Do the idle work of people with whom nobody talks, one after another.

    Summaries, facts, vectors, upkeep, and erasing what is due, as [bold]slowcat-memory idle[/] does
    for a memory of this machine. Run as many as you need, on any machine. A conversation that begins
    takes its person over at once; what was not done is done after it. Ctrl-C ends it.

    Example: [bold]slowcat-memory fleet work[/]

    Args:
        until_done: Stop when nothing is due.
    """
    with _fleet(known) as fleet, until_stopped() as ended:
        from slowcat_memory.fleet.idle_worker import IdleWorker

        if not fleet.config.thinking.url:
            warn("No LLM is configured ([idle_llm] url): only the rule-based work is done.")
        IdleWorker(fleet, on_worked=_print_worked).run(ended, until_done=until_done)
        stopped = ended.is_set()
    if until_done and not stopped:
        done("Nothing is due.")


def _print_worked(worked: "Worked") -> None:
    line = f"{worked.person}: {worked.outcome} after {duration(worked.seconds)}"
    if worked.error:
        warn(f"{line}: {worked.error}")
    else:
        again = "" if worked.again_s is None else f", again in {duration(worked.again_s)}"
        say(f"{line}{again}", soft_wrap=True)
