"""``slowcat-memory import``, ``export``, ``backup``, ``restore``: a memory in files, and files in a memory.

Every file of an import is read once before anything is written: so a preview is possible, a chat
without dates is asked about, and files of which nothing can be read leave no store behind.
"""

import json
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta, tzinfo
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import typer
from msgspec.structs import asdict, replace

from slowcat_memory.cli import shell
from slowcat_memory.cli.shell import Settings, count, done, print_json, say, takes, waiting, warn
from slowcat_memory.clock import SystemClock
from slowcat_memory.errors import ProviderError, StoreError, TranscriptError

if TYPE_CHECKING:
    from slowcat_memory.engine import MemoryEngine
    from slowcat_memory.transfer.fact_files import Drafting
    from slowcat_memory.transfer.import_ import Where
    from slowcat_memory.transfer.reading import FileReading, Options

SHOWN = 10  # faults, or files beside the chats, that are listed


@takes("user", "as_json")
def import_(
    known: Settings,
    paths: list[Path] | None = None,
    *,
    again: bool = False,
    embed: bool = True,
    dry_run: bool = False,
    me: str = "",
    date: str | None = None,
    facts: Path | None = None,
) -> None:
    r"""Import chats: files, folders and zip archives.

    Recognised by content: exports of WhatsApp, Telegram, ChatGPT, Claude and Mem0, lists of messages
    with roles, files written by [bold]export[/], JSON lines:
    [dim]{"speaker": "Anna", "text": "My dog is called Max.", "at": "2024-05-12T18:30"}[/]

    And plain text, one turn a line; a date on its own line dates what follows:
    [dim]Anna: My dog is called Max.[/]

    Lines go to --user, else to the person they were exported from, else to the only person of the
    memory or the configured user. The command names and leaves out unreadable parts, and then exits
    with 1. Nothing is imported twice: import a file again when it has grown, after an interruption,
    or beside another export of the same chat. Works while an agent is running.

    Examples: [bold]slowcat-memory import chats.zip --dry-run[/],
    [bold]slowcat-memory import "WhatsApp Chat with Ben.txt" --me Anna[/]

    Args:
        paths (FILE): Transcripts, folders or zip archives.
        again: Import sessions again that were forgotten.
        embed: Compute vectors and the index now.
        dry_run: Show what the files contain, and import nothing.
        me (NAME): Your name in the files.
        date (DATE): When chats without dates were: 2024-05-01.
        facts (FOLDER): Read facts written by export --facts.
    """
    if bool(paths) == bool(facts):
        raise shell.usage("give transcript files, or --facts")
    if facts:
        return _import_facts(known, facts, embed=embed)
    from slowcat_memory.config.config import time_zone
    from slowcat_memory.transfer.import_ import Imported, Where
    from slowcat_memory.transfer.reading import Options

    memory, now = known.config.memory, SystemClock()()
    own, as_json = "", known.as_json
    with suppress(shell.NotFound):  # several people: a line without one goes to the configured user
        own = known.scope()
    options = Options(
        scoped=not known.user,
        me=me or memory.user_name,
        agents=frozenset([memory.agent_name.casefold()]),
        latest=now + timedelta(days=1),
        zone=time_zone(known.config),
    )
    begin = shell.parse_time(date, now, options.zone, "--date")
    files, refused, beside = _surveyed(paths or [], options)
    reason = None
    if not any(file.turns + file.notes for file in files):
        hint = "`slowcat-memory import --help` shows how."
        reason = TranscriptError("No turn could be read", hint=hint)
        reason = refused[-1][1] if refused and not files else reason
    if not as_json:
        _print_faults(files, [fault for _, fault in refused if fault is not reason])
    unread = [_unread(name, fault) for name, fault in refused]
    if dry_run or reason:
        rows = [*map(_plain, files), *unread]
        if as_json:
            print_json({"files": rows, "scopes": []})
        else:
            _preview(files, beside, options.zone)
        if reason:
            raise reason
        if people := _unknown_people(files):
            warn(f"Which of them are you? `--me {people[0]!r}` says it.")
        raise typer.Exit(int(any(row["unreadable"] for row in rows)))
    if not me and (name := _name_of_user(files)):
        files, _, beside = _surveyed(paths or [], replace(options, me=name))
    for file in files:
        if file.undated and not begin:
            why = f"{file.text.name} does not say when it was written"
            raise TranscriptError(why, hint="`--date 2024-05-01` says it.")
    where = Where(scope=own if known.user else "", own=own, again=again, undated=begin)
    with known.engine() as engine:
        rows = [_one(engine, file, where, as_json) for file in files]
        scopes = sorted(set().union(*(entry["scopes"] for entry in rows)))
        embedded = embed and tidy(engine, scopes, as_json)
        searchable = embedded and engine.embedding.report.state in ("ready", "endpoint")
    if as_json:
        rows += [asdict(Imported()) | {"read": 0} | row for row in unread]
        print_json({"files": rows, "scopes": scopes, "vectors": searchable})
    else:
        _summary(rows, scopes, beside)
    if unread or any(entry["unreadable"] for entry in rows):
        raise typer.Exit(1)


