"""The index's knobs."""

from msgspec import Struct


class IndexOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How memories are indexed.

    Behaviour:

    Attributes:
        stemmer: Snowball stemmer ("french", …) or "none"; "" for that of ``memory.language``.
        k1: BM25 term-frequency saturation. 0.9 and b 0.4 were measured 3 points of R@10 above the
            usual 1.5 and 0.75 on LoCoMo.
        b: BM25 length normalisation.
        turn_view: Whether a turn's own words are a view beside those of its window: they tell it
            from its neighbours where there are no vectors. Beside MaxSim they add nothing.
        gram_view: Whether pieces of words are a view, for words that were misheard; costs five
            times the postings of a turn.
        candidates: How many each view proposes for fusion. 50 to 200 were measured to find the
            same on LoCoMo and RealMem (R@10 within 0.2).
        same: Cosine from which a query means what an earlier one meant that was judged (see
            ``records.Key``, "asked").

    Performance:

    Attributes:
        seal_at: A sealed index is rebuilt when the tail holds more memories than this …
        seal_share: … and more than this share of the sealed ones …
        seal_most: … or more than this, whatever the share: a tail costs more of everything.
        compiled_from: Sealed memories from which the walk over postings is a compiled one (numba,
            60 MB of memory); NumPy does it below, and until that is loaded.
        exact_to: Sealed vectors up to which every one is compared at half precision.
        scan_to: Sealed vectors up to which every one is compared by 4-bit codes, and the best of
            these exactly; beyond, only those of the nearest cells are.
        cells: How many cells are looked at (FAISS's nprobe).
        rescore: How many of the best by code are compared exactly.
    """

    stemmer: str = ""
    k1: float = 0.9
    b: float = 0.4
    turn_view: bool = True
    gram_view: bool = False
    candidates: int = 100
    same: float = 0.6
    seal_at: int = 1000
    seal_share: float = 0.1
    seal_most: int = 20_000
    compiled_from: int = 50_000
    exact_to: int = 4_000
    scan_to: int = 150_000
    cells: int = 64
    rescore: int = 400

    def seal_due(self, sealed: int, tail: int) -> bool:
        """Tell whether a tail has grown enough for a new sealed index.

        Args:
            sealed: How many memories are sealed.
            tail: How many are not.

        Returns:
            Whether it has.
        """
        return tail > min(max(self.seal_at, self.seal_share * sealed), max(self.seal_most, 1))
