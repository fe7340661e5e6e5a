"""``slowcat-memory init``, ``doctor`` and ``config``: makes a memory ready, and finds what is wrong.

A check only reads. A repair is safe: it rebuilds derived data or narrows permissions. Turns are never
touched.
"""

import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer
from msgspec import Struct
from msgspec.structs import asdict
from rich.text import Text

from slowcat_memory.cli import shell
from slowcat_memory.cli.shell import Settings, count, listed, out, print_json, size, takes, warn
from slowcat_memory.errors import ProviderError, SlowcatError, StoreDamagedError, StoreError

if TYPE_CHECKING:
    from slowcat_memory.config import Config
    from slowcat_memory.engine import MemoryEngine
    from slowcat_memory.engine.upkeep import Overdue
    from slowcat_memory.providers import EmbedderOptions, EmbedderReport
    from slowcat_memory.store.care.health import Health

SIGNS = {"fine": Text("✓", "green"), "note": Text("·", "yellow"), "wrong": Text("✗", "bold red")}
LONG = timedelta(days=2)  # a task that waits longer is stuck
app = typer.Typer(no_args_is_help=True, help="Check and show the configuration.")


class Finding(Struct, frozen=True):
    """The result of one check."""

    what: str
    state: Literal["fine", "note", "wrong"]  # "note": worth knowing, but no fault
    found: str  # the result, in a sentence
    hint: str = ""  # what the user can do, "" for nothing
    repair: "Callable[[MemoryEngine], object] | None" = None  # None when only the user can


@takes("as_json")
def init(known: Settings, *, model: bool = True) -> None:
    """Write a configuration, prepare the store and the model, and report what was found.

    The configuration goes to --config or SLOWCAT_CONFIG, else to ~/.slowcat/config.toml, which
    agents and commands read by themselves. An existing file is not changed. Can be run again at any
    time.

    Examples: [bold]slowcat-memory init[/],
    [bold]slowcat-memory --config ~/bot.toml --path ~/bot-memory init[/]

    Args:
        model: Make the embedding model ready.
    """
    from slowcat_memory.cli.config_file import render_short
    from slowcat_memory.config.loader import default_file

    file = (known.file or default_file()).expanduser().absolute()
    state = "it was there already" if file.exists() else "written"
    if not file.exists():
        store = str(known.store.expanduser().absolute()) if known.store else ""
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file.touch(0o600)
        file.write_text(render_short(store), "utf-8")
    known = replace(known, file=file)
    if model:
        try:
            prepare_model(known.config.embedding, known.as_json)
        except ProviderError as error:
            warn(f"No embedding model, search is by words only: {error}")
    with known.engine(words_only=True):
        pass  # makes the store
    findings = [Finding("configuration", "fine", f"{file} ({state})"), *examine(known)]
    if known.as_json:
        return print_json({f.what: {"ok": f.state != "wrong", "found": f.found} for f in findings})
    _print_findings(findings)
    out().print("Try it:           [bold]slowcat-memory demo[/]")
    if file != default_file():
        use = f"Use this file:    [bold]export SLOWCAT_CONFIG={file}[/]"
        out().print(use, soft_wrap=True)
    processor = "[bold]HybridContextualMemoryProcessor()[/]"
    place = "between the user aggregator and the LLM"
    out().print(f"In your pipeline: {processor}, {place}", soft_wrap=True)


def prepare_model(options: "EmbedderOptions", quiet: bool = False) -> "EmbedderReport":
    """Make the embedding model ready, and report whether it is.

    Raises:
        ProviderError: It cannot be downloaded or exported.
    """
    from slowcat_memory import providers
    from slowcat_memory.providers.embedding.model_files import is_on_this_machine

    _, report = providers.open_query_embedder(options)
    if report.state != "needs export":
        return report
    what = "making the embedding model ready"
    if not is_on_this_machine(options.model):
        what = f"downloading {options.model} once (the default one: 90 MB) and making it ready"
    with shell.waiting(what, quiet):
        providers.export_model(options)
    return providers.open_query_embedder(options)[1]


