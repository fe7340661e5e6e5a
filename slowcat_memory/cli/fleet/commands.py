"""``slowcat-memory fleet``: tables, memories in and out, who holds what, an idle worker."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from slowcat_memory.cli.run.idle import duration
from slowcat_memory.cli.shared.exits import FAILED, print_error
from slowcat_memory.cli.shared.output import (
    count,
    listed,
    out,
    print_json,
    row,
    size,
    table,
    waiting,
    warn,
)
from slowcat_memory.cli.shared.settings import AsJson, settings
from slowcat_memory.errors import ConfigError, FleetError, how_to_install

if TYPE_CHECKING:
    from slowcat_memory.config import Config
    from slowcat_memory.fleet import Fleet
    from slowcat_memory.fleet.operate.idle_worker import Worked
    from slowcat_memory.fleet.operate.look import Copy, Seen

UPGRADE_S = 600.0
Person = Annotated[str, typer.Argument(metavar="PERSON", help="A user id, as in your bot.")]

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
def _fleet(ctx: typer.Context) -> "Iterator[Fleet]":
    """Yield this machine's part in the configured fleet, and close its connections at the end."""
    config = settings(ctx).config
    _check_usable(config)
    from slowcat_memory.fleet import Fleet

    fleet = Fleet(config)
    try:
        yield fleet
    finally:
        fleet.close()


def _check_usable(config: "Config") -> None:
    from importlib.util import find_spec

    if find_spec("asyncpg") is None:
        hint = how_to_install("postgres")
        raise ConfigError("the postgres extra is not installed", hint=hint)
    if not config.fleet.dsn.strip():
        raise ConfigError(
            "there is no database for a fleet",
            hint='Set dsn under [fleet] in config.toml, such as "postgresql://worker@db/memories"',
        )


