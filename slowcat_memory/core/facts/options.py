"""Options of merging facts. Apart from its code, so that reading a configuration loads none of it."""

from typing import Annotated

from msgspec import Meta, Struct

Share = Annotated[float, Meta(ge=0.0, le=1.0)]

ENTITY_TYPES = ("person", "pet", "place", "organisation", "product", "event", "topic")


class MergeOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When two facts are merged into one.

    Attributes:
        top_k: Number of nearest facts that a new one is compared with.
        auto_update: Cosine from which facts with the same numbers and polarity are merged without
            an LLM.
        check_low: Cosine from which an LLM is asked whether to merge.
        fallback: Also ask the LLM about less similar pairs, within the next four limits.
        fallback_low: Cosine from which these are asked about; they share a content word or a
            number.
        fallback_top_k: Most such pairs per new fact.
        fallback_days: Most days between the two.
        fallback_types: Fact types, separated by commas.
        words: Jaccard similarity of words from which facts are merged without an LLM.
    """

    top_k: Annotated[int, Meta(ge=1, le=100)] = 5
    auto_update: Share = 0.85
    check_low: Share = 0.6
    fallback: bool = True
    fallback_low: Share = 0.3
    fallback_top_k: Annotated[int, Meta(ge=0, le=100)] = 3
    fallback_days: Annotated[float, Meta(ge=0.0, le=36_500.0)] = 90.0
    fallback_types: str = "person, preference, decision"
    words: Share = 0.6

    @property
    def types(self) -> frozenset[str]:
        """The names in ``fallback_types``."""
        return frozenset(name.strip() for name in self.fallback_types.split(","))
