"""Whether texts about the turns of a conversation stand beside the right ones.

A small model often shifts its answers by one turn, or gives many turns the same text: names and
numbers of such a text occur, but in another turn. The words of a text speak for the turns that have
them, a rare word more; turns beside one another share their subject, so a single text is refused
only if it has next to nothing of its own turn, and a whole reply if it fits better one turn on.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from math import log

from msgspec import Struct

from slowcat_memory.core.language.english.vocabulary import STOP_WORDS
from slowcat_memory.core.text.normalize import fingerprint
from slowcat_memory.core.text.numerals import values

STEM = 5  # common first letters of two forms of a word
_SHIFTS = (-2, -1, 1, 2)


class Placed(Struct, frozen=True):
    """A turn's place in a conversation, and a text about it."""

    place: int
    text: str


def stems(text: str) -> frozenset[str]:
    """Return the content words of a text, and its numbers however they are written."""
    words = {word[:STEM] for word in fingerprint(text).split() if word not in STOP_WORDS}
    return frozenset(words | {str(value) for value in values(text)})


def misplaced(turns: Sequence[str], speakers: Sequence[str], texts: Sequence[Placed]) -> set[int]:
    """Return the places whose text is about other turns.

    Args:
        turns: What was said, in order.
        speakers: Of each turn; names say nothing about the place of a text.
        texts: At most one for each turn.
    """
    scores = _Scores(turns, speakers)
    found = {one.place for one in texts if scores.is_of_another(one)}
    for shift in _SHIFTS:
        moved = [one for one in texts if 0 <= one.place + shift < len(turns)]
        found |= _shifted(scores, moved, {one.place: one.place + shift for one in moved})
    for step in (-1, 1):  # among the turns that have a text
        order = [one.place for one in texts]
        found |= _shifted(
            scores, texts, dict(zip(order, [*order[step:], *order[:step]], strict=True))
        )
    return found


def _shifted(scores: "_Scores", texts: Sequence[Placed], to: Mapping[int, int]) -> set[int]:
    """Return the places of texts that fit other turns better, if most of a reply's do."""
    pairs = [
        (one, scores.share(one.text, one.place), scores.share(one.text, to[one.place]))
        for one in texts
    ]
    better = sum(there > here for _, here, there in pairs)
    worse = sum(there < here for _, here, there in pairs)
    if better < 2 or better <= 2 * worse:
        return set()
    return {one.place for one, here, there in pairs if there >= here}


class _Scores:
    """How much a text has of each turn."""

    def __init__(self, turns: Sequence[str], speakers: Sequence[str]) -> None:
        names = frozenset[str]().union(*map(stems, speakers))
        self._turns = [stems(turn) - names for turn in turns]
        self._names, self._speakers = names, speakers
        often = Counter(stem for turn in self._turns for stem in turn)
        self._weights = {stem: log(1 + len(turns) / n) for stem, n in often.items()}

    def share(self, text: str, place: int) -> float:
        """Return the weight of the words that a text and a turn share."""
        return self._weight(stems(text) & self._turns[place])

    def is_of_another(self, one: Placed) -> bool:
        words = stems(one.text) - self._names
        near = self._turns[max(0, one.place - 2) : one.place + 1]
        if words & frozenset[str]().union(*near):
            return False
        return any(len(words & turn) > 2 for turn in self._turns)

    def _weight(self, words: frozenset[str]) -> float:
        return sum(self._weights[word] for word in words)
