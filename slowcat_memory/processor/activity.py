"""Reports a conversation's activity to the idle gate, and warms up its LLM while there is none.

One Pipecat observer sees each frame once, when it is first pushed anywhere in the pipeline;
``TABLE`` maps it to an effect. Observers run beside the pipeline, on a queue of their own: frames
are not delayed, and the gate is notified one or two iterations of the event loop later. Names begin
with the processor's own, because several pipelines may share one gate. The gate itself ends an
activity whose last frame was lost (``GateOptions.lost_s``).

A local server caches the prompt that it processed. The first request of a process also waits for
connections and models; idle work on the same server evicts the cache, and the next turn then waits
for the whole conversation to be processed again. A request for a single token, at the pipeline's
start and after each burst of idle work, avoids both waits. It is Pipecat's own ``run_inference``
with the system instruction, messages and tools of the next turn, so that the next request has the
same prefix.
"""

import asyncio
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeVar

from loguru import logger
from msgspec import Struct
from pipecat.frames import frames
from pipecat.frames.frames import Frame, LLMContextFrame
from pipecat.observers.base_observer import BaseObserver, FramePushed
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import LLMAssistantAggregator
from pipecat.processors.frame_processor import FrameDirection
from pipecat.services.llm_service import LLMService

from slowcat_memory.errors import describe_error

VOICE, TURN, LLM, BOT, TOOL = "a voice", "a turn", "the LLM", "the bot", "tool "
READING = "reading ahead"
TALK = {VOICE, TURN, LLM}  # for which the LLM is needed now, or in a moment
REMEMBERED = 512  # frames of the table, some ten a turn; each is in the pipeline for seconds


class Effect(Struct, frozen=True):
    """What a frame begins or ends; a tool's name is followed by its call's id.

    Attributes:
        begins: Begins or continues, whether or not its beginning was seen.
        continues: Continues, if it has begun.
        ends: Ends.
        voice: Whether somebody is heard from now on; None if it says nothing about that.
    """

    begins: str = ""
    continues: str = ""
    ends: str = ""
    voice: bool | None = None


TABLE: dict[type[Frame], Effect] = {
    frames.VADUserStartedSpeakingFrame: Effect(begins=VOICE, voice=True),
    frames.UserSpeakingFrame: Effect(continues=VOICE),
    frames.VADUserStoppedSpeakingFrame: Effect(ends=VOICE, voice=False),
    frames.UserStartedSpeakingFrame: Effect(begins=TURN, voice=True),
    frames.InterimTranscriptionFrame: Effect(begins=TURN),
    frames.TranscriptionFrame: Effect(begins=TURN),
    # It comes after the context of its turn.
    frames.UserStoppedSpeakingFrame: Effect(ends=TURN, voice=False),
    LLMContextFrame: Effect(begins=LLM),
    frames.LLMFullResponseStartFrame: Effect(begins=LLM),
    frames.LLMTextFrame: Effect(continues=LLM),
    frames.LLMFullResponseEndFrame: Effect(ends=LLM),
    frames.InterruptionFrame: Effect(ends=LLM),
    frames.EagerEndOfTurnCancelFrame: Effect(ends=LLM),
    frames.BotStartedSpeakingFrame: Effect(begins=BOT),
    frames.BotSpeakingFrame: Effect(continues=BOT),
    frames.BotStoppedSpeakingFrame: Effect(ends=BOT),
    frames.FunctionCallInProgressFrame: Effect(begins=TOOL),
    frames.FunctionCallResultFrame: Effect(ends=TOOL),
    frames.FunctionCallCancelFrame: Effect(ends=TOOL),
}


Entry = TypeVar("Entry")


def by_kind(table: Mapping[type[Frame], Entry]) -> Callable[[type], Entry | None]:
    """Return the function from a kind of frame to its entry, or to that of its nearest base."""
    return cache(lambda kind: next((table[base] for base in kind.__mro__ if base in table), None))


_effect = by_kind(TABLE)


class Activity(BaseObserver):
    """Tracks the activity of one conversation: an observer of its pipeline.

    Attributes:
        on_voice: Called with True when somebody begins to speak, and with False when they stop;
            more than once, if a VAD and a turn detector report it.
    """

    observe_every_push = False  # each frame once; since Pipecat 1.12

    def __init__(self, set_activity: Callable[[str, bool], None], name: str) -> None:
        """Start with no activity; ``name`` is the conversation's unique name."""
        super().__init__()
        self.on_voice: Callable[[bool], object] = lambda speaks: None
        self._set_activity, self._prefix = set_activity, f"{name}/"
        self._active: set[str] = set()
        self._seen: dict[int, None] = {}
        self._request: asyncio.Future | None = None  # that warms it up
        self._over = False

    async def on_push_frame(self, data: FramePushed) -> None:
        self.see(data.frame, data.direction, data.source)

    def see(self, frame: Frame, direction: FrameDirection, source: Any = None) -> None:
        """Apply a frame's effect, the first time it is seen; ``source`` pushed it, if known."""
        effect = _effect(type(frame))
        if effect is None or self._over:
            return
        if effect.continues:
            if effect.continues in self._active:
                self._begin(effect.continues)
            return
        if self._is_old(frame) or _asks_nobody(frame, direction, source):
            return
        if self._request and (effect.begins or effect.ends) in TALK:
            self._request.cancel()
        if effect.begins:
            self._begin(_name(effect.begins, frame))
        elif effect.ends and getattr(getattr(frame, "properties", None), "is_final", True):
            self._end(_name(effect.ends, frame))
        if effect.voice is not None:
            self.on_voice(effect.voice)

    async def warm(self, llm: LLMService, context: LLMContext) -> bool:
        """Have a local LLM process the conversation: request one token. Its errors are ignored.

        The request is cancelled the moment somebody speaks.

        Returns:
            Whether the LLM has processed it now: False while somebody speaks or is answered, and when
            the request was cancelled or failed.
        """
        if self._over or self._request or self._active & TALK:
            return False
        request = self._request = asyncio.ensure_future(llm.run_inference(context, max_tokens=1))
        self._begin(READING)
        try:
            await asyncio.wait((request,))
        finally:
            request.cancel()  # when this task is cancelled itself
            self._request = None
            self._end(READING)
        if request.cancelled():
            return False
        if error := request.exception():
            logger.debug(f"{llm}: not warmed: {describe_error(error)}")
            return False
        return True

    def end(self) -> None:
        """End the conversation; frames seen later have no effect."""
        self._over = True
        if self._request:
            self._request.cancel()
        self._set_activity(self._prefix, False)

    def _begin(self, what: str) -> None:
        if not self._over:
            self._active.add(what)
            self._set_activity(self._prefix + what, True)

    def _end(self, what: str) -> None:
        self._active.discard(what)
        self._set_activity(self._prefix + what, False)

    def _is_old(self, frame: Frame) -> bool:
        """Return whether a frame was seen: each processor that it passes pushes it again."""
        if frame.id in self._seen:
            return True
        self._seen[frame.id] = None
        if len(self._seen) > REMEMBERED:
            del self._seen[next(iter(self._seen))]
        return False


def _name(what: str, frame: Frame) -> str:
    return what + str(getattr(frame, "tool_call_id", "")) if what == TOOL else what


def _asks_nobody(frame: Frame, direction: FrameDirection, source: Any) -> bool:
    return (
        isinstance(frame, LLMContextFrame)
        and isinstance(source, LLMAssistantAggregator)
        and direction is FrameDirection.DOWNSTREAM
    )
