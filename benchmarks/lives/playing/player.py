"""Plays a life through the real processor, and records what the memory shows.

Time is the life's own: the engine's clock moves with the sessions, and idle work is done to its end
in the morning of each talk and before each question. Questions go to the engine as a turn's do, and
are not stored.
"""

import asyncio
import time as wall
import unicodedata
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from loguru import logger
from msgspec import Struct
from msgspec.structs import replace

from benchmarks import common
from benchmarks.lives.model import Claim, Life, Session
from benchmarks.lives.playing import memo_embedder
from benchmarks.lives.playing.record import (
    Answer,
    AsOf,
    Derived,
    Held,
    Line,
    Opener,
    Place,
    Record,
    Seen,
)
from benchmarks.lives.playing.stage import Stage
from slowcat_memory import HybridContextualMemoryProcessor
from slowcat_memory.config import Config
from slowcat_memory.core.memory import family
from slowcat_memory.core.render.memory_block import Packed
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.providers import LLM, QueryEmbedder
from slowcat_memory.records import Memory, Turn
from slowcat_memory.testing import FixedClock
from slowcat_memory.tools.functions import Call, ToolCalls

PAUSE_S = 20.0  # between two exchanges
CONSIDERS_S = 1200.0  # from a session's end to the next idle work, at least
MORNING = timedelta(hours=3)  # from idle work to a session
SPOKEN_EVERY = timedelta(days=45)
SUMMARY = {"en": "What do you know about me?", "de": "Was weißt du über mich?"}
LANGUAGES = {"en": "english", "de": "german"}
# Children that build files, and upkeep that no question notices: a life's index fits its tail.
NEVER = frozenset({"seal", "erase", "retention"})
SELDOM = frozenset({"topics", "ageing"})  # they look at everything, each time
BLOCKS = "blocks"
SELDOM_EVERY = timedelta(days=30)
DERIVED = frozenset({"fact", "relation"})
AS_OF = {
    "en": {
        "home": "where does {user} live", "job": "what is the job of {user}",
        "employer": "which company does {user} work for", "partner": "who is the partner of {user}",
    },
    "de": {
        "home": "wo wohnt {user}", "job": "was ist {user} von Beruf",
        "employer": "bei welcher Firma arbeitet {user}", "partner": "mit wem ist {user} zusammen",
    },
}  # fmt: skip


class Played(Struct, frozen=True):
    """A life and what its memory showed."""

    life: Life
    record: Record


def play(
    life: Life, folder: Path, *, llm: LLM | None = None, embedder: QueryEmbedder | None = None,
    vectors: bool = True,
) -> Played:  # fmt: skip
    """Play a life in an empty folder.

    Args:
        llm: For idle work; None works by rules.
        embedder: Instead of the configured model, whose vectors are made once in a process.
        vectors: Whether there are vectors at all.
    """
    began = wall.perf_counter()
    logger.disable("slowcat_memory")
    logger.disable("pipecat")
    clock = FixedClock(_aware(life.sessions[0].at) - timedelta(hours=5))
    config = configuration(life, folder, vectors)
    if embedder is None and vectors:
        embedder = memo_embedder.embedder(config.embedding)
    engine = MemoryEngine(config, clock=clock, embedder=embedder, llm=llm)
    try:
        record = asyncio.run(_Player(life, engine, clock).play())
    finally:
        engine.close()
        logger.enable("slowcat_memory")
        logger.enable("pipecat")
    return Played(life, replace(record, seconds=wall.perf_counter() - began))


def configuration(life: Life, folder: Path, vectors: bool = True) -> Config:
    """Return the configuration of a user of the defaults, without a deadline and without waits."""
    embedding = {} if vectors else {"kind": "none"}
    config = common.configuration(
        folder,
        memory={"user_name": life.user, "user_id": scope_of(life),
                "language": LANGUAGES[life.language]},
        recall={"deadline_ms": 10_000.0, "warn_ms": 10_000.0},
        embedding=embedding,
        sessions={"resume_grace_s": 0.0, "silence_s": 86_400.0},
        idle={"enabled": False, "grace_s": 0.0, "rest_s": 0.001, "backoff_s": 0.001,
              "on_battery": True},
    )  # fmt: skip
    return replace(config, prefetch=replace(config.prefetch, enabled=False))


