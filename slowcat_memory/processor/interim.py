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

from slowcat_memory.core.text.normalize import clean, fingerprint
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.engine.recall import build_query
from slowcat_memory.runtime.conversation.audience import Audience
from slowcat_memory.runtime.conversation.conversation import Conversation
from slowcat_memory.runtime.injection import Visible
from slowcat_memory.runtime.recall.query import Query


class Listening:
    """Recalls ahead of one conversation's speaker.

    Attributes:
        prefetch: What was recalled so far, for the turn that takes it.
    """

    def __init__(
        self,
        engine: MemoryEngine,
        audience: Audience,
        aggregator: LLMUserAggregator,
        visible: Visible,
        conversation: Conversation,
        *,
        local: bool,
    ) -> None:
        """Listen. To be called on the event loop.

        Args:
            engine: What recalls.
            audience: Whose memories may be read to whom.
            aggregator: Collects a turn's transcripts.
            visible: What stands in the context.
            conversation: What was said before, and by whom.
            local: Whether the LLM is on this machine.
        """
        self._engine, self._audience, self._aggregator = engine, audience, aggregator
        self._visible, self._conversation, self._local = visible, conversation, local
        self._speaker = ""  # the recogniser's id of who speaks
        self.prefetch = engine.prefetch(self._ask)

    def hear(self, frame: Frame) -> None:
        """Look at a frame before the aggregator does. Neither blocks nor waits.

        Args:
            frame: Any frame; those with what somebody says count.
        """
        if isinstance(frame, InterimTranscriptionFrame):
            self._heard(frame.text, frame.user_id, whole=False)
        elif isinstance(frame, (TranscriptionFrame, EagerTranscriptionFrame)):
            # One stays as it is; the other predicts that the turn ends with it.
            self._heard(frame.text, frame.user_id, whole=True)

    def _heard(self, text: str, speaker: str, *, whole: bool) -> None:
        self._speaker = speaker or ""
        self.prefetch.hear(clean(f"{self._collected()} {text}")[0], whole=whole)

    def _collected(self) -> str:
        collected = getattr(self._aggregator, "aggregation_string", None)
        return collected() if collected else ""

    def _ask(self, text: str) -> Query | None:
        """Ask what the turn would ask if it came now, with nobody else speaking in it.

        Its own words will stand in the context by then.
        """
        own = self._conversation.scope_of(self._speaker)
        scopes = self._audience.reads((own,))
        if not scopes:
            return None
        visible = copy.copy(self._visible)  # the turn itself may look at another context
        visible.refresh(self._aggregator.context.messages)
        return build_query(
            self._engine.config,
            self._engine.clock(),
            text,
            scopes[0],
            also=scopes[1:],
            local=self._local,
            exclude=visible.memories,
            exclude_words=visible.words | {fingerprint(text)},
            dialogue=self._conversation.before_next(own),
        )
