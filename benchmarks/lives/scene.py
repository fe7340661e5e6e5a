"""The memory of a simulated user, with a clock of its own, in a conversation without a server.

    user aggregator → memory → agent → assistant aggregator

One pipeline plays a whole life or diary, with a scripted agent. Between two sessions the connection
drops, and the context is empty.
"""

import asyncio
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from loguru import logger
from msgspec.structs import replace
from pipecat.frames.frames import (
    EndFrame,
    Frame,
    LLMContextFrame,
    LLMFullResponseEndFrame,
    LLMFullResponseStartFrame,
    LLMTextFrame,
    TranscriptionFrame,
    VADUserStartedSpeakingFrame,
    VADUserStoppedSpeakingFrame,
)
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineParams, PipelineWorker
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import (
    LLMContextAggregatorPair,
    LLMUserAggregatorParams,
)
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor
from pipecat.turns.user_stop import SpeechTimeoutUserTurnStopStrategy
from pipecat.turns.user_turn_strategies import UserTurnStrategies
from pipecat.utils.time import time_now_iso8601
from pipecat.workers.runner import WorkerRunner

from benchmarks import common
from slowcat_memory import HybridContextualMemoryProcessor
from slowcat_memory.config import Config
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.providers import (
    LLM,
    Embedded,
    EmbedderOptions,
    Encoded,
    LocalEmbedder,
    QueryEmbedder,
    open_query_embedder,
)
from slowcat_memory.records import Turn
from slowcat_memory.testing import FixedClock

PATIENCE_S = 20.0
CONSIDERS_S = 1200.0  # from a session's end to the next idle work, at least
MORNING = timedelta(hours=3)  # from idle work to a session
LANGUAGES = {"en": "english", "de": "german"}
# Children that build files, and upkeep that no question notices: a life's index fits its tail.
NEVER = frozenset({"seal", "erase", "retention"})


class Agent(FrameProcessor):
    """Answers every context with the words that it was given, in place of an LLM service."""

    def __init__(self) -> None:
        super().__init__()
        self.words = ""
        self.silent = asyncio.Event()  # it was asked, and has no words

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if not isinstance(frame, LLMContextFrame):
            await self.push_frame(frame, direction)
            return
        if not self.words:
            self.silent.set()
            return
        await self.push_frame(LLMFullResponseStartFrame())
        await self.push_frame(LLMTextFrame(self.words))
        await self.push_frame(LLMFullResponseEndFrame())


class Stage:
    """The pipeline, with one exchange at a time.

    Attributes:
        memory: The processor.
        answered: What the memory itself answered to voice commands, in order.
    """

    def __init__(self, memory: HybridContextualMemoryProcessor, speaker: str) -> None:
        self.memory, self._speaker, self._agent = memory, speaker, Agent()
        self.answered: list[str] = []
        self._context = LLMContext()
        stop = SpeechTimeoutUserTurnStopStrategy(user_speech_timeout=0.001)
        aggregators = LLMContextAggregatorPair(
            self._context,
            user_params=LLMUserAggregatorParams(
                user_turn_strategies=UserTurnStrategies(stop=[stop])
            ),
        )
        self._worker = PipelineWorker(
            Pipeline([aggregators.user(), memory, self._agent, aggregators.assistant()]),
            params=PipelineParams(),
            enable_rtvi=False,
            idle_timeout_secs=None,
        )
        self._said = asyncio.Event()
        self._stored = asyncio.Event()
        aggregators.assistant().add_event_handler("on_assistant_turn_stopped", self._on_said)
        memory.add_event_handler("on_command", self._on_command)

    async def __aenter__(self) -> Self:
        started = asyncio.Event()
        self._worker.add_event_handler("on_pipeline_started", lambda *_: started.set())
        runner = WorkerRunner(handle_sigint=False)
        await runner.add_workers(self._worker)
        self._running = asyncio.create_task(runner.run())
        await asyncio.wait_for(started.wait(), PATIENCE_S)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        if kind is None:
            await self._worker.queue_frame(EndFrame())
            await asyncio.wait([self._running], timeout=PATIENCE_S)
        if not self._running.done():
            await self._worker.cancel()

    async def exchange(self, user: str, agent: str) -> None:
        """Let the user say a sentence and the agent answer it.

        Raises:
            TimeoutError: The answer did not come.
        """
        self._agent.words = agent
        self._said.clear()
        self._agent.silent.clear()
        queue = self._worker.queue_frame
        await queue(VADUserStartedSpeakingFrame(start_secs=0.2))
        await queue(VADUserStoppedSpeakingFrame(stop_secs=0.2))
        await queue(TranscriptionFrame(user, self._speaker, time_now_iso8601(), finalized=True))
        either = [asyncio.ensure_future(event.wait()) for event in (self._said, self._agent.silent)]
        done, left = await asyncio.wait(
            either, timeout=PATIENCE_S, return_when=asyncio.FIRST_COMPLETED
        )
        for one in left:
            one.cancel()
        if not done:
            raise TimeoutError(f"no answer to {user!r}")

    @property
    def activities(self) -> str:
        """The prefix of the activities that this conversation reports to the idle gate."""
        return f"{self.memory.name}:{self.memory.id}/"

    def hang_up(self) -> None:
        """End the session, and forget the running context."""
        self.memory.disconnected()
        self._context.set_messages([])

    async def _on_said(self, *_: Any) -> None:
        self._said.set()

    async def _on_command(self, _: Any, command: Any, outcome: Any) -> None:
        self.answered.append(outcome.said)


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

    def stage(self) -> Stage:
        memory = HybridContextualMemoryProcessor(
            engine=self.engine, user_id=self.scope, llm_is_local=True
        )
        return Stage(memory, "")

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
    embedder: QueryEmbedder | None = None,
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
        self.token_key, self.token_dim = embedder.token_key, embedder.token_dim
        self._embedder = embedder
        self._texts = dict[str, Embedded]()
        self._queries = dict[str, Encoded]()

    def encode_query(self, text: str) -> np.ndarray:
        return self.encode_query_tokens(text).vector

    def encode_query_tokens(self, text: str) -> Encoded:
        if text not in self._queries:
            self._queries[text] = self._embedder.encode_query_tokens(text)
        return self._queries[text]

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        return self.encode_tokens(texts).vectors

    def encode_tokens(self, texts: Sequence[str]) -> Embedded:
        for text in texts:
            if text not in self._texts:
                self._texts[text] = self._embedder.encode_tokens([text])
        made = [self._texts[text] for text in texts]
        vectors = [one.vectors for one in made] or [np.zeros((0, self.dim), np.float32)]
        return Embedded(np.concatenate(vectors), [one.tokens[0] for one in made if one.tokens])


@cache
def _embedder(options: EmbedderOptions) -> MemoEmbedder | None:
    """Return this process's embedder of a model; None if its model is not here."""
    found, _ = open_query_embedder(options)
    return MemoEmbedder(found) if isinstance(found, LocalEmbedder) else None
