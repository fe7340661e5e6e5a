"""What every command shares: its options, the store it opens, and its output.

Results go to stdout; warnings, progress and errors to stderr. Stored text may contain anything, so
it is never read as rich markup, and no control character in it reaches a terminal.
"""

import inspect
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast, get_type_hints

import typer
from rich import filesize
from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import MofNCompleteColumn, Progress, TaskID
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from slowcat_memory.core.time.calendar import in_zone
from slowcat_memory.errors import SlowcatError, StoreError

if TYPE_CHECKING:
    from slowcat_memory.config import Config
    from slowcat_memory.engine import MemoryEngine

DONE, FAILED, USAGE = 0, 1, 2
INTERRUPTED = 130  # 128 + SIGINT, as shells have it
CODES = {
    DONE: "done",
    FAILED: "failed, or what was asked for was not found",
    USAGE: "wrong usage",
    INTERRUPTED: "interrupted by Ctrl-C",
}
EXAMPLES = '"2024-05-12", "2024-05-12 18:30", "yesterday", "last week"'

# C0 without tab and newline, DEL, C1, bidi overrides, tag characters: they move a cursor or hide text
_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]"
)
_PREPOSITION = re.compile("^(?:in|on|at|im|am) ")
size = filesize.decimal  # a number of bytes in words: "1.2 MB"


class NotFound(SlowcatError):
    """The requested thing does not exist, or nothing can be shown: exit code 1, no "Error:"."""


class SafeConsole(Console):
    """A console that writes no control character of a text; its own styles stay."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Render as rich does, without the control characters of any text."""
        for segment in super().render(renderable, options):
            safe = segment.control or not _CONTROLS.search(segment.text)
            yield segment if safe else Segment(printable(segment.text), segment.style)


def printable(text: str) -> str:
    """Return a text without characters that control a terminal."""
    return _CONTROLS.sub("", text)


def out() -> Console:
    return SafeConsole(highlight=False)


def err() -> Console:
    return SafeConsole(stderr=True, highlight=False)


def say(text: str, style: str = "", *, to: Console | None = None, soft_wrap: bool = False) -> None:
    """Print a text, which is no markup."""
    (to or out()).print(Text(text, style=style), soft_wrap=soft_wrap)


def warn(line: str) -> None:
    console = err()
    say(line, "yellow", to=console, soft_wrap=not console.is_terminal)


def done(what: str, text: str = "") -> None:
    """Print what was done, and a text or a path that belongs to it, which is no markup."""
    out().print(
        Text.assemble(("✓", "green"), f" {what}", f" {text}" if text else ""), soft_wrap=True
    )


# ------------------------------------------------------------------- errors


def usage(message: str, option: str = "") -> typer.BadParameter:
    """Return the error for arguments that make no sense; exit code 2."""
    return typer.BadParameter(message, param_hint=option or None)


# ------------------------------------------------------------------- lists


def print_json(value: Any) -> None:
    import msgspec

    plain = msgspec.to_builtins(value, str_keys=True, enc_hook=str)
    text = json.dumps(plain, ensure_ascii=False, indent=2)
    print(_CONTROLS.sub(lambda match: json.dumps(match[0])[1:-1], text))


def print_entries(rows: Sequence[Sequence[str | Text]], console: Console | None = None) -> None:
    """Print rows of a left part, a text, and lines beneath it, which explain it."""
    table = Table.grid(padding=(0, 2, 0, 0), expand=True)
    table.add_column(width=min(20, max((len(row[0]) for row in rows), default=0)), overflow="fold")
    table.add_column(ratio=1, overflow="fold")
    for label, text, *beneath in rows:
        table.add_row(Text.assemble(label), Text.assemble(text))
        for line in filter(None, beneath):
            table.add_row(Text(), Text(str(line), style="dim"))
    (console or out()).print(table)


def dots(*parts: str) -> str:
    """Return the parts that say something, with dots between them."""
    return " · ".join(filter(None, parts))


