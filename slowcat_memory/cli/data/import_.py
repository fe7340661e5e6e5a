"""``slowcat-memory import``: read transcripts or facts into a memory."""

import time
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from msgspec.structs import replace
from rich.text import Text

from slowcat_memory.cli.data.import_facts import import_folder, tidy_new
from slowcat_memory.cli.shared.output import (
    ShowProgress,
    bars,
    count,
    listed,
    out,
    print_json,
    warn,
)
from slowcat_memory.cli.shared.settings import AsJson, Settings, parse_time, settings
from slowcat_memory.clock import SystemClock
from slowcat_memory.errors import TranscriptError

if TYPE_CHECKING:
    from slowcat_memory.cli.data.import_plan import File, Plan
    from slowcat_memory.engine.memory import Memory
    from slowcat_memory.transfer.import_ import Imported, Step, Where

SHOWN = 10  # renamed conversations that are listed


def import_(
    ctx: typer.Context,
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE", help="Transcripts, folders or zip archives.", show_default=False
        ),
    ] = None,
    scope: Annotated[
        str,
        typer.Option(
            "--user",
            "--scope",
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
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what the files contain, and import nothing.")
    ] = False,
    me: Annotated[
        str, typer.Option(metavar="NAME", help="Your name in the files.", show_default=False)
    ] = "",
    agent: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="An agent's name in the files; may be repeated."),
    ] = None,
    date: Annotated[
        str | None,
        typer.Option(metavar="DATE", help="When chats without dates were: 2024-05-01."),
    ] = None,
    undated: Annotated[
        bool,
        typer.Option(
            "--undated",
            help="Take chats without dates: from when the file was changed, or a month ago.",
        ),
    ] = False,
    allow_future: Annotated[
        bool, typer.Option("--allow-future", help="Take turns that are dated in the future.")
    ] = False,
    encoding: Annotated[
        str,
        typer.Option(help="Of the files, if not UTF-8 or UTF-16: cp1252.", show_default=False),
    ] = "",
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
    r"""Import chats: files, folders and zip archives, also .gz and .zst.

    Recognised by content: exports of WhatsApp, Telegram, ChatGPT, Claude and Mem0, lists of messages
    with roles, files written by [bold]export[/], JSON lines:
    [dim]{"speaker": "Anna", "text": "My dog is called Max.", "at": "2024-05-12T18:30"}[/]

    And plain text, one turn a line; a date on its own line dates what follows:
    [dim]Anna: My dog is called Max.[/]

    What cannot be read is named and left out, and the exit status is then 1. Nothing is imported
    twice: import a file again when it has grown, after an interruption, or beside another export
    of the same chat. Works while an agent is running.

    Examples: [bold]slowcat-memory import chats.zip --dry-run[/],
    [bold]slowcat-memory import "WhatsApp Chat with Ben.txt" --me Anna[/]
    """
    if bool(paths) == bool(facts):
        raise typer.BadParameter("give transcript files, or --facts")
    chosen = settings(ctx)
    if facts:
        return import_folder(chosen, facts, scope, embed=embed, as_json=as_json)
    from slowcat_memory.cli.data import import_plan
    from slowcat_memory.runtime.namespaces.registry import scope_of_user
    from slowcat_memory.transfer.import_ import Where

    scope = scope or (scope_of_user(chosen.user, "--user") if chosen.user else "")
    now = SystemClock()()
    options = import_plan.options_for(chosen.config, me, agent or [], _checked(encoding))
    options = replace(
        options,
        scoped=not scope,
        latest=None if allow_future else now + timedelta(days=1),
    )
    begin = parse_time(date, options.zone, "--date")
    plan = import_plan.surveyed(paths or [], options)
    if not as_json:
        import_plan.show_faults(plan)
    if dry_run or plan.empty:
        return _only_shown(plan, options.zone, dry_run, as_json)
    if not me and (name := import_plan.name_of_user(plan, import_plan.ask)):
        plan = import_plan.surveyed(paths or [], replace(options, me=name))
    dates = import_plan.date_of_undated(plan, begin, undated, now, import_plan.ask)
    where = Where(scope=scope, conversations=conversation or [], again=again)
    _run(chosen, plan, where, dates, embed=embed, as_json=as_json)


def _checked(encoding: str) -> str:
    import codecs

    try:
        return codecs.lookup(encoding).name if encoding else ""
    except LookupError:
        raise typer.BadParameter(
            f"there is no encoding {encoding!r}", param_hint="--encoding"
        ) from None


