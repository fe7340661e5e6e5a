"""A diary of conversations with an assistant, with the texts that a model writes about each turn.

``good`` texts are those of a careful strong model, ``wrong`` ones those of a small model. Everything
belongs to a turn or a conversation, never to a prompt, so prompts may change. Files are in
``benchmarks/data/written``; `check` finds what contradicts itself in one.
"""

import tomllib
from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any, Literal
from zoneinfo import ZoneInfo

import msgspec
from msgspec import Struct

from slowcat_memory.core.text.normalize import fingerprint

FOLDER = Path(__file__).parents[1] / "data" / "written"
FAULTS = (
    "wrong person", "wrong relation", "year off", "invented name", "leaked order",
    "copied example", "other language", "mixed up", "denied",
)  # fmt: skip
QUESTIONS, CHANGED, UNANSWERABLE = 40, 8, 6
BETWEEN_TURNS = timedelta(seconds=20)
Half = Literal["tuned", "held out"]


class DiaryError(Exception):
    """A file is no diary; the message names the place."""


class Text(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A wrong text of a whole conversation."""

    text: str
    fault: str


class Item(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a model may say only of turns whose prompt has certain words.

    Attributes:
        needs: Words that the prompt must show, all of them.
        otherwise: Fields that replace others where it does not; empty leaves the item out.
    """

    needs: tuple[str, ...] = ()
    otherwise: dict[str, Any] = {}


class Fact(Item, frozen=True, kw_only=True):
    """A good fact. ``since`` is the true day from which it holds, "" for the day it was said."""

    id: str
    type: str
    subject: str
    content: str
    quote: str
    confidence: str = "high"
    date: str = ""
    since: str = ""


class Entity(Item, frozen=True, kw_only=True):
    """A good entity."""

    name: str
    type: str
    attributes: dict[str, str] = {}
    confidence: str = "high"


class Relation(Item, frozen=True, kw_only=True):
    """A good relation."""

    subject: str
    predicate: str
    object: str
    quote: str
    over: bool = False
    confidence: str = "high"


class Wrong(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What a small model writes about a turn; the fields that its ``kind`` has are filled."""

    kind: Literal["fact", "entity", "relation", "context", "question", "note", "episode", "summary"]
    fault: str
    text: str = ""
    type: str = ""
    subject: str = ""
    content: str = ""
    quote: str = ""
    confidence: str = "high"
    date: str = ""
    name: str = ""
    attributes: dict[str, str] = {}
    predicate: str = ""
    object: str = ""
    over: bool = False

    @property
    def words(self) -> str:
        """What it says, in whichever field."""
        triple = f"{self.subject} {self.predicate} {self.object}" if self.predicate else ""
        return self.content or self.text or triple or self.name


class Exchange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The user speaks, the agent replies; with what is to be written of it."""

    id: str
    user: str
    agent: str
    reading: bool = False
    context: str = ""
    questions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    agent_context: str = ""
    agent_questions: tuple[str, ...] = ()
    told: str = ""
    facts: tuple[Fact, ...] = ()
    entities: tuple[Entity, ...] = ()
    relations: tuple[Relation, ...] = ()
    answers: tuple[str, ...] = ()
    wrong: tuple[Wrong, ...] = ()


class Conversation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One conversation, and its good summary. ``at`` is a local time."""

    id: str
    at: datetime
    turns: tuple[Exchange, ...]
    summary: str = ""
    topics: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    tone: str = ""
    relationship: str = ""
    wrong_summary: Text | None = None


class DaySummary(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A good summary of a day with several conversations."""

    date: date
    summary: str


class WeekSummary(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A good summary of a week."""

    monday: date
    summary: str


class BlockLine(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A good line of a block, true from a day until another."""

    block: Literal["human", "relationship", "self", "persona"]
    text: str
    since: date
    until: date | None = None


class Change(Struct, frozen=True, forbid_unknown_fields=True):
    """Facts of which the newer takes the older's place."""

    older: str
    newer: str


class Same(Struct, frozen=True, forbid_unknown_fields=True):
    """Facts that say the same; ``text`` joins them where each has something of its own."""

    older: str
    newer: str
    text: str = ""


class Apart(Struct, frozen=True, forbid_unknown_fields=True):
    """Facts that look alike and both hold."""

    one: str
    other: str


class Question(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A question; one without ``gold`` has no answer.

    Attributes:
        gold: Exchanges that answer it.
        words: Each entry must occur in the block; alternatives are separated by "|".
        changed: Whether the answer replaced another.
        old: Exchanges with the replaced answer.
    """

    text: str
    gold: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    changed: bool = False
    old: tuple[str, ...] = ()


class Diary(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file; see `benchmarks.written`."""

    name: str
    language: Literal["en", "de"]
    half: Half
    user: str
    agent: str
    zone: str
    asked_at: datetime
    conversations: tuple[Conversation, ...]
    persona: str = ""
    days: tuple[DaySummary, ...] = ()
    weeks: tuple[WeekSummary, ...] = ()
    lines: tuple[BlockLine, ...] = ()
    changes: tuple[Change, ...] = ()
    same: tuple[Same, ...] = ()
    apart: tuple[Apart, ...] = ()
    questions: tuple[Question, ...] = ()

    def exchanges(self) -> Iterator[tuple[Conversation, Exchange]]:
        for conversation in self.conversations:
            for one in conversation.turns:
                yield conversation, one

    def facts(self) -> dict[str, tuple[Exchange, Fact]]:
        """Return the good facts by id, each with its exchange."""
        return {f.id: (one, f) for _, one in self.exchanges() for f in one.facts}

    def aware(self, local: datetime) -> datetime:
        """Return a local time of the diary with its zone."""
        return local.replace(tzinfo=self.tz)

    @property
    def tz(self) -> ZoneInfo:
        return ZoneInfo(self.zone)


def load(path: Path) -> Diary:
    """Read a diary.

    Raises:
        DiaryError: It is no TOML, or a field is missing, unknown or of another type.
    """
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
        return msgspec.convert(_dates_as_text(raw), Diary, strict=False)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise DiaryError(f"{path.name}: {error}") from None


def _dates_as_text(value: Any) -> Any:
    """Write TOML's dates as text, so that a field may have either."""
    if isinstance(value, date | datetime):
        return value.isoformat()
    if isinstance(value, list):
        return [_dates_as_text(one) for one in value]
    if isinstance(value, dict):
        return {name: _dates_as_text(one) for name, one in value.items()}
    return value


def load_all(folder: Path = FOLDER) -> list[Diary]:
    """Read the diaries of a folder, by name."""
    return [load(path) for path in sorted(folder.glob("*.toml"))]


def check(diary: Diary) -> list[str]:
    """Return what contradicts itself: ids, quotes, dates and references, each with its place."""
    exchanges = [one.id for _, one in diary.exchanges()]
    facts = [fact.id for _, one in diary.exchanges() for fact in one.facts]
    conversations = [one.id for one in diary.conversations]
    return [
        *_repeated(exchanges, "turn"), *_repeated(facts, "fact"),
        *_repeated(conversations, "conversation"),
        *(fault for conversation, one in diary.exchanges() for fault in _of_turn(conversation, one)),
        *_unknown(_turns_named(diary), exchanges), *_unknown(_facts_named(diary), facts),
        *_of_order(diary),
        *(f"week {week.monday}: no Monday" for week in diary.weeks if week.monday.weekday()),
    ]  # fmt: skip


def _repeated(ids: Sequence[str], what: str) -> list[str]:
    return [f"{what} {id}: twice" for id in dict.fromkeys(ids) if ids.count(id) > 1]


def _unknown(named: Sequence[tuple[str, str]], known: Sequence[str]) -> list[str]:
    return [f"{place}: no {id!r}" for place, id in named if id not in known]


def _turns_named(diary: Diary) -> list[tuple[str, str]]:
    return [
        *((one.id, id) for _, one in diary.exchanges() for id in one.answers),
        *((f"question {one.text!r}", id) for one in diary.questions for id in one.gold + one.old),
    ]


def _facts_named(diary: Diary) -> list[tuple[str, str]]:
    pairs = [
        *(("changes", (one.older, one.newer)) for one in diary.changes),
        *(("same", (one.older, one.newer)) for one in diary.same),
        *(("apart", (one.one, one.other)) for one in diary.apart),
    ]
    return [(place, id) for place, ids in pairs for id in ids]


def _of_turn(conversation: Conversation, one: Exchange) -> Iterator[str]:
    said = f" {fingerprint(one.user)} "
    for item in (*one.facts, *one.relations):
        quote = fingerprint(item.quote)
        if not quote or f" {quote} " not in said:
            yield f"{one.id}: {item.quote!r} is not said there"
    for fact in one.facts:
        for name, text in (("date", fact.date), ("since", fact.since)):
            if text and not is_day(text):
                yield f"{one.id}, {fact.id}: {name} {text!r} is no day like 2026-05-12, month or year"
    for wrong in one.wrong:
        if wrong.fault not in FAULTS:
            yield f"{one.id}: unknown fault {wrong.fault!r}"
        if not wrong.words:
            yield f"{one.id}: a wrong {wrong.kind} without words"
    if one is conversation.turns[0] and (made := conversation.wrong_summary):
        if made.fault not in FAULTS:
            yield f"{conversation.id}: unknown fault {made.fault!r}"


def _of_order(diary: Diary) -> Iterator[str]:
    times = [one.at for one in diary.conversations]
    if times != sorted(times) or (times and diary.asked_at <= times[-1]):
        yield "the conversations are not in the order of time before asked_at"
    placed = {one.id: place for place, (_, one) in enumerate(diary.exchanges())}
    spots = {id: placed[one.id] for id, (one, _) in diary.facts().items()}
    for pair in (*diary.changes, *diary.same):
        if spots.get(pair.older, 0) > spots.get(pair.newer, len(placed)):
            yield f"{pair.older} is said after {pair.newer}"


def is_day(text: str) -> bool:
    """Return whether a text is a day ("2026-05-12"), a month ("2026-05") or a year."""
    try:
        first_day(text)
    except ValueError:
        return False
    return True


def first_day(text: str) -> date:
    """Return a day, or the first one of a month or year.

    Raises:
        ValueError: It is none of these.
    """
    if len(text) not in (len("2026"), len("2026-05"), len("2026-05-12")):
        raise ValueError(text)
    return date.fromisoformat(
        f"{text}{'-01-01'[len(text) - len('2026-05-12') :]}" if len(text) < 10 else text
    )
