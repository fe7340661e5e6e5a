"""A long memory cut to what a query asks for.

Every word before the LLM is prefilled while the user waits, so what counts is recall per word of
prompt. A text is cut into sentences, speech without punctuation at clause words; those that hold
the query's words stay, with what they need to be understood.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

import sentencex
from msgspec import Struct

from slowcat_memory.core.render.memory_block import shorten
from slowcat_memory.core.text.normalize import Tokenizer, estimate_tokens

GAP = "…"
_CLAUSE_WORDS = frozenset(
    """and but so because when then although while which who where if that or after before since und
    aber weil dann wenn als denn dass obwohl""".split()
)
_POINTS_BACK = re.compile(  # a sentence that begins so speaks of what the one before it named
    r"\W*(?:and |but |so |then )?(?:he|she|it|they|his|her|its|their|this|that|these|those|there|"
    r"er|sie|es|das|dies)\b(?! (?:is|was|'s) (?:a|the)? ?\w+ (?:who|that))",
    re.IGNORECASE,
)


class ExtractOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a text is cut.

    Attributes:
        whole_words: Texts of fewer words stay whole.
        window_words: About how many words a piece of speech without punctuation has.
        keep_share: A sentence stays if its score is at least this share of the best one's.
        fill: Spend what is left of the limit on the sentences after those and on the beginning;
            else a memory may come out shorter than the limit.
        first: What being the first sentence counts, against 1 for holding all that is asked for.
        language: Two letters, for the rules of abbreviations ("Dr. Berg").
    """

    whole_words: int = 40
    window_words: int = 20
    keep_share: float = 0.5
    fill: bool = False
    first: float = 0.1
    language: str = "en"


def relevant(
    text: str,
    query_terms: Mapping[str, float] | Iterable[str],
    tokenizer: Tokenizer,
    limit_tokens: int,
    options: ExtractOptions | None = None,
) -> str:
    """Cut a text to the sentences that a query asks for.

    Args:
        text: A memory's text.
        query_terms: The query's tokens, with what each weighs (idf), or 1 each.
        tokenizer: That of the index.
        limit_tokens: How much to keep, estimated.
        options: How to cut.

    Returns:
        Sentences of the text in their order, "…" in the gaps between them; the text itself when it
        is short and fits. Where nothing is asked for, its beginning.
    """
    options = options or ExtractOptions()
    fits = estimate_tokens(text) <= limit_tokens
    if fits and len(text.split(None, options.whole_words)) <= options.whole_words:
        return text
    terms = query_terms if isinstance(query_terms, Mapping) else dict.fromkeys(query_terms, 1.0)
    pieces = _pieces(text, options)
    scores = _scores(pieces, terms, tokenizer)
    best = max(scores, default=0.0)
    if best <= 0 or len(pieces) < 2:
        return text if fits else shorten(" ".join(text.split()), limit_tokens)
    scores[0] += options.first
    kept = _choose(pieces, scores, options.keep_share * best, limit_tokens)
    if kept and options.fill:
        _fill(kept, pieces, limit_tokens)
    if not kept:
        place = max(range(len(pieces)), key=scores.__getitem__)
        return (GAP + " " if place else "") + shorten(pieces[place], limit_tokens)
    return _joined(pieces, sorted(kept))


def _scores(pieces: Sequence[str], terms: Mapping[str, float], tokenizer: Tokenizer) -> list[float]:
    """Score each piece by the share of the query's weight that it holds; long ones count less."""
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
    """Take the best pieces while they fit, each with the one before it where it points there."""
    kept: set[int] = set()
    left = limit - 2  # for the marks of gaps
    for place in sorted(range(len(pieces)), key=lambda n: -scores[n]):
        if scores[place] < least:
            break
        wanted = [place]
        if place and _POINTS_BACK.match(pieces[place]):
            wanted.insert(0, place - 1)
        left -= _take(kept, wanted, pieces, left) or _take(kept, [place], pieces, left)
    return kept


def _fill(kept: set[int], pieces: Sequence[str], limit: int) -> None:
    """Spend what is left on what follows the kept pieces, then on the beginning."""
    left = limit - 2 - sum(estimate_tokens(pieces[n]) + 1 for n in kept)
    after = [n + 1 for n in sorted(kept) if n + 1 < len(pieces)]
    for place in [*after, *range(len(pieces))]:
        left -= _take(kept, [place], pieces, left)


def _take(kept: set[int], wanted: Sequence[int], pieces: Sequence[str], left: int) -> int:
    """Keep pieces if all of them fit, and say what they cost."""
    new = [n for n in wanted if n not in kept]
    cost = sum(estimate_tokens(pieces[n]) + 1 for n in new)
    if cost > left:
        return 0
    kept.update(new)
    return cost


def _joined(pieces: Sequence[str], kept: Sequence[int]) -> str:
    parts = [GAP] if kept[0] else []
    for n, place in enumerate(kept):
        if n and place != kept[n - 1] + 1:
            parts.append(GAP)
        parts.append(pieces[place])
    if kept[-1] != len(pieces) - 1:
        parts.append(GAP)
    return " ".join(parts)


def _pieces(text: str, options: ExtractOptions) -> list[str]:
    pieces: list[str] = []
    for sentence in sentencex.segment(options.language, text):
        words = sentence.split()
        if len(words) > 1.5 * options.window_words:
            pieces += _windows(words, options.window_words)
        elif words:
            pieces.append(" ".join(words))
    return pieces


def _windows(words: Sequence[str], size: int) -> list[str]:
    """Cut speech without punctuation before clause words, into pieces of about a size."""
    pieces, start = [], 0
    while len(words) - start > 1.5 * size:
        places = range(start + size // 2, start + size + size // 4)
        ends = [n for n in places if words[n].lower() in _CLAUSE_WORDS or words[n - 1][-1] in ",;:"]
        end = min(ends, key=lambda n: abs(n - start - size), default=start + size)
        pieces.append(" ".join(words[start:end]))
        start = end
    pieces.append(" ".join(words[start:]))
    return pieces