def _surveyed(
    paths: Sequence[Path], options: "Options"
) -> "tuple[list[FileReading], list[tuple[str, TranscriptError]], list[TranscriptError]]":
    """Read every file once.

    Returns:
        The chats; the name of what cannot be read, and why; and why other files of a folder are
        left out.
    """
    from slowcat_memory.transfer.reading import FileReading, FileReadings

    files, beside = list[FileReading](), list[TranscriptError]()
    refused = list[tuple[str, TranscriptError]]()
    for path in paths:
        faults = list[TranscriptError]()
        try:
            files += FileReadings(path, options, faults.append, beside.append)
        except TranscriptError as error:
            faults.append(error)
        refused += [(str(path), fault) for fault in faults]
    return files, refused, beside


def _unknown_people(files: "list[FileReading]") -> list[str]:
    """Return who talks in a file in which several people do, and none is known to be the user."""
    for file in files:
        people = [name for (name, role), _ in file.speakers.most_common() if role == "user"]
        if len(people) > 1 and "" not in people:
            return people
    return []


def _name_of_user(files: "list[FileReading]") -> str:
    """Return under which name the user speaks; "" if the files say it, or nobody can be asked."""
    people = _unknown_people(files)
    while people and sys.stdin.isatty():
        question = f"Which of them are you: {shell.listed(people)}? (Enter: none)"
        answer = str(typer.prompt(question, default="", show_default=False, err=True)).strip()
        if not answer or answer.casefold() in map(str.casefold, people):
            return answer
        warn(f"Nobody is called {answer!r} there.")
    return ""


# ------------------------------------------------------------------- import


def _one(
    engine: "MemoryEngine", file: "FileReading", where: "Where", quiet: bool
) -> dict[str, Any]:
    """Import one file, and return what came in."""
    from slowcat_memory.transfer.import_ import Imported, import_reading

    imported, faults = Imported(), list[TranscriptError]()
    with shell.bars(quiet) as show:
        progress = partial(show, Path(file.text.name).name)
        import_reading(engine, file, where, imported, on_error=faults.append, progress=progress)
    for fault in faults:
        warn(f"{file.text.name}: {fault}")
    plain = _plain(file)
    return {
        **plain,
        **asdict(imported),
        "read": imported.turns + imported.known_turns + imported.notes,
        "scopes": sorted(imported.scopes),
        "unreadable": plain["unreadable"] + [fault.message for fault in faults],
    }


def _summary(rows: list[dict[str, Any]], scopes: list[str], beside: list[TranscriptError]) -> None:
    keys = ("turns", "sessions", "known_turns", "notes")
    new, sessions, known, notes = (sum(entry[key] for entry in rows) for key in keys)
    where = f"scope {scopes[0]}" if len(scopes) == 1 else f"scopes {shell.listed(scopes)}"
    formats = shell.listed(sorted({entry["format"] for entry in rows if entry["read"]}))
    if notes:
        done(f"{count(notes, 'note')}, {where}")
    if not new and known:
        say(f"Nothing new: all {count(known, 'turn')} are already in {where}.")
    elif new:
        before = f"; {known:,} were already there" if known else ""
        much = f"{count(new, 'turn')} in {count(sessions, 'session')}"
        done(f"{much}, {where}{before}; read as {formats}")
    if beside:
        much = count(len(beside), "other file")
        say(f"{much} left out, as no chats: --dry-run lists them", "dim")


