"""The memory of a simulated user, with a clock of its own, in a conversation with a scripted agent.

One pipeline plays a whole life or diary. Between two sessions the connection drops, and the context
is empty.
"""

import asyncio
import unicodedata
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, Self

import numpy as np
from loguru import logger
from msgspec.structs import replace

from benchmarks import common
from slowcat_memory import HybridContextualMemoryProcessor
from slowcat_memory.config import Config
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.providers import (
    LLM,
    Embedded,
    Embedder,
    EmbedderOptions,
    open_query_embedder,
)
from slowcat_memory.providers.embedding.local import LocalEmbedder
from slowcat_memory.records import Turn
from slowcat_memory.testing import FixedClock
from slowcat_memory.testing.headless import HeadlessConversation
from slowcat_memory.testing.server import ScriptedServer

PATIENCE_S = 20.0
CONSIDERS_S = 1200.0  # from a session's end to the next idle work, at least
MORNING = timedelta(hours=3)  # from idle work to a session
LANGUAGES = {"en": "english", "de": "german"}
# Children that build files, and upkeep that no question notices: a life's index fits its tail.
NEVER = frozenset({"seal", "erase"})


class Stage:
    """A conversation, with one exchange at a time.

    Attributes:
        memory: The processor.
    """

    def __init__(self, memory: HybridContextualMemoryProcessor) -> None:
        self.memory, self._reply = memory, ""

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Self]:
        async with (
            ScriptedServer(reply=lambda _: self._reply) as server,
            HeadlessConversation(llm_url=server.url, memory=self.memory, speaker="") as self._talk,
        ):
            yield self

    async def exchange(self, user: str, agent: str) -> str:
        """Let the user say a sentence, and the agent answer it unless the memory does.

        Returns:
            The answer.
        """
        self._reply = agent
        return (await self._talk.say(user, timeout_s=PATIENCE_S)).text

    @property
    def activities(self) -> str:
        """The prefix of the activities that this conversation reports to the idle gate."""
        return f"{self.memory.name}:{self.memory.id}/"

    def hang_up(self) -> None:
        """End the session, and forget the running context."""
        self.memory.disconnected()
        self._talk.context.set_messages([])


class Scene:
    """A user's memory.

    Attributes:
        engine: Its clock is ``clock``.
        scope: The user's namespace.
        jobs: Names of the idle jobs that are done.
    """

    def __init__(self, engine: MemoryEngine, clock: FixedClock) -> None:
        self.engine, self.clock = engine, clock
        self.scope = engine.config.memory.user_id
        self.jobs = [job.name for job in engine.idle.jobs if job.name not in NEVER]
        self._logged = 0

    def stage(self) -> AbstractAsyncContextManager[Stage]:
        memory = HybridContextualMemoryProcessor(
            engine=self.engine, user_id=self.scope, llm_is_local=True
        )
        return Stage(memory).open()

    def move_to(self, at: datetime) -> None:
        """Let the clock run to a moment, if that is ahead."""
        self.clock.advance(max(0.0, (at - self.clock.now).total_seconds()))

    async def think(self, stage: Stage, *groups: list[str]) -> None:
        """Do groups of jobs to their end, one after the other, while nobody waits for an answer."""
        self.engine.flush(5.0, indexed=True)
        self.engine.set_activity(stage.activities, busy=False)
        for jobs in groups:
            await asyncio.to_thread(self.engine.idle.until_done, jobs, None, 0.0)

    def new_turns(self) -> list[Turn]:
        """Return the turns that were logged since this was asked last."""
        with self.engine.snapshot() as snapshot:
            turns = list(snapshot.turns(self.scope, after=self._logged))
        self._logged = max((turn.id for turn in turns), default=self._logged)
        return turns

    def placed(self, said: Sequence[str]) -> Iterator[tuple[Turn, int]]:
        """Yield each new turn with the exchange that it belongs to, by what the user says."""
        place = 0
        for turn in self.new_turns():
            if turn.role == "user":
                later = range(place, len(said))
                place = next((n for n in later if said[n] == turn.text), place)
            yield turn, place


def configuration(
    folder: Path, user: str, language: str, *, vectors: bool = True,
    memory: Mapping[str, Any] = {}, idle: Mapping[str, Any] = {},
) -> Config:  # fmt: skip
    """Return the configuration of a user of the defaults, without a deadline and without waits."""
    config = common.configuration(
        folder,
        memory={"user_name": user, "user_id": scope_of(user), "language": LANGUAGES[language],
                **memory},
        recall={"deadline_ms": 10_000.0, "warn_ms": 10_000.0},
        embedding={} if vectors else {"kind": "none"},
        sessions={"resume_grace_s": 0.0, "silence_s": 86_400.0},
        idle={"enabled": False, "grace_s": 0.0, "rest_s": 0.001, "backoff_s": 0.001,
              "on_battery": True, **idle},
    )  # fmt: skip
    return replace(config, prefetch=replace(config.prefetch, enabled=False))


@contextmanager
def opened(
    config: Config, first: datetime, *, llm: LLM | None = None,
    embedder: Embedder | None = None,
) -> Iterator[Scene]:  # fmt: skip
    """Open a memory some hours before its first session.

    Args:
        config: From ``configuration``.
        first: When that begins, aware.
        llm: For idle work; None works by rules.
        embedder: Instead of the configured model, whose vectors are made once in a process.
    """
    logger.disable("slowcat_memory")
    logger.disable("pipecat")
    clock = FixedClock(first.astimezone(UTC) - timedelta(hours=5))
    if embedder is None and config.embedding.kind != "none":
        embedder = _embedder(config.embedding)
    engine = MemoryEngine(config, clock=clock, embedder=embedder, llm=llm)
    try:
        yield Scene(engine, clock)
    finally:
        engine.close()
        logger.enable("slowcat_memory")
        logger.enable("pipecat")


def scope_of(user: str) -> str:
    """Return a user's namespace: the name in plain letters."""
    plain = unicodedata.normalize("NFKD", user.lower())
    return "".join(one for one in plain if one.isascii() and one.isalnum()) or "user"


class MemoEmbedder:
    """Vectors of an embedder, each made once in a process: people repeat themselves."""

    def __init__(self, embedder: LocalEmbedder) -> None:
        self.name, self.key, self.dim = embedder.name, embedder.key, embedder.dim
        self.token_key = embedder.token_key
        self.encode_query = cache(embedder.encode_query)
        self._text = cache(lambda text: embedder.encode([text]))

    def encode(self, texts: Sequence[str]) -> Embedded:
        made = [self._text(text) for text in texts]
        vectors = [one.vectors for one in made] or [np.zeros((0, self.dim), np.float32)]
        return Embedded(np.concatenate(vectors), [one.tokens[0] for one in made if one.tokens])


@cache
def _embedder(options: EmbedderOptions) -> MemoEmbedder | None:
    """Return this process's embedder of a model; None if its model is not here."""
    found, _ = open_query_embedder(options)
    return MemoEmbedder(found) if isinstance(found, LocalEmbedder) else None