@takes("as_json")
def doctor(known: Settings, *, repair: bool = False, clock_is_right: bool = False) -> None:
    """Check the store, the models, the LLM server, idle work, disk and permissions.

    The exit code is 1 when something is wrong. A repair rebuilds derived data and narrows
    permissions. Only an unreadable store is replaced, by what can be recovered from it; its files
    are moved aside, and only you delete them.

    While the clock is more than a day away from the last conversation, nothing is erased by time
    until the system has synchronised it, or you say with --clock-is-right that it is right.

    Example: [bold]slowcat-memory doctor --repair[/]

    Args:
        repair: Repair what can be repaired without loss.
        clock_is_right: Believe the clock, and erase what is due.
    """
    if clock_is_right:
        with known.engine() as engine:
            if engine.upkeep.confirm_clock():
                engine.upkeep.erase()
    findings = examine(known)
    if repair and any(finding.repair for finding in findings):
        _repair(known, findings)
        findings = examine(known)
    wrong = sum(finding.state == "wrong" for finding in findings)
    if known.as_json:
        rows = [asdict(finding) for finding in findings]
        for row in rows:
            row["repairable"] = row.pop("repair") is not None
        print_json(rows)
    else:
        _print_findings(findings)
        mend = any(finding.repair for finding in findings)
        more = "; --repair repairs what it safely can" if mend else ""
        problems = f"[bold red]{count(wrong, 'problem')}[/]{more}."
        out().print(problems if wrong else "[green]Nothing is wrong.[/]")
    raise typer.Exit(int(wrong > 0))


def _print_findings(findings: "list[Finding]") -> None:
    shell.print_entries(
        [(Text.assemble(SIGNS[row.state], f" {row.what}"), row.found, row.hint) for row in findings]
    )


def examine(known: Settings, memory: "MemoryEngine | None" = None) -> list[Finding]:
    """Run all checks, through ``memory`` if this process has it open; change nothing."""
    from slowcat_memory.store.care.health import check_file
    from slowcat_memory.store.sharing import others_of

    config, folder = known.config, known.config.folder
    if not folder.is_dir():
        hint = "Run `slowcat-memory init`, or start your bot"
        return [Finding("store", "note", f"no memory at {folder} yet", hint)]
    users = [f"in use by {other.program} (process {other.pid})" for other in others_of(folder)]
    findings = [_permissions(folder), *(Finding("process", "fine", user) for user in users)]
    try:
        check_file(folder)
        with nullcontext(memory) if memory else known.engine(readonly=True) as engine:
            findings += _inside(engine)
    except StoreDamagedError as error:
        hint = error.hint or "slowcat-memory doctor --repair recovers what can be read"
        # Opening it for writing has already recovered it.
        findings.append(Finding("store", "wrong", error.message, hint, lambda _: None))
    except StoreError as error:
        findings.append(Finding("store", "wrong", error.message, error.hint or ""))
    return [*findings, endpoint(config)]


def _inside(engine: "MemoryEngine") -> Iterator[Finding]:
    health, overdue = engine.upkeep.check(), engine.upkeep.overdue()
    yield from _store(health)
    yield model(engine)
    yield _vectors(engine)
    yield from _queue(engine)
    yield from _retention(engine, overdue)


def _repair(known: Settings, findings: list[Finding]) -> None:
    """Run the repairs one by one; a failure does not stop the next."""
    folder = known.config.folder  # first: a store that others may write is not opened
    _close_to_others(path for path in (folder, *folder.rglob("*")) if not path.is_symlink())
    with known.engine() as engine:
        for finding in findings:
            try:
                if finding.repair is not None:
                    finding.repair(engine)
            except (SlowcatError, OSError) as error:
                reason = error.message if isinstance(error, SlowcatError) else str(error)
                warn(f"{finding.what} could not be repaired: {reason}")


# ------------------------------------------------------------------- checks


def _permissions(folder: Path) -> Finding:
    files = (path for path in folder.rglob("*") if path.is_file())
    open_ = [
        path for path in (folder, *files) if not path.is_symlink() and path.stat().st_mode & 0o077
    ]
    if not open_:
        return Finding("permissions", "fine", "only you can read the memory")
    text = f"other users can read {listed([path.name for path in open_], 3)}"
    hint = f"chmod -R go-rwx {folder}"
    return Finding("permissions", "wrong", text, hint, lambda _: _close_to_others(open_))


