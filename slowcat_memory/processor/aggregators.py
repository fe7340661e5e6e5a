"""Who stands around the memory in the pipeline: the two context aggregators, and the LLM."""

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


class Neighbours(Struct, frozen=True):
    """Who was found; None who was not.

    Attributes:
        users: Collects what people say.
        assistants: Knows what of the agent's words was really spoken.
        llm: The first LLM service behind the memory.
    """

    users: LLMUserAggregator | None = None
    assistants: LLMAssistantAggregator | None = None
    llm: LLMService | None = None

    @property
    def messages(self) -> list[Any]:
        """The messages of the aggregators' context; none when they were not found."""
        return self.users.context.messages if self.users else []


def neighbours(memory: FrameProcessor, pair: LLMContextAggregatorPair | None) -> Neighbours:
    """Look along a flat pipeline, and warn of what is missing.

    Args:
        memory: From where.
        pair: The aggregators, when the application handed them over.

    Returns:
        Who is there.
    """
    users, assistants = (
        tuple(pair)
        if pair
        else (
            _find(memory, LLMUserAggregator, "previous"),
            find_next(memory, LLMAssistantAggregator),
        )
    )
    if not (users and assistants):
        logger.warning(
            f"{memory}: found no context aggregators next to me; hand them over with "
            "aggregators=, or speakers and the agent's words may be missed"
        )
    return Neighbours(users, assistants, find_next(memory, LLMService))


def find_next(memory: FrameProcessor, kind: type) -> Any:
    """Find the first processor of a kind behind another.

    Args:
        memory: From where.
        kind: Its class.

    Returns:
        The processor, None when there is none.
    """
    return _find(memory, kind, "next")


def _find(processor: Any, kind: type, way: str) -> Any:
    processor = getattr(processor, way)
    while processor is not None and not isinstance(processor, kind):
        processor = getattr(processor, way)
    return processor
