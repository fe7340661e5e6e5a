"""Evidence for a statement: is it quoted, is it a question, which day and which turns does it need?"""

import re
from collections.abc import Sequence
from datetime import date, datetime, tzinfo

from msgspec import Struct

from slowcat_memory.core.extraction.grounding import Ground, strays
from slowcat_memory.core.language.english.vocabulary import STOP_WORDS
from slowcat_memory.core.text.normalize import fingerprint
from slowcat_memory.core.time.expressions import times
from slowcat_memory.records import Turn

LEAST_WORDS, LEAST_CHARS = 2, 5  # of a quote: less stands in any turn
STEM = 4  # letters that two forms of a word begin with
_DAY = re.compile(r"(\d{4})(?:-(\d\d))?(?:-(\d\d))?(?!\d)")
_SENTENCES = re.compile(r"[^.!?…。！？\n]*[.!?…。！？\n]*")


class Dated(Struct, frozen=True):
    """When something is true.

    Attributes:
        day: As it was said: "2026-05-12", "2026-05", "2026"; "" where no day is named.
        since: Since when it holds.
    """

    day: str
    since: datetime


def quoted(quote: str, text: str) -> bool:
    """Return whether a quote stands in a text word for word, and is long enough to be evidence.

    Case and punctuation do not count.
    """
    words = fingerprint(quote)
    enough = len(words.split()) >= LEAST_WORDS and len(words) >= LEAST_CHARS
    return enough and f" {words} " in f" {fingerprint(text)} "


def asks(quote: str, text: str) -> bool:
    """Return whether a quote ends in a question of the text; a question states nothing."""
    words = fingerprint(quote)
    read = ""
    for sentence in _SENTENCES.findall(text):
        read = f"{read} {fingerprint(sentence)}".strip()
        if f" {words} " in f" {read} ":
            return "?" in sentence or "？" in sentence
    return False


def dated(quote: str, turn: Turn, date_written: str, ground: Ground, zone: tzinfo) -> Dated:
    """Return the day that a statement speaks of.

    A day in the quote counts first, then the day that the extractor wrote, if it lies near one that
    was spoken of. A statement holds since that day when it is over, else since it was said.

    Args:
        date_written: What the extractor wrote; "" for nothing.
    """
    said = next((one for one in times(quote, turn.at, zone) if not one.vague), None)
    if said is not None:
        day = said.start.astimezone(zone)
        # Of a longer stretch, as much of the date as all its days have in common.
        days = (said.end - said.start).days
        form = "%Y-%m-%d" if days <= 7 else "%Y-%m" if days <= 31 else "%Y"
        return Dated(day.strftime(form), min(said.start, turn.at))
    match = _DAY.match(date_written.strip())
    if match is None or strays(match[0], ground):
        return Dated("", turn.at)
    year, month, day_ = (int(part) if part else 0 for part in match.groups())
    try:
        first = date(year, month or 1, day_ or 1)
    except ValueError:  # no day of the calendar
        return Dated("", turn.at)
    since = datetime(first.year, first.month, first.day, tzinfo=zone).astimezone(turn.at.tzinfo)
    if first == turn.at.astimezone(zone).date():
        return Dated(match[0], turn.at)
    return Dated(match[0], min(since, turn.at))


def words_of(text: str) -> dict[str, str]:
    """Return the content words of a text, by the stem that their forms have in common."""
    return {word[:STEM]: word for word in fingerprint(text).split() if word not in STOP_WORDS}


def shared(content: str, text: str, subject: str) -> bool:
    """Return whether a statement shares a content word with its turn, apart from its subject."""
    own = words_of(content).keys() - words_of(subject).keys()
    return bool(own & words_of(text).keys())


def needed(content: str, turn: Turn, seen: Sequence[Turn]) -> tuple[int, ...]:
    """Return the log ids of the turns that a statement was made from, its own turn first.

    Words that its own turn does not hold come from others, and it must not outlive these.
    """
    missing = words_of(content).keys() - words_of(f"{turn.speaker} {turn.text}").keys()
    found = [turn.id]
    for other in sorted(seen, key=lambda one: (abs(one.id - turn.id), one.id)):
        held = missing & words_of(other.text).keys()
        if other.id != turn.id and held:
            found.append(other.id)
            missing -= held
    return tuple(found)
