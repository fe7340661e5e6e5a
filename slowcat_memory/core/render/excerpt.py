"""Excerpts: the sentences of a long memory that match a query.

Every word before the LLM is prefilled while the user waits, so the measure is recall per word of
prompt. A text is split into sentences, speech without punctuation at clause words; matching
sentences are kept, with those needed to understand them.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated

import sentencex
from msgspec import Meta, Struct

from slowcat_memory.core.language import LANGUAGES, language_of
from slowcat_memory.core.render.memory_block import shorten
from slowcat_memory.core.text.normalize import Tokenizer, estimate_tokens

GAP = "…"
_CLAUSE_WORDS = frozenset[str]().union(*(one.summary.clause for one in LANGUAGES))
_POINTS_BACK = re.compile(  # beginnings that refer to the sentence before
    r"\W*(?:and |but |so |then )?(?:"
    + "|".join(one.summary.points_back for one in LANGUAGES)
    + r")\b(?! (?:is|was|'s) (?:a|the)? ?\w+ (?:who|that))",
    re.IGNORECASE,
)


class ExtractOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a long memory is cut to an excerpt.

    Attributes:
        whole_words: Texts of fewer words are not cut.
        window_words: Approximate words per piece of speech without punctuation.
        keep_share: Least score of a kept sentence, as a share of the best one's, 0 to 1.
        first: Bonus for the first sentence; a sentence with all query words scores 1.
    """

    whole_words: Annotated[int, Meta(ge=0, le=10_000)] = 40
    window_words: Annotated[int, Meta(ge=4, le=1000)] = 20
    keep_share: Annotated[float, Meta(ge=0, le=1)] = 0.5
    first: Annotated[float, Meta(ge=0, le=1)] = 0.1


def relevant(
    text: str,
    query_terms: Mapping[str, float] | Iterable[str],
    tokenizer: Tokenizer,
    limit_tokens: int,
    options: ExtractOptions | None = None,
    language: str = "english",
) -> str:
    """Return the sentences of a text that match a query.

    Args:
        query_terms: The query's tokens with their weights (idf), or 1 each.
        language: Of the rules of abbreviations ("Dr. Berg"), as in ``language_of``.

    Returns:
        Sentences of the text in order, "…" for the gaps; the text itself if it is short and fits;
        its beginning if it has no query terms.
    """
    options = options or ExtractOptions()
    fits = estimate_tokens(text) <= limit_tokens
    if fits and len(text.split(None, options.whole_words)) <= options.whole_words:
        return text
    terms = query_terms if isinstance(query_terms, Mapping) else dict.fromkeys(query_terms, 1.0)
    pieces = _pieces(text, language_of(language).code, options.window_words)
    scores = _scores(pieces, terms, tokenizer)
    best = max(scores, default=0.0)
    if best <= 0 or len(pieces) < 2:
        return text if fits else shorten(" ".join(text.split()), limit_tokens)
    scores[0] += options.first
    kept = _choose(pieces, scores, options.keep_share * best, limit_tokens)
    if not kept:
        place = max(range(len(pieces)), key=scores.__getitem__)
        return (GAP + " " if place else "") + shorten(pieces[place], limit_tokens)
    return _join(pieces, sorted(kept))


def _scores(pieces: Sequence[str], terms: Mapping[str, float], tokenizer: Tokenizer) -> list[float]:
    """Score each piece by its share of the query's weight; long ones count less."""
    total = sum(terms.values())
    if total <= 0:
        return [0.0] * len(pieces)
    scores = []
    for piece in pieces:
        tokens = tokenizer(piece)
        held = sum(terms[token] for token in terms.keys() & tokens)
        scores.append(held / total / max(1.0, len(tokens) / 20) ** 0.5)
    return scores


def _choose(pieces: Sequence[str], scores: Sequence[float], least: float, limit: int) -> set[int]:
    """Choose the best pieces that fit, each with the one before if it refers to that."""
    kept: set[int] = set()
    left = limit - 2  # for the gap marks
    for place in sorted(range(len(pieces)), key=lambda n: -scores[n]):
        if scores[place] < least:
            break
        wanted = [place]
        if place and _POINTS_BACK.match(pieces[place]):
            wanted.insert(0, place - 1)
        left -= _keep(kept, wanted, pieces, left) or _keep(kept, [place], pieces, left)
    return kept


def _keep(kept: set[int], wanted: Sequence[int], pieces: Sequence[str], left: int) -> int:
    """Keep pieces if all of them fit; return their number of tokens."""
    new = [n for n in wanted if n not in kept]
    cost = sum(estimate_tokens(pieces[n]) + 1 for n in new)
    if cost > left:
        return 0
    kept.update(new)
    return cost


def _join(pieces: Sequence[str], kept: Sequence[int]) -> str:
    parts = [GAP] if kept[0] else []
    for n, place in enumerate(kept):
        if n and place != kept[n - 1] + 1:
            parts.append(GAP)
        parts.append(pieces[place])
    if kept[-1] != len(pieces) - 1:
        parts.append(GAP)
    return " ".join(parts)


def _pieces(text: str, language: str, window_words: int) -> list[str]:
    pieces: list[str] = []
    for sentence in sentencex.segment(language, text):
        words = sentence.split()
        if len(words) > 1.5 * window_words:
            pieces += _windows(words, window_words)
        elif words:
            pieces.append(" ".join(words))
    return pieces


def _windows(words: Sequence[str], size: int) -> list[str]:
    """Split speech without punctuation before clause words, into pieces of about ``size`` words."""
    pieces, start = [], 0
    while len(words) - start > 1.5 * size:
        places = range(start + size // 2, start + size + size // 4)
        ends = [n for n in places if words[n].lower() in _CLAUSE_WORDS or words[n - 1][-1] in ",;:"]
        end = min(ends, key=lambda n: abs(n - start - size), default=start + size)
        pieces.append(" ".join(words[start:end]))
        start = end
    pieces.append(" ".join(words[start:]))
    return pieces