def _close_to_others(paths: Iterable[Path]) -> None:
    """Remove all permissions of group and others."""
    for path in paths:
        path.chmod(stat.S_IMODE(path.stat().st_mode) & 0o700)


def _store(health: "Health") -> Iterator[Finding]:
    """Check the store's file, its backups and the free disk space."""
    free, held = size(health.disk_free_bytes), size(health.file_bytes)
    if health.scarce:
        text = f"only {free} free: idle work is off, only turns are saved"
        yield Finding("disk", "wrong", text, "Free some disk space")
    elif health.bloated:
        text = f"{free} free; {size(health.live_bytes)} of the store's {held} are in use"
        hint = "slowcat-memory doctor --repair frees the rest"
        yield Finding("disk", "note", text, hint, lambda engine: engine.upkeep.shrink())
    else:
        yield Finding("disk", "fine", f"{free} free")
    if health.damaged:
        damaged = listed([f"{n:,} in {table}" for table, n in health.damaged.items()])
        text = f"damaged rows, which are skipped: {damaged}"
        hint = "Repair rebuilds derived rows; for others restore a backup"
        yield Finding("store", "wrong", text, hint, lambda engine: engine.upkeep.repair())
    else:
        yield Finding("store", "fine", f"{held}, all rows are readable")
    if health.aside:
        names = listed([path.name for path in health.aside], 3)
        hint = (
            f"They contain conversations; `rm -r {health.aside[0].parent}/corrupt-*` deletes them"
        )
        yield Finding("store", "note", f"files of damaged or replaced stores: {names}", hint)
    if health.backup is None:
        yield Finding("backup", "note", "none yet", "slowcat-memory backup")
    else:
        yield Finding("backup", "fine", f"the latest is from {health.backup_at:%Y-%m-%d}")


def model(engine: "MemoryEngine") -> Finding:
    """Check whether the embedding model can be used."""
    from slowcat_memory.providers import export_model
    from slowcat_memory.providers.embedding.model_files import how_to_get, is_on_this_machine

    report, options = engine.embedding.report, engine.config.embedding
    if report.state in ("ready", "endpoint"):
        return Finding("model", "fine", report.source)
    if report.state == "none":
        return Finding("model", "note", report.source, report.hint)
    here = report.state == "needs export" and is_on_this_machine(options.model)
    hint = report.hint if here or report.state == "missing" else how_to_get(options.model)
    repair = (lambda _: export_model(options)) if here else None
    return Finding("model", "wrong", report.source, hint, repair)


def _vectors(engine: "MemoryEngine") -> Finding:
    key = engine.embedding.report.key
    if not key:
        return Finding("vectors", "note", "not used; recall is by words")
    missing = every = 0
    with engine.snapshot() as snapshot:
        scopes = snapshot.scopes()
        for scope in scopes:
            ids = [f"chunk/{turn.id}" for turn in snapshot.turns(scope) if not turn.aside]
            stored = {vector.memory for vector in snapshot.vectors(key, scope)}
            every += len(ids)
            missing += sum(id_ not in stored for id_ in ids)
    if not missing:
        return Finding("vectors", "fine", f"of all {count(every, 'turn')}")
    text = f"{missing:,} of {count(every, 'turn')} have no vector of the current model"
    hint = "Idle work computes them; slowcat-memory doctor --repair does it now"
    return Finding(
        "vectors", "note", text, hint, lambda engine: list(map(engine.upkeep.embed, scopes))
    )


