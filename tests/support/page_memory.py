"""A made-up memory for tests of the page, and the page's server over it."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from slowcat_memory.config import Config
from slowcat_memory.core.facts.fact import fact_id
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.records import Made, Memory, Run, SessionEdge, Statement, Turn, WriteBatch
from slowcat_memory.runtime.recall.query import Recollection
from slowcat_memory.web import PageContext, PageServer

ANNA = "anna"
MONDAY = datetime(2026, 3, 2, 18, 30, tzinfo=UTC)
RULE = Made(job="facts", version=3)

TALKS = (
    (
        ("Anna", "I live in York, near the river.", "That sounds lovely."),
        ("Anna", "My sister Clara is a nurse in Leeds.", "Nice to know."),
        ("Anna", "My dog Max is allergic to chicken.", "I'll remember that."),
    ),
    (
        ("Anna", "I moved to Derby on Saturday.", "How is the new flat?"),
        ("Anna", "I play the cello on Thursdays.", "In an orchestra?"),
        ("Anna", "Clara got a cat called Miso.", "What colour is it?"),
    ),
    (
        ("Anna", "What may Max not eat?", "Chicken: he is allergic to it."),
        ("Anna", "I have a dentist appointment next Friday.", "I'll remind you."),
    ),
)
# Talk and turn that say it, type, sentence, subject, who is replaced by it.
FACTS = (
    (0, 0, "person", "Anna lives in York.", "Anna", ""),
    (0, 1, "person", "Clara is a nurse in Leeds.", "Clara", ""),
    (0, 1, "person", "Anna has a sister called Clara.", "Anna", ""),
    (0, 2, "health", "Max is allergic to chicken.", "Max", ""),
    (0, 2, "person", "Anna has a dog called Max.", "Anna", ""),
    (1, 0, "person", "Anna lives in Derby.", "Anna", "Anna lives in York."),
    (1, 1, "preference", "Anna plays the cello on Thursdays.", "Anna", ""),
    (1, 2, "possession", "Clara has a cat called Miso.", "Clara", ""),
    (2, 1, "plan", "Anna has a dentist appointment on 27 March.", "Anna", ""),
)
PEOPLE = (("Anna", "person"), ("Clara", "person"), ("Max", "pet"), ("Miso", "pet"))
RELATED = {  # facts that relate their subject to something
    "Anna lives in York.": ("lives_in", "York"),
    "Anna lives in Derby.": ("lives_in", "Derby"),
    "Anna has a sister called Clara.": ("has_sister", "Clara"),
    "Clara is a nurse in Leeds.": ("works_as", "nurse"),
    "Clara has a cat called Miso.": ("has_cat", "Miso"),
    "Anna has a dog called Max.": ("has_dog", "Max"),
}
BLOCKS = (
    ("human", "Anna lives in Derby. She plays the cello. Her dog Max is allergic to chicken."),
    ("background_context", "Anna has just moved, and has a dentist appointment on Friday."),
)


def furnish(engine: MemoryEngine, scope: str = ANNA) -> list[Turn]:
    """Fill a memory with three conversations, and what idle work makes of them."""
    turns: list[list[Turn]] = []
    for day, talk in enumerate(TALKS):
        turns.append(_talk(engine, scope, MONDAY + timedelta(days=7 * day), f"{scope}-{day}", talk))
    memories = [*_facts(scope, turns), *_graph(scope), *_blocks(scope, turns)]
    engine.apply("facts", WriteBatch(memories=tuple(memories)))
    engine.remember("Anna's spare key is with Mrs Dale.", scope, speaker="Anna")
    _recalled(engine, turns)
    for n, outcome in enumerate(("done", "done", "retry")):
        run = Run(
            task=f"facts/{scope}/{n}",
            job="facts",
            at=MONDAY + timedelta(days=15, minutes=n),
            ms=420.0 + n,
            outcome=outcome,  # type: ignore[arg-type]  # one of ``RunOutcome``
            tokens_in=900,
            tokens_out=120,
            made=n,
        )
        engine.apply("facts", WriteBatch(run=run))
    engine.flush(30, indexed=True)
    return [turn for talk in turns for turn in talk]


def _talk(engine: MemoryEngine, scope: str, at: datetime, session: str, talk: Any) -> list[Turn]:
    events: list[Turn | SessionEdge] = [
        SessionEdge(session=session, scope=scope, kind="start", at=at)
    ]
    for n, (speaker, said, answered) in enumerate(talk):
        now = at + timedelta(minutes=n)
        for who, role, text in ((speaker, "user", said), ("Assistant", "assistant", answered)):
            events.append(
                Turn(
                    session=session,
                    scope=scope,
                    speaker=who,
                    role=role,  # type: ignore[arg-type]  # one of ``Role``
                    text=text,
                    at=now,
                )
            )
    end = at + timedelta(hours=1)
    events.append(SessionEdge(session=session, scope=scope, kind="end", at=end, reason="close"))
    last = engine.append(*events)
    last.wait(30)
    with engine.snapshot() as snapshot:
        turns = snapshot.turns(scope, after=last.id - len(events))
        return [turn for turn in turns if turn.role == "user"]


def _facts(scope: str, turns: list[list[Turn]]) -> Iterator[Memory]:
    ids = {text: fact_id(scope, text, turns[t][n].id) for t, n, _, text, _, _ in FACTS}
    replaced = {old: (text, turns[t][n].at) for t, n, _, text, _, old in FACTS if old}
    for talk, n, kind, text, subject, _ in FACTS:
        turn = turns[talk][n]
        later = replaced.get(text)
        yield Memory(
            id=ids[text],
            kind=f"fact/{kind}",
            scope=scope,
            speaker=turn.speaker,
            text=text,
            valid_from=turn.at,
            valid_to=later[1] if later else None,
            recorded_at=turn.at,
            retired_at=later[1] if later else None,
            sources=(turn.id,),
            statement=_statement(subject, text, turn.text),
            facets={"superseded_by": ids[later[0]]} if later else {},
            made=RULE,
        )


def _graph(scope: str) -> Iterator[Memory]:
    for name, kind in PEOPLE:
        yield Memory(
            id=f"entity/{name.lower()}",
            kind=f"entity/{kind}",
            scope=scope,
            speaker="Anna",
            text=name,
            valid_from=MONDAY,
            recorded_at=MONDAY,
            facets={"name": name, "type": kind},
            made=RULE,
        )


def _statement(subject: str, text: str, quote: str) -> Statement:
    if text not in RELATED:
        return Statement(subject=subject, quote=quote)
    predicate, value = RELATED[text]
    known = any(name == value for name, _ in PEOPLE)
    return Statement(
        subject=subject,
        predicate=predicate,
        object=value,
        subject_id=f"entity/{subject.lower()}",
        object_id=f"entity/{value.lower()}" if known else "",
        quote=quote,
    )


def _blocks(scope: str, turns: list[list[Turn]]) -> Iterator[Memory]:
    for label, text in BLOCKS:
        yield Memory(
            id=f"block/{label}/1-0",
            kind=f"block/{label}",
            scope=scope,
            speaker="Anna",
            text=text,
            valid_from=turns[2][0].at,
            recorded_at=turns[2][0].at,
            sources=(turns[2][0].id,),
            facets={"owner": "agent", "version": "1"},
            made=RULE,
        )


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
