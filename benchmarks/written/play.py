"""Plays a diary through the real processor, with idle work between, and keeps what came of it.

Time is the diary's own. Idle work is done to its end after each conversation and in the morning of
the next; the questions are asked last, and are not stored.
"""

import asyncio
import time as wall
import unicodedata
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from loguru import logger
from msgspec import Struct
from msgspec.structs import replace

from benchmarks import common
from benchmarks.lives.playing import memo_embedder
from benchmarks.lives.playing.player import CONSIDERS_S, LANGUAGES, MORNING, NEVER
from benchmarks.lives.playing.stage import Stage
from benchmarks.written.diary import BETWEEN_TURNS, Conversation, Diary
from benchmarks.written.server import Call, Mode, thinking
from slowcat_memory import HybridContextualMemoryProcessor
from slowcat_memory.config import Config
from slowcat_memory.core.memory import turn_of
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.providers import LLM, QueryEmbedder
from slowcat_memory.records import Context, Key, Memory
from slowcat_memory.testing import FixedClock

LAST = ("blocks",)  # written again after every other job


class Answer(Struct, frozen=True):
    """What was offered for a question.

    Attributes:
        cited: Log ids of the turns that the offered memories are or were made from.
        unknown: Whether the block says that nothing is stored.
    """

    block: str
    cited: frozenset[int]
    unknown: bool


class Played(Struct, frozen=True, kw_only=True):
    """What a memory has and showed after a diary.

    Attributes:
        mode: Which model wrote.
        turns: The exchange and the role ("user", "agent") of each log id.
        memories: All, retired ones included.
        heads: What each session began with.
        answers: In the order of the questions.
    """

    diary: Diary
    mode: Mode
    turns: dict[int, tuple[str, str]]
    memories: tuple[Memory, ...]
    contexts: tuple[Context, ...]
    keys: tuple[Key, ...]
    heads: tuple[str, ...]
    answers: tuple[Answer, ...]
    calls: tuple[Call, ...] = ()
    dead: tuple[str, ...] = ()
    seconds: float = 0.0

    def exchange(self, id: int) -> str:
        """Return the exchange of a log id, "" for none."""
        return self.turns.get(id, ("", ""))[0]

    def cites(self, memory: Memory) -> frozenset[str]:
        """Return the exchanges that a memory was made from."""
        return frozenset(map(self.exchange, memory.sources)) - {""}

    def day(self, at: datetime) -> date:
        """Return the local day of a time, which may be the first of all ("since ever")."""
        try:
            return at.astimezone(self.diary.tz).date()
        except OverflowError:
            return at.date()


def play(
    diary: Diary, folder: Path, mode: Mode = "none", *, embedder: QueryEmbedder | None = None,
    vectors: bool = True, record: Path | None = None, replay: Path | None = None,
) -> Played:  # fmt: skip
    """Play a diary in an empty folder.

    Args:
        mode: Which model writes; "none" works by rules.
        embedder: Instead of the configured model, whose vectors are made once in a process.
        vectors: Whether there are vectors at all.
        record: Keeps the prompts and answers.
        replay: Answers from such a file.
    """
    began = wall.perf_counter()
    config = configuration(diary, folder, vectors)
    if embedder is None and vectors:
        embedder = memo_embedder.embedder(config.embedding)
    logger.disable("slowcat_memory")
    logger.disable("pipecat")
    try:
        with thinking(diary, mode, record, replay) as thinker:
            played = _run(diary, mode, config, embedder, thinker.llm)
            calls = tuple(thinker.server.calls) if thinker.server else ()
            failed = thinker.server.failed if thinker.server else ()
    finally:
        logger.enable("slowcat_memory")
        logger.enable("pipecat")
    if failed:
        raise failed[0]
    return replace(played, calls=calls, seconds=wall.perf_counter() - began)


def configuration(diary: Diary, folder: Path, vectors: bool = True) -> Config:
    """Return the defaults of a user with a name, without a deadline and without waits."""
    config = common.configuration(
        folder,
        memory={"user_name": diary.user, "agent_name": diary.agent, "time_zone": diary.zone,
                "user_id": scope_of(diary), "language": LANGUAGES[diary.language]},
        recall={"deadline_ms": 10_000.0, "warn_ms": 10_000.0},
        embedding={} if vectors else {"kind": "none"},
        sessions={"resume_grace_s": 0.0, "silence_s": 86_400.0},
        idle={"enabled": False, "grace_s": 0.0, "rest_s": 0.001, "backoff_s": 0.001,
              "on_battery": True, "tokens_per_hour": 0},
    )  # fmt: skip
    return replace(config, prefetch=replace(config.prefetch, enabled=False))


