"""Plays a life through the real processor, and records what the memory shows.

Time is the life's own: the engine's clock moves with the sessions, and idle work is done to its end
in the morning of each talk and before each question. Questions go to the engine as a turn's do, and
are not stored.
"""

import asyncio
import time as wall
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from benchmarks.lives.model import Life, Session
from benchmarks.lives.record import Answer, Derived, Held, Line, Opener, Place, Record, Seen
from benchmarks.lives.scene import CONSIDERS_S, MORNING, Scene, Stage, configuration, opened
from slowcat_memory.core.memory import family
from slowcat_memory.core.render.memory_block import Packed
from slowcat_memory.providers import LLM, Embedder
from slowcat_memory.records import Memory

PAUSE_S = 20.0  # between two exchanges
SPOKEN_EVERY = timedelta(days=45)
SUMMARY = {"en": "What do you know about me?", "de": "Was weißt du über mich?"}
SELDOM = frozenset({"topics", "ageing"})  # they look at everything, each time
BLOCKS = "blocks"
SELDOM_EVERY = timedelta(days=30)
DERIVED = frozenset({"fact"})


class Played(Struct, frozen=True):
    """A life and what its memory showed."""

    life: Life
    record: Record


def play(
    life: Life, folder: Path, *, llm: LLM | None = None, embedder: Embedder | None = None,
    vectors: bool = True,
) -> Played:  # fmt: skip
    """Play a life in an empty folder.

    Args:
        llm: For idle work; None works by rules.
        embedder: Instead of the configured model, whose vectors are made once in a process.
        vectors: Whether there are vectors at all.
    """
    began = wall.perf_counter()
    config = configuration(folder, life.user, life.language, vectors=vectors)
    with opened(config, _aware(life.sessions[0].at), llm=llm, embedder=embedder) as scene:
        record = asyncio.run(_Player(life, scene).play())
    return Played(life, replace(record, seconds=wall.perf_counter() - began))