def short(text: str, limit: int = 300) -> str:
    """Return a text on one line, cut to ``limit`` characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}…"


def count(n: int, noun: str) -> str:
    """Return a number with its noun, for example "1 turn", "1,200 turns", "2 memories"."""
    if n == 1:
        return f"1 {noun}"
    return f"{n:,} {noun[:-1]}ies" if noun.endswith("y") else f"{n:,} {noun}s"


def listed(names: Iterable[str], limit: int = 5) -> str:
    """Return a list of names, for example "anna, ben and 3 more"."""
    every = list(names)
    more = f" and {len(every) - limit} more" if len(every) > limit else ""
    return ", ".join(every[:limit]) + more


# ------------------------------------------------------------------- progress


@contextmanager
def waiting(what: str, quiet: bool = False) -> Iterator[Callable[[str], None]]:
    """Show a spinner for work of unknown length; yields a function to show each step."""
    console = err()
    if quiet or not console.is_terminal:
        yield lambda step: None
        return
    with console.status(Text(what)) as status:
        yield lambda step: status.update(Text(f"{what}: {step}"))


@contextmanager
def bars(quiet: bool = False) -> Iterator[Callable[[str, int, int], None]]:
    """Show progress bars; yields a function that takes a kind of work, its done and its total."""
    console = err()
    columns = (*Progress.get_default_columns(), MofNCompleteColumn())
    with Progress(*columns, console=console, disable=quiet or not console.is_terminal) as progress:
        tasks: dict[str, TaskID] = {}

        def show(what: str, finished: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = progress.add_task(what)
            progress.update(tasks[what], completed=finished, total=total)

        yield show


# ------------------------------------------------------------------- times


def when(at: datetime, zone: tzinfo) -> str:
    """Return a time to the minute, for example "2024-05-12 18:30"."""
    return in_zone(at, zone).isoformat(" ")[:16]


def period_of(text: str, now: datetime, zone: tzinfo, option: str) -> tuple[datetime, datetime]:
    """Return the time that a text names, in UTC: its start, and the first moment after it.

    Args:
        text: A date or time in ISO 8601, or an expression in English or German.
        now: The present, aware; expressions are relative to it, and mean the past where they can.
        zone: The user's time zone.
        option: Where the text was given, for the error.

    Raises:
        typer.BadParameter: It names no time.
    """
    from slowcat_memory.core.time.expressions import times
    from slowcat_memory.transfer.transcript import time_of, utc

    try:
        datetime.fromisoformat(text.strip())
    except ValueError:
        plain = _PREPOSITION.sub("", text.strip().casefold())
    else:
        try:
            at = cast(datetime, time_of(text))
        except ValueError as error:
            raise usage(str(error), option) from None
        whole_day = len(text.strip()) <= len("2025-11-15")
        return utc(at, zone), utc(at + timedelta(days=1) if whole_day else at, zone)
    for language in ("english", "german"):
        for asked in (plain, f"in {plain}"):  # "march" alone may be a verb
            spans = times(f"{asked}?", now, zone, language)
            if len(spans) == 1 and spans[0].words.casefold() in (plain, asked):
                return spans[0].start.astimezone(UTC), spans[0].end.astimezone(UTC)
    raise usage(f"{text!r} is not a time such as {EXAMPLES}", option)


def parse_time(text: str | None, now: datetime, zone: tzinfo, option: str) -> datetime | None:
    """Return the beginning of the time that a text names, as ``period_of``; None for None."""
    return None if text is None else period_of(text, now, zone, option)[0]


def last_moment(text: str, now: datetime, zone: tzinfo, option: str) -> datetime:
    """Return the last moment of the time that a text names, but none of the future, in UTC.

    Raises:
        typer.BadParameter: It names no time.
    """
    start, end = period_of(text, now, zone, option)
    last = max(start, end - timedelta(microseconds=1))
    return min(last, now.astimezone(UTC)) if start <= now else last


_CONTEXT = inspect.Parameter(
    "ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context
)
_GIVEN = inspect.Parameter("given", inspect.Parameter.KEYWORD_ONLY, default=None)
_WRAPPED = re.compile(r"(?<![:\n])\n(?![\n\[])")  # inside a paragraph, before no example
_ENTRY = re.compile(r"^ {4}(\w+)(?: \((.*?)\))?: (.*(?:\n {8}.*)*)", re.MULTILINE)
SHARED = {
    "user": Annotated[
        str | None, typer.Option("--user", "--scope", help="Whose memory.", metavar="NAME")
    ],
    "limit": Annotated[int | None, typer.Option(help="How many at most.", min=1)],
    "as_json": Annotated[bool | None, typer.Option("--json", help="Print JSON only, for scripts.")],
    "yes": Annotated[bool | None, typer.Option("--yes", "-y", help="Do not ask; for scripts.")],
}
ROWS = 50  # of a list, unless ``--limit`` says otherwise
NEXT_STEP = "Talk to it with `slowcat-memory chat`, start your bot, or `slowcat-memory import`."


@dataclass
class Settings:
    """The options given before the command's name; the configuration is read on first use.

    Attributes:
        file: The configuration file named by ``--config`` or SLOWCAT_CONFIG.
        store: The folder named by ``--path``.
        debug: Whether tracebacks are shown.
        user: The name given by ``--user``, before or after the command.
        limit: How many rows a list may have; None without ``--limit``.
        as_json: Whether JSON is printed, and nothing else.
        yes: Whether no question is asked.
    """

    file: Path | None = None
    store: Path | None = None
    debug: bool = False
    user: str | None = None
    limit: int | None = None
    as_json: bool = False
    yes: bool = False

    @cached_property
    def config(self) -> "Config":
        """The configuration; ``--path`` overrides the store's folder."""
        from msgspec.structs import replace

        from slowcat_memory.config import load

        config = load(self.file)
        if self.store is None:
            return config
        return replace(config, memory=replace(config.memory, path=str(self.store)))

    def existing(self) -> "Settings":
        """Return the settings, or refuse to create an empty memory.

        Raises:
            StoreError: There is no store.
        """
        from slowcat_memory.store.disk.folder import require

        require(self.config.folder)
        return self

    def confirm(self, question: str) -> None:
        """Ask before something that cannot be taken back, unless ``--yes`` says not to."""
        if not self.yes:
            typer.confirm(question, abort=True, err=True)

    def report(self, result: Any, words: str, text: str = "") -> None:
        """Print the result of a command: as JSON if that was asked for, else in words."""
        return print_json(result) if self.as_json else done(words, text)

    def scope(self) -> str:
        """Return whose memory a command is about; opens the store for a moment, read-only.

        That is ``--user``, else the configured user when the configuration names one or the store
        holds nobody else, else the only person in the store.

        Raises:
            ConfigError: The name cannot name a memory.
            NotFound: The store holds several people, and neither option nor configuration names one.
        """
        from slowcat_memory.config import Config
        from slowcat_memory.runtime.namespaces.registry import scope_of_user

        if self.user:
            return scope_of_user(self.user, "--user")
        own = self.config.memory.user_id
        configured, people = scope_of_user(own), self.people
        if configured in people or not people or own != Config().memory.user_id:
            return configured
        if len(people) == 1:
            return people[0]
        raise NotFound(
            f"this memory has {len(people)} people: {listed(people, 8)}",
            hint=f"Say whose: `slowcat-memory --user {people[0]} …`",
        )

    @cached_property
    def people(self) -> list[str]:
        """The scopes in the store but that of guests; [] where there is no store yet."""
        from slowcat_memory.runtime.conversation.conversation import guest_scope
        from slowcat_memory.store import Store, data_file

        if not data_file(self.config.folder).exists():
            return []
        guests = guest_scope(self.config.people)
        try:
            with (
                Store.open(self.config.folder, readonly=True, options=self.config.store) as store,
                store.snapshot() as snapshot,
            ):
                return [name for name in snapshot.scopes() if name != guests]
        except StoreError:  # the command itself meets it, and says what is wrong
            return []

    @contextmanager
    def engine(
        self, *, words_only: bool = False, readonly: bool = False
    ) -> "Iterator[MemoryEngine]":
        """Open the store for the duration of a command; works beside an agent.

        Args:
            words_only: Do not load the embedding model.
        """
        from msgspec.structs import replace

        from slowcat_memory.engine import MemoryEngine

        config = replace(self.config, idle=replace(self.config.idle, enabled=False))
        if words_only:
            config = replace(config, embedding=replace(config.embedding, kind="none"))
        with closing(MemoryEngine(config, readonly=readonly)) as engine:
            if trouble := engine.opened.trouble:
                warn(f"{trouble[0].upper()}{trouble[1:]}")
            yield engine

    @contextmanager
    def opened(
        self, *, words_only: bool = True, readonly: bool = True
    ) -> "Iterator[tuple[MemoryEngine, str]]":
        """Open an existing memory; yields it, and whose memory the command is about."""
        where = self.existing().scope()
        with self.engine(words_only=words_only, readonly=readonly) as engine:
            yield engine, where


