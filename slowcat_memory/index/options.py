"""The index's knobs."""

from msgspec import Struct


class IndexOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How memories are indexed.

    Behaviour:

    Attributes:
        language: Snowball stemmer ("english", "german", …), or "none".
        k1: BM25 term-frequency saturation. 0.9 and b 0.4 were measured 3 points of R@10 above the
            usual 1.5 and 0.75 on LoCoMo.
        b: BM25 length normalisation.
        candidates: How many each view proposes for fusion. 50 to 200 were measured to find the
            same on LoCoMo and RealMem (R@10 within 0.2).

    Performance:

    Attributes:
        seal_at: A sealed index is rebuilt when the tail holds more memories than this …
        seal_share: … and more than this share of the sealed ones.
    """

    language: str = "english"
    k1: float = 0.9
    b: float = 0.4
    candidates: int = 100
    seal_at: int = 1000
    seal_share: float = 0.1
