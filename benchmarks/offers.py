"""What is put before the LLM at a floor, and at a share of the best hit that the others must have.

The hits of a question are taken as recall takes them, and packed as for a turn. The floor should keep
out the best of nothing; the share should keep out what is weak beside the best. Ways that recall does
not go are here to be compared with: a floor that each hit must reach, and a share of probability.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import asdict, replace

from benchmarks.related import Asked
from slowcat_memory.core.query.substance import substance
from slowcat_memory.core.ranking.calibration import best_of_top
from slowcat_memory.core.ranking.selection import any_answers, least_share, offer_scores
from slowcat_memory.core.render.memory_block import Packed
from slowcat_memory.records import Hit
from slowcat_memory.runtime.recall.query import Recollection

LANGUAGE = "english"  # of the data sets that are judged
FLOORS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5)
SHARES = (0.0, 0.2, 0.4, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85)
Who = Literal["best", "each"]
Of = Literal["score", "probability"]
Pack = Callable[[Asked, Recollection], Packed]


class Bar(Struct, frozen=True, kw_only=True):
    """What a hit must reach to be offered.

    Attributes:
        floor: Least probability of …
        who: … the likeliest of the best hits, below which none is offered, or of each.
        share: Least share of the best one's …, some more for each better one (of the score).
        of: … score, or probability.
    """

    floor: float = 0.0
    who: Who = "best"
    share: float = 0.0
    of: Of = "score"


class Offers:
    """What each question's block holds, at any bar; blocks that come up again are packed once."""

    def __init__(self, asked: Sequence[Asked], pack: Pack, most: int) -> None:
        """Choose the questions.

        Args:
            asked: The questions and their hits.
            pack: Packs hits for a turn that asks a question.
            most: How many hits a turn gets.
        """
        self._asked, self._pack, self._most = asked, pack, most
        self._packed: dict[tuple[int, tuple[int, ...]], Packed] = {}

    def at(self, bar: Bar) -> dict[str, Any]:
        """Say what is offered.

        Args:
            bar: What hits must reach.

        Returns:
            The bar; over the questions whose answer is there: ``hit``, for which share some gold is
            in the block, ``recall``, the share of the gold in it, ``tokens`` and ``memories``, its
            mean size, and ``recall_per_100_tokens``; and for each kind without an answer (by name)
            ``nothing``, for which share there is no block, and ``tokens``.
        """
        blocks = [self._block(n, bar) for n in range(len(self._asked))]
        found: dict[str, Any] = asdict(bar)
        pairs = list(zip(self._asked, blocks, strict=True))
        own = [(one, block) for one, block in pairs if one.kind == "own" and one.gold]
        shares = np.array([len(_gold(one, block)) / one.gold for one, block in own])
        tokens = _mean([block.tokens for _, block in own])
        found |= {
            "hit": float((shares > 0).mean()),
            "recall": float(shares.mean()),
            "tokens": tokens,
            "memories": _mean([len(block.hits) for _, block in own]),
            "recall_per_100_tokens": 100 * float(shares.mean()) / max(tokens, 1e-9),
        }
        for kind in ("unrelated", "adversarial"):
            sizes = [block.tokens for one, block in pairs if one.kind == kind]
            if sizes:
                found[kind] = {"nothing": _mean([not n for n in sizes]), "tokens": _mean(sizes)}
        return found

    def _block(self, n: int, bar: Bar) -> Packed:
        one = self._asked[n]
        kept = tuple(offered(one.found.hits, bar)[: self._most])
        if (n, kept) not in self._packed:
            hits = [one.found.hits[place] for place in kept]
            self._packed[n, kept] = self._pack(one, replace(one.found, hits=hits))
        return self._packed[n, kept]


def offered(hits: Sequence[Hit], bar: Bar) -> list[int]:
    """Keep the hits that are good enough, as recall does for a turn that is decided by the floor.

    Args:
        hits: Best first.
        bar: What they must reach.

    Returns:
        Their places, in the order in which a turn is offered them.
    """
    likely = np.array([hit.probability for hit in hits])
    scores = _scores(hits) if bar.share else np.array([hit.score for hit in hits])
    order = np.argsort(-scores, kind="stable")
    sure = bar.who == "best" and any_answers(
        None,
        best_of_top(likely[order]),
        asks=False,
        asks_for_memory=False,
        floor=bar.floor,
        unknown_below=0.0,
    )
    able = [
        n
        for n in order.tolist()
        if sure or hits[n].memory.pinned or (bar.who == "each" and likely[n] >= bar.floor)
    ]
    if bar.of == "probability":
        best = max((likely[n] for n in able), default=0.0)
        return [n for n in able if likely[n] >= bar.share * best]
    kept = list[int]()
    for n in able:
        if not kept or scores[n] >= least_share(bar.share, len(kept)) * scores[able[0]]:
            kept.append(n)
    return kept


def _scores(hits: Sequence[Hit]) -> np.ndarray:
    """Return the scores by which a turn's memories are chosen."""
    views = {
        name: np.array([hit.views.get(name, 0.0) for hit in hits]) for name in ("tokens", "session")
    }
    return offer_scores(
        np.array([hit.score for hit in hits]),
        views,
        np.array([substance(hit.memory, LANGUAGE).share for hit in hits]),
        np.array([hit.memory.role == "assistant" for hit in hits], float),
    )


def _gold(one: Asked, block: Packed) -> frozenset[str]:
    ids = {hit.memory.id for hit in block.hits}
    pairs = zip(one.found.hits, one.holds, strict=True)
    return frozenset[str]().union(*(turns for hit, turns in pairs if hit.memory.id in ids))


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))
