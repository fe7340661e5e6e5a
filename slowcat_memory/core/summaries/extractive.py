"""A summary without an LLM: the sentences nearest to the centroid of all.

Centroid summaries (Radev et al., "Centroid-based summarization of multiple documents", 2004): each
sentence is compared with the mean of all, by vectors if available, else by word weights (tf-idf
over the given sentences). Names, numbers and first-person statements count a little more, questions
and small talk less; near-repetitions are dropped; the chosen sentences keep their order.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Annotated

import numpy as np
import sentencex
from msgspec import Meta, Struct

from slowcat_memory.core.extraction.prompt_injection import injected
from slowcat_memory.core.language import of_any
from slowcat_memory.core.ranking.fusion import distinct

Tokenize = Callable[[str], list[str]]
_NUMBER = re.compile(r"\d")
_NAME = re.compile(r"(?<=\s)[A-ZÄÖÜ][a-zäöüß]{2,}")
_OWN = re.compile(rf"\b(?:{of_any(lambda one: one.summary.own)})\b", re.IGNORECASE)
_MOST_CHARS = 20_000  # of a text
MOST_RANKED = 1_000  # sentences compared with one another: the most central of a very long session


class Line(Struct, frozen=True):
    """A sentence of a turn (its log id), and whether the agent said it."""

    speaker: str
    text: str
    turn: int
    agent: bool = False


class ExtractiveOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How sentences are chosen.

    Attributes:
        words: Most words of a summary.
        share: Most words of a summary as a share of its input: 0.3 drops 70 %.
        shortest: Fewest words of a sentence, unless there are only shorter ones.
        alike: Jaccard similarity of words from which two sentences are equal.
        telling: Bonus for a name, a number or a first-person statement, each.
        question: Penalty of a question.
        agent: Penalty of the agent's sentences, which mostly repeat the user's.
    """

    words: Annotated[int, Meta(ge=1)] = 90
    share: Annotated[float, Meta(gt=0.0, le=1.0)] = 0.28
    shortest: Annotated[int, Meta(ge=0)] = 4
    alike: Annotated[float, Meta(ge=0.0, le=1.0)] = 0.5
    telling: Annotated[float, Meta(ge=0.0, le=1.0)] = 0.12
    question: Annotated[float, Meta(ge=0.0, le=1.0)] = 0.3
    agent: Annotated[float, Meta(ge=0.0, le=1.0)] = 0.15


def split_turn(
    speaker: str, text: str, turn: int, *, agent: bool = False, language: str = "en"
) -> list[Line]:
    """Split a turn into non-empty sentences, without orders to the agent.

    Args:
        language: A two-letter code.
    """
    cut = (" ".join(one.split()) for one in sentencex.segment(language, text[:_MOST_CHARS]))
    return [Line(speaker, one, turn, agent) for one in cut if one and not injected(one)]


def choose_sentences(
    said: Sequence[Line],
    tokenize: Tokenize,
    vectors: np.ndarray | None = None,
    options: ExtractiveOptions = ExtractiveOptions(),
) -> list[Line]:
    """Return the most central sentences in their order; none without input.

    ``vectors`` have shape (n, dim), unit length; None to compare words.
    """
    if not said:
        return []
    scores = _central(vectors) if vectors is not None else _by_words(said, tokenize)
    scores = scores + np.array([_telling(line, options) for line in said])
    order = np.argsort(-scores, kind="stable").tolist()[:MOST_RANKED]
    kept = distinct([said[n].text for n in order], options.alike)
    room = min(options.words, math.ceil(options.share * sum(_length(line) for line in said)))
    telling = [n for n in kept if _length(said[order[n]]) >= options.shortest]
    places = list[int]()
    for place in (order[n] for n in telling or kept):
        if (length := _length(said[place])) <= room:
            places.append(place)
            room -= length
    return [said[n] for n in sorted(places or [order[n] for n in (telling or kept)[:1]])]


def as_text(kept: Sequence[Line]) -> str:
    """Join sentences to a text, with the speaker's name wherever the speaker changes."""
    parts = list[str]()
    for place, line in enumerate(kept):
        changed = not place or kept[place - 1].speaker != line.speaker
        parts.append(f"{line.speaker}: {line.text}" if changed else line.text)
    return " ".join(parts)


def _length(line: Line) -> int:
    return len(line.text.split())


def _central(vectors: np.ndarray) -> np.ndarray:
    mean = vectors.mean(axis=0)
    return vectors @ (mean / max(float(np.linalg.norm(mean)), 1e-9))


def _by_words(said: Sequence[Line], tokenize: Tokenize) -> np.ndarray:
    counts = [Counter(tokenize(line.text)) for line in said]
    held = Counter(word for count in counts for word in count)
    idf = {word: math.log(1 + len(said) / n) for word, n in held.items()}
    whole = Counter[str]()
    for count in counts:
        whole.update(count)
    weight = {word: n * idf[word] for word, n in whole.items()}
    length = math.sqrt(sum(value**2 for value in weight.values())) or 1.0
    return np.array([_cosine(count, idf, weight, length) for count in counts])


def _cosine(
    count: Counter[str], idf: dict[str, float], weight: dict[str, float], length: float
) -> float:
    own = {word: n * idf[word] for word, n in count.items()}
    norm = math.sqrt(sum(value**2 for value in own.values())) or 1.0
    return sum(value * weight[word] for word, value in own.items()) / (norm * length)


def _telling(line: Line, options: ExtractiveOptions) -> float:
    salient = sum(bool(pattern.search(line.text)) for pattern in (_NUMBER, _NAME, _OWN))
    asks = line.text.rstrip().endswith("?")
    return options.telling * salient - options.question * asks - options.agent * line.agent