def scope_of(life: Life) -> str:
    """Return the namespace of a life's user: the name in plain letters."""
    plain = unicodedata.normalize("NFKD", life.user.lower())
    return "".join(one for one in plain if one.isascii() and one.isalnum())


class _Player:
    """One life under way."""

    def __init__(self, life: Life, engine: MemoryEngine, clock: FixedClock) -> None:
        self._life, self._engine, self._clock = life, engine, clock
        self._scope = scope_of(life)
        self._jobs = [job.name for job in engine.idle.jobs if job.name not in NEVER]
        self._next_seldom = life.sessions[0].at + SELDOM_EVERY
        self._places = dict[int, Place]()
        self._answers, self._heads = list[Answer](), list[Seen]()
        self._openers, self._used = list[Opener](), set[str]()
        self._held, self._spoken, self._as_of = list[Held](), list[Seen](), list[AsOf]()
        self._next_spoken = life.sessions[0].at + SPOKEN_EVERY / 2
        self._logged, self._fresh = 0, False

    async def play(self) -> Record:
        memory = HybridContextualMemoryProcessor(
            engine=self._engine, user_id=self._scope, llm_is_local=True
        )
        async with Stage(memory, "") as stage:
            for at, what in _in_order(self._life):
                if isinstance(what, Session):
                    await self._session(stage, at, what)
                else:
                    await self._ask(stage, what, at)
            await self._overview(stage, self._life.sessions[-1].at + timedelta(hours=1))
        return Record(
            answers=tuple(self._answers), heads=tuple(self._heads), openers=tuple(self._openers),
            held=tuple(self._held), spoken=tuple(self._spoken), as_of=tuple(self._as_of),
        )  # fmt: skip

    async def _session(self, stage: Stage, at: datetime, session: Session) -> None:
        self._move_to(at - MORNING)
        await self._think(stage)
        self._move_to(at)
        head = await stage.memory.session_context()
        self._heads.append(Seen(at, head))
        self._note_opener(at)
        number = next(n for n, one in enumerate(self._life.sessions) if one is session)
        for turn in session.turns:
            await stage.exchange(turn.user, turn.agent)
            self._clock.advance(PAUSE_S)
        stage.hang_up()
        self._engine.flush(5.0)
        self._place(number, session)
        self._fresh = True
        self._clock.advance(CONSIDERS_S)
        if at >= self._next_spoken:
            self._next_spoken = at + SPOKEN_EVERY
            await self._overview(stage, at + timedelta(hours=1))

    async def _overview(self, stage: Stage, at: datetime) -> None:
        """Ask aloud what is known, and look at all facts and at the past."""
        self._move_to(at)
        await self._think(stage)
        await stage.exchange(SUMMARY[self._life.language], "")
        self._engine.flush(5.0)
        said = stage.answered[-1] if stage.answered else ""
        self._spoken.append(Seen(at, said))
        stage.answered.clear()
        stage.hang_up()
        self._skip_logged()
        self._hold(at)
        await asyncio.to_thread(self._look_back, at)

    def _look_back(self, at: datetime) -> None:
        """Ask the tool for what held in the middle of each span that is over."""
        for claim in self._life.claims:
            day = _middle(claim, at.date())
            if claim.subject != "user" or claim.slot not in AS_OF["en"] or day is None:
                continue
            words = AS_OF[self._life.language][claim.slot].format(user=self._life.user)
            call = Call(
                engine=self._engine, scope=self._scope, turn=1, said=None,
                now=self._clock.now, hidden=frozenset(), local=True,
            )  # fmt: skip
            told = ToolCalls().answer("memory_as_of", {"query": words, "date": str(day)}, call)
            self._as_of.append(AsOf(at, day, claim.id, words, str(told)))

    async def _ask(self, stage: Stage, n: int, at: datetime) -> None:
        self._move_to(at)
        if self._fresh:
            await self._think(stage, heads=False)
        ask = self._life.asks[n]
        found = await self._engine.recall(ask.question, self._scope, local=True)
        packed = found.packed or self._engine.pack(found)
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
            over = memory.valid_to is not None and memory.valid_to <= self._clock.now
            yield Line(text, memory.kind, self._sources(memory), over)

    async def _think(self, stage: Stage, heads: bool = True) -> None:
        """Do idle work; ``heads``: the blocks of the head too, which no question reads."""
        self._fresh = False
        self._engine.flush(5.0, indexed=True)
        self._engine.set_activity(stage.activities, busy=False)  # nobody waits for an answer
        for jobs in self._due_jobs(heads):
            await asyncio.to_thread(self._engine.idle.until_done, jobs, None, 0.0)

    def _due_jobs(self, heads: bool) -> Iterator[list[str]]:
        """Yield what is due: blocks last, which would be written again after every other job."""
        seldom = _aware(self._next_seldom) <= self._clock.now
        if seldom:
            self._next_seldom += SELDOM_EVERY
        yield [one for one in self._jobs if one != BLOCKS and (seldom or one not in SELDOM)]
        if heads:
            yield [BLOCKS]

    def _hold(self, at: datetime) -> None:
        with self._engine.snapshot() as snapshot:
            every = [
                self._derived(memory)
                for memory in snapshot.memories(self._scope)
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
            for memory in snapshot.memories(self._scope, "icebreaker"):
                if memory.facets.get("became") == "used" and memory.id not in self._used:
                    self._used.add(memory.id)
                    self._openers.append(Opener(at, memory.text, self._sources(memory)))

    def _sources(self, memory: Memory) -> tuple[Place, ...]:
        return tuple(self._places[id] for id in memory.sources if id in self._places)

    def _place(self, number: int, session: Session) -> None:
        """Note which exchange each new turn belongs to, by what the user says."""
        place = 0
        for turn in self._new_turns():
            later = range(place, len(session.turns))
            if turn.role == "user":
                place = next((n for n in later if session.turns[n].user == turn.text), place)
            self._places[turn.id] = (number, place, turn.role == "assistant")

    def _skip_logged(self) -> None:
        self._new_turns()

    def _new_turns(self) -> Sequence[Turn]:
        with self._engine.snapshot() as snapshot:
            turns = list(snapshot.turns(self._scope, after=self._logged))
        self._logged = max((turn.id for turn in turns), default=self._logged)
        return turns

    def _move_to(self, at: datetime) -> None:
        self._clock.advance(max(0.0, (_aware(at) - self._clock.now).total_seconds()))


def _in_order(life: Life) -> Iterator[tuple[datetime, Session | int]]:
    """Yield sessions, and numbers of questions, in the order of time."""
    every: list[tuple[datetime, int, Session | int]] = [
        *((session.at, 0, session) for session in life.sessions),
        *((ask.at, 1, n) for n, ask in enumerate(life.asks)),
    ]
    for at, _, what in sorted(every, key=lambda one: one[:2]):
        yield at, what


def _middle(claim: Claim, today: date) -> date | None:
    """Return the middle of the span of a claim that is over; None if it is too short."""
    if claim.begins is None or claim.ends is None or claim.ends > today:
        return None
    span = (claim.ends - claim.begins).days
    return claim.begins + timedelta(days=span // 2) if span > 20 else None


def _day(text: str) -> date | None:
    return date.fromisoformat(text) if len(text) == len("2026-05-12") else None


def _shared(line: str, text: str) -> int:
    """Return how many words of a memory a line has; 0 if it has less than a third of them."""
    words = text.split()
    found = sum(word in line for word in words)
    return found if 3 * found >= len(words) else 0


def _aware(at: datetime) -> datetime:
    return at.replace(tzinfo=UTC)
