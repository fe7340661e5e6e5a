"""Checks isolation between users: random operations on a household's memory.

Three people, a shared scope, a guest and spans off the record; after each read, no word of another
person may be in it, and at the end not in any index, file, cache or log line either::

    python -m tests.harness.isolation --operations 10000 --seed 7
    python -m tests.harness.isolation --control union
"""

import argparse
import json
import random
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from itertools import islice
from pathlib import Path
from typing import Any
from unittest import mock

from msgspec.structs import replace

from slowcat_memory import transfer
from slowcat_memory.core.memory import chunk
from slowcat_memory.idle.jobs.summaries.job import SummaryJob
from slowcat_memory.processor.context_messages import PlacedBlocks
from slowcat_memory.records import Forget
from slowcat_memory.runtime.conversation import conversation
from slowcat_memory.runtime.conversation.audience import Audience
from slowcat_memory.runtime.conversation.off_record import OffRecord
from slowcat_memory.runtime.conversation.transcripts import Part
from slowcat_memory.runtime.namespaces.documents import document
from slowcat_memory.runtime.namespaces.indexer import Indexer
from slowcat_memory.runtime.namespaces.namespace import Namespace
from slowcat_memory.runtime.recall import pipeline
from slowcat_memory.testing import ScriptedLLM
from slowcat_memory.tools.handlers import Call, ToolCalls
from tests.harness.household import (
    GUEST,
    HOME,
    PEOPLE,
    VOICES,
    Ears,
    Household,
    Leak,
    may_hold,
)
from tests.support.parroting_llm import parrot

# ------------------------------------------------------------------- operations


def say(home: Household) -> None:
    home.say(home.rng.choice([*VOICES]))


def say_together(home: Household) -> None:
    home.say(*home.rng.sample([*VOICES, "stranger"], 2))


def visit(home: Household) -> None:
    home.say("stranger")


def off_the_record(home: Household) -> None:
    home.between_us = True
    home.record.begin()
    for _ in range(home.rng.randint(1, 3)):
        home.say(home.rng.choice([*VOICES, "stranger"]))
    home.record.end()
    home.look_into_caches()
    home.between_us = False


def remember(home: Household) -> None:
    scope = home.rng.choice((*PEOPLE, HOME))
    home.engine.remember(home.sentence(scope), scope, local_only=home.rng.random() < 0.2)


def pin(home: Household) -> None:
    """Pin an own memory, and try another's by its id."""
    mine, other = home.rng.sample((*PEOPLE, HOME), 2)
    for hit in home.hits(mine)[:1]:
        home.engine.mark(mine, hit.memory.id, pinned=home.rng.random() < 0.5)
        if home.engine.mark(other, hit.memory.id, pinned=True) is not None:
            raise Leak(f"{other} pinned a memory of {mine}")


def keep_local(home: Household) -> None:
    scope = home.rng.choice((*PEOPLE, HOME))
    for hit in home.hits(scope)[:1]:
        home.engine.mark(scope, hit.memory.id, local_only=home.rng.random() < 0.5)
    home.leaves(home.engine.search(home.question(), scope, 9).hits)


def search(home: Household) -> None:
    scope = home.rng.choice((*PEOPLE, HOME, GUEST))
    also = home.audience.readable((scope,))[1:] if scope in PEOPLE else ()
    hits = home.engine.search(home.question(), scope, 9, also=also, local=True).hits
    home.clean(hits, may_hold(scope) if scope != GUEST else (), f"search in {scope}")


def why(home: Household) -> None:
    with home.engine.store.snapshot() as snapshot:
        entries = snapshot.ledger_tail(20)
    for entry in home.rng.sample(entries, min(3, len(entries))):
        found = home.engine.why(entry.turn)
        home.clean(entry, (), "the ledger")
        home.clean(found, may_hold(entry.scope), f"why in {entry.scope}")


def session_context(home: Household) -> None:
    scope = home.rng.choice((*PEOPLE, HOME, GUEST))
    home.clean(home.engine.session_context(scope, local=True), may_hold(scope), "session context")


def export(home: Household) -> None:
    scope = home.rng.choice((*PEOPLE, HOME, GUEST))
    with home.engine.store.snapshot() as snapshot:
        home.clean([*transfer.export(snapshot, scope)], may_hold(scope), f"export of {scope}")
        home.clean([*transfer.export(snapshot, but=GUEST)], (*PEOPLE, HOME), "export")


def stats(home: Household) -> None:
    home.clean(home.engine.stats(), (), "statistics")


def forget(home: Household) -> None:
    scope = home.rng.choice(PEOPLE)
    ids = tuple(hit.memory.id for hit in home.hits(scope)[:2])
    other = home.rng.choice([name for name in PEOPLE if name != scope])
    if ids and home.engine.store.covered(Forget(scope=other, memories=ids)).turns:
        raise Leak(f"{other} forgets what {scope} said")
    if ids:
        home.engine.forget(Forget(scope=scope, memories=ids))


def age(home: Household) -> None:
    home.clock.advance(home.rng.choice((60, 400, 7200, 30_000)))
    home.talk.tick()
    home.engine.upkeep.age()
    home.engine.eraser.erase_expired()


def seal(home: Household) -> None:
    home.engine.drain()
    home.engine.upkeep.seal(home.rng.choice((*PEOPLE, HOME, GUEST)))


def think(home: Household) -> None:
    """Run idle jobs, by rules or with an LLM that repeats its input, and check the results."""
    home.think(ScriptedLLM(parrot) if home.rng.random() < 0.7 else None)
    home.look_at_thoughts()


