"""A memory of any size for tests of the page, written fast."""

from collections.abc import Iterator
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import TypeVar

from slowcat_memory.config import Config
from slowcat_memory.index.generation import Build
from slowcat_memory.records import LedgerEntry, Memory, Offer, Run, SessionEdge, Turn, WriteBatch
from slowcat_memory.runtime.namespaces import sealing
from slowcat_memory.runtime.namespaces.documents import Space
from slowcat_memory.store import Store
from slowcat_memory.store.disk.folder import index_folder
from tests.support.page_memory import ANNA, MONDAY, RULE
from tests.support.said import fact, memory
from tests.support.sessions import session
from tests.support.stores import configured

T = TypeVar("T")

TALK = 20  # turns of a conversation
TOGETHER = 5000  # events in a transaction
DERIVED = 0.08  # share of memories that are not turns
RECORDED = 250  # recalls and steps of idle work, at most

PLACES = ("York", "Derby", "Leeds", "Bonn", "Graz", "Porto", "Turin", "Ghent")
THINGS = ("cello", "garden", "train", "soup", "letter", "lake", "lamp", "bicycle", "concert")


def page_store(path: Path, size: int) -> Config:
    """Make a memory of ``size`` memories in a folder."""
    config, derived = configured(path), int(size * DERIVED)
    if size:
        with Store.open(path) as store:
            for events in _batched(_events(size - derived), TOGETHER):
                store.append_all(list(events))[-1].wait(None)
            for memories in _batched(_memories(derived), TOGETHER):
                store.apply("facts", WriteBatch(memories=memories)).wait(None)
            _record(store, min(RECORDED, size))
            _seal(store, config)
    return config


def _batched(every: Iterator[T], n: int) -> Iterator[tuple[T, ...]]:
    while some := tuple(islice(every, n)):
        yield some


def _events(turns: int) -> Iterator[Turn | SessionEdge]:
    for talk in range(0, turns, TALK):
        words = [
            f"On day {n // 500} I saw a {THINGS[n // 3 % len(THINGS)]} number {n} in {PLACES[n % len(PLACES)]}."
            for n in range(talk, min(talk + TALK, turns))
        ]  # fmt: skip
        at = MONDAY + timedelta(hours=talk // TALK)
        pairs = [tuple(words[n : n + 2]) for n in range(0, len(words), 2)]
        yield from session(f"talk-{talk // TALK}", pairs, at, step_s=20, scope=ANNA)


def _memories(count: int) -> Iterator[Memory]:
    people = max(1, count // 40)
    for n in range(count):
        at, name = MONDAY + timedelta(hours=n % 4000), f"Person {n % people}"
        given = {"valid_from": at, "recorded_at": at, "made": RULE, "scope": ANNA}
        of_fact = {"id": f"fact/{n}", "sources": (n,), "subject": name}
        place, thing = PLACES[n % len(PLACES)], THINGS[n % len(THINGS)]
        if n < people:
            facets = {"name": name, "type": "person"}
            yield memory("entity/person", name, id=f"entity/{n}", facets=facets, **given)
        elif n % 4 == 0:
            own = {"subject_id": f"entity/{n % people}", "predicate": "lives_in", "object": place}
            text = f"{name} lives in {place}"
            yield fact(text, quote=f"{text}.", **given, **of_fact, **own)
        else:
            over = at + timedelta(days=3) if n % 5 == 0 else None
            quote = f"{name} likes the {thing} in {place}, as of {n}."
            end = {"valid_to": over, "retired_at": over, "quote": quote}
            yield fact(quote, "preference", **given, **of_fact, **end)


def _record(store: Store, count: int) -> None:
    """Write recalls and steps of idle work as a bot's memory has them."""
    with store.snapshot() as snapshot:
        turns = [turn for turn in snapshot.turns(ANNA, upto=count * 3) if turn.role == "user"]
    for n, turn in enumerate(turns[:count]):
        timings = {"parse": 0.2, "lexical": 0.5 + n % 7 / 10, "embed": 1.2, "wait": 2.0 + n % 5}
        entry = LedgerEntry(
            turn=turn.id, scope=ANNA, session=turn.session, at=turn.at, stage="full", tokens=40,
            offers=(Offer(f"chunk/{max(2, turn.id - 2)}", 0.6, {"turn": 0.8}, 0.7),),
            timings=timings, candidates=50,
        )  # fmt: skip
        store.write_ledger(entry)
    for n in range(count):
        run = Run(
            task=f"facts/{ANNA}/{n}", job="facts", at=MONDAY + timedelta(hours=n), ms=100.0 + n,
            outcome="dead" if n % 9 == 0 else "done", tokens_in=500, tokens_out=60, made=n % 3,
        )  # fmt: skip
        store.apply("facts", WriteBatch(run=run))
    store.flush(None)


def _seal(store: Store, config: Config) -> None:
    """Build the index of words, so that a memory of any size opens at once."""
    read = {"zone": config.memory.time_zone, "language": config.memory.language}
    place = {"store": str(store.path), "scope": ANNA, "space": Space()}
    order = sealing.SealOrder(**place, **read, options=config.index)
    store.publish(sealing.seal(Build(), index_folder(store.path, ANNA), order)).wait(None)
