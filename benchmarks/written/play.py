"""Plays a diary through the real processor, with idle work between, and keeps what came of it.

Time is the diary's own. Idle work is done to its end after each conversation and in the morning of
the next; the questions are asked last, and are not stored.
"""

import asyncio
import time as wall
from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from benchmarks.lives.playing.scene import CONSIDERS_S, MORNING, Scene, configuration, opened
from benchmarks.lives.playing.stage import Stage
from benchmarks.written.diary import BETWEEN_TURNS, Conversation, Diary
from benchmarks.written.server import Call, Mode, thinking
from slowcat_memory.core.memory import turn_of
from slowcat_memory.providers import QueryEmbedder
from slowcat_memory.records import Context, Key, Memory

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
    memory = {"agent_name": diary.agent, "time_zone": diary.zone}
    config = configuration(
        folder, diary.user, diary.language, vectors=vectors, memory=memory,
        idle={"tokens_per_hour": 0},
    )  # fmt: skip
    first = diary.aware(diary.conversations[0].at)
    with (
        thinking(diary, mode, record, replay) as thinker,
        opened(config, first, llm=thinker.llm, embedder=embedder) as scene,
    ):
        played = asyncio.run(_Player(diary, mode, scene).play())
    if thinker.server and thinker.server.failed:
        raise thinker.server.failed[0]
    calls = tuple(thinker.server.calls) if thinker.server else ()
    return replace(played, calls=calls, seconds=wall.perf_counter() - began)


class _Player:
    """One diary under way."""

    def __init__(self, diary: Diary, mode: Mode, scene: Scene) -> None:
        self._diary, self._mode, self._scene, self._engine = diary, mode, scene, scene.engine
        self._turns = dict[int, tuple[str, str]]()
        self._heads = list[str]()

    async def play(self) -> Played:
        async with self._scene.stage() as stage:
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
            self._scene.clock.advance(BETWEEN_TURNS.total_seconds())
        stage.hang_up()
        self._engine.flush(5.0)
        for turn, place in self._scene.placed([one.user for one in conversation.turns]):
            role = "user" if turn.role == "user" else "agent"
            self._turns[turn.id] = (conversation.turns[place].id, role)
        self._scene.clock.advance(CONSIDERS_S)
        await self._think(stage)

    async def _think(self, stage: Stage) -> None:
        jobs = [one for one in self._scene.jobs if one not in LAST]
        await self._scene.think(stage, jobs, [*LAST])
        self._engine.flush(5.0, indexed=True)

    async def _kept(self) -> Played:
        answers = [await self._answer(question.text) for question in self._diary.questions]
        with self._engine.snapshot() as snapshot:
            return Played(
                diary=self._diary, mode=self._mode, turns=self._turns, answers=tuple(answers),
                memories=tuple(snapshot.memories(self._scene.scope)),
                contexts=tuple(snapshot.contexts(self._scene.scope)),
                keys=tuple(snapshot.keys(self._scene.scope)), heads=tuple(self._heads),
                dead=tuple(task.id for task in snapshot.tasks(state="dead")),
            )  # fmt: skip

    async def _answer(self, question: str) -> Answer:
        found = await self._engine.recall(question, self._scene.scope, local=True)
        packed = found.packed or self._engine.blocks.pack(found, self._engine.clock())
        cited = frozenset(id for hit in packed.hits for id in _turns_of(hit.memory))
        return Answer(packed.text, cited, found.unknown)

    def _move_to(self, local: datetime) -> None:
        self._scene.move_to(self._diary.aware(local))


def _turns_of(memory: Memory) -> Iterator[int]:
    yield from memory.sources
    if memory.kind == "chunk":
        yield turn_of(memory.id)
