"""The turn benchmark: what recognisers send, that a wait is a wait, busy cores, tiers."""

import asyncio
import os
import random
import urllib.request

import pytest
from pipecat.frames.frames import (
    InterimTranscriptionFrame,
    LLMContextFrame,
    TranscriptionFrame,
    VADUserStartedSpeakingFrame,
    VADUserStoppedSpeakingFrame,
)
from pipecat.processors.frame_processor import FrameProcessor

from benchmarks import common, corpus, latency, rig, stores, turn
from benchmarks.rig import RECOGNISERS, Rig
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.testing import memory_config
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


@pytest.fixture
def no_pauses(monkeypatch):
    async def passes(seconds: float) -> None:
        assert 0 <= seconds < 1

    monkeypatch.setattr(rig.asyncio, "sleep", passes)


@pytest.mark.parametrize("name", RECOGNISERS)
def test_turn_what_a_recogniser_sends_in_which_order(name, no_pauses):
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
def test_turn_the_rig_times_what_stands_in_the_way(memory, least):
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


# ------------------------------------------------------------------- busy cores


def test_cores_rest_until_they_are_let_and_are_gone_afterwards() -> None:
    with rig.cores(1) as busy:
        [worker] = busy._workers
        assert os.WIFSTOPPED(os.waitpid(worker.pid, os.WUNTRACED)[1])
        busy.work()
        assert os.WIFCONTINUED(os.waitpid(worker.pid, os.WCONTINUED)[1])
        busy.rest()
        assert os.WIFSTOPPED(os.waitpid(worker.pid, os.WUNTRACED)[1])
    assert worker.returncode is not None


class Noted:
    """Stands for busy cores, and notes when they work."""

    def __init__(self, log: list[str]) -> None:
        self.log = log

    def work(self) -> None:
        self.log.append("work")

    def rest(self) -> None:
        self.log.append("rest")


@pytest.mark.parametrize("name", RECOGNISERS)
def test_cores_are_busy_until_the_final_transcript(name: str, no_pauses) -> None:
    log: list[str] = []

    async def queue(frame) -> None:
        log.append(type(frame).__name__)

    speaking = rig.speak(
        queue, "what did I pay for it", "Anna", RECOGNISERS[name], random.Random(1), Noted(log)
    )
    asyncio.run(speaking)
    final = log.index(TranscriptionFrame.__name__)
    assert log[final - 1] == "rest" and "work" not in log[final:]
    began = log.index("work")
    if name == "segmented":  # it begins when the speech has ended
        assert log[began - 1] == VADUserStoppedSpeakingFrame.__name__
    else:
        assert began == 1


# ------------------------------------------------------------------- tiers


def test_tier_questions_ask_for_turns_that_ageing_has_put_there(tmp_path) -> None:
    """By where a store says that its turns are, after ageing."""
    engine = MemoryEngine(
        memory_config(tmp_path / "memory", memory={"hot_cache_size": 40}, tiers={"warm": 60})
    )
    try:
        engine.append(*(event for _, each in corpus.turns(600, common.SEED) for event in each))
        engine.flush(indexed=True)
        engine.upkeep.age()
        asked = latency.tier_questions_of(engine, 30)
        with engine.store.snapshot() as snapshot:
            held = {name: tier.memories for name, tier in snapshot.tiers().items()}
            last = max(turn.id for turn in snapshot.turns(corpus.SCOPE))
    finally:
        engine.close()
    assert held["hot"] and held["warm"] and held["cold"]
    ids = {name: [turn for _, turn in each] for name, each in asked.items()}
    assert min(ids["hot"]) > max(ids["warm"]) > max(ids["cold"])
    assert max(ids["cold"]) <= held["cold"] and last - max(ids["hot"]) <= held["hot"]
    assert all(len(set(text for text, _ in each)) == 30 for each in asked.values())


# ------------------------------------------------------------------- arms


def test_turn_in_time_is_in_full_and_within_the_deadline() -> None:
    found = turn.figures([5.0] * 8 + [12.0] * 2, {"recall_full": 10})
    assert found["in_time"] == 0.8
    cut = turn.figures([5.0] * 10, {"recall_full": 7, "recall_lexical": 3})
    assert cut["in_time"] == 0.7


def test_server_process_answers_and_ends_with_its_block() -> None:
    with rig.serving() as url:
        with urllib.request.urlopen(f"{url}/models", timeout=10) as reply:
            assert reply.status == 200
        host = url.removesuffix("/v1")
    with pytest.raises(OSError):
        urllib.request.urlopen(host, timeout=1)


@pytest.mark.slow
def test_turn_an_arm_at_home_has_its_documented_shape(tmp_path, model_config) -> None:
    config = stores.build(tmp_path / "made", 300, 40, None)
    name = "one core: segmented"
    found = turn.measure(name, config, tmp_path / "copy", 3, (0.05, 0.1))
    assert found["wait"]["n"] == 3 and sum(found["stages"].values()) == 3
    assert {"prefetch", "under_1_ms", "in_time"} <= set(found)
