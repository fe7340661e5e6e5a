"""The checks behind ``slowcat-memory doctor``, and their repairs.

A check only reads. A repair is safe: it rebuilds derived data or narrows permissions. Turns are never
touched.
"""

import stat
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from slowcat_memory.cli.shared.output import count, listed, size
from slowcat_memory.errors import SlowcatError

if TYPE_CHECKING:
    from slowcat_memory.config import Config
    from slowcat_memory.engine.forget import Overdue
    from slowcat_memory.engine.memory import Memory
    from slowcat_memory.records import Task
    from slowcat_memory.store.care.health import Health

State = Literal["fine", "note", "wrong"]
Repair = Callable[["Memory"], object]
LONG = timedelta(days=2)  # a task that waits longer is stuck


class Finding(Struct, frozen=True, kw_only=True):
    """The result of one check."""

    what: str
    state: State  # "note": worth knowing, but no fault
    found: str  # the result, in a sentence
    hint: str = ""  # what the user can do, "" for nothing
    repair: Repair | None = None  # repairs it; None when only the user can


def permissions(folder: Path) -> Finding:
    files = (path for path in folder.rglob("*") if path.is_file())
    open_ = [path for path in (folder, *files) if _others_may(path)]
    if not open_:
        return Finding(what="permissions", state="fine", found="only you can read the memory")
    return Finding(
        what="permissions",
        state="wrong",
        found=f"other users can read {listed([path.name for path in open_], 3)}",
        hint=f"chmod -R go-rwx {folder}",
        repair=lambda _: close_to_others(open_),
    )


def close_to_others(paths: Iterable[Path]) -> None:
    """Remove all permissions of group and others."""
    for path in paths:
        path.chmod(stat.S_IMODE(path.stat().st_mode) & 0o700)


def store(health: "Health") -> Iterator[Finding]:
    """Check the store's file, its backups and the free disk space."""
    free, held = size(health.disk_free_bytes), size(health.file_bytes)
    if health.scarce:
        yield Finding(
            what="disk",
            state="wrong",
            found=f"only {free} free: idle work is off, only turns are saved",
            hint="Free some disk space",
        )
    elif health.bloated:
        yield Finding(
            what="disk",
            state="note",
            found=f"{free} free; {size(health.live_bytes)} of the store's {held} are in use",
            hint="slowcat-memory doctor --repair frees the rest",
            repair=lambda engine: engine.maintain("shrink"),
        )
    else:
        yield Finding(what="disk", state="fine", found=f"{free} free")
    if health.damaged:
        yield Finding(
            what="store",
            state="wrong",
            found=f"damaged rows, which are skipped: {_tables(health.damaged)}",
            hint="Repair rebuilds derived rows; for others restore a backup",
            repair=lambda engine: engine.maintain("repair"),
        )
    else:
        yield Finding(what="store", state="fine", found=f"{held}, all rows are readable")
    if health.orphans:
        yield Finding(
            what="store",
            state="note",
            found=f"rows of memories that no longer exist: {_tables(health.orphans)}",
            repair=lambda engine: engine.maintain("repair"),
        )
    if health.aside:
        yield Finding(
            what="store",
            state="note",
            found=f"files of damaged or replaced stores: {listed([path.name for path in health.aside], 3)}",
            hint="They contain conversations; --delete-damaged deletes those of damaged stores",
        )
    if health.backup is None:
        yield Finding(what="backup", state="note", found="none yet", hint="slowcat-memory backup")
    else:
        yield Finding(
            what="backup", state="fine", found=f"the latest is from {health.backup_at:%Y-%m-%d}"
        )


def indexes(health: "Health") -> Iterator[Finding]:
    for bad in health.indexes:
        yield Finding(
            what="index",
            state="wrong",
            found=f"{bad.scope}: {bad.file} is damaged",
            hint=f"slowcat-memory reindex --scope {bad.scope}",
            repair=lambda engine, bad=bad: engine.maintain("seal", bad.scope),  # type: ignore[misc]  # a default binds it
        )
    if not health.indexes:
        yield Finding(what="index", state="fine", found="all indexes are intact")


def model(engine: "Memory") -> Finding:
    from slowcat_memory.providers import export_model
    from slowcat_memory.providers.embedding.model_files import how_to_get, is_on_this_machine

    report = engine.embedding
    if report.state in ("ready", "endpoint"):
        return Finding(what="model", state="fine", found=report.source)
    if report.state == "none":
        return Finding(what="model", state="note", found=report.source, hint=report.hint)
    options = engine.config.embedding
    here = report.state == "needs export" and is_on_this_machine(options.model)
    return Finding(
        what="model",
        state="wrong",
        found=report.source,
        hint=report.hint if here or report.state == "missing" else how_to_get(options.model),
        repair=(lambda _: export_model(options)) if here else None,
    )


def owner(folder: Path) -> Iterator[Finding]:
    """Report which process has the memory open for writing."""
    from slowcat_memory.owner import who_owns

    if process := who_owns(folder):
        found = f"in use by {process.program} (process {process.pid})"
        yield Finding(what="owner", state="fine", found=found)


