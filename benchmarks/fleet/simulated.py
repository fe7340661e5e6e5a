"""Simulated workers: what real ones ask of a database, without engines.

Each has a pool of its own, a connection that listens, leases that it renews, and copies that it
remembers to have. Its conversations take real leases, read real rows to fill a copy or to bring it
up to date, append a real conversation's change sets under the fence, write snapshots when they are
due, schedule idle work and release. Nothing is unpacked, embedded, searched or written on its disk.
"""

import asyncio
import random
import time
from collections import defaultdict
from functools import partial
from typing import Any

import asyncpg
from msgspec.structs import replace

from benchmarks.fleet import people
from benchmarks.fleet.recorded import Batch, Recorded
from benchmarks.fleet_database import TENANT
from slowcat_memory.errors import BusyElsewhereError, LeaseLostError
from slowcat_memory.fleet import late_turns, leases, person_log, snapshots, tasks
from slowcat_memory.fleet.database import MOST_CONNECTIONS, Connection
from slowcat_memory.fleet.fleet_process import RENEWALS
from slowcat_memory.fleet.leases import Lease
from slowcat_memory.fleet.operate.idle_worker import POLL_S
from slowcat_memory.fleet.shipper import SNAPSHOT_AFTER
from slowcat_memory.store.replica.parts import Part
from slowcat_memory.store.replica.replica import Whole

LEASE_S = 30.0


class Counts:
    """What was done, and how long each took, in milliseconds."""

    def __init__(self) -> None:
        self.ms: dict[str, list[float]] = defaultdict(list)
        self.done: dict[str, int] = defaultdict(int)

    def note(self, what: str, began: float) -> None:
        self.ms[what].append((time.perf_counter() - began) * 1e3)


class Worker:
    """One simulated worker."""

    def __init__(self, number: int, dsn: str, recorded: Recorded, counts: Counts) -> None:
        self.holder, self.recorded, self.counts = f"simulated/{number}", recorded, counts
        self.copies: dict[str, int] = {}  # number of the last change set of each copy
        self._dsn, self._held = dsn, dict[str, Lease]()
        self._pool: Any = None
        self._listening: Any = None

    async def start(self) -> None:
        self._pool = await asyncpg.create_pool(
            self._dsn, min_size=0, max_size=MOST_CONNECTIONS, command_timeout=30.0
        )
        self._listening = await asyncpg.connect(self._dsn)
        await self._listening.add_listener(snapshots.CHANNEL, lambda *_: None)

    async def close(self) -> None:
        await self._listening.close()
        self._pool.terminate()

    async def renew(self) -> None:
        """Renew what is held, as long as this runs."""
        while True:
            await asyncio.sleep(LEASE_S / RENEWALS)
            if held := list(self._held.values()):
                async with self._pool.acquire() as connection:
                    await leases.renew(connection, held, LEASE_S)

    async def think(self) -> None:
        """Do idle work that is due, as long as this runs."""
        await asyncio.sleep(random.uniform(0.0, POLL_S))
        while True:
            try:
                if not await self._think_once():
                    await asyncio.sleep(POLL_S)
            except LeaseLostError:  # somebody calls
                self.counts.done["idle interrupted"] += 1

    async def _think_once(self) -> bool:
        async with self._pool.acquire() as connection:
            began = time.perf_counter()
            claimed = await tasks.claim(connection, TENANT, self.holder, LEASE_S)
            self.counts.note("claim", began)
            if claimed is None:
                return False
            lease = await self._read_copy(connection, claimed.lease)
            for batch in self.recorded.idle:
                lease = await self._send(connection, lease, batch)
            await tasks.finish(connection, claimed)
            await leases.release(connection, lease, lease.last_seq)
        self.copies[lease.person] = lease.last_seq
        self.counts.done["idle"] += 1
        return True

    # ------------------------------------------------------------------- a conversation

    async def converse(self, person: str, turns: int, every_s: float, rng: random.Random) -> None:
        """Serve a person: so many turns, one every so many seconds."""
        began, warm = time.perf_counter(), person in self.copies
        try:
            async with self._pool.acquire() as connection:
                lease = await leases.take(connection, TENANT, person, self.holder, LEASE_S)
                lease = await self._read_copy(connection, lease)
                await late_turns.read(connection, lease)
        except BusyElsewhereError:
            self.counts.done["busy"] += 1
            return
        self.counts.note("ready again" if warm else "ready first", began)
        self._held[person] = lease
        try:
            for _ in range(turns):
                began = time.perf_counter()
                for batch in rng.choice(self.recorded.turns):
                    sent = time.perf_counter()
                    async with self._pool.acquire() as connection:
                        lease = self._held[person] = await self._send(connection, lease, batch)
                    self.counts.note("append", sent)
                    self.counts.done["sets"] += len(batch)
                self.counts.done["turns"] += 1
                await asyncio.sleep(
                    max(0.0, began + every_s * rng.uniform(0.5, 1.5) - time.perf_counter())
                )
            await self._leave(lease)
        except LeaseLostError:
            self.counts.done["lost"] += 1
        finally:
            self._held.pop(person, None)

    async def _read_copy(self, connection: Connection, lease: Lease) -> Lease:
        """Read what a copy lacks; all of it where there is none."""
        after = self.copies.get(lease.person)
        if after is None or await person_log.read(connection, lease, after) is None:
            first = 0
            while lease.snapshot_upto:
                found = await snapshots.read(connection, lease, first)
                first += len(found)
                if len(found) < snapshots.AT_ONCE:
                    break
            await person_log.read(connection, lease, lease.snapshot_upto)
        return lease

    async def _send(self, connection: Connection, lease: Lease, batch: Batch) -> Lease:
        renumbered = [
            replace(one, seq=lease.last_seq + n, epoch=lease.epoch)
            for n, one in enumerate(batch, start=1)
        ]
        await person_log.append(connection, lease, renumbered, LEASE_S)
        return leases.at(lease, renumbered[-1].seq)

    async def _leave(self, lease: Lease) -> None:
        async with self._pool.acquire() as connection:
            if lease.last_seq - lease.snapshot_upto >= SNAPSHOT_AFTER:
                began = time.perf_counter()
                await self._write_snapshot(connection, lease)
                self.counts.note("snapshot", began)
            await tasks.schedule(connection, TENANT, lease.person, after_s=tasks.THINK_AFTER_S)
            await leases.release(connection, lease, lease.last_seq)
        self.copies[lease.person] = lease.last_seq

    async def _write_snapshot(self, connection: Connection, lease: Lease) -> None:
        """Write the rows of the last snapshot as those of a new one."""
        first, parts = 0, list[Part]()
        while found := await snapshots.read(connection, lease, first):
            first, parts = first + len(found), [*parts, *found]
        await snapshots.write(connection, lease, Whole(lease.last_seq, (), parts), forgets=None)


