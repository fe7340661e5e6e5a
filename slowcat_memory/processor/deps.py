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
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.processor.context_messages import ContextMessages
from slowcat_memory.processor.guard import FrameGuard
from slowcat_memory.processor.locality import Locality, llm_services
from slowcat_memory.processor.owned_messages import OwnedMessages
from slowcat_memory.processor.places import Places, misplacement
from slowcat_memory.processor.reports import Reports
from slowcat_memory.runtime.conversation.audience import Audience
from slowcat_memory.runtime.conversation.off_record import OffRecord
from slowcat_memory.runtime.injection import Visible


class PipelineNeighbours(Struct, frozen=True):
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

    engine: MemoryEngine
    config: Config
    audience: Audience
    speaker_names: Mapping[str, str]
    off_record: OffRecord
    locality: Locality
    neighbours: PipelineNeighbours
    messages: ContextMessages
    visible: Visible
    owned: OwnedMessages
    guard: FrameGuard
    reports: Reports | None = None


def find_neighbours(
    memory: FrameProcessor, pair: LLMContextAggregatorPair | None, pipeline: Any = None
) -> PipelineNeighbours:
    """Search the pipeline around the memory, and warn if it is in a wrong place.

    Args:
        pair: The aggregators, if the application passed them.
        pipeline: The outermost pipeline, however it is nested; None if it is not known: then only
            what is in the memory's own flat pipeline is found.
    """
    places = Places(pipeline)
    users, assistants = (
        tuple(pair)
        if pair
        else (
            _find(memory, LLMUserAggregator, places, before=True)
            or _find(memory, LLMUserAggregator, places, before=False),
            _find(memory, LLMAssistantAggregator, places, before=False),
        )
    )
    if wrong := misplacement(memory, places, users, assistants):
        logger.warning(f"{memory}: {wrong}")
    around = [memory, *_along(memory, "previous"), *_along(memory, "next")]
    llms = llm_services(pipeline, *around, users, assistants)
    llm = _find(memory, LLMService, places, before=False)
    return PipelineNeighbours(users, assistants, llm, tuple(llms))


def _along(processor: Any, way: str) -> Iterator[Any]:
    while (processor := getattr(processor, way, None)) is not None:
        yield processor


def _find(memory: Any, kind: type, places: Places, *, before: bool) -> Any:
    along = _along(memory, "previous" if before else "next")
    flat = next((one for one in along if isinstance(one, kind)), None)
    return flat or places.nearest(memory, kind, before=before)
