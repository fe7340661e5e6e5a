"""Which turns are described together, and which of them must be described anew."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import tzinfo

from slowcat_memory.core.text.rare_words import rare_words
from slowcat_memory.core.text.word_lists import EMPTY
from slowcat_memory.records import Turn

BEFORE, AFTER = 2, 1  # neighbours whose words change what a turn is about
SMALL_TALK_WORDS = 6
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_PLEASANTRIES = EMPTY | frozenset(
    """bye goodbye morning evening night cheers lol haha wow welcome awesome perfect absolutely
    definitely totally exactly agreed indeed fine cool alright good great nice day see later talk soon
    take care true yup nah yay hmm mhm danke bitte ja nein genau gut super hallo tschüss""".split()
)


def digest(version: int, turns: Sequence[Turn], place: int, zone: tzinfo) -> str:
    """Reduce a turn, its neighbours and its day to what tells whether anything has changed.

    Args:
        version: Of the prompt.
        turns: A session's turns, in order.
        place: Which of them.
        zone: The user's time zone.

    Returns:
        16 characters.
    """
    near = turns[max(0, place - BEFORE) : place + AFTER + 1]
    said = [f"{turn.speaker}: {turn.text}" for turn in near]
    words = "\n".join((str(version), f"{turns[place].at.astimezone(zone):%Y-%m-%d}", *said))
    return hashlib.blake2b(words.encode(), digest_size=8).hexdigest()


def small_talk(text: str) -> bool:
    """Tell whether a turn is so small that nothing is to be said about it.

    Args:
        text: What was said.

    Returns:
        True for a few words without a name, a number or anything else that has a meaning.
    """
    words = [word.lower() for word in _WORD.findall(text)]
    if len(words) > SMALL_TALK_WORDS or any(word.isdecimal() for word in words):
        return False
    if any(word.partition("'")[0] not in _PLEASANTRIES for word in words):
        return False
    return not any(word.named for word in rare_words(text))


def windows(sizes: Sequence[int], room: int, shared: int) -> Iterator[range]:
    """Cut a conversation into stretches that fit a prompt, each beginning within the one before.

    Args:
        sizes: What each turn takes, in tokens.
        room: What a stretch may take.
        shared: How many turns two stretches have in common.

    Yields:
        Places of turns, in order. A single turn that does not fit is a stretch of its own.
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
    """Share out turns among stretches, a few a question.

    Args:
        wanted: Places of the turns that are asked about, in order.
        stretches: From `windows`.
        most: How many turns a question asks about.

    Yields:
        A stretch, and which of its places are asked about.
    """
    shared: dict[range, list[int]] = {}
    for place in wanted:
        around = [stretch for stretch in stretches if place in stretch]
        shared.setdefault(max(around, key=lambda one: _neighbours(place, one)), []).append(place)
    for stretch, places in shared.items():
        for start in range(0, len(places), most):
            yield stretch, places[start : start + most]


def _neighbours(place: int, stretch: range) -> int:
    """Count the neighbours that matter to a turn and lie in its stretch."""
    return min(place - stretch.start, BEFORE) + min(stretch.stop - 1 - place, AFTER)
