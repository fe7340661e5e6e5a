"""A made-up memory for tests of the page, and the page's server over it."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec.structs import replace

from slowcat_memory.config import Config
from slowcat_memory.core.facts.fact import fact_id
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.records import Made, Memory, Run, SessionEdge, Statement, Turn, WriteBatch
from slowcat_memory.runtime.recall.query import Recollection
from slowcat_memory.web import PageContext, PageServer
from tests.support.rows import listed
from tests.support.said import memory_at
from tests.support.sessions import hold

ANNA = "anna"
MONDAY = datetime(2026, 3, 2, 18, 30, tzinfo=UTC)
RULE = Made(job="facts", version=3)

TALKS = [listed("page_memory", f"talk {n}") for n in range(3)]
# Talk and turn that say it, type, sentence, subject, which one it replaces, predicate, object.
FACTS = [(int(talk), int(n), *rest) for talk, n, *rest in listed("page_memory", "facts")]
PEOPLE = dict(listed("page_memory", "people"))


def furnish(engine: MemoryEngine, scope: str = ANNA) -> list[Turn]:
    """Fill a memory with three conversations, and what idle work makes of them."""
    turns: list[list[Turn]] = []
    for day, talk in enumerate(TALKS):
        at = MONDAY + timedelta(days=7 * day)
        ids = hold(engine, f"{scope}-{day}", talk, at, scope=scope, step_s=30, ended=False)
        end = {"kind": "end", "at": at + timedelta(hours=1), "reason": "close"}
        engine.append(SessionEdge(session=f"{scope}-{day}", scope=scope, **end)).wait(30)
        with engine.snapshot() as snapshot:
            turns.append([snapshot.turn(id_) for id_ in ids[::2]])
    memories = [*_facts(scope, turns), *_people_and_blocks(scope, turns[2][0])]
    engine.apply("facts", WriteBatch(memories=tuple(memories)))
    engine.remember("Anna's spare key is with Mrs Dale.", scope, speaker="Anna")
    _recalled(engine, turns)
    for n, outcome in enumerate(("done", "done", "retry")):
        cost = {"ms": 420.0 + n, "tokens_in": 900, "tokens_out": 120, "made": n}
        at = MONDAY + timedelta(days=15, minutes=n)
        run = Run(task=f"facts/{scope}/{n}", job="facts", at=at, outcome=outcome, **cost)
        engine.apply("facts", WriteBatch(run=run))
    engine.flush(30, indexed=True)
    return [turn for talk in turns for turn in talk]


def _facts(scope: str, turns: list[list[Turn]]) -> Iterator[Memory]:
    ids = {text: fact_id(scope, text, turns[t][n].id) for t, n, _, text, *_ in FACTS}
    replaced = {old: (text, turns[t][n].at) for t, n, _, text, _, old, *_ in FACTS if old}
    for talk, n, kind, text, subject, _, predicate, value in FACTS:
        turn, (later, over) = turns[talk][n], replaced.get(text, ("", None))
        stated = Statement(subject=subject, quote=turn.text)
        if predicate:
            known = f"entity/{value.lower()}" if value in PEOPLE else ""
            related = {"predicate": predicate, "object": value, "object_id": known}
            stated = replace(stated, subject_id=f"entity/{subject.lower()}", **related)
        facets = {"superseded_by": ids[later]} if later else {}
        times = {"recorded_at": turn.at, "valid_to": over, "retired_at": over}
        more = {"scope": scope, "kind": f"fact/{kind}", "made": RULE, **times}
        yield memory_at(
            ids[text], text, turn.at, sources=(turn.id,), statement=stated, facets=facets, **more
        )


def _people_and_blocks(scope: str, asked: Turn) -> Iterator[Memory]:
    common = {"scope": scope, "made": RULE}
    for name, kind in PEOPLE.items():
        more = {"kind": f"entity/{kind}", "facets": {"name": name, "type": kind}, **common}
        yield memory_at(f"entity/{name.lower()}", name, MONDAY, recorded_at=MONDAY, **more)
    for label, text in listed("page_memory", "blocks"):
        more = {"kind": f"block/{label}", "facets": {"owner": "agent", "version": "1"}, **common}
        more |= {"recorded_at": asked.at, "sources": (asked.id,)}
        yield memory_at(f"block/{label}/1-0", text, asked.at, **more)


def _recalled(engine: MemoryEngine, turns: list[list[Turn]]) -> None:
    """Put the recall of the question about Max on record, as a bot would."""
    asked, answer = turns[2][0], turns[0][2]
    found = engine.search(asked.text, asked.scope, 4, local=True)
    hits = [hit for hit in found.hits if hit.memory.sources == (answer.id,)]
    timings = {"parse": 0.21, "lexical": 0.64, "embed": 1.4, "dense": 0.3, "fuse": 0.2, "wait": 2.6}
    recalled = Recollection(hits=hits, stage="full", timings=timings, trace=found.trace)
    engine.note_recall(asked, recalled, engine.blocks.pack(recalled, engine.clock()))


class Running:
    """A page on a thread of its own, for a client or a browser."""

    def __init__(self, page: PageContext) -> None:
        self.page, self.server = page, PageServer(page)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> "Running":
        self._thread.start()
        self._await(self.server.start())
        return self

    def __exit__(self, *raised: object) -> None:
        self._await(self.server.stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(30)
        self._loop.close()

    def _await(self, work: Any) -> Any:
        future: Future[Any] = asyncio.run_coroutine_threadsafe(work, self._loop)
        return future.result(30)


@contextmanager
def page_of(config: Config, *, furnished: bool = True, **how: Any) -> Iterator[Running]:
    """Serve the page of a new memory, made-up content in it or nothing."""
    engine = MemoryEngine(config)
    try:
        if furnished:
            furnish(engine)
        with Running(PageContext(engine, person=how.pop("person", ANNA), **how)) as running:
            yield running
    finally:
        engine.close()
