"""Dependencies of one conversation: aggregators, LLM, engine, shared state."""

from collections.abc import Iterator, Mapping
from typing import Any

from loguru import logger
from msgspec import Struct
from pipecat.processors.aggregators.llm_response_universal import (
    LLMAssistantAggregator,
    LLMContextAggregatorPair,
    LLMUserAggregator,
)
from pipecat.processors.frame_processor import FrameProcessor
from pipecat.services.llm_service import LLMService

from slowcat_memory.config import Config
from slowcat_memory.engine import Memory
from slowcat_memory.processor.context_messages import ContextMessages
from slowcat_memory.processor.guard import Guard
from slowcat_memory.processor.locality import Locality, llm_services
from slowcat_memory.processor.owned_messages import OwnedMessages
from slowcat_memory.runtime.conversation.audience import Audience
from slowcat_memory.runtime.conversation.off_record import OffRecord
from slowcat_memory.runtime.injection import Visible


class Neighbours(Struct, frozen=True):
    """Processors that the memory works with; None for those that were not found.

    Attributes:
        user_aggregator: Collects what users say.
        assistant_aggregator: Knows which of the agent's words were really spoken.
        llm: The first LLM service behind the memory.
        llms: All LLM services of the pipeline: they can read the same context.
    """

    user_aggregator: LLMUserAggregator | None = None
    assistant_aggregator: LLMAssistantAggregator | None = None
    llm: LLMService | None = None
    llms: tuple[LLMService, ...] = ()

    @property
    def messages(self) -> list[Any]:
        """The messages of the aggregators' context; empty without aggregators."""
        return self.user_aggregator.context.messages if self.user_aggregator else []


class ConversationDeps(Struct, frozen=True, kw_only=True):
    """Dependencies that the parts of one conversation share; complete once the memory is there.

    ``config`` is the processor's, which may differ from the engine's.
    """

    engine: Memory
    config: Config
    audience: Audience
    speaker_names: Mapping[str, str]
    off_record: OffRecord
    locality: Locality
    neighbours: Neighbours
    messages: ContextMessages
    visible: Visible
    owned: OwnedMessages
    guard: Guard


def find_neighbours(
    memory: FrameProcessor, pair: LLMContextAggregatorPair | None, pipeline: Any = None
) -> Neighbours:
    """Search a flat pipeline around the memory, and warn if the aggregators are missing.

    Args:
        pair: The aggregators, if the application passed them.
        pipeline: The outermost pipeline, None if it is not known: then only the LLMs next to the
            memory are found.
    """
    users, assistants = (
        tuple(pair)
        if pair
        else (
            _find(memory, LLMUserAggregator, "previous"),
            _find(memory, LLMAssistantAggregator, "next"),
        )
    )
    if not (users and assistants):
        logger.warning(
            f"{memory}: found no context aggregators next to me; pass them as "
            "aggregators=, or speakers and the agent's words may be missed"
        )
    around = [memory, *_along(memory, "previous"), *_along(memory, "next")]
    llms = llm_services(pipeline, *around, users, assistants)
    return Neighbours(users, assistants, _find(memory, LLMService, "next"), tuple(llms))


def _along(processor: Any, way: str) -> Iterator[Any]:
    while (processor := getattr(processor, way, None)) is not None:
        yield processor


def _find(processor: Any, kind: type, way: str) -> Any:
    return next((one for one in _along(processor, way) if isinstance(one, kind)), None)