def _only_shown(plan: "Plan", zone: tzinfo, dry_run: bool, as_json: bool) -> None:
    """Show what the files contain; fail when that is nothing, or not all can be read."""
    from slowcat_memory.cli.data import import_plan

    if as_json:
        print_json({"files": [import_plan.plain(file) for file in plan.files], "scopes": []})
    else:
        import_plan.show(plan, zone)
    if plan.empty:
        raise plan.reason()
    import_plan.hint_of_names(plan)
    if any(file.unreadable for file in plan.files):
        raise typer.Exit(1)


def _run(
    chosen: Settings,
    plan: "Plan",
    where: "Where",
    dates: dict[str, datetime],
    *,
    embed: bool,
    as_json: bool,
) -> None:
    """Import what was surveyed, and say what came in."""
    begun = time.monotonic()
    with chosen.engine() as engine:
        done = [_one(engine, file, where, dates, as_json) for file in plan.files]
        scopes = sorted(set().union(*(entry["scopes"] for entry in done)))
        trouble = tidy_new(engine, scopes, as_json) if embed else ""
        searchable = engine.embedding.state in ("ready", "endpoint") and not trouble
    if as_json:
        print_json({"files": done, "scopes": scopes, "vectors": searchable and embed})
    else:
        _print_renamed(done)
        _summary(done, scopes, time.monotonic() - begun)
        if plan.beside:
            much = count(len(plan.beside), "other file")
            out().print(f"[dim]{much} left out, as no chats: --dry-run lists them[/]")
    if where.conversations and not any(entry["conversations"] for entry in done):
        raise TranscriptError(
            "there is no such conversation", hint="`--dry-run` lists what there is."
        )
    if any(entry["unreadable"] for entry in done):
        raise typer.Exit(1)


def _one(
    engine: "Memory",
    file: "File",
    where: "Where",
    dates: dict[str, datetime],
    quiet: bool,
) -> dict[str, Any]:
    """Import one file, and return what came in."""
    from slowcat_memory.transfer.import_ import Imported, import_reading

    done, faults = Imported(), list[TranscriptError]()
    if file.reading is not None and file.found is not None:
        with bars({"read": Path(file.name).name}, quiet) as show:
            import_reading(
                engine,
                file.reading,
                file.found,
                replace(where, undated=dates.get(file.name)),
                done,
                on_error=faults.append,
                progress=lambda step: _show_step(show, step),
            )
    for fault in faults:
        warn(f"{file.name}: {fault}")
    return _plain(file, done, faults)


def _show_step(show: ShowProgress, step: "Step") -> None:
    show("read", step.turns, step.of_turns)


def _plain(file: "File", done: "Imported", faults: list[TranscriptError]) -> dict[str, Any]:
    from slowcat_memory.cli.data import import_plan

    found = import_plan.plain(file)
    return found | {
        "turns": done.turns,
        "sessions": done.sessions,
        "notes": done.notes,
        "known_turns": done.known_turns,
        "conversations": done.conversations,
        "read": done.turns + done.known_turns + done.notes,
        "scopes": sorted(done.scopes),
        "renamed": {
            name: scope for name, scope in done.names.items() if not scope.endswith(name.lower())
        },
        "unreadable": found["unreadable"] + [fault.message for fault in faults],
    }


def _print_renamed(done: list[dict[str, Any]]) -> None:
    """Show the scopes of conversations whose names could not name one."""
    renamed = {name: scope for entry in done for name, scope in entry["renamed"].items()}
    for name, scope in list(renamed.items())[:SHOWN]:
        out().print(Text(f"{name} → scope {scope}"))
    if len(renamed) > SHOWN:
        out().print(f"and {len(renamed) - SHOWN} more conversations")


def _summary(done: list[dict[str, Any]], scopes: list[str], seconds: float) -> None:
    keys = ("turns", "sessions", "known_turns", "notes")
    new, sessions, known, notes = (sum(entry[key] for entry in done) for key in keys)
    where = f"scope {scopes[0]}" if len(scopes) == 1 else f"scopes {listed(scopes)}"
    formats = listed(sorted({entry["format"] for entry in done if entry["read"]}))
    if notes:
        out().print(f"[green]✓[/] {count(notes, 'note')}, {where}")
    if not new and known:
        out().print(f"Nothing new: all {count(known, 'turn')} are already in {where}.")
    elif new:
        before = f"; {known:,} were already there" if known else ""
        out().print(
            f"[green]✓[/] {count(new, 'turn')} in {count(sessions, 'session')}, "
            f"{where}, {seconds:.1f} s{before}; read as {formats}"
        )
