"""Keeps what is mapped of the store and the indexes from staying in memory for good.

Every query touches other pages, and some systems map two megabytes around each: in the end all
files would count as this process's memory. They are given back, on the worker that nobody waits
for, once nobody has asked for a while; the recall after that takes a few milliseconds longer at a
million memories. Who has little memory has them given back after every recall.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Future

from slowcat_memory.pages import mapped_mb
from slowcat_memory.runtime.namespaces.silence import Silence

Later = Callable[[Callable[[], None]], "Future[None] | None"]


class Residence:
    """Looks at how much is mapped when nobody has recalled for a while."""

    def __init__(
        self,
        most_mb: float,
        after_s: float,
        releases: Sequence[Callable[[], None]],
        later: Later,
        measure: Callable[[], float] = mapped_mb,
    ) -> None:
        """Wire the parts.

        Args:
            most_mb: Megabytes of mapped files above which they are given back; 0 for never.
            after_s: Seconds without a recall until then; 0 for after every recall.
            releases: Give back what they can, in some milliseconds.
            later: Runs something on a worker that no turn waits for.
            measure: Tells how much is mapped.
        """
        self._most, self._releases, self._later = most_mb, releases, later
        self._measure = measure
        self._asked: Future[None] | None = None
        self._each = most_mb > 0 and after_s <= 0
        self._silence = Silence(after_s if most_mb > 0 else 0, self._ask)

    def recalled(self) -> None:
        """Take note of a recall; costs microseconds."""
        self._silence.broken()
        if self._each:
            self._ask()

    def stop(self) -> None:
        """Look no more."""
        self._silence.stop()

    def trim(self) -> None:
        """Give pages back if too many are mapped."""
        if self._measure() > self._most:
            for release in self._releases:
                release()

    def _ask(self) -> None:
        if self._asked is None or self._asked.done():
            self._asked = self._later(self.trim)
