"""What can be wrong with a memory, and what can be done about it.

Each check reads, and returns what it found; it repairs nothing by itself. A repair is safe: it
makes again what is derived, or narrows a permission. What was said is never touched.
"""

import shutil
import stat
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from slowcat_memory.cli.output import count, listed, size
from slowcat_memory.errors import SlowcatError

if TYPE_CHECKING:
    from slowcat_memory.config import Config
    from slowcat_memory.engine import MemoryEngine
    from slowcat_memory.records import Task

State = Literal["fine", "note", "wrong"]
Repair = Callable[["MemoryEngine"], object]
MB = 1_000_000
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


def disk(config: "Config") -> Finding:
    """Look how much room there is.

    Args:
        config: The configuration.

    Returns:
        What was found.
    """
    free = shutil.disk_usage(config.folder).free
    least = config.store.min_free_mb * MB
    if free >= 2 * least:
        return Finding(what="disk", state="fine", found=f"{size(free)} free")
    state: State = "wrong" if free < least else "note"
    hint = f"Below {size(least)} only what is said is saved; make room"
    return Finding(what="disk", state=state, found=f"only {size(free)} free", hint=hint)


def records(engine: "MemoryEngine") -> Finding:
    """Read everything once.

    Args:
        engine: The engine.

    Returns:
        What was found.
    """
    with engine.store.snapshot() as snapshot:
        turns = sum(1 for _ in snapshot.turns())
        for scope in snapshot.scopes():
            for walk in (snapshot.memories(scope), snapshot.contexts(scope), snapshot.keys(scope)):
                for _ in walk:
                    pass
    bad = len(engine.store.quarantined)
    if not bad:
        return Finding(
            what="store", state="fine", found=f"{count(turns, 'turn')}, all records readable"
        )
    return Finding(
        what="store",
        state="wrong",
        found=f"{count(bad, 'record')} do not read back as written, and are passed over",
        hint="Restore a backup, or go on without them",
    )


def indexes(engine: "MemoryEngine") -> Iterator[Finding]:
    """Compare each sealed index with what vouches for it.

    Args:
        engine: The engine.

    Yields:
        What was found, damaged ones first; one line for all that are sound.
    """
    from slowcat_memory.errors import IndexDamagedError
    from slowcat_memory.index import sealed
    from slowcat_memory.runtime.namespaces import index_root

    sound = 0
    with engine.store.snapshot() as snapshot:
        found = [(scope, snapshot.manifest(scope)) for scope in snapshot.scopes()]
        epoch = snapshot.forget_epoch()
    for scope, manifest in found:
        if manifest is None or manifest.forget_epoch != epoch:
            continue  # what came before something was forgotten is never read
        try:
            for vectors in (False, True):
                sealed.check(index_root(engine.store.path, scope), manifest, vectors=vectors)
        except IndexDamagedError as error:
            yield Finding(
                what="index",
                state="wrong",
                found=f"of {scope}: {error.message}",
                hint=f"slowcat-memory reindex --scope {scope}",
                repair=lambda engine, scope=scope: engine.seal(scope),  # type: ignore[misc]
            )
        else:
            sound += 1
    yield Finding(what="index", state="fine", found=f"{sound} sealed, and sound")


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
    with engine.store.snapshot() as snapshot:
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
    from slowcat_memory.cli.llms import choose_server

    thinking = config.thinking
    if not thinking.url:
        return Finding(
            what="LLM",
            state="note",
            found="none is configured: nothing is thought over",
            hint="Name a server's URL in [thinking] url, and its model",
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
    with engine.store.snapshot() as snapshot:
        tasks = snapshot.tasks()
    dead = [task for task in tasks if task.state == "dead"]
    old = [task for task in tasks if task.state == "waiting" and task.created < now - LONG]
    if dead:
        yield Finding(
            what="queue",
            state="wrong",
            found=f"{count(len(dead), 'task')} given up: {listed(_jobs(dead))}",
            hint="slowcat-memory jobs --dead shows why, and has them tried again",
        )
    if old:
        yield Finding(
            what="queue",
            state="note",
            found=f"{count(len(old), 'task')} wait since more than two days: {listed(_jobs(old))}",
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
    now = engine.clock()
    with engine.store.snapshot() as snapshot:
        due = [o for o in snapshot.commands() if o.state == "done" and o.due and o.due <= now]
    late = engine.expired()
    if not due and not late:
        return Finding(what="erasure", state="fine", found="nothing is overdue")
    found = f"{count(len(due), 'order')} due" + (", and what is kept for some time only" * late)
    return Finding(
        what="erasure",
        state="note",
        found=found,
        hint="It is out of recall, and erased when the store is next opened for writing",
        repair=lambda engine: (engine.erase_due(), engine.erase_expired()),
    )


def _embed(engine: "MemoryEngine") -> None:
    with engine.store.snapshot() as snapshot:
        scopes = snapshot.scopes()
    for scope in scopes:
        engine.embed(scope)


def _jobs(tasks: "list[Task]") -> list[str]:
    return sorted({task.job for task in tasks})


def _others_may(path: Path) -> bool:
    return not path.is_symlink() and bool(path.stat().st_mode & 0o077)
