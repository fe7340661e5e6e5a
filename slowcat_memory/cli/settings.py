"""Global options, arguments that several commands share, and opening the store."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slowcat_memory.cli.output import NotFound, count, listed, warn
from slowcat_memory.errors import StoreError

if TYPE_CHECKING:
    from slowcat_memory.config import Config
    from slowcat_memory.engine import MemoryEngine

Scope = Annotated[
    str | None,
    typer.Option(
        "--user",
        "--scope",
        help="Whose memory; the same as --user before the command.",
        metavar="NAME",
        show_default=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON only, for scripts.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask; for scripts.")]
Limit = Annotated[
    int | None, typer.Option(help="How many at most; 50 unless --json.", min=1, show_default=False)
]
NEXT_STEP = "Talk to it with `slowcat-memory chat`, start your bot, or `slowcat-memory import`."


@dataclass
class Settings:
    """The options given before the command's name; the configuration is read on first use.

    Attributes:
        file: The configuration file named by ``--config`` or SLOWCAT_CONFIG.
        store: The folder named by ``--path``.
        debug: Whether tracebacks are shown.
        user: The name given by ``--user``.
    """

    file: Path | None = None
    store: Path | None = None
    debug: bool = False
    user: str | None = None

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

    def scope(self, given: str | None = None) -> str:
        """Return whose memory a command is about; opens the store for a moment, read-only.

        That is ``given``, else ``--user``, else the configured user when the configuration names
        one or the store holds nobody else, else the only person in the store.

        Raises:
            ConfigError: The name cannot name a memory.
            NotFound: The store holds several people, and neither option nor configuration names one.
        """
        from slowcat_memory.config import Config
        from slowcat_memory.runtime.namespaces.registry import scope_of_user

        named, own = given or self.user, self.config.memory.user_id
        if named:
            return scope_of_user(named, "--user")
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


@contextmanager
def reading(
    ctx: typer.Context, scope: str | None, *, words_only: bool = True
) -> "Iterator[tuple[MemoryEngine, str]]":
    """Open the memory that a command reads; yields it, and whose memory the command is about."""
    known = settings(ctx).existing()
    where = known.scope(scope)
    with known.readonly(words_only=words_only) as engine:
        yield engine, where


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
