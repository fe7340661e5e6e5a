"""Finds what a prompt shows of a diary, by the texts alone: turns, summaries, facts and days.

Texts are compared by their words, so a prompt may neutralise, number or cut them as it likes.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import date

from msgspec import Struct

from benchmarks.lives import dates
from benchmarks.written.diary import Conversation, Diary, Exchange
from slowcat_memory.core.text.normalize import fingerprint, neutralise

ALIKE = 0.6  # share of words from which two texts are taken for the same statement
MONTHS = {
    name.lower(): number for names in dates.MONTHS.values() for number, name in enumerate(names, 1)
}
_LINE = re.compile(r"^[\[(]?(\d+)[\]).:]? (.+)$", re.M)
_ASKED = re.compile(r"\bturns? (\d[\d, –-]*)")
_SPAN = re.compile(r"(\d+)(?:\s*[–-]\s*(\d+))?")
_ISO = re.compile(r"\b(\d{4})-(\d\d)-(\d\d)\b")
_SPOKEN = re.compile(rf"\b(\d{{1,2}})\.? ({'|'.join(MONTHS)}) (\d{{4}})\b", re.I)
_CUT = " … "


class Spot(Struct, frozen=True):
    """Who speaks in which exchange."""

    conversation: Conversation
    exchange: Exchange
    agent: bool

    @property
    def id(self) -> str:
        return f"{self.exchange.id}/{'agent' if self.agent else 'user'}"


class Line(Struct, frozen=True):
    """A numbered line of a prompt; ``spot`` is the turn that it shows, None for another text."""

    number: int
    text: str
    spot: Spot | None
    day: date | None


class Shown(Struct, frozen=True):
    """A prompt's content.

    Attributes:
        lines: Numbered lines, in order.
        asked: Numbers of the turns that it asks about; of all turns where it names none.
        words: All words, the instruction's included.
    """

    text: str
    lines: tuple[Line, ...]
    asked: frozenset[int]
    words: str

    def turns(self) -> list[tuple[int, Spot]]:
        """Return the turns that are asked about."""
        return [
            (one.number, one.spot) for one in self.lines if one.spot and one.number in self.asked
        ]

    def spots(self) -> list[Spot]:
        return [one.spot for one in self.lines if one.spot]

    def has(self, words: Iterable[str]) -> bool:
        """Return whether all words occur anywhere in the prompt."""
        return all(f" {fingerprint(one)} " in self.words for one in words)

    @property
    def days(self) -> list[date]:
        """The days that its lines and headings have, in order."""
        return sorted({one.day for one in self.lines if one.day})


class Reader:
    """Reads prompts about one diary."""

    def __init__(self, diary: Diary) -> None:
        self._diary = diary
        self._spots: dict[str, list[Spot]] = defaultdict(list)
        for conversation, one in diary.exchanges():
            for agent, text in ((False, one.user), (True, one.agent)):
                self._spots[_key(text)].append(Spot(conversation, one, agent))

    def read(self, system: str, user: str) -> Shown:
        rows = list(_numbered(user))
        every = [self._candidates(text) for _, text, _ in rows]
        votes = Counter(spot.conversation.id for found in every for spot in found)
        spots = _in_order(every, votes)
        lines = tuple(
            Line(n, text, spot, day) for (n, text, day), spot in zip(rows, spots, strict=True)
        )
        asked = _asked(user) or frozenset(one.number for one in lines if one.spot)
        words = f" {fingerprint(f'{system} {user}')} "
        return Shown(user, lines, asked, words)

    def _candidates(self, text: str) -> list[Spot]:
        """Return the turns that a line may show: behind its speaker, or cut in its middle."""
        parts = text.split(": ")
        rests = (": ".join(parts[place:]) for place in range(len(parts)))
        for rest in rests:
            if found := self._spots.get(_key(rest)) or self._cut(rest):
                return found
        return []

    def _cut(self, text: str) -> list[Spot]:
        begins, cut, ends = text.rstrip("…").partition(_CUT)
        if not (cut or text.endswith("…")) or len(begins) < 40:
            return []
        start, end = _key(begins), _key(ends)
        return [
            spot
            for key, found in self._spots.items()
            if key.startswith(start[:-10]) and key.endswith(end[10:])
            for spot in found
        ]

    def conversation_of(self, line: Line) -> Conversation | None:
        """Return the conversation of which a line holds a summary: by its words, else by its day."""
        every = self._diary.conversations
        on_day = [c for c in every if line.day is None or c.at.date() == line.day] or every
        scored = [(max(overlap(text, line.text) for text in _summaries(c)), c) for c in on_day]
        best = max((score for score, _ in scored), default=0.0)
        if best < ALIKE and len(on_day) > 1:
            return None
        return next((c for score, c in scored if score == best), None)


def words(text: str) -> frozenset[str]:
    return frozenset(fingerprint(text).split())


def coverage(item: str, text: str) -> float:
    """Return the share of an item's words that a text has."""
    wanted = words(item)
    return len(wanted & words(text)) / len(wanted) if wanted else 0.0


def likeness(one: str, other: str) -> float:
    """Return the share of common words, 0 to 1."""
    mine, theirs = words(one), words(other)
    return len(mine & theirs) / len(mine | theirs) if mine | theirs else 1.0


def overlap(one: str, other: str) -> float:
    """Return the share of the words of the shorter of two texts that the other has."""
    mine, theirs = words(one), words(other)
    least = min(len(mine), len(theirs))
    return len(mine & theirs) / least if least else 0.0


def days_in(text: str) -> list[date]:
    """Return the whole dates in a text, in order of place."""
    found = [(m.start(), _date(m[1], m[2], m[3])) for m in _ISO.finditer(text)]
    for m in _SPOKEN.finditer(text):
        found.append((m.start(), _date(m[3], MONTHS[m[2].lower()], m[1])))
    return [day for _, day in sorted(found, key=lambda one: one[0]) if day]


def _date(year: str, month: str | int, day: str) -> date | None:
    try:
        return date(int(year), int(month), int(day))
    except ValueError:
        return None


def _summaries(conversation: Conversation) -> list[str]:
    wrong = conversation.wrong_summary
    return [conversation.summary, *([wrong.text] if wrong else [])]


def _numbered(user: str) -> Iterator[tuple[int, str, date | None]]:
    """Yield numbered lines with the day that stands at their beginning or in the heading before."""
    heading: date | None = None
    for row in user.splitlines():
        found = _LINE.match(row)
        if not found:
            heading = next(iter(days_in(row)), None) or heading
            continue
        own = days_in(found[2].partition(":")[0].partition(", ")[0])
        yield int(found[1]), found[2], own[0] if own else heading


def _asked(user: str) -> frozenset[int]:
    found = _ASKED.findall(user.rpartition("===")[2] or user)
    numbers = set[int]()
    for first, last in _SPAN.findall(found[-1]) if found else ():
        numbers |= set(range(int(first), int(last or first) + 1))
    return frozenset(numbers)


def _in_order(every: Sequence[Sequence[Spot]], votes: Counter[str]) -> list[Spot | None]:
    """Choose among turns of equal words: of the conversation most shown, each once, in order."""
    used = set[str]()
    chosen = list[Spot | None]()
    for found in every:
        left = [spot for spot in found if spot.id not in used] or list(found)
        best = max(left, key=lambda spot: votes[spot.conversation.id], default=None)
        used |= {best.id} if best else set()
        chosen.append(best)
    return chosen


def _key(text: str) -> str:
    return fingerprint(neutralise(text))