@app.command()
def init(
    ctx: typer.Context,
    role: Annotated[
        str,
        typer.Option(
            metavar="ROLE",
            help="The database role of the workers; by default the one of \\[fleet] dsn.",
            show_default=False,
        ),
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Make the tables, or bring them up to date, and let a role use the tenant.

    Run it once as the owner of the database, and again after each upgrade. Workers should have a
    role of their own that is no superuser: then the database itself keeps tenants apart.

    Example: [bold]slowcat-memory fleet init --role worker[/]
    """
    with _fleet(ctx) as fleet:
        from slowcat_memory.fleet import schema

        database, tenant = fleet.database, fleet.worker.tenant
        added = database.run(schema.upgrade, UPGRADE_S)
        used_by = database.run(partial(schema.allow, tenant=tenant, role=role))
        bypasses = database.run(partial(schema.bypasses_policies, role=used_by))
    version = max(schema.migrations())
    if as_json:
        return print_json(
            {"version": version, "added": added, "tenant": tenant, "role": used_by,
             "bypasses_row_security": bypasses}
        )  # fmt: skip
    made = "are up to date" if not added else "were made" if 1 in added else "were upgraded"
    out().print(f"[green]✓[/] The tables {made} (version {version}).")
    out().print(f"The role {used_by} may use the tenant {tenant}.", markup=False)
    if bypasses:
        warn(
            f"Row-level security does not bind {used_by}: a worker with it can read every tenant. "
            "Make a role that is no superuser, and run `slowcat-memory fleet init --role ROLE`."
        )
    return None


@app.command()
def push(
    ctx: typer.Context,
    person: Person,
    source: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="FOLDER",
            file_okay=False,
            help="The store's folder; by default the configured one.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Put a memory of this machine into the database, as a person's.

    It is stored whole or not at all, read back and counted before it counts. The store itself is
    only read; stop the bot that writes to it first, since what is said later stays there. A person
    who has a memory in the database is refused.

    Example: [bold]slowcat-memory fleet push anna --from ~/.slowcat[/]
    """
    known = settings(ctx)
    if source is not None:
        known.store = source.expanduser()
    with _fleet(ctx) as fleet:
        from slowcat_memory.fleet.operate.push_pull import push as put
        from slowcat_memory.runtime.namespaces.registry import scope_of_user

        person = scope_of_user(person, "PERSON")
        folder = known.existing().config.folder
        if known.people and person not in known.people:
            raise FleetError(
                f"{folder} has nothing of {person}, but of {listed(known.people)}",
                hint="Push it under that name: a conversation recalls what was said under its own",
            )
        if _is_in_use(folder):
            warn(f"A bot has {folder} open: what is said from now on is not in the database.")
        with waiting("storing it"):
            done = put(fleet.worker, folder, person, known.config.store)
    if as_json:
        return print_json(done)
    events = count(done.rows.get("log", 0) + done.rows.get("places", 0), "event")
    out().print(f"[green]✓[/] {events} of {person}, {size(done.bytes)} compressed, checked.")
    return None


def _is_in_use(folder: Path) -> bool:
    from slowcat_memory.store.disk.folder import WRITER
    from slowcat_memory.store.disk.locks import is_locked

    return is_locked(folder / WRITER)


@app.command()
def pull(
    ctx: typer.Context,
    person: Person,
    to: Annotated[
        Path,
        typer.Option("--to", metavar="FOLDER", file_okay=False, help="A new folder for the store."),
    ],
    as_json: AsJson = False,
) -> None:
    """Make an ordinary store of a person's memory in the database.

    The database keeps its own. The person may be talking: what is said from now on is not in the
    store. Nothing that exists is overwritten.

    Example: [bold]slowcat-memory fleet pull anna --to ~/anna[/]
    """
    with _fleet(ctx) as fleet:
        from slowcat_memory.fleet.operate.push_pull import pull as take
        from slowcat_memory.runtime.namespaces.registry import scope_of_user

        person = scope_of_user(person, "PERSON")
        with waiting("reading it"):
            done = take(fleet.worker, person, to.expanduser(), settings(ctx).config.store)
    if as_json:
        return print_json(done)
    events = count(done.rows.get("log", 0) + done.rows.get("places", 0), "event")
    out().print(f"[green]✓[/] {events} of {person}:", end=" ")
    out().print(str(done.folder), markup=False, soft_wrap=True)
    if done.late:
        warn(
            f"{count(done.late, 'turn')} of {person} still to be appended: they are not in it, and "
            "will be in the database after the next conversation or idle work."
        )
    return None


@app.command()
def status(ctx: typer.Context, as_json: AsJson = False) -> None:
    """Show the database, who holds whom, what idle work is due, and what waits on this machine.

    Exits with 1 when the database cannot be reached; the copies on this machine are shown all the
    same. "unsent" are changes that only this machine has.

    Example: [bold]slowcat-memory fleet status --json | jq .database.tasks[/]
    """
    with _fleet(ctx) as fleet:
        from slowcat_memory.fleet.operate import look

        seen, error = None, None
        try:
            seen = look.look(fleet.database, fleet.worker.tenant)
        except FleetError as away:
            error = away
        here = look.copies_here(fleet.worker.cache, None if error else fleet.database)
        tenant, cache = fleet.worker.tenant, fleet.worker.cache
    if as_json:
        print_json({"tenant": tenant, "error": error and error.message, "database": seen,
                    "copies": here})  # fmt: skip
    else:
        if seen is not None:
            print_seen(seen, tenant)
        print_copies(here, cache)
    if error is not None:
        print_error(error)
        raise typer.Exit(FAILED)


@app.command()
def work(
    ctx: typer.Context,
    until_done: Annotated[
        bool, typer.Option("--until-done", help="Stop when nothing is due.")
    ] = False,
) -> None:
    """Do the idle work of people with whom nobody talks, one after another.

    Summaries, facts, vectors, upkeep, and erasing what is due, as [bold]slowcat-memory idle[/] does
    for a memory of this machine. Run as many as you need, on any machine. A conversation that begins
    takes its person over at once; what was not done is done after it. Ctrl-C ends it.

    Example: [bold]slowcat-memory fleet work[/]
    """
    ended = threading.Event()

    def end(number: int, frame: FrameType | None) -> None:
        ended.set()

    with _fleet(ctx) as fleet:
        from slowcat_memory.fleet.operate.idle_worker import IdleWorker

        if not fleet.config.thinking.url:
            warn("No LLM is configured ([idle_llm] url): only the rule-based work is done.")
        before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            IdleWorker(fleet, on_worked=_print_worked).run(ended, until_done=until_done)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
    if until_done and not ended.is_set():
        out().print("[green]✓[/] Nothing is due.")


def _print_worked(worked: "Worked") -> None:
    line = f"{worked.person}: {worked.outcome} after {duration(worked.seconds)}"
    if worked.error:
        warn(f"{line}: {worked.error}")
    else:
        again = "" if worked.again_s is None else f", again in {duration(worked.again_s)}"
        out().print(f"{line}{again}", markup=False, soft_wrap=True)


SHOWN = 20  # rows of a table; --json has all


def print_seen(seen: "Seen", tenant: str) -> None:
    """Print what the database has of a tenant."""
    people = "1 person" if seen.people == 1 else f"{seen.people:,} people"
    lines = [
        f"The tenant {tenant} has {people}: {count(seen.log_rows, 'row')} of log"
        f" ({size(seen.log_bytes)}), {count(seen.snapshot_rows, 'row')} of snapshots"
        f" ({size(seen.snapshot_bytes)}).",
        f"Idle work: {', '.join(f'{n:,} {state}' for state, n in seen.tasks.items())}.",
    ]
    for line in lines:
        out().print(line, markup=False)
    if seen.version < seen.newest:
        warn(
            f"The tables have version {seen.version} of {seen.newest}: run `slowcat-memory fleet init`."
        )
    if seen.late:
        whose = listed(f"{person} ({n})" for person, n in seen.late.items())
        warn(f"Wait for the next conversation or idle work: {whose}.")
    _print_held(seen)
    _print_failed(seen)


def _print_held(seen: "Seen") -> None:
    if not seen.held:
        out().print("Nobody is held.")
        return
    made = table("held", "for", "by*", ">left")
    for one in seen.held[:SHOWN]:
        over = one.left_s <= 0
        left = "run out" if over else duration(one.left_s)
        row(made, one.person, one.purpose, one.holder, left, style="yellow" if over else "")
    out().print(made)
    _print_more(len(seen.held))


def _print_failed(seen: "Seen") -> None:
    if not seen.failed:
        return
    made = table("failed", "job", ">times", "why*", ">again")
    for one in seen.failed[:SHOWN]:
        again = "given up" if one.again_s is None else f"in {duration(one.again_s)}"
        row(made, one.person, one.job, one.attempts, one.error, again, style="yellow")
    out().print(made)
    _print_more(len(seen.failed))


def _print_more(n: int) -> None:
    if n > SHOWN:
        out().print(f"[dim]… and {n - SHOWN:,} more: --json lists them all.[/]")


def print_copies(here: "list[Copy]", cache: Path) -> None:
    """Print how many copies this machine has, and those that have something to send."""
    turns = [one for one in here if one.state == "waiting turns"]
    here = [one for one in here if one not in turns]
    used = sum(one.state == "in use" for one in here)
    line = (
        f"{cache} has {'1 copy' if len(here) == 1 else f'{len(here):,} copies'}, {used:,} in use."
    )
    out().print(line, markup=False, soft_wrap=True)
    waits = [one for one in here if one.unsent or (one.unsent is None and one.state == "closed")]
    broken = [one for one in here if one.state == "unreadable"]
    for one in waits:
        n = "some changes" if one.unsent is None else count(one.unsent, "change")
        warn(f"Unsent: {n} of {one.person}, in {one.folder}. Do not delete it.")
    for one in turns:
        warn(f"Turns that were said while there was no memory: {one.folder}. Do not delete it.")
    for one in broken:
        warn(f"Cannot be read: {one.folder}.")
