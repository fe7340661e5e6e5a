"""What goes on in a conversation, told to the idle gate.

Theory of operation. One Pipecat observer sees each frame once, when it is first pushed, wherever in
the pipeline that is; ``TABLE`` says what it means. Observers run beside the pipeline, on a queue of
their own: a frame waits for nothing here, and the gate hears of it a turn or two of the event loop
later. Names begin with the processor's own, because several pipelines may share one gate. What never
ends because its last frame was lost, the gate itself takes for ended (``GateOptions.lost_s``).
"""

import asyncio
import inspect
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from msgspec import Struct
from pipecat.frames.frames import (
    BotSpeakingFrame,
    BotStartedSpeakingFrame,
    BotStoppedSpeakingFrame,
    EagerEndOfTurnCancelFrame,
    Frame,
    FunctionCallCancelFrame,
    FunctionCallInProgressFrame,
    FunctionCallResultFrame,
    InterimTranscriptionFrame,
    InterruptionFrame,
    LLMContextFrame,
    LLMFullResponseEndFrame,
    LLMFullResponseStartFrame,
    LLMTextFrame,
    TranscriptionFrame,
    UserSpeakingFrame,
    UserStartedSpeakingFrame,
    UserStoppedSpeakingFrame,
    VADUserStartedSpeakingFrame,
    VADUserStoppedSpeakingFrame,
)
from pipecat.observers.base_observer import BaseObserver, FramePushed
from pipecat.pipeline.worker import PipelineWorker
from pipecat.processors.aggregators.llm_response_universal import LLMAssistantAggregator
from pipecat.processors.frame_processor import FrameDirection

VOICE, TURN, LLM, BOT, TOOL = "a voice", "a turn", "the LLM", "the bot", "tool "
QUESTION, READING = "a question", "reading ahead"
QUESTION_S = (
    5.0  # who was asked something thinks before speaking: two or three seconds, with a margin
)
REMEMBERED = 512  # frames of the table, some ten a turn; each is in the pipeline for seconds


class Means(Struct, frozen=True):
    """What a frame says about what goes on; a tool's name is followed by its call's id.

    Attributes:
        begins: What begins, or goes on, whether or not its beginning was seen.
        goes_on: What goes on, if it has begun.
        ends: What ends.
    """

    begins: str = ""
    goes_on: str = ""
    ends: str = ""


TABLE: dict[type[Frame], Means] = {
    VADUserStartedSpeakingFrame: Means(begins=VOICE),
    UserSpeakingFrame: Means(goes_on=VOICE),
    VADUserStoppedSpeakingFrame: Means(ends=VOICE),
    UserStartedSpeakingFrame: Means(begins=TURN),
    InterimTranscriptionFrame: Means(begins=TURN),
    TranscriptionFrame: Means(begins=TURN),
    UserStoppedSpeakingFrame: Means(ends=TURN),  # it comes after the context of its turn
    LLMContextFrame: Means(begins=LLM),
    LLMFullResponseStartFrame: Means(begins=LLM),
    LLMTextFrame: Means(goes_on=LLM),
    LLMFullResponseEndFrame: Means(ends=LLM),
    InterruptionFrame: Means(ends=LLM),
    EagerEndOfTurnCancelFrame: Means(ends=LLM),
    BotStartedSpeakingFrame: Means(begins=BOT),
    BotSpeakingFrame: Means(goes_on=BOT),
    BotStoppedSpeakingFrame: Means(ends=BOT),
    FunctionCallInProgressFrame: Means(begins=TOOL),
    FunctionCallResultFrame: Means(ends=TOOL),
    FunctionCallCancelFrame: Means(ends=TOOL),
}


