"""Two memories for one user in one pipeline: the second would store everything twice."""

from typing import Any, Protocol

from loguru import logger

from slowcat_memory.processor.pipeline.places import Places


class Remembers(Protocol):
    """A memory in a pipeline.

    Attributes:
        remembers: Its store and its namespace.
    """

    @property
    def remembers(self) -> tuple[str, str]: ...


def is_second(memory: Remembers, pipeline: Any) -> bool:
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
