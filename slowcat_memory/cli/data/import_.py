"""``slowcat-memory import``: read transcripts or facts into a memory."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from slowcat_memory.cli.data.tidy import tidy_scopes
from slowcat_memory.cli.shared.output import (
    ShowProgress,
    bars,
    count,
    err,
    listed,
    out,
    print_json,
    warn,
)
from slowcat_memory.cli.shared.settings import AsJson, settings
from slowcat_memory.errors import ProviderError, TranscriptError

if TYPE_CHECKING:
    from slowcat_memory.engine import MemoryEngine
    from slowcat_memory.transfer import Imported, Step
    from slowcat_memory.transfer.fact_files import Imported as ImportedFacts

HINT = "`slowcat-memory import --help` shows how."
SHOWN = 10  # unreadable lines that are listed for each file


def import_(
    ctx: typer.Context,
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE", help="Transcripts.", show_default=False),
    ] = None,
    scope: Annotated[
        str,
        typer.Option(
            help="Whose memory; {conversation} stands for each conversation's name. By default the"
            " scope named in the file, else the configured user.",
            show_default=False,
        ),
    ] = "",
    conversation: Annotated[
        list[str] | None, typer.Option(help="Only this conversation of the file; may be repeated.")
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Import sessions again that were forgotten.")
    ] = False,
    embed: Annotated[
        bool, typer.Option("--embed/--no-embed", help="Compute vectors and the index now.")
    ] = True,
    facts: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Read facts written by export --facts.",
            file_okay=False,
            exists=True,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    r"""Import transcripts: JSON lines or plain text, also .gz and .zst.

    JSON lines, one turn each; only "text" is required:
    [dim]{"speaker": "Anna", "text": "My dog is called Max.", "at": "2024-05-12T18:30",
    "role": "user", "session": "a", "id": "1"}[/]

    Plain text, one turn a line; "# 2024-05-12 18:30" or two blank lines begin a session:
    [dim]Anna: My dog is called Max.[/]

    Also: files written by [bold]export[/], evaluation sets (conversations.jsonl.gz), exports of
    ChatGPT, Claude, WhatsApp and Telegram, Mem0's get_all, Markdown, WebVTT and CSV.
    Unreadable lines are named and left out, and the exit status is then 1. Nothing is imported twice:
    import a file again when it has grown, or after an interruption.

    Example: [bold]slowcat-memory import chats.jsonl --scope anna[/]
    """
    if bool(paths) == bool(facts):
        raise typer.BadParameter("give transcript files, or --facts")
    if facts:
        return _facts(ctx, facts, scope, embed=embed, as_json=as_json)
    paths = paths or []
    begun = time.monotonic()
    chosen = settings(ctx)
    _refuse_all_unreadable(paths, whole=not (chosen.config.folder / "data.mdb").exists())
    with chosen.engine() as engine:
        told = [_one(engine, path, scope, conversation or [], again, as_json) for path in paths]
        scopes = sorted(set().union(*(entry["scopes"] for entry in told)))
        trouble = _tidy(engine, scopes, as_json) if embed else ""
        searchable = engine.embedding.state in ("ready", "endpoint") and not trouble
    if as_json:
        print_json({"files": told, "scopes": scopes, "vectors": searchable and embed})
    else:
        keys = ("turns", "sessions", "known_turns", "notes", "future_turns")
        total = {key: sum(entry[key] for entry in told) for key in keys}
        _print_renamed(told)
        _summary(total, scopes, time.monotonic() - begun)
    if any(entry["unreadable"] for entry in told):
        raise typer.Exit(1)


def _print_renamed(told: list[dict[str, Any]]) -> None:
    """Show the scopes of conversations whose names could not name one."""
    renamed = {name: scope for entry in told for name, scope in entry["renamed"].items()}
    for name, scope in list(renamed.items())[:SHOWN]:
        out().print(Text(f"{name} → scope {scope}"))
    if len(renamed) > SHOWN:
        out().print(f"and {len(renamed) - SHOWN} more conversations")


def _facts(ctx: typer.Context, folder: Path, scope: str, *, embed: bool, as_json: bool) -> None:
    from slowcat_memory.transfer.fact_files import import_facts

    with settings(ctx).engine(words_only=not embed) as engine:
        done = import_facts(engine, folder, scope)
        if embed and done.scopes:
            _tidy(engine, list(done.scopes), as_json)
    if as_json:
        print_json(done)
    else:
        _print_facts(done)
    if done.faults:
        raise typer.Exit(1)


def _print_facts(done: "ImportedFacts") -> None:
    known = f", {done.known:,} already known" if done.known else ""
    out().print(f"[green]✓[/] {count(done.facts, 'fact')}{known}")
    if done.unproven:
        warn(
            f"{count(done.unproven, 'fact')} without a source turn in this log: "
            "they are recalled in their own words."
        )
    if done.refused:
        warn(
            f"{count(done.refused, 'fact')} left out: they read like instructions or contain links."
        )
    for fault in done.faults[:SHOWN]:
        warn(fault)
    if len(done.faults) > SHOWN:
        warn(f"and {len(done.faults) - SHOWN} more")


def _refuse_all_unreadable(paths: list[Path], *, whole: bool) -> None:
    """Raise when none of the files can be read, before a store is created.

    ``whole`` reads them until the first turn or note; else they are only opened.
    """
    from slowcat_memory.transfer import files

    unreadable: list[TranscriptError] = []
    for path in paths:
        faults: list[TranscriptError] = []
        try:
            with files.opened(path):
                pass
            if not whole or next(files.read(path, faults.append), None) is not None:
                return
            unreadable.append(TranscriptError("No turn could be read.", hint=HINT))
        except TranscriptError as error:
            unreadable.append(error)
        _print_faults(path, faults)
    for other in unreadable[:-1]:
        warn(str(other))
    raise unreadable[-1]


def _one(
    engine: "MemoryEngine",
    path: Path,
    scope: str,
    conversations: list[str],
    again: bool,
    quiet: bool,
) -> dict[str, Any]:
    from slowcat_memory import transfer

    faults: list[TranscriptError] = []
    done = transfer.Imported()
    try:
        with bars({"read": path.name}, quiet) as show:
            done = transfer.import_file(
                engine,
                path,
                scope=scope,
                conversations=conversations,
                again=again,
                on_error=faults.append,
                progress=lambda step: _show_step(show, step),
            )
    except TranscriptError as error:  # the other files can still be read
        faults.append(error)
    if not quiet:
        _print_faults(path, faults)
    return _plain(path, done, faults)


def _show_step(show: ShowProgress, step: "Step") -> None:
    show("read", step.turns, step.of_turns)


def _plain(path: Path, done: "Imported", faults: list[TranscriptError]) -> dict[str, Any]:
    return {
        "file": str(path),
        "turns": done.turns,
        "sessions": done.sessions,
        "notes": done.notes,
        "known_turns": done.known_turns,
        "conversations": done.conversations,
        "future_turns": done.future_turns,
        "read": done.turns + done.known_turns + done.notes,
        "scopes": sorted(done.scopes),
        "renamed": {
            name: scope for name, scope in done.names.items() if not scope.endswith(name.lower())
        },
        "unreadable": [fault.message for fault in faults],
    }


def _print_faults(path: Path, faults: list[TranscriptError]) -> None:
    if not faults:
        return
    warn(f"{path.name}: {count(len(faults), 'part')} could not be read:")
    for fault in faults[:SHOWN]:
        warn(f"  {fault}")
    if len(faults) > SHOWN:
        warn(f"  and {len(faults) - SHOWN} more")


def _tidy(engine: "MemoryEngine", scopes: list[str], quiet: bool) -> str:
    """Embed and index the new turns; after a failure they are kept, and found by words only."""
    try:
        tidy_scopes(engine, scopes, quiet)
    except ProviderError as error:
        warn(f"No vectors for now; search is by words: {error}")
        return str(error)
    report = engine.embedding
    if report.state in ("missing", "none") and not quiet:
        warn(f"Search is by words only: {report.source}. {report.hint}".strip())
    return ""


def _summary(total: dict[str, int], scopes: list[str], seconds: float) -> None:
    new, known, notes = total["turns"], total["known_turns"], total["notes"]
    if future := total["future_turns"]:
        warn(f"{count(future, 'turn')} dated in the future: check the dates in the file.")
    where = f"scope {scopes[0]}" if len(scopes) == 1 else f"scopes {listed(scopes)}"
    if notes:
        out().print(f"[green]✓[/] {count(notes, 'note')}, {where}")
    if not new and known:
        out().print(f"Nothing new: all {count(known, 'turn')} are already in {where}.")
    elif not new and not notes:
        err().print(f"[red]No turn could be read.[/] {HINT}")
    elif new:
        before = f"; {known:,} were already there" if known else ""
        out().print(
            f"[green]✓[/] {count(new, 'turn')} in {count(total['sessions'], 'session')}, "
            f"{where}, {seconds:.1f} s{before}"
        )
