"""Plays a diary through the real processor, with idle work between, and keeps what came of it.

Time is the diary's own. Idle work is done to its end after each conversation and in the morning of
the next; the questions are asked last, and are not stored. The model stands behind the product's own
client: text over HTTP, the real parser, the real checks.
"""

import asyncio
import time as wall
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from benchmarks import common
from benchmarks.lives.scene import CONSIDERS_S, MORNING, Scene, Stage, configuration, opened
from benchmarks.written.diary import BETWEEN_TURNS, Conversation, Diary
from benchmarks.written.good import GoodModel, Piece, Reply, Request
from benchmarks.written.sloppy import (
    DAMAGES,
    EVERY,
    NO_FAULT,
    SloppyModel,
    pieces,
    possible,
    text_of,
)
from slowcat_memory.core.memory import turn_of
from slowcat_memory.core.text.normalize import estimate_tokens
from slowcat_memory.providers import LLM, Embedder, ThinkingOptions
from slowcat_memory.records import Context, Key, Memory
from tests.support.scripted_server import serving

CONTEXT_TOKENS = 8192  # what the server is said to read
Mode = Literal["none", "good", "sloppy"]
MODES: tuple[Mode, ...] = ("none", "good", "sloppy")


class Call(Struct, frozen=True):
    """A prompt and its reply.

    Attributes:
        damage: What was done to the whole reply, "" for nothing.
        pieces: The items that were sent.
    """

    job: str
    tokens_in: int
    tokens_out: int
    damage: str
    pieces: tuple[Piece, ...]
    user: str


class ModelServer:
    """Answers chat requests.

    Attributes:
        calls: Every request, in order.
        failed: What went wrong in the server itself, which the client takes for an outage.
    """

    def __init__(self, diary: Diary, mode: Mode) -> None:
        self._model = SloppyModel(diary) if mode == "sloppy" else GoodModel(diary)
        self.calls = list[Call]()
        self.failed = list[Exception]()

    def __call__(self, body: dict[str, Any]) -> str:
        try:
            return self._answer(_request(body))
        except Exception as error:
            self.failed.append(error)
            raise

    def _answer(self, request: Request) -> str:
        reply = fitted(self._model.reply(request), request.schema)
        damage, text, sent = self._damaged(request, reply)
        tokens_in = estimate_tokens(request.system) + estimate_tokens(request.user)
        self.calls.append(
            Call(
                request.job,
                tokens_in,
                estimate_tokens(text),
                damage,
                tuple(pieces(sent)),
                request.user,
            )
        )
        return text

    def _damaged(self, request: Request, reply: Reply) -> tuple[str, str, Reply]:
        if isinstance(self._model, SloppyModel):
            turn, rest = divmod(self._model.seed(request), EVERY)
            names = possible(reply)
            if not rest and names:
                name = names[turn % len(names)]
                text, sent = DAMAGES[name](reply)
                return name, text, sent
        return NO_FAULT, text_of(reply), reply


def _request(body: dict[str, Any]) -> Request:
    system, user = (str(message["content"]) for message in body["messages"][:2])
    form = (body.get("response_format") or {}).get("json_schema") or {}
    return Request(str(form.get("name", "")), system, user, form.get("schema") or {})


def fitted(reply: Reply, schema: dict[str, Any]) -> Reply:
    """Keep the fields of items that the schema asks for: a strong model adds none of its own."""
    made = dict[str, Any]()
    for name, value in reply.items():
        wanted = schema.get("properties", {}).get(name, {}).get("items", {}).get("properties")
        made[name] = [_fitted(one, wanted) for one in value] if wanted and isinstance(value, list) else value  # fmt: skip
    return made


def _fitted(piece: Any, wanted: dict[str, Any]) -> Any:
    if not isinstance(piece, Piece) or not isinstance(piece.value, dict):
        return piece
    value = {name: one for name, one in piece.value.items() if name in wanted}
    return replace(piece, value=value)


@contextmanager
def thinking(diary: Diary, mode: Mode) -> Iterator[tuple[LLM | None, ModelServer | None]]:
    """Yield the LLM of a run, and its server; None where there is none."""
    if mode == "none":
        yield None, None
        return
    server = ModelServer(diary, mode)
    with serving(server) as web:
        options = ThinkingOptions(url=web.url, context_tokens=CONTEXT_TOKENS)
        with common.thinking(options) as llm:
            yield llm, server


# -------------------------------------------------------------------- playing


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
    diary: Diary, folder: Path, mode: Mode = "none", *, embedder: Embedder | None = None,
    vectors: bool = True,
) -> Played:  # fmt: skip
    """Play a diary in an empty folder.

    Args:
        mode: Which model writes; "none" works by rules.
        embedder: Instead of the configured model, whose vectors are made once in a process.
        vectors: Whether there are vectors at all.
    """
    began = wall.perf_counter()
    memory = {"agent_name": diary.agent, "time_zone": diary.zone}
    config = configuration(
        folder, diary.user, diary.language, vectors=vectors, memory=memory,
        idle={"tokens_per_hour": 0},
    )  # fmt: skip
    first = diary.aware(diary.conversations[0].at)
    with (
        thinking(diary, mode) as (llm, server),
        opened(config, first, llm=llm, embedder=embedder) as scene,
    ):
        played = asyncio.run(_Player(diary, mode, scene).play())
    if server and server.failed:
        raise server.failed[0]
    calls = tuple(server.calls) if server else ()
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
