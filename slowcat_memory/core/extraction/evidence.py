"""Evidence for a statement: its quote, whether it is a question, its date and its source turns."""

import re
from collections.abc import Sequence
from datetime import date, datetime, tzinfo

from msgspec import Struct

from slowcat_memory.core.extraction.grounding import Ground, strays
from slowcat_memory.core.language.english.vocabulary import STOP_WORDS
from slowcat_memory.core.text.normalize import fingerprint
from slowcat_memory.core.time.expressions import times
from slowcat_memory.records import Turn

LEAST_WORDS, LEAST_CHARS = 2, 5  # of a quote: a shorter one occurs in any turn
STEM = 4  # common first letters of two forms of a word
_DAY = re.compile(r"(\d{4})(?:-(\d\d))?(?:-(\d\d))?(?!\d)")
_SENTENCES = re.compile(r"[^.!?…。！？\n]*[.!?…。！？\n]*")


class Dated(Struct, frozen=True):
    """The day of a statement ("2026-05-12", "2026-05", "2026" or ""), and since when it is true."""

    day: str
    since: datetime


def quoted(quote: str, text: str) -> bool:
    """Return whether a quote is verbatim, but for case and punctuation, and long enough."""
    words = fingerprint(quote)
    enough = len(words.split()) >= LEAST_WORDS and len(words) >= LEAST_CHARS
    return enough and f" {words} " in f" {fingerprint(text)} "


def asks(quote: str, text: str) -> bool:
    """Return whether a quote ends in a question of the text; a question is no statement."""
    words = fingerprint(quote)
    read = ""
    for sentence in _SENTENCES.findall(text):
        read = f"{read} {fingerprint(sentence)}".strip()
        if f" {words} " in f" {read} ":
            return "?" in sentence or "？" in sentence
    return False


def dated(quote: str, turn: Turn, date_written: str, ground: Ground, zone: tzinfo) -> Dated:
    """Return the day of a statement.

    A day in the quote counts first, then the extractor's date, if near a day in the conversation. A
    statement is true since its day if that is past, else since it was said.

    Args:
        date_written: The extractor's date; "" for none.
    """
    said = next((one for one in times(quote, turn.at, zone) if not one.vague), None)
    if said is not None:
        day = said.start.astimezone(zone)
        # Of a longer span, the part of the date that all its days share.
        days = (said.end - said.start).days
        form = "%Y-%m-%d" if days <= 7 else "%Y-%m" if days <= 31 else "%Y"
        return Dated(day.strftime(form), min(said.start, turn.at))
    match = _DAY.match(date_written.strip())
    if match is None or strays(match[0], ground):
        return Dated("", turn.at)
    year, month, day_ = (int(part) if part else 0 for part in match.groups())
    try:
        first = date(year, month or 1, day_ or 1)
    except ValueError:  # not a calendar day
        return Dated("", turn.at)
    since = datetime(first.year, first.month, first.day, tzinfo=zone).astimezone(turn.at.tzinfo)
    if first == turn.at.astimezone(zone).date():
        return Dated(match[0], turn.at)
    return Dated(match[0], min(since, turn.at))


def words_of(text: str) -> dict[str, str]:
    """Return the content words of a text by stem."""
    return {word[:STEM]: word for word in fingerprint(text).split() if word not in STOP_WORDS}


def shared(content: str, text: str, subject: str) -> bool:
    """Return whether a statement shares a content word with its turn, apart from its subject."""
    own = words_of(content).keys() - words_of(subject).keys()
    return bool(own & words_of(text).keys())


def needed(content: str, turn: Turn, seen: Sequence[Turn]) -> tuple[int, ...]:
    """Return the log ids of the turns that a statement was made from, its own turn first.

    Words missing in its own turn come from other turns; the statement must not outlive these.
    """
    missing = words_of(content).keys() - words_of(f"{turn.speaker} {turn.text}").keys()
    found = [turn.id]
    for other in sorted(seen, key=lambda one: (abs(one.id - turn.id), one.id)):
        held = missing & words_of(other.text).keys()
        if other.id != turn.id and held:
            found.append(other.id)
            missing -= held
    return tuple(found)
