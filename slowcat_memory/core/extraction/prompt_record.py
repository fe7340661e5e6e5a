"""A session in prompts: which turns a call sees, and their format, one line per turn.

The lines are enclosed in a fence that no speaker can close.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, tzinfo

from slowcat_memory.core.language import words_of_any
from slowcat_memory.core.language.english.vocabulary import EMPTY
from slowcat_memory.core.language.names import is_given_name
from slowcat_memory.core.text.normalize import estimate_tokens, hex_digest, neutralise
from slowcat_memory.core.text.rare_words import rare_words
from slowcat_memory.records import Turn

FEWEST_CHARS = 80  # of a turn that is cut to fit all
Aliases = dict[str, tuple[str, ...]]
"""Names under which models send the fields of a reply, by field, the likeliest first."""

TURN_NAMES = ("turn_id", "turn_number", "turn_no", "id", "number", "index", "line")
CONFIDENCE_NAMES = ("certainty", "confidence_level", "level")

_WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
BEFORE, AFTER = 2, 1  # neighbours that affect a turn's description
SMALL_TALK_WORDS = 6
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_PLEASANTRIES = EMPTY | words_of_any(lambda language: language.facts.pleasantries)


def digest(version: int, turns: Sequence[Turn], place: int, zone: tzinfo) -> str:
    """Return a hash (16 characters) of the prompt version, a turn, its neighbours and its day."""
    near = turns[max(0, place - BEFORE) : place + AFTER + 1]
    lines = [f"{turn.speaker}: {turn.text}" for turn in near]
    day = f"{turns[place].at.astimezone(zone):%Y-%m-%d}"
    return hex_digest("\n".join((str(version), day, *lines)))


def small_talk(text: str) -> bool:
    """Return whether a turn is a few words without a name, number or other content."""
    words = [word.lower() for word in _WORD.findall(text)]
    if len(words) > SMALL_TALK_WORDS or any(word.isdecimal() for word in words):
        return False
    if any(word.partition("'")[0] not in _PLEASANTRIES for word in words):
        return False
    return not any(word.named and is_given_name(word.form.lower()) for word in rare_words(text))


def windows(sizes: Sequence[int], room: int, shared: int) -> Iterator[range]:
    """Yield overlapping spans of a conversation that fit a prompt, as positions of turns.

    A single turn that does not fit is a span of its own.

    Args:
        room: Most tokens of a span.
        shared: Number of turns that two consecutive spans share.
    """
    start = 0
    while start < len(sizes):
        end, used = start, 0
        while end < len(sizes) and (end == start or used + sizes[end] <= room):
            used += sizes[end]
            end += 1
        yield range(start, end)
        if end == len(sizes):
            return
        start = max(start + 1, end - shared)


def groups(
    wanted: Iterable[int], stretches: Sequence[range], most: int
) -> Iterator[tuple[range, list[int]]]:
    """Yield spans from `windows` with the requested positions in each, at most ``most``.

    Those of one span are divided evenly: 17 are 9 and 8, not 16 and 1.
    A turn in several spans is assigned to the one with most of its neighbours.
    """
    shared: dict[range, list[int]] = {}
    for place in wanted:
        around = [stretch for stretch in stretches if place in stretch]
        shared.setdefault(max(around, key=lambda near: _neighbours(place, near)), []).append(place)
    for stretch, places in shared.items():
        size = -(-len(places) // -(-len(places) // most))
        for start in range(0, len(places), size):
            yield stretch, places[start : start + size]


def _neighbours(place: int, stretch: range) -> int:
    """Return how many of a turn's relevant neighbours are in a span."""
    return min(place - stretch.start, BEFORE) + min(stretch.stop - 1 - place, AFTER)


def fenced(turns: Sequence[Turn], zone: tzinfo, turn_chars: int) -> str:
    """Return turns as a record: time and speakers, then the lines between two fences.

    Args:
        turns: The visible part of the conversation, in order, at least one turn.
        turn_chars: Characters of one turn; the middle of a longer one is cut.
    """
    began = turns[0].at.astimezone(zone)
    speakers = ", ".join(dict.fromkeys(neutralise(turn.speaker) for turn in turns))
    return (
        f"Conversation of {day_name(began.date())}, {began:%H:%M} (time zone {zone}). "
        f"Who speaks: {speakers}.\n{between_fences(_lines(turns, zone, turn_chars))}"
    )


def between_fences(lines: Iterable[str]) -> str:
    """Return lines between two fences, whose mark no speaker can know: a hash of them."""
    text = "\n".join(lines)
    mark = hex_digest(text, 6)
    return f"=== record {mark} ===\n{text}\n=== end of record {mark} ==="


def line(turn: Turn, turn_chars: int) -> str:
    """Return a turn as one neutralised line of the record."""
    text = neutralise(turn.text)
    if len(text) > turn_chars:
        text = f"{text[: turn_chars * 2 // 3]} … {text[-turn_chars // 3 :]}"
    return f"[{turn.id}] {neutralise(turn.speaker)}: {text}"


def fitting(turns: Sequence[Turn], room: int, most: int) -> int:
    """Return the characters per turn with which all turns fit ``room`` tokens.

    At least ``FEWEST_CHARS``, even if that does not fit, and at most ``most``.
    """
    chars = most
    while chars > FEWEST_CHARS and sum(estimate_tokens(line(t, chars)) + 1 for t in turns) > room:
        chars = max(FEWEST_CHARS, chars * 2 // 3)
    return chars


def day_name(day: date) -> str:
    """Return a day with its weekday, so that the LLM need not compute it: "Tuesday 2026-05-12"."""
    return f"{_WEEKDAYS[day.weekday()]} {day.isoformat()}"


def _lines(turns: Sequence[Turn], zone: tzinfo, turn_chars: int) -> Iterator[str]:
    """Yield a line per turn, and one at each change of day."""
    day = turns[0].at.astimezone(zone).date()
    for turn in turns:
        if (today := turn.at.astimezone(zone).date()) != day:
            day = today
            yield f"({day_name(day)})"
        yield line(turn, turn_chars)