class Crowd:
    """People who come and go, by a Poisson process; each talks for some minutes."""

    def __init__(self, workers: list[Worker], count: int, again: float, seed: int) -> None:
        """Nobody talks yet.

        Args:
            count: How many people there are.
            again: How likely a person comes to the worker of the last time.
        """
        self._workers, self._count, self._again = workers, count, again
        self._rng = random.Random(seed)
        self._last: dict[str, Worker] = {}
        self._talking = dict[str, asyncio.Task[None]]()
        self.failures = list[str]()

    @property
    def talking(self) -> int:
        return len(self._talking)

    async def come(self, talking: int, talk_s: float, every_s: float) -> None:
        """Let people come so that so many talk at once, as long as this runs."""
        for _ in range(talking - len(self._talking)):
            self._begin(talk_s, every_s)
        while True:
            await asyncio.sleep(self._rng.expovariate(talking / talk_s))
            self._begin(talk_s, every_s)

    def _begin(self, talk_s: float, every_s: float) -> None:
        person = people.name(self._rng.randrange(self._count))
        while person in self._talking:
            person = people.name(self._rng.randrange(self._count))
        worker = self._last.get(person)
        if worker is None or self._rng.random() >= self._again:
            worker = self._rng.choice(self._workers)
        self._last[person] = worker
        turns = max(1, round(self._rng.expovariate(every_s / talk_s)))
        talk = asyncio.create_task(worker.converse(person, turns, every_s, self._rng))
        self._talking[person] = talk
        talk.add_done_callback(partial(self._ended, person))

    def _ended(self, person: str, talk: "asyncio.Task[None]") -> None:
        self._talking.pop(person, None)
        if not talk.cancelled() and (error := talk.exception()):
            self.failures.append(repr(error))

    async def end(self) -> None:
        """End all conversations."""
        running = list(self._talking.values())
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
