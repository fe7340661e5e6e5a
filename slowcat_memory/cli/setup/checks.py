"""What can be wrong with a memory, and what can be done about it.

Each check reads, and returns what it found; it repairs nothing by itself. A repair is safe: it
makes again what is derived, or narrows a permission. What was said is never touched.
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
    from slowcat_memory.engine import MemoryEngine
    from slowcat_memory.records import Task
    from slowcat_memory.store.care.health import Health

State = Literal["fine", "note", "wrong"]
Repair = Callable[["MemoryEngine"], object]
LONG = timedelta(days=2)  # a task that waits longer will not be done by itself


class Finding(Struct, frozen=True, kw_only=True):
    """What one check found.

    Attributes:
        what: What was looked at.
        state: "note": worth knowing, and no fault.
        found: In a sentence.
        hint: What a person may do, "" for nothing.
        repair: Does it; None when that is a person's business.
    """

    what: str
    state: State
    found: str
    hint: str = ""
    repair: Repair | None = None


def permissions(folder: Path) -> Finding:
    """Look whether anybody else may read the memory.

    Args:
        folder: The store's.

    Returns:
        What was found.
    """
    files = (path for path in folder.rglob("*") if path.is_file())
    open_ = [path for path in (folder, *files) if _others_may(path)]
    if not open_:
        return Finding(what="permissions", state="fine", found="nobody else may read the memory")
    return Finding(
        what="permissions",
        state="wrong",
        found=f"others may read {listed([path.name for path in open_], 3)}",
        hint=f"chmod -R go-rwx {folder}",
        repair=lambda _: close_to_others(open_),
    )


def close_to_others(paths: Iterable[Path]) -> None:
    """Take from everybody else what they may do with files.

    Args:
        paths: Files and folders.
    """
    for path in paths:
        path.chmod(stat.S_IMODE(path.stat().st_mode) & 0o700)


def store(health: "Health") -> Iterator[Finding]:
    """Say how the store's file is, and the room around it.

    Args:
        health: From the store.

    Yields:
        What was found.
    """
    free, held = size(health.disk_free_bytes), size(health.file_bytes)
    if health.scarce:
        yield Finding(
            what="disk",
            state="wrong",
            found=f"only {free} free: nothing but what is said is saved",
            hint="Make room",
        )
    elif health.bloated:
        yield Finding(
            what="disk",
            state="note",
            found=f"{free} free; of the store's {held}, {size(health.live_bytes)} hold anything",
            hint="slowcat-memory tidy gives the rest back",
            repair=lambda engine: engine.maintain("shrink"),
        )
    else:
        yield Finding(what="disk", state="fine", found=f"{free} free")
    if health.damaged:
        yield Finding(
            what="store",
            state="wrong",
            found=f"damaged rows, which are passed over: {_tables(health.damaged)}",
            hint="What is derived is taken away and made again; else restore a backup",
            repair=lambda engine: engine.maintain("repair"),
        )
    else:
        yield Finding(what="store", state="fine", found=f"{held}, every row reads")
    if health.orphans:
        yield Finding(
            what="store",
            state="note",
            found=f"rows about memories that are not there: {_tables(health.orphans)}",
            repair=lambda engine: engine.maintain("repair"),
        )
    if health.aside:
        yield Finding(
            what="store",
            state="note",
            found=f"files of former stores: {listed([path.name for path in health.aside], 3)}",
            hint="They hold what was said; delete them when they are not needed any more",
        )
    if health.backup is None:
        yield Finding(
            what="backup", state="note", found="there is none", hint="slowcat-memory backup"
        )
    else:
        yield Finding(
            what="backup", state="fine", found=f"the latest is of {health.backup_at:%Y-%m-%d}"
        )


def indexes(health: "Health") -> Iterator[Finding]:
    """Say which sealed indexes are not what vouches for them.

    Args:
        health: From the store.

    Yields:
        What was found.
    """
    for bad in health.indexes:
        yield Finding(
            what="index",
            state="wrong",
            found=f"of {bad.scope}: {bad.file} is not the one that was built",
            hint=f"slowcat-memory reindex --scope {bad.scope}",
            repair=lambda engine, bad=bad: engine.maintain("seal", bad.scope),  # type: ignore[misc]  # a default binds it
        )
    if not health.indexes:
        yield Finding(what="index", state="fine", found="every sealed index is sound")


def model(engine: "MemoryEngine") -> Finding:
    """Look whether the embedding model is at hand.

    Args:
        engine: The engine.

    Returns:
        What was found.
    """
    from slowcat_memory.providers import export_model

    report = engine.embedding
    if report.state in ("ready", "endpoint"):
        return Finding(what="model", state="fine", found=report.source)
    if report.state == "none":
        return Finding(what="model", state="note", found=report.source, hint=report.hint)
    options = engine.config.embedding
    return Finding(
        what="model",
        state="wrong",
        found=report.source,
        hint=report.hint,
        repair=(lambda _: export_model(options)) if report.state == "needs export" else None,
    )


def vectors(engine: "MemoryEngine", scopes: list[str]) -> Finding:
    """Count what can be found by its words only, for want of a vector of the model in use.

    Args:
        engine: The engine.
        scopes: Where.

    Returns:
        What was found.
    """
    key = engine.embedding.key
    if not key:
        return Finding(what="vectors", state="note", found="none are made; recall is by words")
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
        found=f"{missing:,} of {count(every, 'turn')} have none of the model in use",
        hint="They are made in idle time; slowcat-memory reindex --embed makes them now",
        repair=_embed,
    )


def endpoint(config: "Config") -> Finding:
    """Ask the LLM's server for its models.

    Args:
        config: The configuration.

    Returns:
        What was found.
    """
    from slowcat_memory.cli.setup.model_servers import choose_server

    thinking = config.thinking
    if not thinking.url:
        return Finding(
            what="LLM",
            state="note",
            found="none is configured: idle work goes by rules alone",
            hint="Name a server's URL in [thinking] url",
        )
    try:
        server = choose_server(thinking.url, thinking.allow_remote)
    except SlowcatError as error:
        return Finding(what="LLM", state="wrong", found=error.message, hint=error.hint or "")
    models = server.models if server else ()
    if thinking.model and thinking.model not in models:
        return Finding(
            what="LLM",
            state="wrong",
            found=f"{thinking.url} does not offer {thinking.model}",
            hint=f"It offers {listed(models) or 'none'}",
        )
    return Finding(what="LLM", state="fine", found=f"{thinking.url} answers")


def queue(engine: "MemoryEngine", now: datetime) -> Iterator[Finding]:
    """Look for idle work that does not get done.

    Args:
        engine: The engine.
        now: The time.

    Yields:
        What was found.
    """
    with engine.snapshot() as snapshot:
        tasks = snapshot.tasks()
    dead = [task for task in tasks if task.state == "dead"]
    old = [task for task in tasks if task.state == "waiting" and task.created < now - LONG]
    if dead:
        yield Finding(
            what="queue",
            state="wrong",
            found=f"{count(len(dead), 'task')} given up: {listed(_jobs(dead))}",
            hint="slowcat-memory jobs shows why; jobs retry --all-dead has them tried again",
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


def erasure(engine: "MemoryEngine") -> Finding:
    """Look for what should have been erased by now.

    Args:
        engine: The engine.

    Returns:
        What was found.
    """
    from slowcat_memory.engine.forget import has_expired

    now = engine.clock()
    with engine.snapshot() as snapshot:
        late = has_expired(snapshot, engine.config, now)
        due = [o for o in snapshot.commands() if o.state == "done" and o.due and o.due <= now]
    if not due and not late:
        return Finding(what="erasure", state="fine", found="nothing is overdue")
    found = f"{count(len(due), 'order')} due" + (", and what is kept for some time only" * late)
    return Finding(
        what="erasure",
        state="note",
        found=found,
        hint="It is out of recall, and erased when the store is next opened for writing",
        repair=lambda engine: engine.maintain("erase"),
    )


def _tables(rows: dict[str, int]) -> str:
    return listed([f"{n:,} in {table}" for table, n in rows.items()])


def _embed(engine: "MemoryEngine") -> None:
    with engine.snapshot() as snapshot:
        scopes = snapshot.scopes()
    for scope in scopes:
        engine.maintain("embed", scope)


def _jobs(tasks: "list[Task]") -> list[str]:
    return sorted({task.job for task in tasks})


def _others_may(path: Path) -> bool:
    return not path.is_symlink() and bool(path.stat().st_mode & 0o077)