def takes(*shared: str, **limits: Any) -> Callable[[Callable[..., Any]], Callable[..., None]]:
    """Make a function a command: it gets the ``Settings``, and its other parameters are read.

    Parameters before a ``*`` are arguments, those behind it options. "Args:" at the end of the
    docstring has the help of each; in brackets stand other names of an option, and its value.

    Args:
        shared: Names in ``SHARED``; their values go into the ``Settings``.
        limits: What else Typer has to know of a parameter, such as its least value.
    """

    def with_options(function: Callable[..., Any]) -> Callable[..., None]:
        @wraps(function)
        def run(ctx: typer.Context, **given: Any) -> None:
            known = ctx.ensure_object(Settings)
            for name in shared:
                if (value := given.pop(name)) is not None:
                    setattr(known, name, value)
            function(known, **given)

        text, _, helps = (inspect.getdoc(function) or "").partition("\n\nArgs:\n")
        about, kinds = described(helps), get_type_hints(function)
        _, *own = inspect.signature(function).parameters.values()
        parameters = [_CONTEXT]
        for option in own:
            info = _info(option, *about.get(option.name, ("", "")), limits.get(option.name, {}))
            kind: Any = Annotated[kinds[option.name], info]
            parameters.append(option.replace(kind=_GIVEN.kind, annotation=kind))
        parameters += [_GIVEN.replace(name=name, annotation=SHARED[name]) for name in shared]
        vars(run)["__signature__"] = inspect.Signature(parameters)
        run.__annotations__ = {option.name: option.annotation for option in parameters}
        run.__doc__ = _WRAPPED.sub(" ", text)  # the terminal has lines of its own
        return run

    return with_options


