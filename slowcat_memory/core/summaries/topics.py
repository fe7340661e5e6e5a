"""Topics: incremental clusters of session summaries, without a given number of clusters.

Single-pass clustering (Hartigan, "Clustering Algorithms", 1975, the leader algorithm) with moving
centroids: a vector joins the nearest topic if near enough, else it starts one; topics with close
centroids are merged. The result depends on the order, which is that of time, so the same log gives
the same topics.
"""

import hashlib
import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from slowcat_memory.core.summaries.options import TopicsOptions


class Topic(Struct, frozen=True):
    """A cluster of summaries: their ids in order of arrival, and the sum of their vectors."""

    members: tuple[str, ...]
    total: np.ndarray

    @property
    def centroid(self) -> np.ndarray:
        """Return the cluster's direction, shape (dim,), unit length."""
        return self.total / max(float(np.linalg.norm(self.total)), 1e-9)


def grow_topics(
    topics: Sequence[Topic],
    ids: Sequence[str],
    vectors: np.ndarray,
    options: TopicsOptions = TopicsOptions(),
) -> list[Topic]:
    """Add summaries to topics; return the topics in order of creation.

    ``ids`` are in the order of time, existing members are skipped; ``vectors`` have shape (n, dim),
    unit length.
    """
    grown = list(topics)
    known = {member for topic in grown for member in topic.members}
    for id_, vector in zip(ids, vectors, strict=True):
        if id_ in known:
            continue
        known.add(id_)
        place = _nearest(grown, vector, options.join_at)
        if place is None:
            grown.append(Topic((id_,), np.array(vector, np.float32)))
        else:
            grown[place] = Topic((*grown[place].members, id_), grown[place].total + vector)
            grown = _merged(grown, place, options.merge_at)
    while len(grown) > options.most:
        grown = _merged(grown, _smallest(grown), -1.0)
    return grown


def _nearest(topics: Sequence[Topic], vector: np.ndarray, least: float) -> int | None:
    if not topics:
        return None
    cosines = np.stack([topic.centroid for topic in topics]) @ vector
    place = int(cosines.argmax())
    return place if cosines[place] >= least else None


def _merged(topics: list[Topic], place: int, least: float) -> list[Topic]:
    """Merge a topic with the nearest other one if near enough; the older one stays."""
    others = [n for n in range(len(topics)) if n != place]
    if not others:
        return topics
    cosines = np.stack([topics[n].centroid for n in others]) @ topics[place].centroid
    nearest = others[int(cosines.argmax())]
    if cosines.max() < least:
        return topics
    first, second = sorted((place, nearest))
    joined = Topic(
        (*topics[first].members, *topics[second].members),
        topics[first].total + topics[second].total,
    )
    return [joined if n == first else topic for n, topic in enumerate(topics) if n != second]


def _smallest(topics: Sequence[Topic]) -> int:
    return min(range(len(topics)), key=lambda n: (len(topics[n].members), -n))


DIM = 512  # of hashed bags of words


def bags(texts: Sequence[Sequence[str]]) -> np.ndarray:
    """Return bag-of-words vectors; rare words weigh most.

    Returns:
        Shape (len(texts), DIM), float32, unit length; deterministic.
    """
    held = Counter(word for words in texts for word in set(words))
    rows = np.zeros((len(texts), DIM), np.float32)
    for row, words in zip(rows, texts, strict=True):
        for word, count in sorted(Counter(words).items()):
            place = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest())
            weight = math.log(1 + len(texts) / held[word]) * math.sqrt(count)
            row[place // 2 % DIM] += weight if place % 2 else -weight
        if not row.any():
            row[0] = 1.0
        row /= np.linalg.norm(row)
    return rows
