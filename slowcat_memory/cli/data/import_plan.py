"""What ``import`` is about to read: each file's format, who speaks, from when to when, how much.

Everything is read once before anything is written: so a preview is possible, a chat without dates
is asked about, and files of which nothing can be read leave no store behind.
"""

import sys
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import typer
from msgspec import Struct
from rich.text import Text

from slowcat_memory.cli.shared.output import count, err, listed, out, warn
from slowcat_memory.errors import TranscriptError
from slowcat_memory.transfer.reading import Options, Reading, Survey, readings, survey

if TYPE_CHECKING:
    from slowcat_memory.config import Config

SHOWN = 10  # faults, or files beside the chats, that are listed
UNDATED_AGE = timedelta(days=30)  # so that nothing of a chat without a date reads as recent


class File(Struct):
    """One file, as it was surveyed; without a reading it cannot be read."""

    name: str
    reading: Reading | None = None
    found: Survey | None = None
    faults: list[TranscriptError] = []

    @property
    def unreadable(self) -> int:
        return self.found.unreadable if self.found else len(self.faults)


class Plan(Struct):
    """The files of an import.

    Attributes:
        files: Those that are chats, or should be.
        beside: What else a folder or an archive holds, each with the reason why it is left out.
    """

    files: list[File]
    beside: list[TranscriptError]

    @property
    def undated(self) -> list[tuple[File, Reading]]:
        """The files in which turns have no date, with how to read them."""
        found = [file for file in self.files if file.found and file.found.undated]
        return [(file, file.reading) for file in found if file.reading]

    @property
    def empty(self) -> bool:
        """Whether there is nothing to import."""
        return not any(file.found and file.found.turns + file.found.notes for file in self.files)

    def reason(self) -> TranscriptError:
        """Return the error for an import of nothing: what is wrong with the only file, or a hint."""
        unread = [file for file in self.files if file.reading is None]
        if unread and len(unread) == len(self.files):
            return unread[-1].faults[0]
        hint = "`slowcat-memory import --help` shows how."
        return TranscriptError("No turn could be read", hint=hint)


def surveyed(paths: Sequence[Path], options: Options) -> Plan:
    """Read every file once."""
    plan = Plan(files=[], beside=[])
    for path in paths:
        faults = list[TranscriptError]()
        try:
            for reading in readings(path, options, faults.append, plan.beside.append):
                found = survey(reading)
                plan.files.append(
                    File(reading.source.name, reading=reading, found=found, faults=found.faults)
                )
        except TranscriptError as error:
            faults.append(error)
        plan.files += [File(str(path), faults=[fault]) for fault in faults]
    return plan


def options_for(config: "Config", me: str, agents: Sequence[str], encoding: str) -> Options:
    """Return how to read the files for a configuration; what the user names comes first."""
    from slowcat_memory.config.config import time_zone

    names = {name.casefold() for name in (config.memory.agent_name, *agents)}
    own = config.memory.user_name
    return Options(
        encoding=encoding,
        me=me or own,
        agents=frozenset(names),
        zone=time_zone(config),
    )


def date_of_undated(
    plan: Plan, given: datetime | None, accepted: bool, now: datetime, ask: Callable[[str], str]
) -> dict[str, datetime]:
    """Return when each file without dates began, by its name.

    Args:
        plan: The files.
        given: What ``--date`` says.
        accepted: Whether ``--undated`` was given.
        now: The present.
        ask: Asks the user for the date of a file; only on a terminal.

    Raises:
        TranscriptError: Nobody can be asked.
    """
    dates = dict[str, datetime]()
    for file, reading in plan.undated:
        unknown = min(reading.source.changed, now - UNDATED_AGE)
        if given or accepted:
            dates[file.name] = given or unknown
        elif stdin().isatty():
            dates[file.name] = _asked(file, ask, reading) or unknown
        else:
            raise TranscriptError(
                f"{file.name} does not say when it was written",
                hint="`--date 2024-05-01` says it; `--undated` takes it as a month old or older.",
            )
    return dates


def unknown_people(plan: Plan) -> list[str]:
    """Return who talks in a file in which several people do, and none is known to be the user."""
    for file in plan.files:
        spoke = file.found.speakers.most_common() if file.found else []
        people = [name for (name, role), _ in spoke if role == "user"]
        if len(people) > 1 and "" not in people:
            return people
    return []


