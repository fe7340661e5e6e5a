"""What a recall weighed, and why what is not offered was left out.

A recall only keeps what it has at hand. Who left what out, and with which scores, is worked out
when the ledger's row is made: once the turn that waited has gone on.
"""

from collections.abc import Set

import numpy as np
from msgspec import Struct, field

from slowcat_memory.records import LeftOut
from slowcat_memory.runtime.recall.scoring import Scored

# Why a memory was left out.
FLOOR = "floor"  # none of the best was likely enough to answer
SHARE = "share"  # too weak beside the best
HEARD = "heard"  # the same words stand in the context
DUPLICATE = "duplicate"  # says what a better one says
ENOUGH = "enough"  # as many as may be offered were better
ROOM = "room"  # no room in the block
OVER = "over"  # no longer true at the time of the question
GONE = "gone"  # forgotten meanwhile


class Weighed(Struct, frozen=True, eq=False):
    """The candidates of one recall.

    Attributes:
        scored: The candidates, n of them, and what is thought of them.
        order: Positions of those that are good enough, best first.
        floored: Whether nothing is likely enough to answer.
        reasons: By id, why a good one was left out; who leaves a hit out later says so here.
    """

    scored: Scored
    order: np.ndarray
    floored: bool = False
    reasons: dict[str, str] = field(default_factory=dict)

    def left_out(self, recalled: Set[str], offered: Set[str], most: int) -> tuple[LeftOut, ...]:
        """Tell the best of what is not offered.

        Args:
            recalled: Ids of the recall's hits.
            offered: Ids of those that were put before the LLM.
            most: How many at most.

        Returns:
            By score, best first.
        """
        found, good = self.scored.found, frozenset(self.order.tolist())
        told: list[LeftOut] = []
        for n in np.argsort(-self.scored.scores, kind="stable").tolist():
            if len(told) >= most:
                break
            if (memory := found.ids[n]) not in offered:
                reason = self._reason(n, memory, n in good, memory in recalled)
                told.append(self._told(n, memory, reason))
        return tuple(told)

    def _reason(self, n: int, memory: str, good: bool, recalled: bool) -> str:
        if memory in self.reasons:
            return self.reasons[memory]
        if not good:
            pinned = bool(self.scored.found.pinned[n])
            return FLOOR if self.floored and not pinned else SHARE
        return ROOM if recalled else ENOUGH

    def _told(self, n: int, memory: str, reason: str) -> LeftOut:
        scored = self.scored
        return LeftOut(
            memory=memory,
            reason=reason,
            score=round(float(scored.scores[n]), 4),
            probability=round(float(scored.probability[n]), 4),
            views={name: round(float(values[n]), 4) for name, values in scored.views.items()},
        )