def tidy(engine: "MemoryEngine", scopes: list[str], quiet: bool) -> bool:
    """Embed and index the new turns; after a failure they are kept, and found by words only."""
    try:
        if scopes and engine.embedding.report.state == "needs export":
            with waiting("preparing the embedding model", quiet):
                engine.upkeep.tidy(scopes[0])
        for scope in scopes:
            with shell.bars(quiet) as show:
                engine.upkeep.tidy(scope, progress=show)
    except ProviderError as error:
        warn(f"No vectors for now; search is by words: {error}")
        return False
    report = engine.embedding.report
    if report.state in ("missing", "none") and not quiet:
        warn(f"Search is by words only: {report.source}. {report.hint}".strip())
    return True


def _import_facts(known: Settings, folder: Path, *, embed: bool) -> None:
    """Import facts that ``export --facts`` wrote, and say what came in."""
    from slowcat_memory.transfer.fact_files import import_facts

    with known.engine(words_only=not embed) as engine:
        imported = import_facts(engine, folder, known.scope() if known.user else "")
        if embed and imported.scopes:
            tidy(engine, imported.scopes, known.as_json)
    if known.as_json:
        print_json(imported)
    else:
        before = f", {imported.known:,} already known" if imported.known else ""
        done(f"{count(imported.facts, 'fact')}{before}")
        for n, why in (
            (imported.unproven, "without a source turn in this log: recalled in their own words"),
            (imported.refused, "left out: they read like instructions or contain links"),
        ):
            if n:
                warn(f"{count(n, 'fact')} {why}.")
        _print_some(imported.faults)
    if imported.faults:
        raise typer.Exit(1)


# ------------------------------------------------------------------- preview


def _preview(files: "list[FileReading]", beside: list[TranscriptError], zone: tzinfo) -> None:
    for file in files:
        encoded = "" if file.text.encoding.startswith("utf-8") else f", {file.text.encoding}"
        much = [
            f"{count(file.turns, 'turn')} in {count(file.sessions, 'session')}",
            count(file.notes, "note") if file.notes else "",
            count(len(file.conversations), "conversation") if len(file.conversations) > 1 else "",
        ]
        names = {"user": "you", "assistant": "the agent"}
        who = [
            f"{name or names[role]} ({n:,}{', agent' if name and role == 'assistant' else ''})"
            for (name, role), n in file.speakers.most_common()
        ]
        say(f"{file.text.name}: {file.format.name}{encoded}", "bold")
        skipped = ", ".join(f"{n:,} {why}" for why, n in file.skipped.items())
        left_out = f"left out: {skipped}" if skipped else ""
        spoke = shell.dots(_span(file, zone), shell.listed(who, 6))
        shell.print_entries([("", shell.dots(*much), spoke, left_out)])
    for error in beside[:SHOWN]:
        say(f"left out: {error.message}", "dim")
    if len(beside) > SHOWN:
        say(f"and {len(beside) - SHOWN} more files that are no chats", "dim")


def _span(file: "FileReading", zone: tzinfo) -> str:
    if not file.span:
        return "no dates" if file.turns else ""
    days = " to ".join(dict.fromkeys(at.astimezone(zone).date().isoformat() for at in file.span))
    return days + (f"; {count(file.undated, 'turn')} without dates" if file.undated else "")


def _print_faults(files: "list[FileReading]", refused: list[TranscriptError]) -> None:
    """Print on stderr what cannot be read, file by file."""
    for fault in refused:
        warn(str(fault))
    for file in filter(lambda file: file.faults, files):
        name = Path(file.text.name).name
        warn(f"{name}: {count(file.unreadable, 'part')} could not be read:")
        _print_some([f"  {fault}" for fault in file.faults], file.unreadable)


def _print_some(faults: Sequence[object], every: int = 0) -> None:
    for fault in faults[:SHOWN]:
        warn(str(fault))
    if (more := max(every, len(faults)) - SHOWN) > 0:
        warn(f"  and {more} more")


def _unread(name: str, fault: TranscriptError) -> dict[str, Any]:
    return {"file": name, "format": "", "unreadable": [fault.message]}


def _plain(file: "FileReading") -> dict[str, Any]:
    """Return what a file contains, for scripts."""
    first, last = [at.isoformat() for at in file.span] or ("", "")
    spoke = file.speakers.most_common()
    return {
        "file": file.text.name,
        "format": file.format.name,
        "encoding": file.text.encoding,
        "from": first,
        "to": last,
        "undated": file.undated,
        "speakers": [{"name": who, "role": role, "turns": n} for (who, role), n in spoke],
        "left_out": dict(file.skipped),
        "unreadable": [fault.message for fault in file.faults],
    }


