"""Processors for tests, in a pipeline or alone, and what reached the LLM and the log."""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, TypeVar

from loguru import logger
from pipecat.frames import frames
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.tests.utils import run_test
from pipecat.turns.user_turn_strategies import EagerUserTurnStrategies
from pipecat.utils.time import time_now_iso8601

from slowcat_memory import HybridContextualMemoryProcessor
from slowcat_memory.core.render.memory_block import CLOSE, OPEN
from tests.support.voice_pipeline import VoicePipeline, aggregators, run

T = TypeVar("T")
QUESTION = "what is my dog called"
MAX = "User: My dog is called Max."
PETS = (
    "Anna: My dog is called Max.",
    "Assistant: Max is a fine name.",
    "Ben: The rabbit eats carrots.",
    "Anna: We sailed to Corsica in the old boat.",
)
STORY = "There was a cat. It lived in a house. It liked fish. It slept all day. It was old."
DEVELOPER = {"role": "developer", "content": "Say hello."}


def user(content):
    return {"role": "user", "content": content}


def assistant(content):
    return {"role": "assistant", "content": content}


def memory(config, **more) -> HybridContextualMemoryProcessor:
    return HybridContextualMemoryProcessor(config=config, **more)


def through(processor, *sent: frames.Frame, **how) -> tuple[list[frames.Frame], list[frames.Frame]]:
    """Send frames through the processor; return those that came out downstream and upstream."""
    how.setdefault("start_timeout", 10.0)
    down, up = asyncio.run(run_test(processor, frames_to_send=list(sent), **how))
    return list(down), list(up)


def asking(processor, words=QUESTION) -> tuple[list, list[frames.Frame], list[frames.Frame]]:
    """Send a question alone; return its context's messages, and what came out on both sides."""
    context = LLMContext(messages=[user(words)])
    return context.messages, *through(processor, frames.LLMContextFrame(context))


def blocks(text: str) -> int:
    return text.count(OPEN)


@dataclass
class Mark(frames.DataFrame):
    """A frame without meaning to any processor."""


def stored(engine, read: Callable[[Any], T]) -> T:
    """Read what is stored by now."""
    assert engine.store.flush(30)
    with engine.store.snapshot() as snapshot:
        return read(snapshot)


def session_turns(engine):
    """What the log holds now, without the session of an earlier day."""
    every = stored(engine, lambda snapshot: [*snapshot.turns()])
    return [turn for turn in every if not turn.session.startswith("earl")]


def logged_words(engine) -> list[tuple[str, str]]:
    return [(turn.speaker, turn.text) for turn in session_turns(engine)]


def ledger_of(engine):
    return stored(engine, lambda snapshot: snapshot.ledger_tail(100))


def sessions(engine):
    return stored(engine, lambda snapshot: snapshot.sessions())


def contents(request) -> list[str]:
    return [message["content"] for message in request["messages"]]


def last_said(request) -> str:
    """The last user message of a request, without its block."""
    content = [m["content"] for m in request["messages"] if m["role"] == "user"][-1]
    return content.partition(f"{CLOSE}\n\n")[2] if OPEN in content else content


def with_words(voice, count) -> list:
    return [turn for turn in voice.turns if turn.content][:count]


def saw(voice, kind: type[frames.Frame]) -> bool:
    """Return whether a frame of this kind has reached the pipeline's end."""
    if not hasattr(voice, "kinds"):
        voice.kinds = set()

        async def note(_, frame):
            voice.kinds.add(type(frame))

        voice.aggregators.assistant().add_event_handler("on_before_process_frame", note)
    return kind in voice.kinds


def events_of(processor, event: str) -> list:
    """Collect what an application is told at an event."""
    every = []

    async def hear(_, *what):
        every.append(what if len(what) > 1 else what[0])

    processor.add_event_handler(event, hear)
    return every


def talking(processor, *said, reply=None, tools=False, before=None, then=None, **how):
    """Let people speak in turn.

    Args:
        said: The words of the user, or who speaks and the words.
        tools: Whether the LLM is offered the memory's.
        before: Awaited with the processor for the system instruction.
        then: Awaited with the pipeline after each answer.

    Returns:
        The ``voice``, the ``answers``, and for each of them the ``requests`` that led to it.
    """

    async def scenario():
        if before:
            how["system_instruction"] = await before(processor)
        offered, answers, requests = processor.tools() if tools else None, [], []
        async with VoicePipeline(reply, memory=processor, tools=offered, **how) as voice:
            for line in said:
                who, words = line if isinstance(line, tuple) else ("user", line)
                first = len(voice.server.requests)
                answers.append((await voice.exchange(words, user_id=who)).content)
                requests.append(voice.server.requests[first:])
                if then:
                    await then(voice)
        return SimpleNamespace(voice=voice, answers=answers, requests=requests)

    return run(scenario(), 300)


class EagerVoice:
    """A voice pipeline whose STT predicts the end of turns."""

    def __init__(self, processor):
        self.voice = VoicePipeline(memory=processor)
        self.voice.aggregators = aggregators(
            self.voice.context, user_turn_strategies=EagerUserTurnStrategies()
        )
        self.queue = lambda frame: self.voice.worker.queue_frame(frame)

    async def begin(self, words, requests=1):
        """Speak until STT predicts the end and the LLM is called."""
        await self.queue(frames.ProposedUserStartedSpeakingFrame())
        await self.voice.until(lambda: saw(self.voice, frames.InterruptionFrame))
        self.voice.kinds.clear()
        await self.queue(frames.EagerTranscriptionFrame(words, "anna", time_now_iso8601()))
        await self.voice.server.wait_for_requests(requests)

    async def end(self, words):
        """Commit a transcript and end the turn."""
        await self.queue(
            frames.TranscriptionFrame(words, "anna", time_now_iso8601(), finalized=True)
        )
        await self.queue(frames.ProposedUserStoppedSpeakingFrame())


@contextlib.contextmanager
def logged(level="INFO"):
    """Collect what loguru and the standard library log at a level or above."""
    lines: list[str] = []
    sink = logger.add(lambda line: lines.append(str(line)), level=level)
    handler = logging.Handler(level)
    handler.emit = lambda record: lines.append(record.getMessage())
    logging.getLogger().addHandler(handler)
    try:
        yield lines
    finally:
        logging.getLogger().removeHandler(handler)
        logger.remove(sink)


def ahead(voice) -> list[dict]:
    """Return the requests besides those of the conversation: for a single token, or a summary."""
    return [request for request in voice.server.requests if not request.get("stream")]
