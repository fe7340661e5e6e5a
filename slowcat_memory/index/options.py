"""The index's options."""

from typing import Annotated

from msgspec import Meta, Struct

Count = Annotated[int, Meta(ge=0, le=1_000_000_000)]


class IndexOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How memories are indexed.

    Behaviour:

    Attributes:
        stemmer: Snowball stemmer ("french", …) or "none"; "" for that of ``memory.language``.
        k1: BM25 term-frequency saturation. 0.9 and b 0.4 were measured 3 points of R@10 above the
            usual 1.5 and 0.75 on LoCoMo.
        b: BM25 length normalisation, 0 to 1. A change of ``k1`` or ``b`` rebuilds the sealed index.
        candidates: How many each view proposes for fusion. 50 to 200 were measured to find the
            same on LoCoMo and RealMem (R@10 within 0.2).
        same: Cosine from which a query counts as the same as an earlier one that was judged (see
            ``records.Key``, "asked"); 0 to below 1.

    Performance:

    Attributes:
        seal_at: A sealed index is rebuilt when the tail holds more memories than this …
        seal_share: … and more than this share of the sealed ones …
        seal_most: … or more than this, whatever the share: an opening reads the whole tail, 0.25 s
            for a thousand.
    """

    stemmer: str = ""
    k1: Annotated[float, Meta(ge=0, le=10)] = 0.9
    b: Annotated[float, Meta(ge=0, le=1)] = 0.4
    candidates: Annotated[int, Meta(ge=1, le=10_000)] = 100
    same: Annotated[float, Meta(ge=0, lt=1)] = 0.6
    seal_at: Count = 50
    seal_share: Annotated[float, Meta(ge=0, le=10)] = 0.1
    seal_most: Count = 2_000

    def seal_due(self, sealed: int, tail: int) -> bool:
        return tail > min(max(self.seal_at, self.seal_share * sealed), max(self.seal_most, 1))
