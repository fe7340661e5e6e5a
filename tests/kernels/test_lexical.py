import math
from dataclasses import dataclass, field

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from slowcat_memory.kernels import library
from slowcat_memory.kernels.lexical import NO_RUN, LexicalArrays, TailRun, TermRows
from slowcat_memory.kernels.library import address
from tests.support.kernel_levels import each_level

TERMS = 6
K1, B = 0.9, 0.4


@dataclass
class Made:
    """A view's arrays, and the same documents as plain term counts."""

    arrays: LexicalArrays
    sealed: list[dict[int, float]]  # by document: what it scores for each term
    tail: list[dict[int, int]] = field(default_factory=list)
    dead: set[int] = field(default_factory=set)
    lengths: list[int] = field(default_factory=list)  # of all documents

    def runs(self) -> list[TailRun]:
        return [self._run(term) for term in range(TERMS)]

    def _run(self, term: int) -> TailRun:
        base = len(self.sealed)
        found = [(base + n, counts[term]) for n, counts in enumerate(self.tail) if term in counts]
        if not found:
            return NO_RUN
        documents = np.array([n for n, _ in found], np.int32)
        times = np.array([count for _, count in found], np.float32)
        return documents, times, address(documents), address(times)

    def living(self) -> list[int]:
        return [n for n in range(len(self.lengths)) if n not in self.dead]


def make(seed: int, sealed: int, tail: int, dying: float) -> Made:
    chance = np.random.default_rng(seed)
    scored = [
        {t: float(np.float32(chance.random() + 0.1)) for t in range(TERMS) if chance.random() < 0.4}
        for _ in range(sealed)
    ]
    by_term = [[n for n, one in enumerate(scored) if t in one] for t in range(TERMS)]
    arrays = LexicalArrays(
        np.cumsum([0, *map(len, by_term)]).astype(np.int64),
        np.array([n for found in by_term for n in found], np.int32),
        np.array([scored[n][t] for t, found in enumerate(by_term) for n in found], np.float32),
        sealed,
    )
    lengths = chance.integers(1, 9, sealed).tolist()
    arrays.start(float(sum(lengths)), K1, B)
    made = Made(arrays, scored, lengths=lengths)
    for n in range(tail):
        counts = {t: int(chance.integers(1, 4)) for t in range(TERMS) if chance.random() < 0.4}
        arrays.append()
        arrays.lengthen(sealed + n, sum(counts.values()))
        made.tail.append(counts)
        made.lengths.append(sum(counts.values()))
    for n in np.flatnonzero(chance.random(sealed) < dying).tolist():
        arrays.tombstone(n, list(scored[n]))
        arrays.drop(made.lengths[n])
        made.dead.add(n)
    return made


def idf(found: float, documents: float) -> float:
    return math.log(1 + (documents - found + 0.5) / (found + 0.5))


def expected(
    made: Made, terms: list[int], shares: list[float], sealed: bool
) -> tuple[dict[int, float], list[float]]:
    """The scores by living document, and each term's weight, from the definition."""
    living, base = made.living(), len(made.sealed)
    mean = sum(made.lengths[n] for n in living) / max(1, len(living))
    scores, weights = dict.fromkeys(living, 0.0), []
    for term, share in zip(terms, shares or [1.0] * len(terms), strict=True):
        all_sealed = sum(term in one for one in made.sealed)
        there = [n for n in living if term in (made.sealed + made.tail)[n]]
        weights.append(share * idf(len(there), len(living)))
        for n in there:
            if n >= base and mean:
                times = made.tail[n - base][term]
                norm = K1 * (1 - B + B * made.lengths[n] / mean)
                scores[n] += weights[-1] * times / (times + norm)
            elif n < base and sealed and mean:
                scores[n] += weights[-1] / idf(all_sealed, base) * made.sealed[n][term]
    return scores, weights


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    sealed=st.sampled_from([0, 1, 5, 70, 300]),
    tail=st.sampled_from([0, 1, 3, 90]),
    dying=st.sampled_from([0.0, 0.2, 1.0]),
    queries=st.lists(
        st.tuples(
            st.sampled_from(library.levels()),
            st.lists(st.integers(0, TERMS - 1), unique=True, max_size=4),
            st.booleans(),
            st.booleans(),
            st.sampled_from([1, 3, 100]),
        ),
        min_size=1,
        max_size=5,
    ),
)
def test_lexical_scores_and_best_are_those_of_the_definition_at_every_level(
    seed: int, sealed: int, tail: int, dying: float,
    queries: list[tuple[str, list[int], bool, bool, int]],
) -> None:  # fmt: skip
    made = make(seed, sealed, tail, dying)
    for level, terms, shared, with_sealed, k in queries:
        shares = [1 / (n + 1) for n in range(len(terms))] if shared else []
        runs = made.runs()
        with library.using(level):
            best, weights = made.arrays.search(
                terms if sealed else [-1] * len(terms),
                shares, [runs[t] for t in terms], k, sealed=with_sealed,
            )  # fmt: skip
        scores, wanted = expected(made, terms, shares, with_sealed)
        numbers = np.array(sorted(scores), np.int64)
        np.testing.assert_allclose(weights, wanted, rtol=1e-12)
        np.testing.assert_allclose(
            made.arrays.scores(numbers), [scores[n] for n in numbers.tolist()], rtol=1e-5, atol=1e-6
        )
        found = sorted((scores[n] for n in best.tolist()), reverse=True)
        most = sorted((score for score in scores.values() if score), reverse=True)[:k]
        np.testing.assert_allclose(found, most, rtol=1e-5, atol=1e-6)
        assert len(set(best.tolist())) == len(best)


@each_level
def test_lexical_terms_that_share_a_hash_are_told_apart_by_their_bytes(level: str) -> None:
    terms, hashes = [b"ab", b"a", b"abc", b"x"], np.array([5, 5, 5, 9], np.uint64)
    starts = np.cumsum([0, *map(len, terms)]).astype(np.int64)
    rows = TermRows(hashes, starts, np.frombuffer(b"".join(terms), np.uint8))
    wanted = [b"a", b"abc", b"ab", b"b", b"x", b"y", b""]
    with library.using(level):
        assert rows.find(wanted, [5, 5, 5, 5, 9, 11, 5]) == [1, 2, 0, -1, 3, -1, -1]
        assert rows.find([], []) == []
