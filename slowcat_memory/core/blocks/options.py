"""Options of episodes. Apart from their code, so that reading a configuration loads none of it."""

from typing import Annotated

from msgspec import Meta, Struct


class EpisodesOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which moments of a conversation become episodes.

    Attributes:
        window: User turns of an episode, with the agent's between them.
        cooldown_turns: User turns after an episode, before the next of its session may begin.
        cooldown_min: Minutes after an episode, from which the next of its session may begin as
            well.
        per_day: Most episodes per day of the user.
        merge_h: Hours within which the same matter is merged into the previous episode.
        alike: Share of common words from which two windows are the same matter, 0 to 1.
        novelty: Least share of words that are not in the last episodes, 0 to 1.
        words: Fewest user words of an episode.
    """

    window: Annotated[int, Meta(ge=1, le=100)] = 4
    cooldown_turns: Annotated[int, Meta(ge=0, le=1000)] = 4
    cooldown_min: Annotated[float, Meta(ge=0, le=1440)] = 10.0
    per_day: Annotated[int, Meta(ge=0, le=1000)] = 6
    merge_h: Annotated[float, Meta(ge=0, le=168)] = 6.0
    alike: Annotated[float, Meta(ge=0, le=1)] = 0.35
    novelty: Annotated[float, Meta(ge=0, le=1)] = 0.4
    words: Annotated[int, Meta(ge=0, le=1000)] = 15
