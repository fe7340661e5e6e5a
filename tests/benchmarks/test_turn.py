"""The rig of the turn benchmark: what recognisers send, and that a wait is a wait."""

import asyncio
import random

import pytest
from pipecat.frames.frames import (
    InterimTranscriptionFrame,
    LLMContextFrame,
    TranscriptionFrame,
    VADUserStartedSpeakingFrame,
    VADUserStoppedSpeakingFrame,
)
from pipecat.processors.frame_processor import FrameProcessor

from benchmarks import rig, turn
from benchmarks.rig import RECOGNISERS, Rig
from slowcat_memory.testing.server import ScriptedServer

TEXT = "what did I pay for the blue bicycle last week in the town"


def sent(name: str, seed: int = 1, revised: float = 0.0) -> list:
    """What a recogniser sends, without its pauses."""
    frames = []

    async def queue(frame) -> None:
        frames.append(frame)

    async def scenario() -> None:
        kind = RECOGNISERS[name]
        kind = rig.Recogniser(kind.interims, kind.late, revised)
        await rig.speak(queue, TEXT, "Anna", kind, random.Random(seed))

    asyncio.run(scenario())
    return frames


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    async def passes(seconds: float) -> None:
        assert 0 <= seconds < 1

    monkeypatch.setattr(rig.asyncio, "sleep", passes)
    yield
    monkeypatch.undo()


@pytest.mark.parametrize("name", RECOGNISERS)
def test_turn_what_a_recogniser_sends_in_which_order(name):
    frames = sent(name)
    kinds = [type(frame) for frame in frames]
    assert kinds[0] is VADUserStartedSpeakingFrame
    last = [TranscriptionFrame, VADUserStoppedSpeakingFrame]
    assert kinds[-2:] == (last[::-1] if RECOGNISERS[name].late else last)
    interims = [frame.text for frame in frames if isinstance(frame, InterimTranscriptionFrame)]
    assert bool(interims) == RECOGNISERS[name].interims
    assert all(TEXT.startswith(text) for text in interims)
    assert interims == sorted(interims, key=len)


class Slow(FrameProcessor):
    """Holds each context for some time."""

    async def process_frame(self, frame, direction) -> None:
        await super().process_frame(frame, direction)
        if isinstance(frame, LLMContextFrame):
            await asyncio.wait({asyncio.ensure_future(asyncio.Event().wait())}, timeout=0.03)
        await self.push_frame(frame, direction)


@pytest.mark.parametrize(("memory", "least"), [(Slow, 29), (FrameProcessor, 0)])
def test_turn_the_rig_times_what_stands_in_the_way(memory, least, monkeypatch):
    monkeypatch.undo()  # real pauses

    class Through(FrameProcessor):
        async def process_frame(self, frame, direction) -> None:
            await super().process_frame(frame, direction)
            await self.push_frame(frame, direction)

    async def scenario() -> list[float]:
        async with ScriptedServer(reply=lambda _: "I see.") as server:
            rig = Rig(server.url, Slow() if memory is Slow else Through())
            async with rig.talk:
                return await rig.say([TEXT, "and more"], RECOGNISERS["segmented"], random.Random(1))

    waits = asyncio.run(scenario())
    assert len(waits) == 2 and all(least <= ms for ms in waits)
    assert least or max(waits) < 29


def test_turn_what_became_of_what_was_begun():
    counts = {"prefetch_begun": 20, "prefetch_stood": 7, "prefetch_vector": 1, "prefetch_redone": 1}
    told = turn.shares(counts, 10)
    assert told == pytest.approx(
        {"stood": 0.7, "vector": 0.1, "redone": 0.1, "nothing": 0.1, "wasted": 1.2}
    )


WAIT = {"n": 3, "p50": 0.4, "p95": 0.6, "p99": 0.9, "max": 1.2}


WRITTEN = {
    "memories": 10_000,
    "turns": 300,
    "arms": {
        "streaming, ahead": {
            "wait": WAIT,
            "under_1_ms": 0.99,
            "in_time": 0.98,
            "stages": {"full": 300},
            "prefetch": {
                "stood": 0.97,
                "vector": 0.01,
                "redone": 0.01,
                "nothing": 0.01,
                "wasted": 1.5,
            },
        },
    },
}


def test_turn_the_table():
    written = turn.report(WRITTEN)
    assert (
        "| streaming, ahead | 3 | 0.40 | 0.60 | 0.90 | 1.20 | 99.0 | 98.0 | full 300 |" in written
    )
    assert "| streaming, ahead | 97.0 | 1.0 | 1.0 | 1.0 | 1.50 |" in written