def name_of_user(plan: Plan, ask: Callable[[str], str]) -> str:
    """Return under which name the user speaks; "" if the files say it, or nobody can be asked."""
    people = unknown_people(plan)
    while people and stdin().isatty():
        answer = ask(f"Which of them are you: {listed(people)}? (Enter: none)").strip()
        if not answer or answer.casefold() in map(str.casefold, people):
            return answer
        warn(f"Nobody is called {answer!r} there.")
    return ""


def _asked(file: File, ask: Callable[[str], str], reading: Reading) -> datetime | None:
    from slowcat_memory.transfer.transcript import time_of

    while True:
        answer = ask(f"{file.name} has no dates. When was it? (such as 2024-05-01; Enter: unknown)")
        try:
            at = time_of(answer.strip())
        except ValueError as error:
            warn(f"{error}.")
        else:
            return reading.utc(at) if at else None


def stdin() -> TextIO:
    return sys.stdin


def ask(question: str) -> str:
    return str(typer.prompt(question, default="", show_default=False, err=True))


# ------------------------------------------------------------------- as text


def show(plan: Plan, zone: tzinfo) -> None:
    """Print the preview of an import."""
    for file in plan.files:
        if file.found is not None:
            _show_file(file, file.found, zone)
    for error in plan.beside[:SHOWN]:
        out().print(Text(f"left out: {error.message}", style="dim"))
    if len(plan.beside) > SHOWN:
        out().print(f"[dim]and {len(plan.beside) - SHOWN} more files that are no chats[/]")


def _show_file(file: File, found: Survey, zone: tzinfo) -> None:
    encoded = "" if found.encoding.startswith("utf-8") else f", {found.encoding}"
    out().print(Text(file.name, style="bold").append(f": {found.format}{encoded}", "not bold"))
    much = [
        count(found.turns, "turn") + f" in {count(found.sessions, 'session')}"
        if found.turns
        else "",
        count(found.notes, "note") if found.notes else "",
        count(len(found.chats), "conversation") if len(found.chats) > 1 else "",
    ]
    lines = {
        "how many": ", ".join(filter(None, much)) or "nothing",
        "when": _span(found, zone),
        "who": listed(_who(found), 6),
        "left out": ", ".join(f"{n:,} {why}" for why, n in found.skipped.items()),
        "unreadable": count(found.unreadable, "part") if found.unreadable else "",
    }
    for name, value in lines.items():
        if value:
            out().print(Text(f"  {name:<11}", style="dim").append(value, "not dim"))


def _span(found: Survey, zone: tzinfo) -> str:
    span = found.span()
    if span is None:
        return "no dates" if found.turns else ""
    first, last = (at.astimezone(zone).date().isoformat() for at in span)
    days = first if first == last else f"{first} to {last}"
    return days + (f"; {count(found.undated, 'turn')} without dates" if found.undated else "")


def _who(found: Survey) -> list[str]:
    names = {"user": "you", "assistant": "the agent"}
    return [
        f"{name or names[role]} ({n:,}{', agent' if name and role == 'assistant' else ''})"
        for (name, role), n in found.speakers.most_common()
    ]


def show_faults(plan: Plan) -> None:
    """Print on stderr what cannot be read, file by file; not what ``Plan.reason`` says."""
    last = plan.reason() if plan.empty else None
    for file in plan.files:
        if file.found is None:
            for fault in file.faults:
                if fault is not last:
                    warn(str(fault))
        elif file.faults:
            warn(f"{Path(file.name).name}: {count(file.unreadable, 'part')} could not be read:")
            for fault in file.faults[:SHOWN]:
                warn(f"  {fault}")
            if file.unreadable > SHOWN:
                warn(f"  and {file.unreadable - SHOWN} more")


def hint_of_names(plan: Plan) -> None:
    """Say how to name the user, where several people talk and none is known to be the user."""
    if people := unknown_people(plan):
        err().print(Text(f"Which of them are you? `--me {people[0]!r}` says it.", "yellow"))


# ------------------------------------------------------------------- as JSON


def plain(file: File) -> dict[str, Any]:
    """Return what a file contains, for scripts."""
    found = file.found
    if found is None:
        return {"file": file.name, "format": "", "unreadable": [f.message for f in file.faults]}
    span = found.span()
    return {
        "file": file.name,
        "format": found.format,
        "encoding": found.encoding,
        "from": span[0].isoformat() if span else "",
        "to": span[1].isoformat() if span else "",
        "undated": found.undated,
        "speakers": [
            {"name": name, "role": role, "turns": n}
            for (name, role), n in found.speakers.most_common()
        ],
        "left_out": dict(found.skipped),
        "unreadable": [fault.message for fault in file.faults],
    }
