"""Recognises overview questions, and the periods that they ask about.

"What did we talk about last week?" is answered not by a turn but by the week's summary. Any other
question is answered by the person's own words, without summaries.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta, tzinfo

from slowcat_memory.core.language import LANGUAGES
from slowcat_memory.core.language.data import lazy_pattern
from slowcat_memory.core.text.normalize import fingerprint
from slowcat_memory.core.time.expressions import Interval
from slowcat_memory.core.time.periods import day_of, week_of

MOST_CHARS = 160  # of a question; longer utterances are statements
_BETWEEN = lazy_pattern(r"(?<=[.!?…])(?<!\b\d\.)(?<!\b\d\d\.)\s+")  # not within "11. Mai"
_DAY = lazy_pattern(r"\d{1,2}\.? [^\W\d_]{3,}: ")  # before what belongs to it, in a week
_SPEAKER = lazy_pattern(r"(?P<who>[^\W\d_][\w .'’-]{0,30}): ")
MOST_DAYS = 62  # of a period that is searched by day
_OVERVIEW = lazy_pattern(
    "|".join(pattern for one in LANGUAGES for pattern in one.overview.asks), re.IGNORECASE
)
_ABOUT_A_THING = lazy_pattern(  # followed by a thing: not an overview question
    "|".join(pattern for one in LANGUAGES for pattern in one.overview.about_a_thing), re.IGNORECASE
)


def asks_overview(text: str) -> bool:
    """Return whether a question asks for an overview ("catch me up"), in any language."""
    short = len(text) <= MOST_CHARS
    return short and bool(_OVERVIEW.search(text)) and not _ABOUT_A_THING.search(text)


def without_repeats(texts: Sequence[str]) -> list[str]:
    """Return texts without the sentences that an earlier one has; "" where nothing is left.

    A rule's summary of a week repeats those of its days. A speaker named before a sentence
    ("Anna: ...") or a day ("11 May: ...") stays with it.
    """
    seen, kept = set[str](), list[str]()
    for text in texts:
        parts, who, named, day = list[str](), "", "", ""
        for sentence in _BETWEEN.split(text):
            if dated := _DAY.match(sentence):
                who, named, day = "", "", dated[0]
                sentence = sentence[dated.end() :]
            if label := _SPEAKER.match(sentence):
                who, sentence = label["who"], sentence[label.end() :]
            words = fingerprint(sentence)
            if words and words not in seen:
                parts.append(f"{day}{who}: {sentence}" if who != named else f"{day}{sentence}")
                named, day = who, ""
            seen.add(words)
        kept.append(" ".join(parts))
    return kept


def names(intervals: Sequence[Interval], now: datetime, zone: tzinfo) -> Iterator[str]:
    """Yield the periods ("week/2026-W20") whose summaries cover a time, the widest first.

    Without ``intervals`` these are the latest periods.
    """
    spans = [(one.start, one.end) for one in intervals] or [(now - timedelta(days=8), now)]
    for start, end in spans:
        length = end - start
        if length > timedelta(days=3):
            weeks = (week_of(at, zone) for at in _days(start, end))
            inside = {
                w.name for w in weeks if min(w.end, end) - max(w.start, start) >= timedelta(days=4)
            }
            yield from (f"week/{name}" for name in sorted(inside, reverse=True))
        noon = [at + timedelta(hours=12) for at in _days(start, end)]
        days = dict.fromkeys(day_of(at, zone).name for at in noon)
        yield from (f"day/{name}" for name in sorted(days, reverse=True))


def _days(start: datetime, end: datetime) -> Iterator[datetime]:
    for n in range(min(MOST_DAYS, max(1, -(-(end - start) // timedelta(days=1))))):
        yield start + timedelta(days=n)
