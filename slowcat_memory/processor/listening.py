"""What is heard before a turn comes, told to recall: see ``runtime.prefetch``.

The user aggregator consumes transcripts, so they are seen as they come to it. A turn's words are
what it has collected so far and the transcript at hand.
"""

import copy

from pipecat.frames.frames import (
    EagerTranscriptionFrame,
    Frame,
    InterimTranscriptionFrame,
    TranscriptionFrame,
)
from pipecat.processors.aggregators.llm_response_universal import LLMUserAggregator

from slowcat_memory.core.text import clean, fingerprint
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.runtime.dialogue import Dialogue
from slowcat_memory.runtime.inject import Visible
from slowcat_memory.runtime.query import Query


class Listening:
    """Recalls ahead of one conversation's speaker.

    Attributes:
        prefetch: What was recalled so far, for the turn that takes it.
    """

    def __init__(
        self,
        engine: MemoryEngine,
        scope: str,
        aggregator: LLMUserAggregator,
        visible: Visible,
        dialogue: Dialogue,
    ) -> None:
        """Listen. To be called on the event loop.

        Args:
            engine: What recalls.
            scope: Whose memory.
            aggregator: Collects a turn's transcripts.
            visible: What stands in the context.
            dialogue: What was said before.
        """
        self._engine, self._scope, self._aggregator = engine, scope, aggregator
        self._visible, self._dialogue = visible, dialogue
        self.prefetch = engine.prefetch(self._ask)

    def hear(self, frame: Frame) -> None:
        """Look at a frame before the aggregator does. Neither blocks nor waits.

        Args:
            frame: Any frame; those with what somebody says count.
        """
        if isinstance(frame, InterimTranscriptionFrame):
            self._heard(frame.text, whole=False)
        elif isinstance(frame, (TranscriptionFrame, EagerTranscriptionFrame)):
            # One stays as it is; the other predicts that the turn ends with it.
            self._heard(frame.text, whole=True)

    def _heard(self, text: str, *, whole: bool) -> None:
        self.prefetch.hear(clean(f"{self._collected()} {text}")[0], whole=whole)

    def _collected(self) -> str:
        collected = getattr(self._aggregator, "aggregation_string", None)
        return collected() if collected else ""

    def _ask(self, text: str) -> Query:
        """Ask what the turn would ask if it came now.

        Its own words will stand in the context by then.
        """
        visible = copy.copy(self._visible)  # the turn itself may look at another context
        visible.refresh(self._aggregator.context.messages)
        return self._engine.query(
            text,
            self._scope,
            exclude=visible.memories,
            exclude_words=visible.words | {fingerprint(text)},
            dialogue=self._dialogue.before(None),
        )
