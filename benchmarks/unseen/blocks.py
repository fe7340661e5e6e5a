"""The memory block that a turn is answered with: misheard names, and questions to small stores.

Misheard names are asked of a dozen sentences at a time, so that the name competes with others; an
ordinary word of the one sentence that has the name. A small store is told as it was spoken, idle
work without an LLM is done in the following night, and all is asked the next morning, in a session
that has said nothing yet. A memory is *among the first six* if it is in the block of the turn.
"""

import asyncio
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import groupby
from zoneinfo import ZoneInfo

from msgspec import Struct

from benchmarks.unseen.homes import Home, home, real_embedder
from benchmarks.unseen.lists import Row, Verdict, language, one, zone_name
from benchmarks.unseen.wording import stems
from slowcat_memory.core.text.normalize import fingerprint
from slowcat_memory.records import Hit
from slowcat_memory.runtime.recall.query import Recollection

FIRST = 6
AT_A_TIME = 12  # sentences that share a namespace
MOST = 0.8  # share of a statement's words that a line has which offers it: numbers are reworded
FEW_SOURCES = 3  # turns of a memory that still is about one of them
BEGINNING = datetime(2026, 5, 12, 18, tzinfo=UTC)
SCOPE = "user"
# Words that mark a memory as one that no longer holds, in a line of the block.
_PAST = re.compile(
    r"\b(?:until|no longer|earlier|formerly|replaced|outdated|before that|was true|"
    r"bis|nicht mehr|früher\w*|ersetzt|überholt)\b",
    re.IGNORECASE,
)


class Offered(Struct, frozen=True):
    """The block of a turn: its memories, best first, and its text."""

    found: Recollection
    hits: tuple[Hit, ...]
    text: str

    def has(self, turns: Iterable[int]) -> bool:
        """Return whether one of the first memories is one of some turns, or of few turns more."""
        wanted = frozenset(turns)
        return any(
            len(hit.memory.sources) <= FEW_SOURCES and not wanted.isdisjoint(hit.memory.sources)
            for hit in self.hits[:FIRST]
        )

    def has_text(self, text: str) -> bool:
        """Return whether the block has a statement word for word."""
        return f" {fingerprint(text)} " in f" {fingerprint(self.text)} "

    def has_as_current(self, old: str, newer: str) -> bool:
        """Return whether a line offers a statement, and has no word more that it is over.

        A line offers a statement if it has most of its words, and fewer of the newer one's.
        """
        return any(
            _share(old, line) >= MOST
            and _share(old, line) > _share(newer, line)
            and len(_PAST.findall(line)) <= len(_PAST.findall(old))
            for line in self.text.splitlines()
        )


def _share(text: str, line: str) -> float:
    words = set(stems(text))
    return len(words.intersection(stems(line))) / max(1, len(words))


def ask(place: Home, scope: str, question: str) -> Offered:
    """Return the block for a question, as the processor has it made in a fresh session."""
    found = asyncio.run(place.engine.recall(question, scope))
    packed = found.packed or place.engine.blocks.pack(found, place.engine.clock())
    return Offered(found, packed.hits, packed.text)


# ------------------------------------------------------------------------ misheard names


def misheard(rows: Sequence[Row]) -> list[Verdict]:
    """Judge later questions in which a recogniser misspells a name."""
    return [
        _misheard(place, scope, row, turn) for place, scope, row, turn in _told(rows, AT_A_TIME)
    ]


def _misheard(place: Home, scope: str, row: Row, turn: int) -> Verdict:
    names = _taken_for(place, scope, row["heard"])
    recognised = any(_is_name(name, row["name"]) for name in names)
    offered = ask(place, scope, row["heard"]).has([turn])
    marks = {"name recognised": one(recognised), "among the first six": one(offered)}
    came_out = f"{row['name']} as {row['misheard']}: taken for {', '.join(names) or 'nothing'}"
    return Verdict(row, marks, not (recognised and offered), came_out)


def ordinary(rows: Sequence[Row]) -> list[Verdict]:
    """Judge questions with an ordinary word that sounds like a name."""
    return [_ordinary(place, scope, row) for place, scope, row, _ in _told(rows, 1)]


