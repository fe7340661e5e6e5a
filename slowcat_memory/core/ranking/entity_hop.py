"""One hop along the people and things that memories mention: what else speaks of the same.

A question of two steps ("what does Anna's sister do?") finds the turn of the first step by its words;
the turn of the second shares with it nothing but whom it is about. Somebody of whom half of a memory
speaks leads nowhere: links count the more, the fewer memories they join.
"""

import heapq
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
from msgspec import Struct

from slowcat_memory.core.memory.chunk import chunk_id


class LinkOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How far one memory leads to another by whom they mention.

    Attributes:
        hop: Added, at most, to the score of what mentions the same as the best; 0 for not at all. On
            LoCoMo with recorded answers nothing was shown to be gained: at 0.4 multi-hop R@10 +1.0
            (95 % -0.9 to 2.8), R@10 of all +0.2 (-0.6 to 1.1), 484 questions.
        seeds: How many of the best lead on.
        most: Memories of which an entity may join so many, and no more, to lead anywhere.
    """

    hop: float = 0.0
    seeds: int = 5
    most: int = 40


class Links:
    """Which memories mention which entities. Not safe for several threads."""

    def __init__(self) -> None:
        """Begin with none."""
        self._read: dict[str, tuple[str, tuple[str, ...]]] = {}  # by reading: chunk, entities
        self._of: dict[str, dict[str, int]] = defaultdict(dict)  # by chunk: entities, and how often
        self._joins: dict[str, dict[str, None]] = defaultdict(dict)  # by entity: chunks

    def __len__(self) -> int:
        """Return how many memories mention anything."""
        return len(self._of)

    def put(self, reading: str, turn: int, entities: Iterable[str]) -> None:
        """Take up what a turn mentions.

        Args:
            reading: Id of the reading that says so; what it said before is forgotten.
            turn: The turn's log id.
            entities: Ids of entities.
        """
        self.drop(reading)
        chunk, ids = chunk_id(turn), tuple(dict.fromkeys(entities))
        self._read[reading] = chunk, ids
        for id in ids:
            self._of[chunk][id] = self._of[chunk].get(id, 0) + 1
            self._joins[id][chunk] = None

    def drop(self, reading: str) -> None:
        """Forget what a reading said.

        Args:
            reading: Its id; nothing happens when it is not known.
        """
        chunk, ids = self._read.pop(reading, ("", ()))
        for id in ids:
            left = self._of[chunk][id] - 1
            if left:
                self._of[chunk][id] = left
                continue
            del self._of[chunk][id], self._joins[id][chunk]
            if not self._joins[id]:
                del self._joins[id]
        if chunk and not self._of[chunk]:
            del self._of[chunk]

    def lift(
        self, ids: Sequence[str], scores: np.ndarray, options: LinkOptions
    ) -> np.ndarray | None:
        """Tell what the best candidates lead on to.

        Args:
            ids: The candidates, n of them.
            scores: Theirs, shape (n,).
            options: How far.

        Returns:
            0 to 1, shape (n,); None where they lead to nothing.
        """
        if not options.hop or not self._of or len(ids) < 2:
            return None
        led = self._led(ids, scores, options)
        if not led:
            return None
        lifted, found = np.zeros(len(ids)), False
        for n, id in enumerate(ids):
            for entity in self._of.get(id, ()):
                for seed, weight in led.get(entity, ()):
                    if seed != n and weight > lifted[n]:
                        lifted[n], found = weight, True
        return lifted if found else None

    def _led(
        self, ids: Sequence[str], scores: np.ndarray, options: LinkOptions
    ) -> dict[str, list[tuple[int, float]]]:
        """Give each entity of the best the two that mention it best, and how much each counts."""
        best = heapq.nlargest(options.seeds, range(len(ids)), key=scores.__getitem__)
        top = float(scores[best[0]])
        led: dict[str, list[tuple[int, float]]] = defaultdict(list)
        for seed in best:
            share = float(scores[seed]) / top if top > 0 else 0.0
            for entity in self._of.get(ids[seed], ()) if share > 0 else ():
                joined = len(self._joins[entity])
                if 1 < joined <= options.most and len(led[entity]) < 2:
                    led[entity].append((seed, share * rarity(joined, options.most)))
        return led


def rarity(joined: int, most: int) -> float:
    """Weigh an entity by how many memories it joins.

    Args:
        joined: How many, two at least.
        most: From so many on it leads nowhere.

    Returns:
        1 for two, falling to 0.
    """
    return 1.0 - math.log(max(2, joined) / 2) / math.log((most + 1) / 2)