def look_back(home: Household) -> None:
    """Ask for an overview, and call the tools about people and recent times."""
    scope = home.rng.choice((*PEOPLE, HOME))
    for text in ("What did we talk about lately?", "What did we talk about yesterday?"):
        found = home.runner.run(home.engine.recall(text, scope))
        home.clean(found.hits, may_hold(scope), f"an overview for {scope}")
    home.clean(home.engine.graph(scope).portraits(), may_hold(scope), f"the people of {scope}")
    call = Call(
        engine=home.engine, scope=scope, turn=0, turn_id=0, now=home.clock(), hidden=frozenset(),
        local=True,
    )  # fmt: skip
    for name, arguments in (
        ("search_memory", {"query": home.question()}),
        ("memory_as_of", {"query": home.question(), "date": "today"}),
        ("facts_list", {}),
    ):
        told = ToolCalls().answer(name, arguments, call)
        home.clean(told, may_hold(scope), f"{name} for {scope}")


def reopen(home: Household) -> None:
    home.close()
    home.open()


# Frequency of each, per thousand operations.
OPERATIONS: dict[Callable[[Household], None], int] = {
    say: 360,
    say_together: 80,
    visit: 60,
    off_the_record: 30,
    remember: 70,
    pin: 40,
    keep_local: 30,
    search: 160,
    why: 60,
    session_context: 30,
    export: 5,
    stats: 10,
    forget: 8,
    age: 50,
    seal: 2,
    think: 12,
    look_back: 20,
    reopen: 5,
}

# ------------------------------------------------------------------- planted leaks


@contextmanager
def shared_cache() -> Iterator[None]:
    """Recall caches results by text, whoever asks."""
    found: dict[str, Any] = {}
    run = pipeline.Pipeline.run

    def cached(self: Any, namespace: Any, query: Any, *rest: Any, **more: Any) -> Any:
        key = " ".join(query.text.split()[:4])
        return found.setdefault(key, run(self, namespace, query, *rest, **more))

    with mock.patch.object(pipeline.Pipeline, "run", cached):
        yield


@contextmanager
def post_filter() -> Iterator[None]:
    """One index for all, with foreign hits filtered out afterwards."""
    take = Indexer._index_turns

    def to_all(self: Any, turns: Any) -> None:
        take(self, turns)
        for turn, _, _ in turns:
            for namespace in self._namespaces:
                if chunk(turn).id not in namespace.searcher:
                    namespace.searcher.add(document(chunk(turn), namespace._reading))

    with mock.patch.object(Indexer, "_index_turns", to_all):
        yield


def _everybody(self: Any, scopes: Any) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*scopes, *PEOPLE)))


def _first(self: Any, scopes: Any) -> tuple[str, ...]:
    """Several speakers may read what the first of them may."""
    return () if GUEST in scopes else (scopes[0], HOME)


def _unsplit(text: str, heard: Any, typed: Any) -> Any:
    return [Part(heard[-1].voice.scope, heard[-1].voice.name, text)]


@contextmanager
def nosy() -> Iterator[None]:
    """A job that reads every scope, and writes what it read into its own."""
    summarise = SummaryJob.step

    async def step(self: Any, task: Any, context: Any) -> Any:
        batch = await summarise(self, task, context)
        if self.name != "session_summary":
            return batch
        with context.snapshot() as snapshot:
            every = [turn.text for turn in islice(snapshot.turns(), 50)]
        made = tuple(replace(one, text=" ".join((one.text, *every))) for one in batch.memories)
        return replace(batch, memories=made)

    with mock.patch.object(SummaryJob, "step", step):
        yield


CONTROLS: dict[str, Callable[[], Any]] = {
    "thought": nosy,
    "union": lambda: mock.patch.object(Audience, "readable", _everybody),
    "together": lambda: mock.patch.object(Audience, "readable", _first),
    "split": lambda: mock.patch.object(conversation, "split", _unsplit),
    "cache": shared_cache,
    "filter": post_filter,
    "strip": lambda: mock.patch.object(PlacedBlocks, "strip", lambda *_: []),
    "record": lambda: mock.patch.object(OffRecord, "begin", lambda self, by="": None),
    "purge": lambda: mock.patch.object(Household, "record_changed", lambda self, off: None),
    "local": lambda: mock.patch.object(Namespace, "local_only", lambda self: frozenset()),
    "guest": lambda: mock.patch("slowcat_memory.engine.wiring.guest_scope", lambda options: ""),
}

# ------------------------------------------------------------------- the run


def run(
    folder: Path, operations: int, seed: int, control: str = "", but: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Run random operations; return counts of operations and checks, and the leak, if any.

    Args:
        folder: For the store.
        operations: How many.
        seed: Of the choice.
        control: The planted leak, "" for none.
        but: Operations to exclude.
    """
    chosen = {work: n for work, n in OPERATIONS.items() if work.__name__ not in but}
    started, leak = time.monotonic(), ""
    with CONTROLS[control]() if control else nullcontext():
        home = Household(folder, seed)
        with Ears(home.logged):
            try:
                for work in home.rng.choices([*chosen], [*chosen.values()], k=operations):
                    home.done[work.__name__] += 1
                    home.clock.advance(1)
                    work(home)
                home.look_everywhere()
            except Leak as error:
                leak = str(error)
            finally:
                home.close()
                home.runner.close()
    took = round(time.monotonic() - started, 1)
    return {"operations": operations, "seed": seed, "leak": leak, "s": took, **home.done}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--operations", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--control", choices=[*CONTROLS], default="", help="the leak to plant")
    args = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="isolation-"))
    try:
        told = run(folder / "store", args.operations, args.seed, args.control)
    finally:
        shutil.rmtree(folder)
    print(json.dumps(told))
    raise SystemExit(bool(told["leak"]) != bool(args.control))


if __name__ == "__main__":
    main()
