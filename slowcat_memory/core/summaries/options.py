"""Options of summaries by rule and of topics. Apart from their code, as those of ``core.facts``."""

from typing import Annotated

from msgspec import Meta, Struct


class ExtractiveOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How clauses are chosen.

    Attributes:
        words: Most words of a summary.
        least: Words up to which a summary may be longer than ``share``.
        share: Most words of a summary as a share of its input: 0.19 drops 81 %.
        shortest: Fewest words of a clause.
        content: Least sum of the weights of a clause's words: below it, it says nothing.
    """

    words: Annotated[int, Meta(ge=1)] = 200
    least: Annotated[int, Meta(ge=0)] = 40
    share: Annotated[float, Meta(gt=0.0, le=1.0)] = 0.19
    shortest: Annotated[int, Meta(ge=0)] = 3
    content: Annotated[float, Meta(ge=0.0, le=10.0)] = 1.0


class ClusterOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When summaries belong to one topic; see ``TopicsOptions``."""

    join_at: Annotated[float, Meta(ge=0.0, le=1.0)] = 0.45
    merge_at: Annotated[float, Meta(ge=0.0, le=1.0)] = 0.8
    most: Annotated[int, Meta(ge=1)] = 200
