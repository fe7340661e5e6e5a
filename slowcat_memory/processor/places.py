"""The order of processors in a pipeline, however its parts are nested, and what is wrong with a memory's.

A processor's place is its path: for each pipeline that it is in, from the outermost inwards, the
pipeline and the position in it. Branches of a parallel pipeline have no order among each other.
"""

from typing import Any

from loguru import logger
from msgspec import Struct
from pipecat.pipeline.base_pipeline import BasePipeline
from pipecat.pipeline.pipeline import Pipeline
from pipecat.processors.aggregators.llm_response_universal import (
    LLMAssistantAggregator,
    LLMUserAggregator,
)
from pipecat.processors.frame_processor import FrameProcessor
from pipecat.services.llm_service import LLMService

RIGHT = (
    "The right place is between the user aggregator and the LLM: "
    "[..., user_aggregator, memory, llm, ..., assistant_aggregator]"
)
_UNKNOWN = (
    "found no context aggregators next to me; pass them as aggregators=, or speakers and the "
    "agent's words may be missed"
)


class Step(Struct, frozen=True):
    """A position in one pipeline; ``ordered`` is False for the branches of a parallel one."""

    pipeline: int  # its id()
    position: int
    ordered: bool


class Places:
    """The places of all processors of an outermost pipeline."""

    def __init__(self, outermost: Any) -> None:
        """Read the pipeline; None has no places."""
        self._paths: dict[int, tuple[Step, ...]] = {}
        self._processors: list[Any] = []
        if outermost is not None:
            self._add(outermost, ())

    def __contains__(self, processor: object) -> bool:
        return id(processor) in self._paths

    def of_kind(self, kind: type) -> list[Any]:
        """Return the processors of a kind, in the order in which they are written."""
        return [one for one in self._processors if isinstance(one, kind)]

    def precedes(self, one: Any, other: Any) -> bool | None:
        """Return whether frames reach one processor before another.

        None if they are in different branches, or one of them has no place.
        """
        for ours, theirs in zip(self._path(one), self._path(other), strict=False):
            if ours != theirs:
                same = ours.pipeline == theirs.pipeline and ours.ordered
                return ours.position < theirs.position if same else None
        return None

    def nearest(self, processor: Any, kind: type, *, before: bool) -> Any:
        """Return the nearest one of a kind before a processor, or behind it; None for none.

        Those in the innermost common pipeline come first. None too where several branches have
        one: which it is cannot be known.
        """
        found = [
            one
            for one in self.of_kind(kind)
            if one is not processor
            and self.precedes(*((one, processor) if before else (processor, one)))
        ]
        in_order = found[::-1] if before else found
        closest = sorted(in_order, key=lambda one: -self._common(one, processor))
        unsure = len(closest) > 1 and self.precedes(closest[0], closest[1]) is None
        return None if unsure or not closest else closest[0]

    def _common(self, one: Any, other: Any) -> int:
        pairs = zip(self._path(one), self._path(other), strict=False)
        return sum(ours == theirs for ours, theirs in pairs)

    def _path(self, processor: Any) -> tuple[Step, ...]:
        return self._paths.get(id(processor), ())

    def _add(self, processor: Any, path: tuple[Step, ...]) -> None:
        self._paths[id(processor)] = path
        self._processors.append(processor)
        if not isinstance(processor, BasePipeline):
            return
        ordered = isinstance(processor, Pipeline)
        parts = [one for one in processor.processors if isinstance(one, FrameProcessor)]
        for position, part in enumerate(parts):
            self._add(part, (*path, Step(id(processor), position, ordered)))


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
        return "I am before the user aggregator, where I see no questions: nothing is recalled."
    llms = places.of_kind(LLMService)
    if any(places.precedes(one, memory) for one in llms) and not any(
        places.precedes(memory, one) for one in llms
    ):
        return "I am behind the LLM, where I see no questions: nothing is recalled."
    return ""


def is_second(memory: Any, pipeline: Any) -> bool:
    """Return whether a memory comes behind another one of the same user, and warn if it does.

    The second one is to do nothing. Memories in different branches of a parallel pipeline may hear
    different conversations: both work, with a warning by the latter.
    """
    places = Places(pipeline)
    for other in places.of_kind(type(memory)):
        if other is memory:
            break
        if other.remembers != memory.remembers:
            continue
        whose = f"{other} in the same pipeline remembers for {memory.remembers[1]!r} already"
        if places.precedes(other, memory):
            logger.warning(
                f"{memory}: {whose}, so this one does nothing; remove one of them, or give it "
                "another user_id"
            )
            return True
        logger.warning(
            f"{memory}: {whose}, in another branch: what both hear is stored twice; put one "
            "memory before the branches, behind the user aggregator"
        )
    return False
