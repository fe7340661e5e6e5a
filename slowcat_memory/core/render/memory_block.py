"""The memory block that recall puts before the user message, within a token budget.

The LLM's answer is read aloud, so the block has plain words, speakable dates, no ids, and no markup
but its tag. The best memory comes last, next to the question; of two on the same matter, the newer
one comes after the older.
"""

import re
from collections.abc import Callable, Mapping, Sequence, Set
from datetime import datetime, tzinfo
from itertools import groupby, pairwise
from typing import Annotated, Literal

import sentencex
from msgspec import Meta, Struct
from msgspec.structs import replace

from slowcat_memory.core.language import ENGLISH, LANGUAGES, Language, language_of
from slowcat_memory.core.language.names import is_ordinary
from slowcat_memory.core.memory import BLOCK, family, turn_of
from slowcat_memory.core.render.attribution import attributed
from slowcat_memory.core.render.speech import speakable, spoken_date, spoken_day, spoken_until
from slowcat_memory.core.text.normalize import (
    Tokenizer,
    content_words,
    estimate_tokens,
    fold,
    neutralise,
)
from slowcat_memory.core.text_caches import text_cache
from slowcat_memory.core.time.written_dates import MONTHS
from slowcat_memory.records import Disclosed, Hit

OPEN, CLOSE = "<memories>", "</memories>"
SUMMARY = "summary"  # a family of memories
SAME_MATTER = 0.5  # share of the shorter memory's content words that both have

Cut = Callable[[str, int], str]
"""Cuts a text to a number of tokens, estimated."""


class PackOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Size and form of the memory block.

    Attributes:
        memory_token_budget: Estimated tokens of a turn's block. All of them are prefilled while the
            user waits: 800 or 1000 cost about a second on a laptop.
        memories: Most memories in a block.
        memory_tokens: Most tokens of one memory; a longer one is cut to an excerpt.
        now: When the block has the date and time, in the user's time zone: "asked" for questions
            about time (even in a block of its own), "always" in every block with memories, or
            "never". About 12 tokens, a quarter of what a turn adds to a long conversation.
        speakable: Write links, emoji, marks of emphasis and dates in digits as words that can be
            read aloud; off for an agent that answers in writing.
    """

    memory_token_budget: Annotated[int, Meta(ge=0, le=100_000)] = 256
    memories: Annotated[int, Meta(ge=0, le=1000)] = 6
    memory_tokens: Annotated[int, Meta(ge=1, le=100_000)] = 80
    now: Literal["never", "asked", "always"] = "asked"
    speakable: bool = True


class Packed(Struct, frozen=True):
    """A memory block ("" when nothing fits), its hits, best first, and its estimated tokens."""

    text: str
    hits: tuple[Hit, ...]
    tokens: int


def instruction(language: str = "english", search: str = "") -> str:
    """Return the system prompt text about the block; ``search`` is the search tool, or ""."""
    words = language_of(language).memory_block
    hint = f" {words.search.format(tool=search)}" if search else ""
    return words.instruction.format(tag=OPEN) + hint


def pack(
    hits: list[Hit],
    now: datetime,
    zone: tzinfo,
    options: PackOptions,
    cut: Cut | None = None,
    *,
    language: str = "english",
    unknown: bool = False,
    unchanged: bool = False,
    asks_time: bool = False,
) -> Packed:
    """Fill the budget with the best hits; one that does not fit is skipped for shorter ones.

    Args:
        hits: Best first.
        cut: Cuts a memory's text; None keeps its beginning.
        language: Of the words around the memories, as in ``language_of``.
        unknown: Whether to state that no memory answers the question.
        unchanged: Whether to state that the turn changed nothing in the memory.
    """
    words = language_of(language)
    used = estimate_tokens(OPEN) + estimate_tokens(CLOSE)
    notes: list[str] = []
    always = options.now == "always" and (hits or unknown or unchanged)
    if always or (options.now == "asked" and asks_time):
        notes.append(f"- {spoken_now(now, zone, words)}")
    if unknown:
        notes.append(f"- {words.memory_block.unknown}")
    if unchanged:
        notes.append(f"- {words.memory_block.unchanged}")
    used += sum(estimate_tokens(line) + 1 for line in notes)
    if notes and used > options.memory_token_budget:
        return Packed("", (), 0)
    kept: list[tuple[Hit, str]] = []
    for hit in hits:
        if len(kept) == options.memories:
            break
        memory = hit.memory
        if not memory.text.strip():
            continue
        if options.speakable:
            memory = replace(memory, text=speakable(memory.text, words.dates))
        line = memory_line(memory, now, zone, options.memory_tokens, cut, words)
        cost = estimate_tokens(line) + 1
        if used + cost <= options.memory_token_budget:
            kept.append((hit, line))
            used += cost
    if not kept and not notes:
        return Packed("", (), 0)
    for place, (hit, line) in enumerate(kept):
        clear = in_clear_words(hit.memory, line, options.memory_token_budget - used)
        if clear != line:
            used += estimate_tokens(clear) - estimate_tokens(line)
            kept[place] = (hit, clear)
    lines = [line for _, line in _newest_last(kept[::-1])]
    return Packed("\n".join((OPEN, *notes, *lines, CLOSE)), tuple(hit for hit, _ in kept), used)


def memory_line(
    memory: Disclosed,
    now: datetime,
    zone: tzinfo,
    limit: int,
    cut: Cut | None = None,
    language: Language = ENGLISH,
) -> str:
    """Return one line of the block, as in ``- (12 May) Anna: My dog is called Max``.

    Derived text has no speaker, and a block no date: it was only written then. ``cut`` cuts its
    text; None keeps its beginning.
    """
    told = memory.text
    if family(memory.kind) == SUMMARY:  # what may be an order is quoted or left out
        told = attributed(told, language.preamble.somebody, language)
    text = (cut or shorten)(neutralise(told), limit)
    if family(memory.kind) == BLOCK:
        return f"- {text}"
    when = spoken_date(memory.valid_from, now, zone, language.dates)
    words, over = language.memory_block, mark_of(memory, now, zone, language)
    if over:
        when = f"{when}; {over}" if memory.facets.get("over") else over
    if memory.facets.get("earlier"):
        when = words.earlier.format(when)
    if memory.made is not None and not turn_of(memory.id):
        return f"- ({when}) {text}"
    who = words.agent if memory.role == "assistant" else neutralise(memory.speaker)
    return f"- ({when}) {who}: {text}"


def mark_of(memory: Disclosed, now: datetime, zone: tzinfo, language: Language = ENGLISH) -> str:
    """Return until when a memory, or which part of it, was true; "" for what holds."""
    if memory.valid_to is not None and memory.valid_to <= now:
        return spoken_until(memory.valid_to, now, zone, language.dates)
    if over := memory.facets.get("over"):
        until = datetime.fromisoformat(memory.facets["until"])
        return f"{spoken_until(until, now, zone, language.dates)}: {neutralise(over)}"
    return ""


def spoken_now(now: datetime, zone: tzinfo, language: Language = ENGLISH) -> str:
    """Return the current time: "(now) Saturday 21 November, 22:05"."""
    here = now.astimezone(zone)
    return language.memory_block.now.format(
        weekday=language.dates.weekdays[here.weekday()],
        date=spoken_day(here.date(), language.dates),
        time=f"{here.hour}:{here.minute:02}",
    )


def _newest_last(lines: list[tuple[Hit, str]]) -> list[tuple[Hit, str]]:
    """Sort memories on the same matter by time, within the positions that they occupy."""
    if all(
        hit.memory.valid_from <= other.memory.valid_from for (hit, _), (other, _) in pairwise(lines)
    ):
        return lines
    about = [frozenset(map(str.casefold, content_words(hit.memory.text))) for hit, _ in lines]
    ordered = list(lines)
    for first in range(len(lines)):
        own = about[first]
        places = [
            n
            for n, other in enumerate(about)
            if n == first or len(own & other) > SAME_MATTER * max(1, min(len(own), len(other)))
        ]
        held = sorted((ordered[n] for n in places), key=lambda pair: pair[0].memory.valid_from)
        for place, pair in zip(places, held, strict=True):
            ordered[place] = pair
    return ordered


def shorten(text: str, limit: int) -> str:
    """Return a text, or its beginning up to a word and an ellipsis."""
    if estimate_tokens(text) <= limit:
        return text
    room = max(1, 4 * limit - 3)  # bytes, without the ellipsis
    fits = text.encode("utf-8", "replace")[:room].decode("utf-8", "ignore")
    whole = fits.rpartition(" ")[0]
    kept = whole if len(whole) > len(fits) // 2 else fits  # some scripts have no spaces
    return " ".join(kept.split()[: max(1, 3 * limit // 4)]) + "…"


# ------------------------------------------------------------------- facts in clear words

FACTS = "facts"  # the facet with a turn's facts, one a line
MOST = 2  # facts of a turn
_WORD = re.compile(r"[^\W\d_]+")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
GAP = "…"


def in_clear_words(memory: Disclosed, line: str, room: int) -> str:
    """Return a memory's line with what facts add to it, if they fit a number of tokens."""
    facts = memory.facets.get(FACTS, "")
    if not facts:
        return line
    parts, shown = list[str](), _words(f"{line} {memory.speaker}")
    for fact in facts.splitlines():
        new = _names(fact) - shown
        lacks = GAP in line and any(number not in line for number in _NUMBER.findall(fact))
        if len(parts) < MOST and (any(map(_is_name, new)) or lacks):
            cost = estimate_tokens(fact) + 2
            if cost <= room:
                parts.append(neutralise(fact))
                shown |= _words(fact)
                room -= cost
    return f"{line} ({' '.join(parts)})" if parts else line