def _info(option: inspect.Parameter, notes: str, text: str, limits: dict[str, Any]) -> Any:
    """Return what Typer has to know of a parameter."""
    names = [note for note in notes.split(", ") if note.startswith("-")]
    value = notes.removeprefix(", ".join(names)).strip(", ") or None
    limits = {"help": text, "metavar": value, **limits}
    if option.kind is not inspect.Parameter.KEYWORD_ONLY:
        return typer.Argument(**limits)
    name = option.name.strip("_").replace("_", "-")
    if not any(note.startswith("--") for note in names):
        names.insert(0, f"--{name}/--no-{name}" if option.default is True else f"--{name}")
    return typer.Option(*names, **limits)


def described(text: str) -> dict[str, tuple[str, str]]:
    """Return what a section of a docstring says of each name, after what it has in brackets."""
    return {name: (notes, " ".join(about.split())) for name, notes, about in _ENTRY.findall(text)}


def print_list(
    known: Settings,
    rows: Sequence[Any],
    entry: Callable[[Any], Sequence[str | Text]],
    noun: str,
    nothing: Callable[[], str],
    *,
    latest_last: bool = False,
    note: str = "",
) -> None:
    """Print rows as JSON, or as a list with their number; at most ``--limit``, or 50 as text.

    Args:
        known: Whether as JSON, and how many.
        entry: Returns what stands on the left of a row, its text, and lines beneath it.
        nothing: Returns why there are no rows.
        latest_last: Whether the rows at the end are those to keep.
        note: Stands after the number of rows.

    Raises:
        NotFound: There are no rows, and no JSON was asked for.
    """
    most = known.limit or (len(rows) if known.as_json else ROWS)
    shown = rows[-most:] if latest_last else rows[:most]
    if known.as_json:
        return print_json(shown)
    if not rows:
        raise NotFound(nothing())
    print_entries([entry(row) for row in shown])
    much = count(len(rows), noun)
    if len(shown) < len(rows):
        much = f"{len(shown):,} of {much}; --limit shows more"
    say(f"{much}{note}", "dim")


def memory_id(text: str) -> str:
    """Return the id of a memory; a turn's number, such as "12", means its chunk, "chunk/12"."""
    from slowcat_memory.core.memory import chunk_id

    return chunk_id(int(text)) if text.isdecimal() else text


def shown_id(id_: str) -> str:
    """Return a memory's id as a person types it: "turn 12" for "chunk/12"."""
    from slowcat_memory.core.memory import turn_of

    number = turn_of(id_)
    return f"turn {number}" if number else id_


def nothing_in(engine: "MemoryEngine", scope: str, otherwise: str = "") -> str:
    """Return why a list of a scope is empty: its person is unknown, or else ``otherwise``."""
    from slowcat_memory.core.memory import FACT, NOTE

    with engine.snapshot() as snapshot:
        scopes = snapshot.scopes()
        held = {kind: len(list(snapshot.memories(scope, f"{kind}/"))) for kind in (FACT, NOTE)}
    if scope in scopes and otherwise:
        return otherwise
    if amounts := " and ".join(count(n, kind) for kind, n in held.items() if n):
        commands = "`slowcat-memory facts` and `slowcat-memory show notes` show what is there"
        return f"No conversations in the scope {scope} yet, but {amounts}: {commands}."
    if scopes := [name for name in scopes if name != scope]:
        return f"Nothing is remembered of {scope}; --user takes {listed(scopes, 8)}."
    return f"Nothing is remembered yet. {NEXT_STEP}"
