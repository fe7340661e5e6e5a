"""Options of the jobs. Apart from their code, so that reading a configuration loads no job."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from slowcat_memory.core.extraction.options import (
    ENTITY_TYPES,
    MAX_NOTES,
    MAX_QUESTIONS,
    DedupOptions,
    ExtractiveOptions,
)

# Jobs that share the options section [summaries]; any other job's section has its name.
SHARED_SECTION = ("session_summary", "window_summary", "rollups")


class ContextualizeOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How an LLM describes chunks.

    Attributes:
        turns: Turns per call. More cost fewer tokens in all; fewer lose less when the user speaks,
            and a weak model leaves fewer out.
        questions: Questions kept per chunk, 0 for none.
        notes: Notes kept per chunk, 0 for none.
    """

    turns: Annotated[int, Meta(ge=1, le=32)] = 16
    questions: Annotated[int, Meta(ge=0, le=MAX_QUESTIONS)] = 3
    notes: Annotated[int, Meta(ge=0, le=MAX_NOTES)] = 3


class FactsOptions(DedupOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How facts are drawn from what users say, and how people and things are told apart.

    Attributes:
        turns: User turns per call of the LLM. Fewer lose less when the user speaks, and a weak
            model misses less.
        known: Nearest known facts shown to the LLM, to avoid duplicates; about 15 tokens each.
        least_importance: Importance below which a fact is not kept: 0 keeps all, 0.4 leaves out
            small likes and habits, 0.6 keeps health and family alone. What ends or corrects another
            fact is kept.
        types: Types of entities; a shop adds "order" and "product".
        exact: Whether equal names mean one entity.
        fuzzy: Whether spellings of one name do.
        embedding: Whether near vectors do; never for people.
        rule: Whether the same e-mail, telephone or number does.
        fuzzy_at: Levenshtein similarity of two words from which they are spellings of one.
        person_at: The same for given names and surnames that are in no list of names.
        whole_at: The same for whole names of things, where one word is misspelt.
        embedding_at: Cosine of two names from which they mean the same.
    """

    turns: Annotated[int, Meta(ge=1, le=40)] = 12
    known: Annotated[int, Meta(ge=0, le=100)] = 12
    least_importance: Annotated[float, Meta(ge=0.0, le=1.0)] = 0.0
    types: tuple[str, ...] = ENTITY_TYPES


class EpisodesOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which parts of a conversation become episodes.

    Attributes:
        window: User turns of an episode, with the agent's between them.
        per_day: Most episodes per day of the user.
        words: Fewest user words of an episode.
    """

    window: Annotated[int, Meta(ge=1, le=100)] = 4
    per_day: Annotated[int, Meta(ge=0, le=1000)] = 6
    words: Annotated[int, Meta(ge=0, le=1000)] = 15


Domain = Literal["", "support", "sales", "interview", "voice"]


WINDOW_TURNS: dict[Domain, int] = {"": 20, "support": 10, "sales": 20, "interview": 50, "voice": 5}


class SummariesOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How conversations are summarised.

    Attributes:
        domain: What the conversations are: support (10), sales (20), interview (50) or voice (5)
            set how many turns of a long one a window holds; "" takes 20.
        window: The same as a number of turns; 0 for that of the domain.
        meta_windows: Windows per meta summary.
        meta_turns: Turns of a session from which it gets meta summaries.
        least_turns: Turns from which a session is summarised.
        heal_s: Sessions with fewer seconds of silence between them count as one conversation: the
            line broke, and they went on.
        days: Whether days are summarised.
        weeks: Whether weeks are.
        words: Most words of a summary that is made without an LLM.
        share: Its most share of the words that were said: 0.19 leaves out 81 %.
    """

    domain: Domain = ""
    window: Annotated[int, Meta(ge=0, le=1_000)] = 0
    meta_windows: Annotated[int, Meta(ge=2, le=100)] = 5
    meta_turns: Annotated[int, Meta(ge=0, le=100_000)] = 100
    least_turns: Annotated[int, Meta(ge=1, le=1_000)] = 2
    heal_s: Annotated[float, Meta(ge=0.0, le=86_400.0)] = 600.0
    days: bool = True
    weeks: bool = True
    words: Annotated[int, Meta(ge=10, le=1_000)] = 200
    share: Annotated[float, Meta(gt=0.0, le=1.0)] = 0.19

    @property
    def rule(self) -> ExtractiveOptions:
        return ExtractiveOptions(words=self.words, share=self.share)

    @property
    def window_turns(self) -> int:
        return max(2, self.window or WINDOW_TURNS[self.domain])
