"""Checks that an acknowledged exchange survives a ``kill -9``.

A child appends exchanges (a user's turn and the agent's, one transaction) and reports each as soon
as its ack resolves. It is killed at a random moment; the store is opened again and must hold every
reported exchange, no half of one, and consistent rows. Before it is opened, a check reads every
record of the file: since the machine has not stopped, opening alone would not. Meanwhile a thread moves turns from rows to
warm blocks to cold ones: each turn must be in exactly one place.
"""

import os
import random
import struct
from collections import Counter
from contextlib import nullcontext
from pathlib import Path

from slowcat_memory.records import Turn
from slowcat_memory.store import Snapshot, Store
from slowcat_memory.store.care import health
from slowcat_memory.store.disk.folder import data_file
from tests.harness import samples, tiers
from tests.harness.children import Child
from tests.harness.command import Harness, main

ACK = struct.Struct(">Q")
LOOK_BACK = 400  # events: what the tier mover may have moved since the last kill
IN_FLIGHT = 6  # exchanges that wait for their ack: some share a transaction


def exchange(first: int) -> list[Turn]:
    """Two turns whose texts follow from the id that the first will get."""
    session = f"s{first // 40}"
    asked = samples.turn(first, session=session)
    said = samples.turn(first + 1, session=session, role="assistant", speaker="agent", reply_to=-1)
    return [asked, said]


def work(path: Path, into: int, early: bool) -> None:
    """Append and age forever; an ``early`` one reports what is not on disk yet."""
    store = Store.open(path)
    with store.snapshot() as snapshot:
        n = snapshot.last_id() + 1
    os.write(into, ACK.pack(0))
    tiers.age_for_ever(store)
    waiting: list = []
    while True:
        acks = store.append_all(exchange(n))
        assert acks[0].id == n
        if early:
            os.write(into, ACK.pack(n))
        else:
            acks[1].future.add_done_callback(lambda _, n=n: os.write(into, ACK.pack(n)))
        waiting.append(acks[1])
        if len(waiting) >= IN_FLIGHT:
            waiting.pop(0).wait()
        n += 2


class Tally(Counter):
    """Findings, by name."""

    def look(self, store: Store, acked: set[int], after: int) -> int:
        """Compare a reopened store with what was reported; return the last id."""
        self["accused"] += store.opened.moved_aside is not None
        with store.snapshot() as snapshot:
            events = list(snapshot.events(after=after))
            self._look_at_log(events, {n for n in acked if n > after})
            self._look_at_rows(snapshot, events, after)
            last = snapshot.last_id()
            self["aged"] = snapshot.counts()["places"]
        self["torn"] += tiers.contents(store, after)[1]
        self["corrupt"] += len(store.quarantined)
        return last

    def _look_at_log(self, events: list, acked: set[int]) -> None:
        here = {event.id: event for event in events}
        self["lost"] += sum(n not in here or n + 1 not in here for n in acked)
        self["corrupt"] += sum(event.text != samples.text(event.id) for event in events)
        self["torn"] += sum((n in here) != (n + 1 in here) for n in here if n % 2)
        self["torn"] += sum(n - 1 not in here for n in here if n % 2 == 0)

    def _look_at_rows(self, snapshot: Snapshot, events: list, after: int) -> None:
        by_scope = [event.id for event in snapshot.events("anna", after)]
        self["torn"] += by_scope != [event.id for event in events]
        turns = Counter(event.session for event in events)
        rows = {row.id: row.turns for row in snapshot.sessions() if row.first_turn > after}
        self["torn"] += any(turns[session] != count for session, count in rows.items())


def overwrite_pages(file: Path) -> None:
    """Write zeros over every page but the two meta pages."""
    pages = file.stat().st_size - 2 * 4096
    with file.open("r+b") as data:
        data.seek(2 * 4096)
        data.write(bytes(pages))


def run(folder: Path, kills: int, seed: int, control: str) -> dict[str, int]:
    path, rng, tally = folder / "store", random.Random(seed), Tally()
    acked, last = set[int](), 0
    for kill in range(kills):
        with tiers.rows_go_first() if control == "ageing" else nullcontext():
            child = Child(lambda into: work(path, into, control == "early"))
        child.wait_first()
        # The planted fault of the tier mover kills itself at the critical point.
        steps = 10_000 if control == "ageing" else rng.randrange(60)
        said, died = child.kill_after(ACK.size * steps, rng.uniform(0, 0.004))
        assert died, "the child ended by itself"
        acked |= {n for (n,) in ACK.iter_unpack(said[: len(said) // 8 * 8])} - {0}
        tally["acked"] = len(acked)
        if control == "pages":
            overwrite_pages(data_file(path))
        tally["torn_file"] += not health.is_whole(data_file(path))
        if control and not HARNESSES["kills"].judge(tally, 0, control):
            break
        with Store.open(path) as store:
            after = 0 if kill % 50 == 49 or kill == kills - 1 else max(0, last - LOOK_BACK)
            last = tally.look(store, acked, after) // 2 * 2
    return {name: tally[name] for name in ("acked", "aged", *LAWS)}


LAWS = ("lost", "torn", "corrupt", "accused", "torn_file")
HARNESSES = {
    "kills": Harness(
        run=run, count=60, night=400, laws=LAWS, least={"acked": 10.0, "aged": 1.0},
        controls={  # a receipt before its commit; rows that go before their block; zeros
            "early": ("lost or torn", 20), "ageing": ("lost or torn", 4), "pages": ("torn_file", 1),
        },
    )
}  # fmt: skip

if __name__ == "__main__":
    main(HARNESSES, __doc__)