def scope_of(diary: Diary) -> str:
    """Return the user's namespace: the name in plain letters."""
    plain = unicodedata.normalize("NFKD", diary.user.lower())
    return "".join(one for one in plain if one.isascii() and one.isalnum()) or "user"


def _run(
    diary: Diary, mode: Mode, config: Config, embedder: QueryEmbedder | None, llm: LLM | None
) -> Played:
    first = diary.aware(diary.conversations[0].at)
    clock = FixedClock(first.astimezone(UTC) - timedelta(hours=5))
    engine = MemoryEngine(config, clock=clock, embedder=embedder, llm=llm)
    try:
        return asyncio.run(_Player(diary, mode, engine, clock).play())
    finally:
        engine.close()


class _Player:
    """One diary under way."""

    def __init__(self, diary: Diary, mode: Mode, engine: MemoryEngine, clock: FixedClock) -> None:
        self._diary, self._mode, self._engine, self._clock = diary, mode, engine, clock
        self._scope = scope_of(diary)
        self._jobs = [job.name for job in engine.idle.jobs if job.name not in NEVER]
        self._turns = dict[int, tuple[str, str]]()
        self._heads, self._logged = list[str](), 0

    async def play(self) -> Played:
        memory = HybridContextualMemoryProcessor(
            engine=self._engine, user_id=self._scope, llm_is_local=True
        )
        async with Stage(memory, "") as stage:
            for conversation in self._diary.conversations:
                await self._talk(stage, conversation)
            self._move_to(self._diary.asked_at)
            await self._think(stage)
            self._heads.append(await stage.memory.session_context())
        return await self._kept()

    async def _talk(self, stage: Stage, conversation: Conversation) -> None:
        self._move_to(conversation.at - MORNING)
        await self._think(stage)
        self._move_to(conversation.at)
        self._heads.append(await stage.memory.session_context())
        for one in conversation.turns:
            await stage.exchange(one.user, one.agent)
            self._clock.advance(BETWEEN_TURNS.total_seconds())
        stage.hang_up()
        self._engine.flush(5.0)
        self._place(conversation)
        self._clock.advance(CONSIDERS_S)
        await self._think(stage)

    async def _think(self, stage: Stage) -> None:
        self._engine.flush(5.0, indexed=True)
        self._engine.set_activity(stage.activities, busy=False)
        for jobs in ([one for one in self._jobs if one not in LAST], [*LAST]):
            await asyncio.to_thread(self._engine.idle.until_done, jobs, None, 0.0)
        self._engine.flush(5.0, indexed=True)

    def _place(self, conversation: Conversation) -> None:
        """Note which exchange each new turn belongs to, by what the user says."""
        place, every = 0, conversation.turns
        with self._engine.snapshot() as snapshot:
            turns = list(snapshot.turns(self._scope, after=self._logged))
        for turn in turns:
            if turn.role == "user":
                later = range(place, len(every))
                place = next((n for n in later if every[n].user == turn.text), place)
            role = "user" if turn.role == "user" else "agent"
            self._turns[turn.id] = (every[place].id, role)
        self._logged = max((turn.id for turn in turns), default=self._logged)

    async def _kept(self) -> Played:
        answers = [await self._answer(question.text) for question in self._diary.questions]
        with self._engine.snapshot() as snapshot:
            return Played(
                diary=self._diary, mode=self._mode, turns=self._turns, answers=tuple(answers),
                memories=tuple(snapshot.memories(self._scope)),
                contexts=tuple(snapshot.contexts(self._scope)),
                keys=tuple(snapshot.keys(self._scope)), heads=tuple(self._heads),
                dead=tuple(task.id for task in snapshot.tasks(state="dead")),
            )  # fmt: skip

    async def _answer(self, question: str) -> Answer:
        found = await self._engine.recall(question, self._scope, local=True)
        packed = found.packed or self._engine.pack(found)
        cited = frozenset(id for hit in packed.hits for id in _turns_of(hit.memory))
        return Answer(packed.text, cited, found.unknown)

    def _move_to(self, local: datetime) -> None:
        at = self._diary.aware(local)
        self._clock.advance(max(0.0, (at - self._clock.now).total_seconds()))


def _turns_of(memory: Memory) -> Iterator[int]:
    yield from memory.sources
    if memory.kind == "chunk":
        yield turn_of(memory.id)
