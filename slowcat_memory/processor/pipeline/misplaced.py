"""What is wrong with a memory's place in its pipeline, with the right one."""

from typing import Any

from pipecat.processors.aggregators.llm_response_universal import (
    LLMAssistantAggregator,
    LLMUserAggregator,
)
from pipecat.services.llm_service import LLMService

from slowcat_memory.processor.pipeline.places import Places

RIGHT = (
    "The right place is between the user aggregator and the LLM: "
    "[..., user_aggregator, memory, llm, ..., assistant_aggregator]"
)
_UNKNOWN = (
    "found no context aggregators next to me; pass them as aggregators=, or speakers and the "
    "agent's words may be missed"
)


def misplacement(memory: Any, places: Places, users: Any, assistants: Any) -> str:
    """Return what is wrong and how to mend it, in one message; "" if nothing is.

    Args:
        users: The user aggregator that the memory works with; None for none.
        assistants: Likewise, the assistant aggregator.
    """
    if memory not in places:
        return "" if users and assistants else _UNKNOWN
    wrong = _order(memory, places, users)
    if wrong:
        return f"{wrong} {RIGHT}"
    if users and not assistants:
        known = places.of_kind(LLMAssistantAggregator)
        where = "before me" if known else "in this pipeline"
        return (
            "the agent's words may be missed: the assistant aggregator is "
            f"{where if known else f'not {where}'}. Put it behind transport.output(), or pass "
            "aggregators="
        )
    return ""


def _order(memory: Any, places: Places, users: Any) -> str:
    if users is None:
        if places.of_kind(LLMUserAggregator):
            return (
                "I am in another branch of the pipeline than the user aggregator, or several "
                "could be mine: what users say may be missed; pass aggregators=."
            )
        return (
            "there is no user aggregator in this pipeline, so who speaks, and what nobody "
            "answers, is missed. Make an LLMContextAggregatorPair, or pass aggregators=."
        )
    if places.precedes(memory, users):
        return "I am before the user aggregator, where no question comes by: nothing is recalled."
    llms = places.of_kind(LLMService)
    if any(places.precedes(one, memory) for one in llms) and not any(
        places.precedes(memory, one) for one in llms
    ):
        return "I am behind the LLM, where no question comes by: nothing is recalled."
    return ""
