"""Change sets of a real conversation, as a worker sent them: what simulated workers send again."""

import threading
import time
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from benchmarks import common, corpus, fleet_database
from slowcat_memory.fleet import tasks
from slowcat_memory.fleet.database import Connection
from slowcat_memory.fleet.fleet_process import Fleet
from slowcat_memory.fleet.operate.idle_worker import IdleWorker
from slowcat_memory.records import Turn
from slowcat_memory.store.disk.outbox import Unsent

PERSON = "recorded"
PAUSE_S = 0.15  # after each half: what is made of it is sent before the next one comes
WAIT_S = 30.0

Batch = list[Unsent]
"""Change sets of one statement."""


class Recorded(Struct, frozen=True):
    """A conversation.

    Attributes:
        turns: The statements of each turn: what was said, the answer, and what was made of both.
        idle: Those of the idle work after it, by rules alone.
    """

    turns: list[list[Batch]]
    idle: list[Batch]

    def sizes(self) -> dict[str, float]:
        """Return means for a turn: statements, change sets, bytes; and bytes of idle work."""
        sets = [one for turn in self.turns for batch in turn for one in batch]
        count = len(self.turns)
        return {
            "statements": round(sum(map(len, self.turns)) / count, 2),
            "sets": round(len(sets) / count, 2),
            "bytes": round(sum(len(one.body) for one in sets) / count),
            "idle_bytes": round(sum(len(one.body) for b in self.idle for one in b) / count),
        }


def record(dsn: str, cache: Path, turns: int) -> Recorded:
    """Talk through a real worker, and read back what it sent."""
    with Fleet(fleet_database.configuration(dsn, cache)) as fleet:
        member = fleet.member(PERSON)
        member.prepare(PERSON)
        member.start(WAIT_S)
        try:
            assert member.is_ready, member.last_error
            ends = [_last(fleet)]
            for halves in _exchanges(turns):
                for half in halves:
                    member.append(half).wait(WAIT_S)
                    time.sleep(PAUSE_S)
                member.flush(WAIT_S, indexed=True)
                assert member.holding is not None and member.holding.shipper.wait_sent(WAIT_S)
                ends.append(_last(fleet))
        finally:
            member.release()
        fleet.database.run(partial(tasks.schedule, tenant=fleet_database.TENANT, person=PERSON))
        IdleWorker(fleet).run(threading.Event(), until_done=True)
        batches = fleet.database.run(_batches)
    parts = zip(ends, ends[1:], strict=False)
    said = [[b for b in batches if start < b[0].seq <= end] for start, end in parts]
    return Recorded(said, [b for b in batches if b[0].seq > ends[-1]])


def _exchanges(count: int) -> list[list[Turn]]:
    said = [
        replace(event, scope=PERSON)
        for _, events in corpus.turns(2 * count, common.SEED)
        for event in events
        if isinstance(event, Turn)
    ]
    return [said[n : n + 2] for n in range(0, len(said), 2)]


def _last(fleet: Fleet) -> int:
    async def read(connection: Connection) -> Any:
        query = "SELECT last_seq FROM slowcat.owner WHERE tenant = $1 AND person = $2"
        return await connection.fetchval(query, fleet_database.TENANT, PERSON)

    return int(fleet.database.run(read))


async def _batches(connection: Connection) -> list[Batch]:
    """Return the change sets by the transactions that appended them."""
    rows = await connection.fetch(
        "SELECT xmin::text AS tx, seq, last_event, body FROM slowcat.log"
        " WHERE tenant = $1 AND person = $2 ORDER BY seq",
        fleet_database.TENANT,
        PERSON,
    )
    return [
        [Unsent(row["seq"], 0, row["last_event"], row["body"]) for row in each]
        for _, each in groupby(rows, key=lambda row: row["tx"])
    ]
