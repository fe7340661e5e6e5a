"""What was held to be true at a moment: two times, of the world and of the memory.

A memory is true in the world from ``valid_from`` until ``valid_to``, and believed from ``recorded_at``
until ``retired_at``. Each interval holds its beginning and not its end.
"""

from datetime import datetime

from slowcat_memory.records import Memory


def believed(memory: Memory, at: datetime) -> bool:
    """Tell whether a memory counted at a moment.

    Args:
        memory: Any memory.
        at: The moment.

    Returns:
        Whether it was recorded and not retired by then, and true in the world.
    """
    recorded = memory.recorded_at or memory.valid_from
    return (
        recorded <= at
        and memory.valid_from <= at
        and (memory.valid_to is None or memory.valid_to > at)
        and (memory.retired_at is None or memory.retired_at > at)
    )
