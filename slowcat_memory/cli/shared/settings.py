"""Global options, arguments that several commands share, and opening the store."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, tzinfo
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slowcat_memory.cli.shared.output import warn

if TYPE_CHECKING:
    from slowcat_memory.config import Config
    from slowcat_memory.engine import MemoryEngine
    from slowcat_memory.providers import LLM
    from slowcat_memory.records import Session
    from slowcat_memory.store import Snapshot


class Settings:
    """The options given before the command's name.

    Attributes:
        file: The configuration file named by ``--config`` or SLOWCAT_CONFIG.
        store: The folder named by ``--path``.
    """

    def __init__(
        self, file: Path | None = None, store: Path | None = None, debug: bool = False
    ) -> None:
        """Store the options; the configuration is read on first use."""
        self.file, self.store, self.debug = file, store, debug

    @cached_property
    def config(self) -> "Config":
        """The configuration; ``--path`` overrides the store's folder."""
        from msgspec.structs import replace

        from slowcat_memory.config import load

        config = load(self.file)
        if self.store is None:
            return config
        return replace(config, memory=replace(config.memory, path=str(self.store)))

    @property
    def file_read(self) -> Path | None:
        """The configuration file in effect; None where all is at its default."""
        import os

        from slowcat_memory.config.loader import file_to_read

        return file_to_read(self.file, os.environ)

    def existing(self) -> "Settings":
        """Return the settings, or refuse to create an empty memory.

        Raises:
            StoreError: There is no store.
        """
        from slowcat_memory.errors import StoreError

        if not (self.config.folder / "data.mdb").exists():
            hint = "Run `slowcat-memory init`, or start your bot"
            raise StoreError(f"no memory at {self.config.folder} yet", hint=hint)
        return self

    def scope(self, given: str | None) -> str:
        from slowcat_memory.runtime.namespaces.registry import scope_of_user

        if given:
            return scope_of_user(given, "--scope")
        return scope_of_user(self.config.memory.user_id)

    @contextmanager
    def engine(
        self,
        *,
        readonly: bool = False,
        words_only: bool = False,
        thinking: bool = False,
        llm: "LLM | None" = None,
    ) -> "Iterator[MemoryEngine]":
        """Open the store for the duration of a command.

        Args:
            readonly: Open for reading only; works while an agent is running.
            words_only: Do not load the embedding model.
            thinking: Run idle work, when the configuration enables it.
            llm: Used for idle work instead of the configured LLM.
        """
        from msgspec.structs import replace

        from slowcat_memory.engine import MemoryEngine

        config = self.config
        if not thinking:
            config = replace(config, idle=replace(config.idle, enabled=False))
        if words_only:
            config = replace(config, embedding=replace(config.embedding, kind="none"))
        engine = MemoryEngine(config, readonly=readonly, llm=llm)
        try:
            _warn_of_recovery(engine)
            yield engine
        finally:
            engine.release()


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


Scope = Annotated[
    str | None,
    typer.Option(help="Whose memory; by default the configured user's."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON only, for scripts.")]


def parse_time(text: str | None, zone: tzinfo, option: str) -> datetime | None:
    """Parse a date or time such as "2024-05-12" or "2024-05-12 18:30", in UTC; None for None.

    Raises:
        typer.BadParameter: It is neither.
    """
    from slowcat_memory.transfer.ingest import utc
    from slowcat_memory.transfer.transcript import time_of

    try:
        at = time_of(text)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint=option) from None
    return utc(at, zone) if at else None


def memory_id(text: str) -> str:
    """Return the id of a memory; a turn's number, such as "12", means its chunk, "chunk/12"."""
    from slowcat_memory.core.memory import chunk_id

    return chunk_id(int(text)) if text.isdecimal() else text


def find_session(snapshot: "Snapshot", name: str, scope: str = "") -> "Session | None":
    """Return the session whose id starts with ``name``; None if there is none or several.

    One of ``scope`` comes first.
    """
    from slowcat_memory.core.memory import session_in

    rows = [row for row in snapshot.sessions() if row.id.startswith(name)]
    mine = [row for row in rows if row.scope == scope]
    for found in (mine, rows):
        exact = [row for row in found if row.id in (name, session_in(name, row.scope))]
        if len(exact or found) == 1:
            return (exact or found)[0]
    return None


def nothing_in(engine: "MemoryEngine", scope: str) -> str:
    """Return the message for a scope without turns: what else it holds, or the other scopes."""
    from slowcat_memory.cli.shared.output import count, listed
    from slowcat_memory.core.memory import FACT, NOTE

    with engine.snapshot() as snapshot:
        others = [name for name in snapshot.scopes() if name != scope]
        holds = {
            kind: sum(1 for _ in snapshot.memories(scope, f"{kind}/")) for kind in (FACT, NOTE)
        }
    if any(holds.values()):
        found = " and ".join(count(n, kind) for kind, n in holds.items() if n)
        commands = "`slowcat-memory facts` and `slowcat-memory show --notes` show what is there"
        return f"No conversations in the scope {scope} yet, but {found}: {commands}."
    if not others:
        return "Nothing is remembered yet: start your bot, or run `slowcat-memory import`."
    return f"Nothing is remembered in the scope {scope}; --scope takes {listed(others, 8)}."
