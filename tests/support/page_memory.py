"""A made-up memory for tests of the page, and the page's server over it."""

import asyncio
import json
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from slowcat_memory.config import Config
from slowcat_memory.core.facts.fact import fact_id
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.records import Made, Memory, Run, Turn, WriteBatch
from slowcat_memory.runtime.recall.query import Recollection
from slowcat_memory.web import PageContext, PageServer
from tests.support.rows import DATA
from tests.support.said import fact, memory
from tests.support.sessions import hold

ANNA = "anna"
MONDAY = datetime(2026, 3, 2, 18, 30, tzinfo=UTC)
RULE = Made(job="facts", version=3)

PAGE = json.loads((DATA / "page.json").read_text("utf-8"))
TALKS, PEOPLE, RELATED, BLOCKS = (PAGE[part] for part in ("talks", "people", "related", "blocks"))
FACTS = PAGE["facts"]  # talk and turn that say it, type, sentence, subject, who is replaced by it


def furnish(engine: MemoryEngine, scope: str = ANNA) -> list[Turn]:
    """Fill a memory with three conversations, and what idle work makes of them."""
    ids = list[list[int]]()
    for day, talk in enumerate(TALKS):
        at = MONDAY + timedelta(days=7 * day)
        held = hold(engine, f"{scope}-{day}", talk, at, step_s=30, scope=scope, reason="close")
        ids.append(held[::2])  # the user's
    engine.flush(30)
    with engine.snapshot() as snapshot:
        turns = [[snapshot.turn(id_) for id_ in talk] for talk in ids]
    memories = [*_facts(scope, turns), *_graph(scope), *_blocks(scope, turns)]
    engine.apply("facts", WriteBatch(memories=tuple(memories)))
    engine.remember("Anna's spare key is with Mrs Dale.", scope, speaker="Anna")
    _recalled(engine, turns)
    for n, outcome in enumerate(("done", "done", "retry")):
        at = MONDAY + timedelta(days=15, minutes=n)
        cost = {"ms": 420.0 + n, "tokens_in": 900, "tokens_out": 120, "made": n}
        run = Run(task=f"facts/{scope}/{n}", job="facts", at=at, outcome=outcome, **cost)
        engine.apply("facts", WriteBatch(run=run))
    engine.flush(30, indexed=True)
    return [turn for talk in turns for turn in talk]


def _facts(scope: str, turns: list[list[Turn]]) -> Iterator[Memory]:
    ids = {text: fact_id(scope, text, turns[t][n].id) for t, n, _, text, _, _ in FACTS}
    replaced = {old: (text, turns[t][n].at) for t, n, _, text, _, old in FACTS if old}
    for talk, n, kind, text, subject, _ in FACTS:
        turn, (by, over) = turns[talk][n], replaced.get(text, ("", None))
        more: dict[str, Any] = {"facets": {"superseded_by": ids[by]}} if by else {}
        if text in RELATED:
            predicate, value = RELATED[text]
            known = any(name == value for name, _ in PEOPLE)
            more |= {"predicate": predicate, "object": value, "subject_id": _entity(subject),
                     "object_id": _entity(value) if known else ""}  # fmt: skip
        yield fact(
            text, kind, id=ids[text], scope=scope, valid_from=turn.at, recorded_at=turn.at,
            valid_to=over, retired_at=over, sources=(turn.id,), made=RULE, subject=subject,
            quote=turn.text, **more,
        )  # fmt: skip


def _entity(name: str) -> str:
    return f"entity/{name.lower()}"


def _graph(scope: str) -> Iterator[Memory]:
    given = {"scope": scope, "valid_from": MONDAY, "recorded_at": MONDAY, "made": RULE}
    for name, kind in PEOPLE:
        facets = {"name": name, "type": kind}
        yield memory(f"entity/{kind}", name, id=_entity(name), facets=facets, **given)


def _blocks(scope: str, turns: list[list[Turn]]) -> Iterator[Memory]:
    turn = turns[2][0]
    given = {"scope": scope, "valid_from": turn.at, "recorded_at": turn.at, "sources": (turn.id,)}
    facets = {"owner": "agent", "version": "1"}
    for label, text in BLOCKS:
        kind = f"block/{label}"
        yield memory(kind, text, id=f"{kind}/1-0", facets=facets, made=RULE, **given)


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
    with closing(MemoryEngine(config)) as engine:
        if furnished:
            furnish(engine)
        with Running(PageContext(engine, person=how.pop("person", ANNA), **how)) as running:
            yield running
