"""Interim transcripts: start a recall before the turn is complete.

The user aggregator consumes transcripts, so they are observed on their way to it. A turn's words
are what it has collected so far and the latest transcript. See ``runtime.recall.prefetch``.
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
from slowcat_memory.engine.turns import build_query
from slowcat_memory.processor.deps import ConversationDeps
from slowcat_memory.runtime.conversation.conversation import Conversation
from slowcat_memory.runtime.recall.query import Query


class InterimTranscripts:
    """Prefetches for the current speaker of one conversation, and warms up for them.

    Attributes:
        prefetch: The recall for the turn that is being spoken.
    """

    def __init__(
        self, deps: ConversationDeps, aggregator: LLMUserAggregator, conversation: Conversation
    ) -> None:
        """Start with no transcript. Call it on the event loop."""
        self._deps, self._aggregator, self._conversation = deps, aggregator, conversation
        self._speaker = ""  # STT speaker id
        self.prefetch = deps.engine.prefetch(self._query)

    def see(self, frame: Frame) -> None:
        """Process a frame before the aggregator does. Neither blocks nor waits."""
        if isinstance(frame, InterimTranscriptionFrame):
            self._add(frame.text, frame.user_id, whole=False)
        elif isinstance(frame, (TranscriptionFrame, EagerTranscriptionFrame)):
            # A final transcript does not change; an eager one predicts that the turn ends with it.
            self._add(frame.text, frame.user_id, whole=True)

    def voice(self, speaks: bool) -> None:
        """Process that somebody speaks, or has fallen silent."""
        if speaks:
            self.prefetch.warmup.speaks()
        else:
            self.prefetch.warmup.falls_silent()

    def end(self) -> None:
        """End with the conversation."""
        self.prefetch.warmup.stop()
        self.prefetch.drop()

    def _add(self, text: str, speaker: str, *, whole: bool) -> None:
        self._speaker = speaker or ""
        collected = getattr(self._aggregator, "aggregation_string", str)()
        self.prefetch.hear(clean(f"{collected} {text}")[0], whole=whole)

    def _query(self, text: str) -> Query | None:
        """Build the query of the turn as it is now, excluding other speakers' words.

        The turn's own words will be in the context by then.
        """
        own = self._conversation.scope_of(self._speaker)
        scopes = self._deps.audience.readable((own,))
        if not scopes:
            return None
        visible = copy.copy(self._deps.visible)  # the turn itself may see another context
        visible.refresh(self._aggregator.context.messages)
        return build_query(
            self._deps.engine.config,
            self._deps.engine.clock(),
            text,
            scopes[0],
            also=scopes[1:],
            local=self._deps.locality.local,
            exclude=visible.memories,
            exclude_words=visible.words | {fingerprint(text)},
            dialogue=self._conversation.before_next(own),
        )
