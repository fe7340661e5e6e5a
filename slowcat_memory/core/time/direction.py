"""Whether a day that is named without one lies ahead or is over: from the clause that names it.

"I have a dentist appointment on Friday" is the coming Friday, "I went on Friday" the last one. The
nearest verb of the clause decides: of "I heard the wedding is on Friday" it is "is". Without a
verb, that of the clauses beside it; without any, a noun of what is arranged beforehand ("Remember:
exam on Friday"). Where nothing decides the day is unknown: a wrong one is worse.
"""

from bisect import bisect_right
from functools import cached_property
from re import compile

from msgspec import Struct

from slowcat_memory.core.language.tense import TenseWords

_SENTENCE_ENDS = compile(r"[;!?…\n]|(?<!\d)\.(?=\s|$)")


class Verb(Struct, frozen=True):
    """A sign of tense; ``ahead`` is None where it leaves open what happened."""

    start: int
    end: int
    ahead: bool | None
    weak: bool = False


class Tenses(Struct, frozen=True, dict=True):
    """The tenses of a text's clauses."""

    text: str
    words: TenseWords

    def ahead(self, start: int, end: int) -> bool | None:
        """Return whether a day named at ``text[start:end]`` lies ahead; None if that is unknown."""
        bounds = self._bounds
        place = bisect_right(bounds, start) - 1
        left, right = (
            bounds[place],
            bounds[place + 1] if place + 1 < len(bounds) else len(self.text),
        )
        found = self._within(left, right, start, end)
        if found:
            return self._decide(found, left, start, end)
        first, last = self._sentence(start)
        for other in (*self._backward(place, first), *self._forward(place, last)):
            found = self._within(*other, start, end)
            if found:
                return self._decide(found, left, start, end)
        # The past is a closed list of verbs, and the ending -ed: another verb is in the present.
        whole = self.words.begins.match(self.text, first, max(first, start))
        return True if whole or self.words.arranges.search(self.text, first, last) else None

    def clause(self, place: int) -> str:
        """Return the clause around an offset."""
        bounds = [*self._bounds, len(self.text)]
        n = min(bisect_right(bounds, place), len(bounds) - 1)
        return self.text[bounds[n - 1] : bounds[n]]

    def returns(self, start: int) -> bool:
        """Return whether the clause around a day says that it returns, or is always so."""
        place = bisect_right(self._bounds, start) - 1
        left = self._bounds[place]
        right = self._bounds[place + 1] if place + 1 < len(self._bounds) else len(self.text)
        return self.words.returns.search(self.text, left, right) is not None

    def arranged(self, start: int) -> bool:
        """Return whether the sentence of a day names what is arranged beforehand."""
        return self.words.arranges.search(self.text, *self._sentence(start)) is not None

    def moved(self, start: int) -> bool:
        """Return whether the sentence of a day says that something is moved to another."""
        first, last = self._sentence(start)
        return self.words.moves.search(self.text, first, last) is not None

    def _decide(self, found: list[Verb], left: int, start: int, end: int) -> bool | None:
        strong = [verb for verb in found if not verb.weak] or found
        around = [verb for verb in strong if verb.start <= start and end <= verb.end]
        before = [verb for verb in strong if verb.start < start]
        nearest = (around or before[-1:] or strong)[0]
        arranged = self.words.before.search(self.text[left:start])
        return True if nearest.ahead is False and arranged else nearest.ahead

    def _within(self, left: int, right: int, start: int, end: int) -> list[Verb]:
        """Return the verbs of a clause, except words of the day itself ("in March")."""
        return [
            verb
            for verb in self._verbs
            if left <= verb.start < right and not start <= verb.start < end
        ]

    def _sentence(self, start: int) -> tuple[int, int]:
        ends = [match.end() for match in _SENTENCE_ENDS.finditer(self.text)]
        place = bisect_right(ends, start)
        first = ends[place - 1] if place else 0
        return first, ends[place] if place < len(ends) else len(self.text)

    def _backward(self, place: int, first: int) -> list[tuple[int, int]]:
        bounds = self._bounds
        return [(bounds[n], bounds[n + 1]) for n in range(place - 1, -1, -1) if bounds[n] >= first]

    def _forward(self, place: int, last: int) -> list[tuple[int, int]]:
        bounds = [*self._bounds, len(self.text)]
        return [
            (bounds[n], bounds[n + 1])
            for n in range(place + 1, len(bounds) - 1)
            if bounds[n + 1] <= last
        ]

    @cached_property
    def _bounds(self) -> list[int]:
        return [0, *(match.end() for match in self.words.clauses.finditer(self.text))]

    @cached_property
    def _verbs(self) -> list[Verb]:
        kinds = {"ahead": True, "back": False, "weak": True, "neither": None}
        return [
            Verb(
                match.start(),
                match.end(),
                kinds[match.lastgroup or "weak"],
                match.lastgroup == "weak",
            )
            for match in self.words.verbs.finditer(self.text)
        ]