def _ordinary(place: Home, scope: str, row: Row) -> Verdict:
    names = _taken_for(place, scope, row["question"])
    taken = any(_is_name(name, row["name"]) for name in names)
    came_out = f"{row['word']}: taken for {', '.join(names)}"
    return Verdict(row, {"taken for the name": one(taken)}, taken, came_out)


def _taken_for(place: Home, scope: str, question: str) -> list[str]:
    """Return the names that recall searches for in place of words of a question."""
    searcher = place.engine.namespaces.get(scope).searcher
    return [heard.name for heard in searcher.heard(question)]


def _is_name(found: str, name: str) -> bool:
    return not set(stems(found)).isdisjoint(stems(name))


def _told(rows: Sequence[Row], together: int) -> Iterator[tuple[Home, str, Row, int]]:
    """Yield each row with the engine and scope that its sentence was told, and the turn's id."""
    for spoken, some in groupby(sorted(rows, key=language), key=language):
        every = list(some)
        zone = zone_name(every[0])
        with home(spoken, zone, BEGINNING, real_embedder()) as place:
            turns = [
                place.say(f"talk-{n // together}", BEGINNING + timedelta(hours=n), row["said"])
                for n, row in enumerate(every)
            ]
            place.hang_up()
            place.wait_until(place.clock() + timedelta(hours=14))
            for n, (row, turn) in enumerate(zip(every, turns, strict=True)):
                yield place, f"talk-{n // together}", row, turn


# ------------------------------------------------------------------------ small stores


def recall(rows: Sequence[Row], stores: Sequence[Row]) -> list[Verdict]:
    """Judge questions to small stores.

    Args:
        rows: Questions.
        stores: Turns of the stores, in order.
    """
    said: dict[str, list[Row]] = {}
    for turn in stores:
        said.setdefault(turn["store"], []).append(turn)
    made: list[Verdict] = []
    for store in dict.fromkeys(row["store"] for row in rows):
        asked = [row for row in rows if row["store"] == store]
        made += _of_store(said.get(store, []), asked)
    return made


def _of_store(turns: Sequence[Row], asked: Sequence[Row]) -> list[Verdict]:
    zone = ZoneInfo(zone_name(turns[0]))
    times = [datetime.fromisoformat(turn["at"]).replace(tzinfo=zone) for turn in turns]
    with home(language(turns[0]), str(zone), times[0], real_embedder()) as place:
        numbers: dict[str, list[int]] = {}
        for turn, at in zip(turns, times, strict=True):
            speaker = "" if turn["who"] == "agent" else "User"
            number = place.say(SCOPE, at, turn["text"], speaker=speaker)
            numbers.setdefault(turn["text"], []).append(number)
        place.hang_up()
        morning = (times[-1] + timedelta(days=1)).replace(hour=9, minute=0)
        place.wait_until(morning - timedelta(hours=4))
        place.engine.idle.until_done()
        place.engine.flush(indexed=True)
        place.wait_until(morning)
        return [_answered(row, ask(place, SCOPE, row["question"]), numbers) for row in asked]


def _answered(row: Row, offered: Offered, numbers: dict[str, list[int]]) -> Verdict:
    unknown = offered.found.unknown
    came_out = f"{row['kind']}, {'told unknown' if unknown else 'block'}: {offered.text or '-'}"
    if row["kind"] == "unknown":
        marks = {"unknown told": one(unknown), "unknown offered nothing": one(not offered.hits)}
        return Verdict(row, marks, not unknown, came_out)
    answers = [text.strip() for text in row["answer"].split(" | ")]
    turns = [number for text in answers for number in _numbers(row, text, numbers)]
    found = offered.has(turns) or any(map(offered.has_text, answers))
    told = {"answerable told unknown": one(unknown)}
    if row["kind"] == "superseded":
        stale = offered.has_as_current(row["old"], row["answer"])
        marks = {"newer offered": one(found), "older offered as current": one(stale)}
        return Verdict(row, marks | told, not found or stale, came_out)
    return Verdict(row, {f"{row['kind']}, first six": one(found)} | told, not found, came_out)


def _numbers(row: Row, text: str, numbers: dict[str, list[int]]) -> list[int]:
    if text not in numbers:
        raise ValueError(f"recall.tsv: an answer of {row['store']} is not in its store")
    return numbers[text]
