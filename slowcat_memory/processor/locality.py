"""Decides whether the conversation's LLM runs on this machine.

Decided once, when the pipeline starts, from the servers of the LLM services' clients. All LLM
services of a pipeline share a context, so one on another machine makes every turn remote: members
of switchers, parallel branches, and an LLM for summaries included. A server that cannot be
determined counts as remote, and so does a local one reached through a proxy.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from loguru import logger
from pipecat.processors.frame_processor import FrameProcessor
from pipecat.services.llm_service import LLMService

from slowcat_memory.providers.loopback import host_of, is_local

REMIND = timedelta(days=1)
# Pipecat's classes by which an aggregator holds its LLM for summaries.
_HOLDERS = ("Params", "LLMContextSummarizer", "SummarizationConfig", "SummaryConfig")


class Locality:
    """Where the LLM runs.

    ``host`` is its server, or its kind of service if that cannot be determined; of several LLMs,
    those on other machines. "" without an LLM.
    """

    def __init__(self, local: bool, host: str = "") -> None:
        self.local, self.host = local, host
        self._reminded: datetime | None = None

    def remind(self, now: datetime) -> None:
        """Warn when memories leave this machine: at the start, and once a day."""
        due = self._reminded is None or now - self._reminded >= REMIND
        if not self.local and self.host and due:
            self._reminded = now
            logger.warning(f"memories leave this machine to {self.host}")


def locate(llm: Any, known: bool | None = None) -> Locality:
    """Return where LLM services run, unless the application has set it (``known``).

    May resolve a name: do not call it on the event loop.

    Args:
        llm: A service, or several; None for none, which counts as remote.
    """
    services = llm if isinstance(llm, list | tuple) else [] if llm is None else [llm]
    remote = [one for one in services if not is_local(base_url(one))]
    local = bool(services) and not remote if known is None else known
    hosts = (host_of(base_url(one)) or type(one).__name__ for one in (remote or services))
    return Locality(local, ", ".join(dict.fromkeys(hosts)))


def llm_services(*processors: Any) -> list[Any]:
    """Return the LLM services in processors, those of nested pipelines and switchers included.

    A service that an aggregator, or another service, holds for itself (an LLM for summaries, a
    wrapped service) counts too.
    """
    found, seen = list[Any](), set[int]()
    waiting: list[Any] = [one for one in processors if one is not None]
    while waiting:
        one = waiting.pop(0)
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, LLMService):
            found.append(one)
        if isinstance(one, FrameProcessor):
            waiting += getattr(one, "processors", ())
        waiting += _held(one)
    return found


def _held(owner: Any) -> Iterator[Any]:
    """Yield an object's attributes that are LLM services, or may hold some."""
    for value in list(getattr(owner, "__dict__", {}).values()):
        for one in value if isinstance(value, list | tuple) else (value,):
            if isinstance(one, LLMService) or type(one).__name__.endswith(_HOLDERS):
                yield one


def base_url(llm: Any) -> str:
    """Return the base URL of a service's client, "" if it has none, or it cannot be read."""
    try:
        url = getattr(getattr(llm, "_client", None), "base_url", None)
        return "" if url is None else str(url)
    except Exception:  # a property of another package's class
        return ""
