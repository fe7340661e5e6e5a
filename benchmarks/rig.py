"""A conversation by speech through a real pipeline, whose memory is timed from outside.

Recognisers send frames at the pace of speech, with their mistakes. A *streaming* one sends interim
transcripts while somebody speaks, every 150 to 300 ms and a little behind, and the final one soon
after; the turn ends later, when the turn detector has thought about it. *Streaming, late* is the worst
of these: its final transcript ends the turn. A *segmented* one (Whisper) sends nothing before the final
transcript, which ends the turn.

Only the last half second of a turn is played at its pace, with the interim transcripts that fall
into it; what was said before that is in the first of them. Pauses during which nothing is done are
shortened. A recogniser on this machine computes, too: a streaming one while somebody speaks, a
segmented one between the silence and the final transcript, which then takes ``COMPUTES_S``: matrix products over weights of 64 MB take the core and
empty the caches that a recall shares with it, as a recogniser does that reads its weights over and
over. Its processes are stopped and continued by signals, at once; between turns they cost nothing.
The LLM server is a process of its own as well.
"""

import asyncio
import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from msgspec import Struct
from pipecat.frames.frames import (
    Frame,
    InterimTranscriptionFrame,
    LLMContextFrame,
    TranscriptionFrame,
    VADUserStartedSpeakingFrame,
    VADUserStoppedSpeakingFrame,
)
from pipecat.processors.frame_processor import FrameProcessor
from pipecat.utils.time import time_now_iso8601

from benchmarks import common
from slowcat_memory.testing.headless import HeadlessConversation
from slowcat_memory.testing.server import ScriptedServer

WORD_S = 0.3  # two hundred words a minute
BEHIND_S = 0.1  # what an interim transcript lacks
INTERIM_S = (0.15, 0.3)
PLAYED_S = 0.5
SILENCE_S = 0.2  # until a VAD is sure
FINAL_S = (0.02, 0.12)  # after that
COMPUTES_S = (0.25, 0.75)  # after that, for a segmented one on this machine: a small Whisper
DETECTOR_S = 0.25  # what Pipecat's Smart Turn takes on two cores, after the silence
MISHEARD = "and"
REVISED = 0.15  # share of turns of which the final transcript changes a word
PERSON = "Anna"
ANSWERED_S = 20.0

Queue = Callable[[Frame], Awaitable[None]]


class Recogniser(Struct, frozen=True):
    """A kind of recogniser.

    Attributes:
        interims: Whether it sends interim transcripts.
        late: Whether the final one comes last, and ends the turn.
    """

    interims: bool
    late: bool


RECOGNISERS = {
    "streaming": Recogniser(interims=True, late=False),
    "streaming, late": Recogniser(interims=True, late=True),
    "segmented": Recogniser(interims=False, late=True),
}


# -------------------------------------------------------------------- a busy machine


_WORK = """
import os
os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"
import numpy as np
weights = [np.ones((1024, 1024), np.float32) for _ in range(16)]
heard = np.ones((64, 1024), np.float32)
print("ready", flush=True)
while True:
    for layer in weights:
        heard @ layer
"""


class Cores(Struct, frozen=True):
    """Processes that each keep a core busy while they are let."""

    workers: list[subprocess.Popen[bytes]]

    def work(self) -> None:
        """Keep the cores busy from now on."""
        self.send(signal.SIGCONT)

    def rest(self) -> None:
        """Leave the cores alone from now on."""
        self.send(signal.SIGSTOP)

    def send(self, what: signal.Signals) -> None:
        for worker in self.workers:
            worker.send_signal(what)


@contextmanager
def cores(count: int) -> Iterator[Cores]:
    """Yield so many cores' worth of work, at rest; it ends with the block."""
    command = [sys.executable, "-c", _WORK]
    with ExitStack() as stack:
        begun = (subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(count))
        made = Cores([stack.enter_context(worker) for worker in begun])
        for worker in made.workers:
            stack.callback(worker.kill)
            assert worker.stdout
            worker.stdout.readline()
        made.rest()
        yield made


# -------------------------------------------------------------------- a conversation


