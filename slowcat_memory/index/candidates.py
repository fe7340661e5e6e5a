"""What a search proposes, stage by stage."""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct


class Candidates(Struct, frozen=True):
    """What a search proposes, for fusion.

    Attributes:
        ids: Memory ids, n of them; most are only made when they are looked at.
        views: Raw scores by view, each of shape (n,). "dense" is missing without a query vector,
            and NaN where a memory has no vector yet; so is "keys", the cosine of a memory's best key,
            and "asked", the sum of what judged queries say: both only where there are such.
        cosine: Shape (n,), cosines with the query's own words, where ``views`` holds those with a
            vector that the dialogue turned; None without a query vector.
        before: Shape (n,), position of the neighbour said before, -1 when there is none.
        after: The same for the one said after.
        at: Shape (n,), seconds since the epoch.
        importance: Shape (n,), 0 to 1.
        pinned: Shape (n,), bool.
        agent: Shape (n,), bool.
        session: Shape (n,), a number for each one's session.
        speaker: Shape (n,), a number for each one's speaker.
        about_from: Shape (n,), from when on each speaks of, seconds since the epoch; NaN for none.
        about_until: The same for its end.
        excluded: Ids that the search would have proposed too, had it not been told otherwise.
    """

    ids: Sequence[str]
    views: dict[str, np.ndarray]
    cosine: np.ndarray | None
    before: np.ndarray
    after: np.ndarray
    at: np.ndarray
    importance: np.ndarray
    pinned: np.ndarray
    agent: np.ndarray
    session: np.ndarray
    speaker: np.ndarray
    about_from: np.ndarray
    about_until: np.ndarray
    excluded: Sequence[str] = ()


class Lexical(Struct, frozen=True, eq=False, weakref=True):
    """The first stage of a search: the best documents by words.

    The scores of all the others stay in the searcher until its next query; asked for after that,
    they are worked out again.

    Attributes:
        text: The query.
        also: LexicalViews that it may have meant, each with its share of their weight.
        sealed: Whether the sealed part was searched too.
        best: Document numbers by view, in no order.
        ceiling: What no score of the widest view can exceed: every word, over and over.
        weights: The query's words, each with its idf.
        known: How many numbers were given by then: later documents are not proposed.
    """

    text: str
    also: tuple[tuple[str, float], ...]
    sealed: bool
    best: dict[str, np.ndarray]
    ceiling: float
    weights: dict[str, float]
    known: int