@takes("as_json")
def backup(known: Settings, file: Path | None = None) -> None:
    """Make a backup.

    Every record of the copy is read once to check it. The store's folder keeps the newest
    [bold]store.backups_keep[/] backups and deletes them when something is forgotten, because they
    still hold it: make a new one then. Delete backups elsewhere yourself; [bold]restore[/] leaves
    out what was forgotten since.

    Example: [bold]slowcat-memory backup /media/stick/memory.mdb[/]

    Args:
        file: The new file; by default in the store's folder.
    """
    from slowcat_memory.store import Store

    known.existing()
    config = known.config
    with waiting("copying and checking the copy"):
        with Store.open(config.folder, readonly=True, options=config.store) as store:
            path = store.backup(file.expanduser().absolute() if file else None)
    bytes_ = path.stat().st_size
    known.report({"file": str(path), "bytes": bytes_}, f"{shell.size(bytes_)}, checked:", str(path))


@takes("as_json", "yes")
def restore(known: Settings, file: Path, *, other: bool = False) -> None:
    """Go back to a backup. A text that was forgotten since stays forgotten.

    The present store is moved aside with everything said since, and deleted at the next forget.
    A pending forget that could still be undone becomes final. An agent that runs goes on with the
    restored memory.

    Example: [bold]slowcat-memory restore /media/stick/memory.mdb[/]

    Args:
        file: A backup, or a copy of a store's folder.
        other: Allow the backup of another memory.
    """
    from slowcat_memory.store import data_file, restore

    config, file = known.config, file.expanduser()
    if not file.exists():
        raise StoreError(f"there is no backup {file}", hint="Check the path.")
    if data_file(config.folder).exists():
        known.confirm(f"Replace the memory in {config.folder} with {file}?")
    with waiting("restoring") as step:
        restored = restore(
            config.folder, file.absolute(), foreign=other, options=config.store, on_step=step
        )
    shutil.rmtree(config.folder / "index", ignore_errors=True)  # built from the replaced store
    known.report(restored, f"Restored: {count(restored.events, 'event')} in the log.")
    if restored.forgotten:
        warn(f"{count(restored.forgotten, 'memory')} forgotten since did not come back.")
        warn(f"{file} still holds them.")
    if restored.aside:
        warn(f"The memory before is in {restored.aside}")


@takes("user", "yes")
def export(known: Settings, *, to: Path | None = None, facts: Path | None = None) -> None:
    """Write turns and notes as JSON lines that [bold]import[/] reads back.

    Exports everybody but guests; --user exports one person. Derived data is left out, because it is
    computed again after an import. Only you can read the file; an existing one is overwritten only
    after a question.

    Examples: [bold]slowcat-memory export -o memory.jsonl[/],
    [bold]slowcat-memory export --scope anna | jq -r .text[/],
    [bold]slowcat-memory export --facts facts[/]

    Args:
        to (--out, -o, FILE): The file.
        facts (FOLDER): Write the facts instead: a file for each day, and an index.
    """
    from slowcat_memory.runtime.conversation.conversation import guest_scope
    from slowcat_memory.transfer.fact_files import export_facts
    from slowcat_memory.transfer.formats import rows

    if facts and to:
        raise shell.usage("give --out or --facts")
    known.existing()
    only = known.scope() if known.user else ""
    if to and to.exists():
        known.confirm(f"{to} exists. Overwrite it?")
    with known.engine(words_only=True, readonly=True) as engine:
        guest = guest_scope(engine.config.people)
        if facts:
            with engine.snapshot() as snapshot:
                scopes = [only] if only else [name for name in snapshot.scopes() if name != guest]
                written = export_facts(snapshot, facts, scopes, engine.zone, _drafting(engine))
            return warn(f"{count(written, 'fact')} in {facts}")
        with _sink(to, engine) as sink:
            every = rows.export(engine.snapshot, only, but=guest)
            lines = (json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in every)
            written = sum(map(bool, map(sink.write, lines)))
    if to:
        warn(f"{count(written, 'line')} in {to}")


def _drafting(engine: "MemoryEngine") -> "Drafting":
    """Return what gives an export its name, unless something was forgotten meanwhile."""
    from slowcat_memory.store import drafting

    return partial(drafting, engine.config.folder, engine.snapshot)


@contextmanager
def _sink(to: Path | None, engine: "MemoryEngine") -> Iterator[IO[bytes]]:
    """Open the output; a file gets its name only when it is complete."""
    if to is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    from slowcat_memory.transfer.fact_files import private_file

    with private_file(to, _drafting(engine)) as file:
        yield file