class _Player:
    """One life under way."""

    def __init__(self, life: Life, scene: Scene) -> None:
        self._life, self._scene, self._engine = life, scene, scene.engine
        self._next_seldom = life.sessions[0].at + SELDOM_EVERY
        self._places = dict[int, Place]()
        self._answers, self._heads = list[Answer](), list[Seen]()
        self._openers, self._used = list[Opener](), set[str]()
        self._held, self._spoken = list[Held](), list[Seen]()
        self._next_spoken = life.sessions[0].at + SPOKEN_EVERY / 2
        self._fresh = False

    async def play(self) -> Record:
        async with self._scene.stage() as stage:
            for at, what in _in_order(self._life):
                if isinstance(what, Session):
                    await self._session(stage, at, what)
                else:
                    await self._ask(stage, what, at)
            await self._overview(stage, self._life.sessions[-1].at + timedelta(hours=1))
        return Record(
            answers=tuple(self._answers), heads=tuple(self._heads), openers=tuple(self._openers),
            held=tuple(self._held), spoken=tuple(self._spoken),
        )  # fmt: skip

    async def _session(self, stage: Stage, at: datetime, session: Session) -> None:
        self._scene.move_to(_aware(at - MORNING))
        await self._think(stage)
        self._scene.move_to(_aware(at))
        head = await stage.memory.session_context()
        self._heads.append(Seen(at, head))
        self._note_opener(at)
        number = next(n for n, one in enumerate(self._life.sessions) if one is session)
        for turn in session.turns:
            await stage.exchange(turn.user, turn.agent)
            self._scene.clock.advance(PAUSE_S)
        stage.hang_up()
        self._engine.flush(5.0)
        for turn, place in self._scene.placed([one.user for one in session.turns]):
            self._places[turn.id] = (number, place, turn.role == "assistant")
        self._fresh = True
        self._scene.clock.advance(CONSIDERS_S)
        if at >= self._next_spoken:
            self._next_spoken = at + SPOKEN_EVERY
            await self._overview(stage, at + timedelta(hours=1))

    async def _overview(self, stage: Stage, at: datetime) -> None:
        """Ask aloud what is known, and look at all facts."""
        self._scene.move_to(_aware(at))
        await self._think(stage)
        self._spoken.append(Seen(at, await stage.exchange(SUMMARY[self._life.language], "")))
        self._engine.flush(5.0)
        stage.hang_up()
        self._scene.new_turns()  # of no session
        self._hold(at)

    async def _ask(self, stage: Stage, n: int, at: datetime) -> None:
        self._scene.move_to(_aware(at))
        if self._fresh:
            await self._think(stage, heads=False)
        ask = self._life.asks[n]
        found = await self._engine.recall(ask.question, self._scene.scope, local=True)
        packed = found.packed or self._engine.blocks.pack(found, self._engine.clock())
        self._answers.append(
            Answer(n, packed.text, tuple(self._lines(packed)), found.unknown, found.stage)
        )
        if n % 6 == 0:
            self._hold(at)

    def _lines(self, packed: Packed) -> Iterator[Line]:
        """Yield the lines of a block, each with the memory that it words."""
        written = [line for line in packed.text.splitlines() if line.startswith("- ")]
        left = list(packed.hits)
        for text in written:
            best = max(left, key=lambda hit: _shared(text, hit.memory.text), default=None)
            if best is None or not _shared(text, best.memory.text):
                yield Line(text)
                continue
            left.remove(best)
            memory = best.memory
            over = memory.valid_to is not None and memory.valid_to <= self._scene.clock.now
            yield Line(text, memory.kind, self._sources(memory), over)

    async def _think(self, stage: Stage, heads: bool = True) -> None:
        """Do idle work; ``heads``: the blocks of the head too, which no question reads."""
        self._fresh = False
        await self._scene.think(stage, *self._due_jobs(heads))

    def _due_jobs(self, heads: bool) -> Iterator[list[str]]:
        """Yield what is due: blocks last, which would be written again after every other job."""
        seldom = _aware(self._next_seldom) <= self._scene.clock.now
        if seldom:
            self._next_seldom += SELDOM_EVERY
        yield [one for one in self._scene.jobs if one != BLOCKS and (seldom or one not in SELDOM)]
        if heads:
            yield [BLOCKS]

    def _hold(self, at: datetime) -> None:
        with self._engine.snapshot() as snapshot:
            every = [
                self._derived(memory)
                for memory in snapshot.memories(self._scene.scope)
                if family(memory.kind) in DERIVED
            ]
        self._held.append(Held(at, tuple(every)))

    def _derived(self, memory: Memory) -> Derived:
        return Derived(
            id=memory.id, kind=memory.kind, text=memory.text, sources=self._sources(memory),
            day=_day(memory.statement.date), since=memory.valid_from.date(),
            until=memory.valid_to.date() if memory.valid_to else None,
            retired=memory.retired_at.date() if memory.retired_at else None,
        )  # fmt: skip

    def _note_opener(self, at: datetime) -> None:
        with self._engine.snapshot() as snapshot:
            for memory in snapshot.memories(self._scene.scope, "icebreaker"):
                if memory.facets.get("became") == "used" and memory.id not in self._used:
                    self._used.add(memory.id)
                    self._openers.append(Opener(at, memory.text, self._sources(memory)))

    def _sources(self, memory: Memory) -> tuple[Place, ...]:
        return tuple(self._places[id] for id in memory.sources if id in self._places)


def _in_order(life: Life) -> Iterator[tuple[datetime, Session | int]]:
    """Yield sessions, and numbers of questions, in the order of time."""
    every: list[tuple[datetime, int, Session | int]] = [
        *((session.at, 0, session) for session in life.sessions),
        *((ask.at, 1, n) for n, ask in enumerate(life.asks)),
    ]
    for at, _, what in sorted(every, key=lambda one: one[:2]):
        yield at, what


def _day(text: str) -> date | None:
    return date.fromisoformat(text) if len(text) == len("2026-05-12") else None


def _shared(line: str, text: str) -> int:
    """Return how many words of a memory a line has; 0 if it has less than a third of them."""
    words = text.split()
    found = sum(word in line for word in words)
    return found if 3 * found >= len(words) else 0


def _aware(at: datetime) -> datetime:
    return at.replace(tzinfo=UTC)
