"""How a session is divided into calls of an LLM, and when a turn must be described again."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import tzinfo

from slowcat_memory.core.text.rare_words import worth_knowing
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
    """Return 16 characters that change with the prompt, a turn, its neighbours or its day.

    Args:
        version: Of the prompt.
        turns: A session's turns, in order.
        place: Of the turn among them.
        zone: The user's time zone.
    """
    near = turns[max(0, place - BEFORE) : place + AFTER + 1]
    said = [f"{turn.speaker}: {turn.text}" for turn in near]
    words = "\n".join((str(version), f"{turns[place].at.astimezone(zone):%Y-%m-%d}", *said))
    return hashlib.blake2b(words.encode(), digest_size=8).hexdigest()


def small_talk(text: str) -> bool:
    """Return whether a turn is a few words without a name, a number or any other content."""
    words = [word.lower() for word in _WORD.findall(text)]
    if len(words) > SMALL_TALK_WORDS or any(word.isdecimal() for word in words):
        return False
    if any(word.partition("'")[0] not in _PLEASANTRIES for word in words):
        return False
    return not any(word.named for word in worth_knowing(text))


def windows(sizes: Sequence[int], room: int, shared: int) -> Iterator[range]:
    """Divide a conversation into spans that fit a prompt, each beginning within the one before.

    Args:
        sizes: Tokens of each turn.
        room: Tokens that a span may have.
        shared: How many turns two spans have in common.

    Yields:
        Places of turns, in order. A single turn that does not fit is a span of its own.
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
    """Assign the turns that are asked about to spans, at most ``most`` per call.

    Yields:
        A span from `windows`, and the places in it that are asked about. Of several spans a turn goes to
        the one with the most of its neighbours.
    """
    shared: dict[range, list[int]] = {}
    for place in wanted:
        around = [stretch for stretch in stretches if place in stretch]
        shared.setdefault(max(around, key=lambda one: _neighbours(place, one)), []).append(place)
    for stretch, places in shared.items():
        for start in range(0, len(places), most):
            yield stretch, places[start : start + most]


def _neighbours(place: int, stretch: range) -> int:
    """Return how many of the neighbours that matter to a turn lie in its span."""
    return min(place - stretch.start, BEFORE) + min(stretch.stop - 1 - place, AFTER)