class Activity:
    """Follows one conversation. To be used on its event loop.

    Attributes:
        observed: An observer sees the frames; where none does, those that pass the memory are all
            that is known.
    """

    def __init__(self, set_activity: Callable[[str, bool], None], name: str) -> None:
        """Begin with nothing going on.

        Args:
            set_activity: Called with what goes on, and whether it does; see ``Memory.set_activity``.
            name: The conversation's, which no other one has.
        """
        self.observed = False
        self._set_activity, self._prefix = set_activity, f"{name}/"
        self._going_on: set[str] = set()
        self._seen: set[int] = set()
        self._order: deque[int] = deque()
        self._question: asyncio.TimerHandle | None = None
        self._over = False

    def see(self, frame: Frame, direction: FrameDirection, source: Any = None) -> None:
        """Look at a frame; at one that was seen before, nothing happens.

        Args:
            frame: Any frame.
            direction: Where it goes.
            source: The processor that pushed it, if that is known.
        """
        kind: Any = type(frame)
        means = _means(kind)
        if means is None or self._over:
            return
        if means.goes_on:
            if means.goes_on in self._going_on:
                self._begins(means.goes_on)
        elif self._is_old(frame) or _is_idle(frame, direction, source):
            return
        elif means.begins:
            self._begins(_name(means.begins, frame))
        elif means.ends and getattr(getattr(frame, "properties", None), "is_final", True):
            self._ends(_name(means.ends, frame))

    def answered(self, text: str) -> None:
        """Note what the agent has said: who was just asked something is about to answer.

        Args:
            text: Its words.
        """
        if not self.observed:  # the end of an answer does not pass the memory
            self._ends(LLM)
        if text.rstrip().endswith("?") and not self._over:
            self._begins(QUESTION)
            if self._question:
                self._question.cancel()
            later = asyncio.get_running_loop().call_later
            self._question = later(QUESTION_S, self._ends, QUESTION)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Say that the conversation's LLM reads ahead, for as long as the block runs."""
        self._begins(READING)
        try:
            yield
        finally:
            self._ends(READING)

    def end(self) -> None:
        """Say that the conversation is over; what is still seen of it counts no more."""
        self._over = True
        if self._question:
            self._question.cancel()
        self._set_activity(self._prefix, False)

    def _begins(self, what: str) -> None:
        if not self._over:
            self._going_on.add(what)
            self._set_activity(self._prefix + what, True)

    def _ends(self, what: str) -> None:
        self._going_on.discard(what)
        self._set_activity(self._prefix + what, False)

    def _is_old(self, frame: Frame) -> bool:
        """Tell whether a frame was seen: it is pushed again by each processor that it passes."""
        if frame.id in self._seen:
            return True
        self._seen.add(frame.id)
        self._order.append(frame.id)
        if len(self._order) > REMEMBERED:
            self._seen.discard(self._order.popleft())
        return False


class ActivityObserver(BaseObserver):
    """Shows an ``Activity`` what is pushed anywhere in a pipeline."""

    def __init__(self, activity: Activity) -> None:
        """Observe each frame once, where Pipecat can tell.

        Args:
            activity: Looks at the frames.
        """
        super().__init__(**_once())
        self._activity = activity

    async def on_push_frame(self, data: FramePushed) -> None:
        """Show a frame.

        Args:
            data: The frame, where it goes, and who pushed it.
        """
        self._activity.observed = True
        self._activity.see(data.frame, data.direction, data.source)


def observe(worker: PipelineWorker, activity: Activity) -> None:
    """Show an ``Activity`` what a pipeline does from now on.

    Args:
        worker: Runs the pipeline.
        activity: Looks at the frames.
    """
    worker.add_observer(ActivityObserver(activity))


@cache
def _means(kind: type) -> Means | None:
    return next((TABLE[base] for base in kind.__mro__ if base in TABLE), None)


def _name(what: str, frame: Frame) -> str:
    return what + str(getattr(frame, "tool_call_id", "")) if what == TOOL else what


def _is_idle(frame: Frame, direction: FrameDirection, source: Any) -> bool:
    """Tell a context that asks nobody: the assistant aggregator's, downstream, after a turn."""
    return (
        isinstance(frame, LLMContextFrame)
        and isinstance(source, LLMAssistantAggregator)
        and direction is FrameDirection.DOWNSTREAM
    )


def _once() -> dict[str, Any]:
    parameters: Callable[..., Any] = BaseObserver.__init__
    known = "observe_every_push" in inspect.signature(parameters).parameters
    return {"observe_every_push": False} if known else {}  # since Pipecat 1.12
