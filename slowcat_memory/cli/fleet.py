"""``slowcat-memory fleet``: tables, memories in and out, who holds what, an idle worker."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slowcat_memory.cli.run import duration, until_stopped
from slowcat_memory.cli.shell import (
    count,
    done,
    dots,
    listed,
    out,
    print_entries,
    print_json,
    settings,
    size,
    takes,
    waiting,
    warn,
)
from slowcat_memory.errors import ConfigError, FleetError, how_to_install

if TYPE_CHECKING:
    from slowcat_memory.fleet import Fleet
    from slowcat_memory.fleet.housekeeping import Copy, Seen
    from slowcat_memory.fleet.idle_worker import Worked

UPGRADE_S = 600.0
SHOWN = 20  # entries of a list; --json has all
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
    from importlib.util import find_spec

    config = settings(ctx).config
    if find_spec("asyncpg") is None:
        raise ConfigError("the postgres extra is not installed", hint=how_to_install("postgres"))
    if not config.fleet.dsn.strip():
        raise ConfigError(
            "there is no database for a fleet",
            hint='Set dsn under [fleet] in config.toml, such as "postgresql://worker@db/memories"',
        )
    from slowcat_memory.fleet import Fleet

    fleet = Fleet(config)
    try:
        yield fleet
    finally:
        fleet.close()


@app.command()
@takes("as_json")
def init(
    ctx: typer.Context,
    role: Annotated[
        str,
        typer.Option(
            metavar="ROLE",
            help="The database role of the workers; by default the one of \\[fleet] dsn.",
        ),
    ] = "",
) -> None:
    """Make the tables, and let a role use the tenant.

    Run it once as the owner of the database, and again after each upgrade. Workers should have a
    role of their own that is no superuser: then the database itself keeps tenants apart.

    Example: [bold]slowcat-memory fleet init --role worker[/]
    """
    with _fleet(ctx) as fleet:
        from slowcat_memory.fleet import schema

        database, tenant = fleet.database, fleet.worker.tenant
        is_new = database.run(schema.upgrade, timeout_s=UPGRADE_S)
        used_by = database.run(schema.allow, tenant, role)
        bypasses = database.run(schema.bypasses_policies, used_by)
    version = schema.VERSION
    if settings(ctx).as_json:
        roles = {"tenant": tenant, "role": used_by, "bypasses_row_security": bypasses}
        return print_json({"version": version, "added": [version] if is_new else [], **roles})
    done(f"The tables {'were made' if is_new else 'are up to date'} (version {version}).")
    out().print(f"The role {used_by} may use the tenant {tenant}.", markup=False)
    if bypasses:
        warn(
            f"Row-level security does not bind {used_by}: a worker with it can read every tenant. "
            "Make a role that is no superuser, and run `slowcat-memory fleet init --role ROLE`."
        )
    return None


@app.command()
@takes("as_json")
def push(ctx: typer.Context, person: Person) -> None:
    """Put a memory of this machine into the database, as a person's.

    It is stored whole or not at all, read back and counted before it counts. The store itself is
    only read; stop the bot that writes to it first, since what is said later stays there. A person
    who has a memory in the database is refused.

    Example: [bold]slowcat-memory --path ~/anna fleet push anna[/]
    """
    known = settings(ctx)
    with _fleet(ctx) as fleet:
        from slowcat_memory.fleet.hydration import push as put
        from slowcat_memory.runtime.namespaces.registry import scope_of_user
        from slowcat_memory.store.sharing import living

        person = scope_of_user(person, "PERSON")
        folder = known.existing().config.folder
        if known.people and person not in known.people:
            raise FleetError(
                f"{folder} has nothing of {person}, but of {listed(known.people)}",
                hint="Push it under that name: a conversation recalls what was said under its own",
            )
        if living(folder):
            warn(f"A bot has {folder} open: what is said from now on is not in the database.")
        with waiting("storing it"):
            pushed = put(fleet.worker, folder, person, known.config.store)
    words = f"{_events(pushed.rows)} of {person}, {size(pushed.bytes)} compressed, checked."
    known.report(pushed, words)


def _events(rows: dict[str, int]) -> str:
    return count(rows.get("log", 0) + rows.get("places", 0), "event")


@app.command()
@takes("as_json")
def pull(
    ctx: typer.Context,
    person: Person,
    to: Annotated[
        Path,
        typer.Option("--to", metavar="FOLDER", file_okay=False, help="A new folder for the store."),
    ],
) -> None:
    """Make an ordinary store of a person's memory in the database.

    The database keeps its own. The person may be talking: what is said from now on is not in the
    store. Nothing that exists is overwritten.

    Example: [bold]slowcat-memory fleet pull anna --to ~/anna[/]
    """
    with _fleet(ctx) as fleet:
        from slowcat_memory.fleet.hydration import pull as take
        from slowcat_memory.runtime.namespaces.registry import scope_of_user

        person = scope_of_user(person, "PERSON")
        with waiting("reading it"):
            pulled = take(fleet.worker, person, to.expanduser())
    settings(ctx).report(pulled, f"{_events(pulled.rows)} of {person}:", str(pulled.folder))


@app.command()
@takes("as_json")
def status(ctx: typer.Context) -> None:
    """Show the database, who holds whom, what idle work is due, and what waits on this machine.

    Exits with 1 when the database cannot be reached; the copies on this machine are shown all the
    same. "unsent" are changes that only this machine has.

    Example: [bold]slowcat-memory fleet status --json | jq .database.tasks[/]
    """
    with _fleet(ctx) as fleet:
        from slowcat_memory.fleet import housekeeping as keeping

        tenant, cache = fleet.worker.tenant, fleet.worker.cache
        seen, error, kept = None, None, []
        try:
            seen = fleet.database.run(keeping.look, tenant, timeout_s=keeping.LOOK_S)
            kept = fleet.database.run(keeping.kept, fleet.worker)
        except FleetError as away:
            error = away
        here = keeping.copies_here(cache, None if error else fleet.database)
    if settings(ctx).as_json:
        message = error and error.message
        found = {"tenant": tenant, "error": message, "database": seen, "kept": kept}
        print_json(found | {"copies": here})
    else:
        if seen is not None:
            _print_seen(seen, tenant)
        _print_copies(here, cache)
        for one in kept:
            warn(f"No forgetting reaches {one}.")
    if error is not None:
        raise error


def _print_seen(seen: "Seen", tenant: str) -> None:
    """Print what the database has of a tenant."""
    people = "1 person" if seen.people == 1 else f"{seen.people:,} people"
    log, snapshots = count(seen.log_rows, "row"), count(seen.snapshot_rows, "row")
    lines = [
        f"The tenant {tenant} has {people}: {log} of log ({size(seen.log_bytes)}), {snapshots} of"
        f" snapshots ({size(seen.snapshot_bytes)}).",
        f"Idle work: {', '.join(f'{n:,} {state}' for state, n in seen.tasks.items())}.",
        f"{count(len(seen.held), 'memory')} held." if seen.held else "Nobody is held.",
    ]
    for line in lines:
        out().print(line, markup=False)
    rows = []
    for held in seen.held[:SHOWN]:
        left = f"{duration(held.left_s)} left" if held.left_s > 0 else "run out"
        rows.append((held.person, dots(held.purpose, held.holder, left)))
    for failed in seen.failed[:SHOWN]:
        again = "given up" if failed.again_s is None else f"again in {duration(failed.again_s)}"
        tried = f"failed {failed.attempts} times"
        rows.append((failed.person, dots(tried, failed.error, again)))
    print_entries(rows)
    if (more := len(seen.held) + len(seen.failed) - len(rows)) > 0:
        out().print(f"… and {more:,} more: --json lists them all.", style="dim")
    if seen.purged:
        warn(
            f"Forgotten, and in the tables' files yet: something of {count(seen.purged, 'memory')}. "
            "Run `slowcat-memory fleet housekeeping --full` at a quiet hour."
        )
    if seen.version < seen.newest:
        versions = f"version {seen.version} of {seen.newest}"
        warn(f"The tables have {versions}: run `slowcat-memory fleet init`.")


def _print_copies(here: "list[Copy]", cache: Path) -> None:
    """Print how many copies this machine has, and those that have something to send."""
    used = sum(one.state == "in use" for one in here)
    copies = count(len(here), "copy")
    out().print(f"{cache} has {copies}, {used:,} in use.", markup=False, soft_wrap=True)
    for one in here:
        if one.unsent or (one.unsent is None and one.state == "closed"):
            n = "some changes" if one.unsent is None else count(one.unsent, "change")
            warn(f"Unsent: {n} of {one.person}, in {one.folder}. Do not delete it.")
        if one.state == "unreadable":
            warn(f"Cannot be read: {one.folder}.")


@app.command()
@takes("as_json")
def housekeeping(
    ctx: typer.Context,
    full: Annotated[
        bool, typer.Option("--full", help="Rewrite the tables (VACUUM FULL); only their owner may.")
    ] = False,
) -> None:
    """Remove what there is yet of what was forgotten, and show the status.

    Deletes copies on this machine that have it, and sends what waits here. With [bold]--full[/] the
    tables lose their deleted rows: nobody is served meanwhile. For WAL and backups: docs/fleet.md.

    Example: [bold]slowcat-memory fleet housekeeping --full[/]
    """
    with _fleet(ctx) as fleet, waiting("tidying up"):
        from slowcat_memory.fleet.person_log import REWRITE_S, rewrite

        fleet.tidy()
        if full:
            fleet.database.run(rewrite, timeout_s=2 * REWRITE_S)
    status(ctx, as_json=None)


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
    with _fleet(ctx) as fleet, until_stopped() as ended:
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
        out().print(f"{line}{again}", markup=False, soft_wrap=True)
