"""``slowcat-memory doctor``: what is wrong with a memory, and repairs what it safely can."""

from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from slowcat_memory.cli.setup.checks import (
    Finding,
    close_to_others,
    endpoint,
    erasure,
    indexes,
    model,
    permissions,
    queue,
    store,
    vectors,
)
from slowcat_memory.cli.shared.output import count, out, print_json, row, table, warn
from slowcat_memory.cli.shared.settings import AsJson, Settings, settings
from slowcat_memory.errors import SlowcatError, StoreDamagedError, StoreError

if TYPE_CHECKING:
    from slowcat_memory.engine import MemoryEngine

SIGNS = {"fine": Text("✓", "green"), "note": Text("·", "yellow"), "wrong": Text("✗", "bold red")}


def doctor(
    ctx: typer.Context,
    repair: Annotated[
        bool, typer.Option("--repair", help="Repair what can be repaired without loss.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check the store, its indexes, the models, the LLM's server, idle work, disk and permissions.

    Works while an agent runs; to repair, stop it first. The exit code is 1 when something is wrong.
    A repair makes again what can be made again, and narrows permissions. Only a store that does not
    read is replaced by what can be read of it; its files are moved aside, and never deleted.

    Example: [bold]slowcat-memory doctor --repair[/]
    """
    known = settings(ctx)
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


def examine(known: Settings) -> list[Finding]:
    """Look at everything. Changes nothing.

    Args:
        known: The configuration.

    Returns:
        What was found, in the order of a person's questions.
    """
    config = known.config
    if not config.folder.is_dir():
        hint = "Start the agent once, or check the path"
        return [Finding(what="store", state="note", found=f"none at {config.folder}", hint=hint)]
    findings = [permissions(config.folder)]
    try:
        with known.engine(readonly=True) as engine:
            findings += _inside(engine)
    except StoreDamagedError as error:
        findings.append(_damaged(error))
    except StoreError as error:
        findings.append(_closed(error))
    return [*findings, endpoint(config)]


def _inside(engine: "MemoryEngine") -> list[Finding]:
    with engine.snapshot() as snapshot:
        scopes = snapshot.scopes()
    health = engine.maintain("check")
    return [
        *store(health),
        *indexes(health),
        model(engine),
        vectors(engine, scopes),
        *queue(engine, engine.clock()),
        erasure(engine),
    ]


def _damaged(error: SlowcatError) -> Finding:
    return Finding(
        what="store",
        state="wrong",
        found=error.message,
        hint="slowcat-memory doctor --repair carries over what can be read",
        repair=lambda _: None,  # opening it for writing has done that
    )


def _closed(error: SlowcatError) -> Finding:
    return Finding(what="store", state="wrong", found=error.message, hint=error.hint or "")


def _repair(known: Settings, findings: list[Finding]) -> None:
    """Repair one thing after the other; what fails does not keep the next from its turn."""
    folder = known.config.folder  # first of all: a store that others may write is not opened
    close_to_others(path for path in (folder, *folder.rglob("*")) if not path.is_symlink())
    with known.engine() as engine:
        for finding in findings:
            if finding.repair is None:
                continue
            try:
                finding.repair(engine)
            except (SlowcatError, OSError) as error:
                told = error.message if isinstance(error, SlowcatError) else str(error)
                warn(f"{finding.what} could not be repaired: {told}")


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
        out().print(f"[bold red]{count(wrong, 'thing')} wrong[/]{more}.")
    else:
        out().print("[green]Nothing is wrong.[/]")