def endpoint(config: "Config") -> Finding:
    """Check whether the LLM of idle work answers."""
    from slowcat_memory.providers.llm.base import AUTO
    from slowcat_memory.providers.llm.model_servers import choose_server, find_loaded

    thinking = config.thinking
    if not thinking.url:
        text = "none configured ([idle_llm] url): idle work uses rules only"
        return Finding("LLM", "note", text, 'Set it to "auto", or to a server\'s URL')
    auto = thinking.url == AUTO
    try:
        if auto:
            here, name = find_loaded(thinking)
            return Finding("LLM", "fine", f"{name} of {here.kind} at {here.url}")
        server = choose_server(thinking.url, thinking.allow_remote)
    except SlowcatError as error:
        return Finding("LLM", "note" if auto else "wrong", error.message, error.hint or "")
    models = server.models if server else ()
    if thinking.model and thinking.model not in models:
        text = f"{thinking.url} does not offer {thinking.model}"
        return Finding("LLM", "wrong", text, f"It offers {listed(models) or 'none'}")
    return Finding("LLM", "fine", f"{thinking.url} answers")


def _queue(engine: "MemoryEngine") -> Iterator[Finding]:
    with engine.snapshot() as snapshot:
        tasks = snapshot.tasks()
    long_ago = engine.clock() - LONG
    dead = [task for task in tasks if task.state == "dead"]
    old = [task for task in tasks if task.state == "waiting" and task.created < long_ago]
    if dead:
        text = f"{count(len(dead), 'task')} failed: {listed(sorted({t.job for t in dead}))}"
        hint = "slowcat-memory show jobs says why; idle --retry tries them again"
        yield Finding("queue", "wrong", text, hint)
    if old:
        jobs = listed(sorted({task.job for task in old}))
        text = f"{count(len(old), 'task')} waiting for more than two days: {jobs}"
        yield Finding("queue", "note", text, "slowcat-memory idle does them now")
    if not dead and not old:
        yield Finding("queue", "fine", f"{count(len(tasks), 'task')} waiting")


def _retention(engine: "MemoryEngine", overdue: "Overdue") -> Iterator[Finding]:
    """Check the wall clock, by which data is erased, and for data that should be by now."""
    shown = f"{engine.clock().astimezone(engine.zone):%Y-%m-%d %H:%M}"
    if overdue.doubted:
        text = f"it is doubted, nothing is erased by it: {overdue.doubted}"
        hint = f"Is it {shown}? Synchronise the system's time, or run"
        hint += " slowcat-memory doctor --clock-is-right"
        yield Finding("clock", "note", text, hint)
    else:
        yield Finding("clock", "fine", f"it is {shown}")
    if raw_days := engine.config.retention.raw_days:
        text, since = f"turns are erased after {raw_days:g} days", overdue.kept_since
        if since is not None:
            kept = count(overdue.kept, "older turn")
            text += f"; {kept} kept for what was made of them, since {since:%Y-%m-%d}"
        yield Finding("retention", "fine", text)
    if not overdue.commands and not overdue.expired:
        yield Finding("erasure", "fine", "nothing is overdue")
        return
    text = f"{count(overdue.commands, 'forget command')} due"
    text += f", and {count(overdue.expired, 'expired turn')}" * bool(overdue.expired)
    if overdue.doubted:
        hint = "They wait until the clock is believed"
        yield Finding("erasure", "note", f"by a doubted clock: {text}", hint)
    else:
        hint = (
            "They are not recalled any more, and erased when the store is next opened for writing"
        )
        yield Finding("erasure", "note", text, hint, lambda engine: engine.upkeep.erase())


# ------------------------------------------------------------------- config


@app.command()
@takes("as_json")
def check(known: Settings) -> None:
    """Read the configuration and the environment, and show every option that is not at its default.

    A wrong key or value is an error that names its path; the exit code is then 1.

    Example: [bold]slowcat-memory --config bot.toml config check[/]
    """
    from slowcat_memory.cli.config_file import print_checked

    print_checked(known)


@app.command()
@takes("as_json")
def show(known: Settings, *, everything: bool = False) -> None:
    """Show the value of every knob, as TOML.

    Examples: [bold]slowcat-memory config show[/], [bold]slowcat-memory config show --all | less[/]

    Args:
        everything (--all): Every knob with its meaning, and the expert options.
    """
    from slowcat_memory.cli.config_file import print_knobs

    return print_json(known.config) if known.as_json else print_knobs(known.config, everything)