async def speak(
    queue: Queue,
    text: str,
    who: str,
    recogniser: Recogniser,
    chance: random.Random,
    cores: Cores | None = None,
) -> None:
    """Say a turn: the frames of VAD, recogniser and turn detector.

    Args:
        queue: Takes frames.
        text: The words.
        who: Says them.
        recogniser: Hears them.
        chance: Of pauses and mistakes.
        cores: What it keeps busy until the final transcript; None for a recogniser elsewhere.
    """
    await queue(VADUserStartedSpeakingFrame(start_secs=SILENCE_S))
    words = text.split()
    if cores and recogniser.interims:
        cores.work()
    if recogniser.interims:
        heard = _misheard(words, chance) if chance.random() < REVISED else words
        for said, pause in interims(heard, chance):
            await queue(InterimTranscriptionFrame(said, who, time_now_iso8601()))
            await asyncio.sleep(pause)
    computes = cores is not None and not recogniser.interims
    if computes:
        await asyncio.sleep(PLAYED_S + SILENCE_S)  # it hears this much, and does nothing yet
    wait = chance.uniform(*(COMPUTES_S if computes else FINAL_S))
    ended = VADUserStoppedSpeakingFrame(stop_secs=SILENCE_S)
    if recogniser.late:
        await queue(ended)
        if cores:
            cores.work()
        await asyncio.sleep(DETECTOR_S if recogniser.interims else wait)
    else:
        await asyncio.sleep(wait)
    written = f"{text[0].upper()}{text[1:]}."
    if cores:
        cores.rest()
    await queue(TranscriptionFrame(written, who, time_now_iso8601(), finalized=True))
    if not recogniser.late:  # what ends the turn here is that the VAD and the detector are done
        await asyncio.sleep(DETECTOR_S - wait)
        await queue(ended)


def interims(words: Sequence[str], chance: random.Random) -> Iterator[tuple[str, float]]:
    """Make the interim transcripts of the end of a turn.

    Args:
        words: The turn's, as they are heard.
        chance: Of pauses.

    Yields:
        What was said so far, and the seconds until the next, the last one's until the VAD is sure.
    """
    at = -PLAYED_S  # before the last word ends
    while at < SILENCE_S:
        pause = chance.uniform(*INTERIM_S)
        lacking = max(0.0, BEHIND_S - at) / WORD_S
        said = words[: max(1, len(words) - round(lacking))]
        yield " ".join(said), min(pause, SILENCE_S - at)
        at += pause


def _misheard(words: Sequence[str], chance: random.Random) -> list[str]:
    """Put another word in the place of one of the last three."""
    heard = list(words)
    heard[-1 - chance.randrange(min(3, len(heard)))] = MISHEARD
    return heard


class Rig:
    """A conversation.

    Attributes:
        talk: The pipeline.
    """

    def __init__(self, url: str, memory: FrameProcessor) -> None:
        """Build the pipeline.

        Args:
            url: Of the LLM server.
            memory: What is timed.
        """
        self.talk = HeadlessConversation(llm_url=url, memory=memory, speaker=PERSON)
        self._came: float | None = None
        self._waits: list[float] = []
        self._answered = asyncio.Event()
        memory.add_event_handler("on_before_process_frame", self._comes)
        memory.add_event_handler("on_before_push_frame", self._goes)
        assistant = self.talk.aggregators.assistant()
        assistant.add_event_handler("on_assistant_turn_stopped", self._on_answer)

    async def say(
        self,
        texts: Sequence[str],
        recogniser: Recogniser,
        chance: random.Random,
        cores: Cores | None = None,
        pause_s: tuple[float, float] | None = None,
    ) -> list[float]:
        """Say turns, each some time after the answer to the one before.

        Args:
            texts: The turns.
            recogniser: Hears them.
            chance: Of its pauses and mistakes.
            cores: What the recogniser keeps busy until its final transcript.
            pause_s: The shortest and the longest pause before a turn, all scales alike; None for
                no pause.

        Returns:
            How long each waited for its memories, in milliseconds.
        """
        self._waits.clear()
        for text in texts:
            if pause_s:
                await asyncio.sleep(pause(chance, *pause_s))
            self._answered.clear()
            await speak(self.talk.worker.queue_frame, text, PERSON, recogniser, chance, cores)
            await asyncio.wait_for(self._answered.wait(), ANSWERED_S)
        if len(self._waits) != len(texts):
            raise RuntimeError(f"{len(self._waits)} waits of {len(texts)} turns")
        return list(self._waits)

    async def _comes(self, _: FrameProcessor, frame: Frame) -> None:
        if isinstance(frame, LLMContextFrame) and frame.context.messages[-1]["role"] == "user":
            self._came = time.perf_counter()

    async def _goes(self, _: FrameProcessor, frame: Frame) -> None:
        if isinstance(frame, LLMContextFrame) and self._came is not None:
            self._waits.append((time.perf_counter() - self._came) * 1e3)
            self._came = None

    async def _on_answer(self, *_: Any) -> None:
        self._answered.set()


def pause(chance: random.Random, shortest: float, longest: float) -> float:
    """Draw a pause whose logarithm is evenly spread: as many of 0.3 to 0.6 s as of 2.5 to 5."""
    return shortest * (longest / shortest) ** chance.random()


# -------------------------------------------------------------------- an LLM server


ANSWER = "I see."


@contextmanager
def serving() -> Iterator[str]:
    """Start the server; it answers every chat request with ``ANSWER``.

    Yields:
        Its base URL.
    """
    with common.Program("benchmarks.rig") as server:
        yield server.heard()


async def _program() -> None:
    async with ScriptedServer(reply=lambda _: ANSWER) as server:
        print(json.dumps(server.url), flush=True)
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(_program())
