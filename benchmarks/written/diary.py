"""A diary of conversations with an assistant, with the texts that a model writes about each turn.

``good`` texts are those of a careful strong model, ``wrong`` ones those of a small model. Everything
belongs to a turn or a conversation, never to a prompt, so prompts may change. Files are in
``benchmarks/data/written``.
"""

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any, Literal
from zoneinfo import ZoneInfo

import msgspec
from msgspec import Struct

FOLDER = Path(__file__).parents[1] / "data" / "written"
BETWEEN_TURNS = timedelta(seconds=20)
Half = Literal["tuned", "held out"]


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
        msgspec.MsgspecError: It is no TOML, or a field is missing, unknown or of another type.
    """
    return msgspec.toml.decode(path.read_bytes(), type=Diary, strict=False)


def load_all(folder: Path = FOLDER) -> list[Diary]:
    """Read the diaries of a folder, by name."""
    return [load(path) for path in sorted(folder.glob("*.toml"))]


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