def vectors(engine: "Memory", scopes: list[str]) -> Finding:
    key = engine.embedding.key
    if not key:
        return Finding(what="vectors", state="note", found="not used; recall is by words")
    missing = every = 0
    with engine.snapshot() as snapshot:
        for scope in scopes:
            ids = [f"chunk/{turn.id}" for turn in snapshot.turns(scope) if not turn.aside]
            there = {vector.memory for vector in snapshot.vectors(key, scope)}
            every += len(ids)
            missing += sum(id_ not in there for id_ in ids)
    if not missing:
        return Finding(what="vectors", state="fine", found=f"of all {count(every, 'turn')}")
    return Finding(
        what="vectors",
        state="note",
        found=f"{missing:,} of {count(every, 'turn')} have no vector of the current model",
        hint="Idle work computes them; slowcat-memory reindex --embed does it now",
        repair=_embed,
    )


def endpoint(config: "Config") -> Finding:
    from slowcat_memory.providers.llm.base import AUTO
    from slowcat_memory.providers.llm.model_servers import choose_server, find_loaded

    thinking = config.thinking
    if not thinking.url:
        return Finding(
            what="LLM",
            state="note",
            found="none configured ([idle_llm] url): idle work uses rules only",
            hint='Set it to "auto", or to a server\'s URL',
        )
    auto = thinking.url == AUTO
    try:
        if auto:
            here = find_loaded(thinking)
            found = f"{here.models[0]} of {here.name} at {here.url}"
            return Finding(what="LLM", state="fine", found=found)
        server = choose_server(thinking.url, thinking.allow_remote)
    except SlowcatError as error:
        state: State = "note" if auto else "wrong"
        return Finding(what="LLM", state=state, found=error.message, hint=error.hint or "")
    models = server.models if server else ()
    if thinking.model and thinking.model not in models:
        return Finding(
            what="LLM",
            state="wrong",
            found=f"{thinking.url} does not offer {thinking.model}",
            hint=f"It offers {listed(models) or 'none'}",
        )
    return Finding(what="LLM", state="fine", found=f"{thinking.url} answers")


def queue(engine: "Memory", now: datetime) -> Iterator[Finding]:
    with engine.snapshot() as snapshot:
        tasks = snapshot.tasks()
    dead = [task for task in tasks if task.state == "dead"]
    old = [task for task in tasks if task.state == "waiting" and task.created < now - LONG]
    if dead:
        yield Finding(
            what="queue",
            state="wrong",
            found=f"{count(len(dead), 'task')} failed: {listed(_jobs(dead))}",
            hint="slowcat-memory jobs shows why; jobs retry --all-dead tries them again",
        )
    if old:
        yield Finding(
            what="queue",
            state="note",
            found=f"{count(len(old), 'task')} waiting for more than two days: {listed(_jobs(old))}",
            hint="slowcat-memory idle --until-done does them now",
        )
    if not dead and not old:
        yield Finding(what="queue", state="fine", found=f"{count(len(tasks), 'task')} waiting")


def clock(overdue: "Overdue", now: datetime) -> Finding:
    """Check whether the wall clock is believed: by a doubted one nothing is erased by time.

    ``now`` is in the user's time zone.
    """
    shown = f"{now:%Y-%m-%d %H:%M}"
    if not overdue.doubted:
        return Finding(what="clock", state="fine", found=f"it is {shown}")
    return Finding(
        what="clock",
        state="note",
        found=f"it is doubted, nothing is erased by it: {overdue.doubted}",
        hint=f"Is it {shown}? Synchronise the system's time, or run"
        " slowcat-memory doctor --clock-is-right",
    )


def retention(overdue: "Overdue", raw_days: float) -> Iterator[Finding]:
    """Report how many turns ``raw_days`` leaves."""
    if not raw_days:
        return
    found, since = f"turns are erased after {raw_days:g} days", overdue.kept_since
    if since is not None:
        kept = count(overdue.kept, "older turn")
        found += f"; {kept} kept for what was made of them, since {since:%Y-%m-%d}"
    yield Finding(what="retention", state="fine", found=found)


def erasure(overdue: "Overdue") -> Finding:
    """Check for data that should have been erased by now."""
    commands, expired = overdue.commands, overdue.expired
    if not commands and not expired:
        return Finding(what="erasure", state="fine", found="nothing is overdue")
    found = f"{count(commands, 'forget command')} due"
    found += f", and {count(expired, 'expired turn')}" * bool(expired)
    if overdue.doubted:
        hint = "They wait until the clock is believed"
        return Finding(
            what="erasure", state="note", found=f"by a doubted clock: {found}", hint=hint
        )
    return Finding(
        what="erasure",
        state="note",
        found=found,
        hint="They are not recalled any more, and erased when the store is next opened for writing",
        repair=lambda engine: engine.maintain("erase"),
    )


def _tables(rows: dict[str, int]) -> str:
    return listed([f"{n:,} in {table}" for table, n in rows.items()])


def _embed(engine: "Memory") -> None:
    with engine.snapshot() as snapshot:
        scopes = snapshot.scopes()
    for scope in scopes:
        engine.maintain("embed", scope)


def _jobs(tasks: "list[Task]") -> list[str]:
    return sorted({task.job for task in tasks})


def _others_may(path: Path) -> bool:
    return not path.is_symlink() and bool(path.stat().st_mode & 0o077)
