"""Two memories for one user in one pipeline: the second would store everything twice."""

from typing import Any, Protocol

from slowcat_memory.processor.pipeline.places import Places


class Remembers(Protocol):
    """A memory in a pipeline.

    Attributes:
        remembers: Its store and its namespace.
    """

    @property
    def remembers(self) -> tuple[str, str]: ...


def first_of_two(memory: Remembers, pipeline: Any) -> Remembers | None:
    """Return the memory that comes before another one of the same user; None for none.

    Memories in different branches hear different conversations.
    """
    places = Places(pipeline)
    for other in places.of_kind(type(memory)):
        if other.remembers == memory.remembers and places.precedes(other, memory):
            return other
    return None
