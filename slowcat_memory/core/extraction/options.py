"""Options of what jobs extract, merge and summarise.

Apart from their code, so that reading a configuration loads none of it.
"""

from typing import Annotated

from msgspec import Meta, Struct

MAX_QUESTIONS = 3  # that an LLM writes about a chunk; notes likewise
MAX_NOTES = 3


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


SPELT = 0.87  # letters in common of two spellings of one name: "Nicolas", "Nicholas"


class DedupOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When two names are the same entity.

    Attributes:
        exact: Match equal names.
        fuzzy: Match spellings of one name.
        embedding: Match near vectors; never for people.
        rule: Match the same e-mail, telephone or number.
        fuzzy_at: Levenshtein similarity from which two words of a thing's name are spellings of
            one.
        person_at: The same for given names and surnames that are in no list of names; a little
            less is enough where they sound the same.
        whole_at: The same for whole names of things, where one word is misspelt.
        embedding_at: Cosine from which two names are the same.
    """

    exact: bool = True
    fuzzy: bool = True
    embedding: bool = True
    rule: bool = True
    fuzzy_at: Annotated[float, Meta(ge=0.0, le=1.0)] = 0.83
    person_at: Annotated[float, Meta(ge=0.0, le=1.0)] = SPELT
    whole_at: Annotated[float, Meta(ge=0.0, le=1.0)] = 0.85
    embedding_at: Annotated[float, Meta(ge=0.0, le=1.0)] = 0.8


class ExtractiveOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How clauses are chosen.

    Attributes:
        words: Most words of a summary.
        least: Words up to which a summary may be longer than ``share``.
        share: Most words of a summary as a share of its input: 0.19 drops 81 %.
    """

    words: Annotated[int, Meta(ge=1)] = 200
    least: Annotated[int, Meta(ge=0)] = 40
    share: Annotated[float, Meta(gt=0.0, le=1.0)] = 0.19


class TopicsOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How topics are found.

    Attributes:
        least: Sessions from which a subject is a topic.
        most: Most topics, those that are known or have most sessions.
    """

    least: Annotated[int, Meta(ge=1, le=1_000)] = 3
    most: Annotated[int, Meta(ge=1, le=10_000)] = 200
