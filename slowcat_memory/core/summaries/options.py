"""Options of summaries by rule and of topics. Apart from their code, as those of ``core.facts``."""

from typing import Annotated

from msgspec import Meta, Struct


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
