"""What every command is given: global options, shared arguments, the configuration, the store."""

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
    """The options before the command's name.

    Attributes:
        file: The configuration file that was named, by ``--config`` or SLOWCAT_CONFIG.
        store: The store's folder that was named by ``--path``.
        debug: Whether errors show where they come from.
    """

    def __init__(
        self, file: Path | None = None, store: Path | None = None, debug: bool = False
    ) -> None:
        """Keep the options; nothing is read yet.

        Args:
            debug: Show where errors come from.
        """
        self.file, self.store, self.debug = file, store, debug

    @cached_property
    def config(self) -> "Config":
        """The configuration, with ``--path`` above all."""
        from msgspec.structs import replace

        from slowcat_memory.config import load

        config = load(self.file)
        if self.store is None:
            return config
        return replace(config, memory=replace(config.memory, path=str(self.store)))

    def existing(self) -> "Settings":
        """Refuse to begin an empty memory, for a command that works on what is there.

        Raises:
            StoreError: There is no store.
        """
        from slowcat_memory.errors import StoreError

        if not (self.config.folder / "data.mdb").exists():
            hint = "Start the agent once, or check the path"
            raise StoreError(f"no store at {self.config.folder}", hint=hint)
        return self

    def scope(self, given: str | None) -> str:
        """Say which scope a command works on.

        Args:
            given: By ``--scope``; None for the configured one.
        """
        from slowcat_memory.runtime.namespaces.registry import check_scope

        return check_scope(given or self.config.memory.user_id)

    @contextmanager
    def engine(
        self,
        *,
        readonly: bool = False,
        words_only: bool = False,
        thinking: bool = False,
        llm: "LLM | None" = None,
    ) -> "Iterator[MemoryEngine]":
        """Open the store for the length of a command.

        Args:
            readonly: Only read: works while an agent writes.
            words_only: Leave the embedding model alone, for what needs no vectors.
            thinking: Let it think by itself, when it is so configured.
            llm: Thinks in place of the configured one.
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
            _tell_what_was_found(engine)
            yield engine
        finally:
            engine.release()


def _tell_what_was_found(engine: "MemoryEngine") -> None:
    found = engine.opened
    if found.moved_aside:
        rescued = (
            f"the backup {found.restored_from} took its place"
            if found.restored_from
            else f"{found.salvaged} events were carried over"
        )
        warn(f"The store was damaged: its files are now in {found.moved_aside}, and {rescued}.")


def settings(ctx: typer.Context) -> Settings:
    """Find the settings of a running command."""
    return ctx.find_object(Settings) or Settings()


Scope = Annotated[
    str | None,
    typer.Option(help="Whose memory: a scope's name; by default the configured user's."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a script, and nothing else.")]


def parse_time(text: str | None, zone: tzinfo, option: str) -> datetime | None:
    """Read a date or a time that a person typed.

    Args:
        text: For example "2024-05-12" or "2024-05-12 18:30"; None when nothing was typed.

    Returns:
        The time in UTC.

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
    """Read the id of a memory; a turn's number stands for its chunk.

    Args:
        text: For example "12", "chunk/12" or "note/0a1b2c".
    """
    from slowcat_memory.core.memory.chunk import chunk_id

    return chunk_id(int(text)) if text.isdecimal() else text


def find_session(snapshot: "Snapshot", name: str) -> "Session | None":
    """Find a session by its id, or by the beginning of it.

    Returns:
        The session; None when there is none, or more than one.
    """
    if session := snapshot.session(name):
        return session
    found = [session for session in snapshot.sessions() if session.id.startswith(name)]
    return found[0] if len(found) == 1 else None


def nothing_in(engine: "MemoryEngine", scope: str) -> str:
    """Say that a scope is empty, and which are not.

    Args:
        scope: The empty one.
    """
    from slowcat_memory.cli.shared.output import listed

    with engine.snapshot() as snapshot:
        others = [name for name in snapshot.scopes() if name != scope]
    if not others:
        return "Nothing is remembered yet."
    return f"Nothing is remembered in the scope {scope}; --scope takes {listed(others, 8)}."