def _words(text: str) -> set[str]:
    return set(_WORD.findall(fold(text)))


@text_cache(1024)
def _names(fact: str) -> frozenset[str]:
    """Return the words of a fact that may be names or months, folded."""
    words = _WORD.findall(fact)
    return frozenset(fold(word) for word in words if word[0].isupper() or fold(word) in MONTHS)


def _is_name(word: str) -> bool:
    return word in MONTHS or (len(word) > 1 and not is_ordinary(word))


_CLAUSE_WORDS = frozenset[str]().union(*(language.summary.clause for language in LANGUAGES))
_POINTS_BACK = re.compile(  # beginnings that refer to the sentence before
    r"\W*(?:and |but |so |then )?(?:"
    + "|".join(language.summary.points_back for language in LANGUAGES)
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
    query_terms: Mapping[str, float],
    tokenizer: Tokenizer,
    limit_tokens: int,
    options: ExtractOptions,
    language: str = "english",
) -> str:
    """Return the sentences of a text that match a query.

    Args:
        query_terms: The query's tokens with their weights (idf).
        language: Of the rules of abbreviations ("Dr. Berg"), as in ``language_of``.

    Returns:
        Sentences of the text in order, "…" for the gaps; the text itself if it is short and fits;
        its beginning if it has no query terms.
    """
    fits = estimate_tokens(text) <= limit_tokens
    if fits and len(text.split(None, options.whole_words)) <= options.whole_words:
        return text
    pieces = _pieces(text, language_of(language).code, options.window_words)
    scores = _scores(pieces, query_terms, tokenizer)
    best = max(scores, default=0.0)
    if best <= 0 or len(pieces) < 2:
        return text if fits else shorten(" ".join(text.split()), limit_tokens)
    scores[0] += options.first
    kept = _choose(pieces, scores, options.keep_share * best, limit_tokens)
    if not kept:
        place = max(range(len(pieces)), key=scores.__getitem__)
        return (GAP + " " if place else "") + shorten(pieces[place], limit_tokens)
    return _join(pieces, kept)


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
    room = limit - 2  # for the gap marks
    for place in sorted(range(len(pieces)), key=lambda n: -scores[n]):
        if scores[place] < least:
            break
        wanted = [place]
        if place and _POINTS_BACK.match(pieces[place]):
            wanted.insert(0, place - 1)
        room -= _keep(kept, wanted, pieces, room) or _keep(kept, [place], pieces, room)
    return kept


def _keep(kept: set[int], wanted: Sequence[int], pieces: Sequence[str], room: int) -> int:
    """Keep pieces if all of them fit; return their number of tokens."""
    new = [n for n in wanted if n not in kept]
    cost = sum(estimate_tokens(pieces[n]) + 1 for n in new)
    if cost > room:
        return 0
    kept.update(new)
    return cost


def _join(pieces: Sequence[str], kept: Set[int]) -> str:
    """Return the kept pieces in order, and a mark for each gap."""
    places = groupby(range(len(pieces)), key=lambda place: place if place in kept else -1)
    return " ".join(GAP if place < 0 else pieces[place] for place, _ in places)


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
