"""``slowcat-memory doctor``: find what is wrong with a memory, and repair what is safe."""

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from slowcat_memory.cli.setup.checks import (
    Finding,
    clock,
    close_to_others,
    endpoint,
    erasure,
    indexes,
    model,
    owner,
    permissions,
    queue,
    retention,
    store,
    vectors,
)
from slowcat_memory.cli.shared.output import count, out, print_json, row, size, table, warn
from slowcat_memory.cli.shared.settings import AsJson, Settings, settings
from slowcat_memory.errors import SlowcatError, StoreDamagedError, StoreError

if TYPE_CHECKING:
    from slowcat_memory.engine.memory import Memory

SIGNS = {"fine": Text("✓", "green"), "note": Text("·", "yellow"), "wrong": Text("✗", "bold red")}


def doctor(
    ctx: typer.Context,
    repair: Annotated[
        bool, typer.Option("--repair", help="Repair what can be repaired without loss.")
    ] = False,
    delete_damaged: Annotated[
        bool,
        typer.Option("--delete-damaged", help="Delete the files of damaged stores, for good."),
    ] = False,
    clock_is_right: Annotated[
        bool, typer.Option("--clock-is-right", help="Believe the clock, and erase what is due.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Delete without asking.")] = False,
    as_json: AsJson = False,
) -> None:
    """Check the store, its indexes, the models, the LLM server, idle work, disk and permissions.

    The exit code is 1 when something is
    wrong. A repair rebuilds derived data and narrows permissions. Only an unreadable store is
    replaced, by what can be recovered from it; its files are moved aside, and only
    --delete-damaged deletes them.

    While the clock is more than a day away from the last conversation, nothing is erased by time
    until the system has synchronised it, or you say with --clock-is-right that it is right.

    Example: [bold]slowcat-memory doctor --repair[/]
    """
    known = settings(ctx)
    if delete_damaged:
        _delete_damaged(known.config.folder, yes, as_json)
        return
    if clock_is_right:
        _believe_clock(known)
    findings = examine(known)
    if repair and any(finding.repair for finding in findings):
        _repair(known, findings)
        findings = examine(known)
    wrong = [finding for finding in findings if finding.state == "wrong"]
    if as_json:
        print_json([_plain(finding) for finding in findings])
    else:
        _print(findings)
    if wrong:
        raise typer.Exit(1)


def examine(known: Settings, memory: "Memory | None" = None) -> list[Finding]:
    """Run all checks, through ``memory`` if this process has it open; change nothing."""
    config = known.config
    if not config.folder.is_dir():
        hint = "Run `slowcat-memory init`, or start your bot"
        return [Finding(what="store", state="note", found=f"none at {config.folder}", hint=hint)]
    from slowcat_memory.store.care.health import check_file

    findings = [permissions(config.folder), *owner(config.folder)]
    try:
        check_file(config.folder)
        with nullcontext(memory) if memory else known.engine(readonly=True) as engine:
            findings += _inside(engine)
    except StoreDamagedError as error:
        findings.append(_damaged(error))
    except StoreError as error:
        findings.append(_closed(error))
    return [*findings, endpoint(config)]


def _inside(engine: "Memory") -> list[Finding]:
    with engine.snapshot() as snapshot:
        scopes = snapshot.scopes()
    health, overdue = engine.maintain("check"), engine.maintain("overdue")
    return [
        *store(health),
        *indexes(health),
        model(engine),
        vectors(engine, scopes),
        *queue(engine, engine.clock()),
        clock(overdue, engine.clock().astimezone(engine.zone)),
        *retention(overdue, engine.config.retention.raw_days),
        erasure(overdue),
    ]


def _damaged(error: SlowcatError) -> Finding:
    return Finding(
        what="store",
        state="wrong",
        found=error.message,
        hint=error.hint or "slowcat-memory doctor --repair recovers what can be read",
        repair=lambda _: None,  # opening it for writing has already recovered it
    )


def _closed(error: SlowcatError) -> Finding:
    return Finding(what="store", state="wrong", found=error.message, hint=error.hint or "")


def _delete_damaged(folder: Path, yes: bool, as_json: bool) -> None:
    """List the damaged stores that were moved aside, and delete them once that is confirmed."""
    from slowcat_memory.store.care import damaged

    copies = damaged.damaged_copies(folder)
    if not copies:
        print_json([]) if as_json else out().print("There are no files of damaged stores.")
        return
    if not as_json:
        for copy in copies:
            held = f"{damaged.count_turns(copy):,} turns in rows of their own can be read"
            out().print(f"{copy.folder.name}: {size(copy.bytes)}; {held}")
    if not yes:
        typer.confirm("Delete these files? They cannot be brought back.", abort=True, err=True)
    try:
        gone = damaged.delete_damaged(folder)
    except OSError as error:
        raise StoreError(f"{error.filename} cannot be deleted: {error.strerror}") from error
    if as_json:
        print_json(gone)
    else:
        out().print(f"[green]✓[/] Deleted {count(len(gone), 'folder')}.")


def _believe_clock(known: Settings) -> None:
    with known.engine() as engine:
        if engine.maintain("confirm clock"):
            engine.maintain("erase")


def _repair(known: Settings, findings: list[Finding]) -> None:
    """Run the repairs one by one; a failure does not stop the next."""
    folder = known.config.folder  # first: a store that others may write is not opened
    close_to_others(path for path in (folder, *folder.rglob("*")) if not path.is_symlink())
    with known.engine() as engine:
        for finding in findings:
            if finding.repair is None:
                continue
            try:
                finding.repair(engine)
            except (SlowcatError, OSError) as error:
                reason = error.message if isinstance(error, SlowcatError) else str(error)
                warn(f"{finding.what} could not be repaired: {reason}")


def _plain(finding: Finding) -> dict[str, object]:
    return {
        "what": finding.what,
        "state": finding.state,
        "found": finding.found,
        "hint": finding.hint,
        "repairable": finding.repair is not None,
    }


def _print(findings: list[Finding]) -> None:
    made = table("", "what", "found*")
    for finding in findings:
        row(made, SIGNS[finding.state], finding.what, finding.found)
        if finding.hint and finding.state != "fine":
            row(made, "", "", finding.hint, style="dim")
    out().print(made)
    wrong = sum(finding.state == "wrong" for finding in findings)
    mend = any(finding.repair for finding in findings)
    if wrong:
        more = "; --repair repairs what it safely can" if mend else ""
        out().print(f"[bold red]{count(wrong, 'problem')}[/]{more}.")
    else:
        out().print("[green]Nothing is wrong.[/]")
