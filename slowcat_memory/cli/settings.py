"""Global options, arguments that several commands share, and opening the store."""

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from slowcat_memory.cli.output import (
    NotFound,
    count,
    done,
    listed,
    out,
    print_entries,
    print_json,
    warn,
)
from slowcat_memory.errors import StoreError

if TYPE_CHECKING:
    from slowcat_memory.config import Config
    from slowcat_memory.engine import MemoryEngine

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask; for scripts.")]
SHARED = {
    "user": Annotated[
        str | None, typer.Option("--user", "--scope", help="Whose memory.", metavar="NAME")
    ],
    "limit": Annotated[int | None, typer.Option(help="How many at most.", min=1)],
    "as_json": Annotated[bool | None, typer.Option("--json", help="Print JSON only, for scripts.")],
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
    """

    file: Path | None = None
    store: Path | None = None
    debug: bool = False
    user: str | None = None
    limit: int | None = None
    as_json: bool = False

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
        from slowcat_memory.runtime.conversation.audience import guest_scope
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
    def readonly(self, *, words_only: bool = False) -> "Iterator[MemoryEngine]":
        """Open the store for reading only; works beside an agent.

        Args:
            words_only: Do not load the embedding model.
        """
        from slowcat_memory.engine import MemoryEngine

        with closing(MemoryEngine(self._quiet(words_only), readonly=True)) as engine:
            _warn_of_recovery(engine)
            yield engine

    @contextmanager
    def engine(self, *, words_only: bool = False) -> "Iterator[MemoryEngine]":
        """Open the store for the duration of a command; works beside an agent.

        Args:
            words_only: Do not load the embedding model.
        """
        from slowcat_memory.engine import MemoryEngine

        with closing(MemoryEngine(self._quiet(words_only))) as engine:
            _warn_of_recovery(engine)
            yield engine

    def _quiet(self, words_only: bool = False) -> "Config":
        """Return the configuration for a command: without what it does not need."""
        from msgspec.structs import replace

        config = replace(self.config, idle=replace(self.config.idle, enabled=False))
        if words_only:
            config = replace(config, embedding=replace(config.embedding, kind="none"))
        return config


def _warn_of_recovery(engine: "MemoryEngine") -> None:
    found = engine.opened
    if found.moved_aside:
        rescued = (
            f"the backup {found.restored_from} was restored"
            if found.restored_from
            else f"{found.salvaged} events were recovered"
        )
        warn(f"The store was damaged: its files are now in {found.moved_aside}, and {rescued}.")


def settings(ctx: typer.Context) -> Settings:
    return ctx.find_object(Settings) or Settings()


def takes(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command some of the ``SHARED`` options; their values go into its ``Settings``."""

    def with_options(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def run(ctx: typer.Context, **given: Any) -> None:
            for name in names:
                if (value := given.pop(name)) is not None:
                    setattr(settings(ctx), name, value)
            return command(ctx, **given)

        signature, kind = inspect.signature(command), inspect.Parameter.KEYWORD_ONLY
        own = signature.parameters.values()
        shared = (
            inspect.Parameter(name, kind, default=None, annotation=SHARED[name]) for name in names
        )
        run.__annotations__ = {**command.__annotations__, **{name: SHARED[name] for name in names}}
        vars(run)["__signature__"] = signature.replace(parameters=[*own, *shared])
        return run

    return with_options


@contextmanager
def reading(ctx: typer.Context, *, words_only: bool = True) -> "Iterator[tuple[MemoryEngine, str]]":
    """Open the memory that a command reads; yields it, and whose memory the command is about."""
    known = settings(ctx).existing()
    where = known.scope()
    with known.readonly(words_only=words_only) as engine:
        yield engine, where


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
    out().print(Text(f"{much}{note}", style="dim"))
    return None


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
        holds = {
            kind: sum(1 for _ in snapshot.memories(scope, f"{kind}/")) for kind in (FACT, NOTE)
        }
    if scope in scopes and otherwise:
        return otherwise
    if any(holds.values()):
        found = " and ".join(count(n, kind) for kind, n in holds.items() if n)
        commands = "`slowcat-memory facts` and `slowcat-memory show notes` show what is there"
        return f"No conversations in the scope {scope} yet, but {found}: {commands}."
    if scopes := [name for name in scopes if name != scope]:
        return f"Nothing is remembered of {scope}; --user takes {listed(scopes, 8)}."
    return f"Nothing is remembered yet. {NEXT_STEP}"
