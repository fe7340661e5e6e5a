"""The processors around a memory: their order, the aggregators, and where the LLM runs.

A processor's place is its path: for each pipeline that it is in, from the outermost inwards, the
pipeline and the position in it. Branches of a parallel pipeline have no order among each other.

Whether the LLM runs on this machine is decided once, when the pipeline starts, from the servers of
the LLM services' clients. All LLM services of a pipeline share a context, so one on another machine
makes every turn remote: members of switchers, parallel branches, and an LLM for summaries included.
A server that cannot be determined counts as remote, and so does a local one reached through a proxy.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from loguru import logger
from msgspec import Struct
from pipecat.pipeline.base_pipeline import BasePipeline
from pipecat.pipeline.pipeline import Pipeline
from pipecat.processors.aggregators.llm_response_universal import (
    LLMAssistantAggregator,
    LLMContextAggregatorPair,
    LLMUserAggregator,
)
from pipecat.processors.frame_processor import FrameProcessor
from pipecat.services.llm_service import LLMService

from slowcat_memory.providers.loopback import host_of, is_local

RIGHT = (
    "The right place is between the user aggregator and the LLM: "
    "[..., user_aggregator, memory, llm, ..., assistant_aggregator]"
)


Step = tuple[int, int, bool]
"""A pipeline, a position in it, and whether it has an order: branches of a parallel one have none."""


class Places:
    """The places of all processors of an outermost pipeline."""

    def __init__(self, outermost: Any) -> None:
        """Read the pipeline; None has no places."""
        self._paths: dict[Any, tuple[Step, ...]] = {}
        if outermost is not None:
            self._add(outermost, ())

    def of_kind(self, kind: type) -> list[Any]:
        """Return the processors of a kind, in the order in which they are written."""
        return [processor for processor in self._paths if isinstance(processor, kind)]

    def precedes(self, processor: Any, other: Any) -> bool | None:
        """Return whether frames reach one processor before another.

        None if they are in different branches, or one of them has no place.
        """
        paths = self._paths.get(processor, ()), self._paths.get(other, ())
        for ours, theirs in zip(*paths, strict=False):
            if ours != theirs:  # in one pipeline, as all before was equal
                return ours < theirs if ours[2] else None
        return None

    def nearest(self, processor: Any, kind: type, *, before: bool) -> Any:
        """Return the nearest one of a kind before a processor, or behind it; None for none.

        None too where several branches have one: which it is cannot be known.
        """
        near = self.of_kind(kind)
        if before:
            near = [other for other in near[::-1] if self.precedes(other, processor)]
        else:
            near = [other for other in near if self.precedes(processor, other)]
        is_unsure = len(near) > 1 and self.precedes(near[0], near[1]) is None
        return None if is_unsure or not near else near[0]

    def _add(self, processor: Any, path: tuple[Step, ...]) -> None:
        self._paths[processor] = path
        if not isinstance(processor, BasePipeline):
            return
        ordered = isinstance(processor, Pipeline)
        parts = [part for part in processor.processors if isinstance(part, FrameProcessor)]
        for position, part in enumerate(parts):
            self._add(part, (*path, (id(processor), position, ordered)))


def misplacement(memory: Any, places: Places, users: Any, assistants: Any) -> str:
    """Return what is wrong and how to mend it, in one message; "" if nothing is.

    Args:
        users: The user aggregator that the memory works with; None for none.
        assistants: Likewise, the assistant aggregator.
    """
    reaches_llm = [places.precedes(memory, llm) for llm in places.of_kind(LLMService)]
    if users is None and places.of_kind(LLMUserAggregator):
        wrong = "I am in another branch of the pipeline than the user aggregator, or several could "
        wrong += "be mine: what users say may be missed; pass aggregators=."
    elif users is None:
        wrong = "there is no user aggregator in this pipeline, so who speaks, and what nobody "
        wrong += "answers, is missed. Make an LLMContextAggregatorPair, or pass aggregators=."
    elif places.precedes(memory, users):
        wrong = "I am before the user aggregator, where I see no questions: nothing is recalled."
    elif False in reaches_llm and True not in reaches_llm:
        wrong = "I am behind the LLM, where I see no questions: nothing is recalled."
    elif assistants is None:
        wrong = "the agent's words may be missed: the assistant aggregator is before me, or not in "
        wrong += "this pipeline. Put it behind transport.output(), or pass aggregators=."
    else:
        return ""
    return f"{wrong} {RIGHT}"


def is_second(memory: Any, pipeline: Any) -> bool:
    """Return whether a memory of the same user comes before this one, and warn if one does.

    The second one is to do nothing. Branches of a parallel pipeline may hear different
    conversations: memories in them all work.
    """
    places = Places(pipeline)
    for other in places.of_kind(type(memory)):
        if other.remembers == memory.remembers and places.precedes(other, memory):
            logger.warning(
                f"{memory}: {other} in the same pipeline remembers for {memory.remembers[1]!r} "
                "already, so this one does nothing; remove one of them, or give it another user_id"
            )
            return True
    return False


# Pipecat's classes by which an aggregator holds its LLM for summaries.
_HOLDERS = ("Params", "LLMContextSummarizer", "SummarizationConfig", "SummaryConfig")


def are_local(services: Sequence[Any], known: bool | None = None) -> bool:
    """Return whether LLM services run on this machine, unless the application has set it (``known``).

    Warns when memories leave this machine. May resolve a name: do not call it on the event loop. No
    service at all counts as remote.
    """
    remote = [llm for llm in services if not is_local(base_url(llm))]
    local = bool(services) and not remote if known is None else known
    hosts = (host_of(base_url(llm)) or type(llm).__name__ for llm in (remote or services))
    if services and not local:
        logger.warning(f"memories leave this machine to {', '.join(dict.fromkeys(hosts))}")
    return local


def llm_services(*processors: Any) -> list[Any]:
    """Return the LLM services in processors, those of nested pipelines and switchers included.

    A service that an aggregator, or another service, holds for itself (an LLM for summaries, a
    wrapped service) counts too.
    """
    seen, waiting = dict[int, Any](), [*processors]
    while waiting:
        part = waiting.pop(0)
        if id(part) not in seen:
            seen[id(part)] = part
            if isinstance(part, FrameProcessor):
                waiting += getattr(part, "processors", ())
            waiting += _held(part)
    return [part for part in seen.values() if isinstance(part, LLMService)]


def _held(owner: Any) -> Iterator[Any]:
    """Yield an object's attributes that are LLM services, or may hold some."""
    for value in list(getattr(owner, "__dict__", {}).values()):
        for part in value if isinstance(value, list | tuple) else (value,):
            if isinstance(part, LLMService) or type(part).__name__.endswith(_HOLDERS):
                yield part


def base_url(llm: Any) -> str:
    """Return the base URL of a service's client, "" if it has none, or it cannot be read."""
    try:
        url = getattr(getattr(llm, "_client", None), "base_url", None)
        return "" if url is None else str(url)
    except Exception:  # a property of another package's class
        return ""


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


def find_neighbours(
    memory: FrameProcessor, pair: LLMContextAggregatorPair | None, pipeline: Any
) -> PipelineNeighbours:
    """Search the pipeline around the memory, and warn if it is in a wrong place.

    Args:
        pair: The aggregators, if the application passed them.
        pipeline: The outermost pipeline, however it is nested.
    """
    places = Places(pipeline)
    users, assistants = pair or (
        places.nearest(memory, LLMUserAggregator, before=True)
        or places.nearest(memory, LLMUserAggregator, before=False),
        places.nearest(memory, LLMAssistantAggregator, before=False),
    )
    if wrong := misplacement(memory, places, users, assistants):
        logger.warning(f"{memory}: {wrong}")
    llms = llm_services(pipeline, users, assistants)
    llm = places.nearest(memory, LLMService, before=False)
    return PipelineNeighbours(users, assistants, llm, tuple(llms))
