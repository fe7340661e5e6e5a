"""One process's part in a fleet: its connections, its leases, its copies."""

import os
import secrets
import socket
import threading
from functools import partial
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from slowcat_memory import config as configuration
from slowcat_memory.config import Config
from slowcat_memory.engine.availability import Shared
from slowcat_memory.fleet import housekeeping, leases, snapshots
from slowcat_memory.fleet.copies import copy_name
from slowcat_memory.fleet.database import Database
from slowcat_memory.fleet.holding import Holding, Worker
from slowcat_memory.fleet.leases import Purpose
from slowcat_memory.fleet.shared_member import SharedMember
from slowcat_memory.metrics import Metrics
from slowcat_memory.providers import QueryEmbedder
from slowcat_memory.runtime.namespaces.registry import scope_of_user

RENEWALS = 3  # in the time of a lease


class Fleet:
    """A worker of a fleet. One for a process; it may serve many people, one after another or at once.

    Use::

        fleet = Fleet("config.toml")
        memory = HybridContextualMemoryProcessor(user_id="anna", fleet=fleet)

    Attributes:
        model: The embedder of the last person; kept, so that it is not loaded for each.
    """

    def __init__(self, config: Config | str | Path | None = None) -> None:
        """Set up; nothing is connected before the first person comes.

        Args:
            config: A configuration, or the path of a config.toml; None for the default one.

        Raises:
            ConfigError: There is no ``[fleet] dsn``, or something else is wrong.
        """
        if not isinstance(config, Config):
            config = configuration.load(Path(config).expanduser() if config else None)
        self.config, options = config, config.fleet
        self.metrics, host = Metrics(), socket.gethostname()
        self.database = Database(options.dsn)
        self.worker = Worker(
            database=self.database,
            tenant=options.tenant,
            host=host,
            holder=f"{host}/{os.getpid()}/{secrets.token_hex(4)}",
            cache=Path(options.cache).expanduser(),
            lease_s=options.lease_s,
            map_gib=config.store.map_size_gib,
        )
        self._holdings: dict[Holding, None] = {}
        self._lock = threading.Lock()
        self._members: Shared[SharedMember] = Shared()
        self._started = False
        self.model: QueryEmbedder | None = None

    def start(self) -> None:
        """Begin to renew leases, and to delete copies of what others have forgotten; idempotent."""
        with self._lock:
            if self._started:
                return
            self._started = True
        self.database.repeat(self._renew, self.worker.lease_s / RENEWALS)
        look = partial(housekeeping.look_at_notified, self.worker)
        self.database.listen(snapshots.CHANNEL, look, on_gap=self.tidy)
        self.database.repeat(self.tidy, housekeeping.EVERY_S)

    def tidy(self) -> None:
        """Delete copies with what others have forgotten, and send what waits on this machine.

        Raises:
            DatabaseAwayError: The database cannot be reached.
        """
        housekeeping.tidy(self.worker)

    # ---------------------------------------------------------------- people

    def member(self, person: str, config: Config | None = None) -> SharedMember:
        """Return a person's memory, shared by the conversations of this process.

        Call ``start`` on it, and ``release`` when done.

        Args:
            person: A user id, as for the processor.
            config: Of the conversation; None for the fleet's.

        Raises:
            ConfigError: The person's name cannot name a memory.
        """
        person = scope_of_user(person)
        self.start()
        base = config or self.config
        folder = self.worker.cache / copy_name(self.worker.tenant, person)
        memory = replace(base.memory, path=str(folder), user_id=person)
        own = replace(base, memory=memory)
        return self._members.acquire(
            folder, lambda: SharedMember(self, person, own), lambda _: False
        )

    def release(self, member: SharedMember) -> None:
        """Let go of a member; the last user closes it."""
        self._members.release(member.config.folder, member, member.shut)

    def hold(
        self, person: str, metrics: Metrics, purpose: Purpose = "conversation", **called: Any
    ) -> Holding:
        """Take a person's lease, and bring the copy up to date; see ``Holding``. Blocks."""
        holding = Holding(
            self.worker,
            person,
            metrics,
            purpose=purpose,
            on_end=self._forget_holding,
            on_left=partial(housekeeping.tidy_person, self.worker),
            **called,
        )
        with self._lock:
            self._holdings[holding] = None
        return holding

    def _forget_holding(self, holding: Holding) -> None:
        with self._lock:
            self._holdings.pop(holding, None)

    def _renew(self) -> None:
        with self._lock:
            held = list(self._holdings)
        if held:
            work = partial(
                leases.renew, leases=[one.lease for one in held], lease_s=self.worker.lease_s
            )
            for place in self.database.run(work):
                held[place].lose()

    def close(self) -> None:
        """Close the connections; members are released by those who use them. Blocks."""
        self.database.close()

    def __enter__(self) -> "Fleet":
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
