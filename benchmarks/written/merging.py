"""What a diary says of two facts in a prompt: whether the newer repeats the older or replaces it."""

import re
from collections.abc import Iterator

from msgspec import Struct

from benchmarks.written.diary import Diary
from slowcat_memory.core.text.normalize import fingerprint

ALIKE = 0.6
_PAIR = re.compile(r"^(\d+)[.):]? (older|newer)\b[^:]*: (.*)$", re.M)


class PairVerdict(Struct, frozen=True):
    """A pair, by the ids of its facts ("" for unknown), and the good answer."""

    older: str
    newer: str
    same: bool
    text: str = ""


class Pairs:
    """Answers pairs of facts."""

    def __init__(self, diary: Diary) -> None:
        self._texts = {fact.content: id for id, (_, fact) in diary.facts().items()}
        self._texts |= {one.text: one.newer for one in diary.same if one.text}
        self._joins = {frozenset((one.older, one.newer)): one.text for one in diary.same}
        self._replaced = dict[str, set[str]]()
        for one in diary.changes:
            self._replaced.setdefault(one.older, set()).add(one.newer)

    def of(self, user: str) -> Iterator[tuple[int, PairVerdict]]:
        """Yield the numbers of the pairs in a prompt, each with its answer."""
        shown: dict[int, dict[str, str]] = {}
        for number, which, text in _PAIR.findall(user):
            shown.setdefault(int(number), {})[which] = text
        for number, one in shown.items():
            yield number, self.verdict(one.get("older", ""), one.get("newer", ""))

    def verdict(self, older: str, newer: str) -> PairVerdict:
        """Return the answer for two texts."""
        one, other = self.fact_of(older), self.fact_of(newer)
        pair = frozenset((one, other))
        if pair in self._joins:
            return PairVerdict(one, other, True, self._joins[pair])
        same = bool(one) and (
            one == other or self.replaces(one, other) or self.replaces(other, one)
        )
        return PairVerdict(one, other, same)

    def replaces(self, older: str, newer: str) -> bool:
        """Return whether a fact takes another's place, at once or by steps."""
        found, left = set[str](), [older]
        while left:
            for id in self._replaced.get(left.pop(), set()) - found:
                found.add(id)
                left.append(id)
        return newer in found

    def fact_of(self, text: str) -> str:
        """Return the id of the fact that a text is: equal, else most of its words; "" for none."""
        words = set(fingerprint(text).split())
        scored = [(_jaccard(words, set(fingerprint(one).split())), id) for one, id in self._texts.items()]  # fmt: skip
        score, id = max(scored, default=(0.0, ""))
        return id if score >= ALIKE else ""


def _jaccard(one: set[str], other: set[str]) -> float:
    return len(one & other) / len(one | other) if one | other else 0.0
