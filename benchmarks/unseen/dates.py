"""Time expressions: the days that a sentence is dated to.

Found days are *exact* if they are the days meant. They are *near* if they cover these and are at
most three times as many; where several days are meant ("at the weekend"), also if they begin within
a day of the first of them. Any other days are *wrong*: a day off is wrong for an appointment. Of
several readings of one sentence the worst counts, since all of them rank memories.
"""

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

from benchmarks.unseen.lists import Row, Verdict, language, one, zone_name
from slowcat_memory.core.extraction.evidence import dated
from slowcat_memory.core.extraction.grounding import ground
from slowcat_memory.core.query.recall_gate import judge
from slowcat_memory.core.query.understand import AskOptions, parse_query
from slowcat_memory.core.time.expressions import Interval, WhenOptions, times
from slowcat_memory.records import Turn

Days = tuple[date, date]
Outcome = Literal["exact", "near", "wrong", "none"]
WORST_FIRST: tuple[Outcome, ...] = ("wrong", "near", "exact")
NEAR_FACTOR = 3  # times as many days as meant


def time(row: Row) -> Verdict:
    """Judge the days found: an event's by what dates facts, a question's by the query's reading."""
    kind, zone = row["kind"], ZoneInfo(zone_name(row))
    said = datetime.fromisoformat(row["said"]).replace(tzinfo=zone)
    if kind == "none":
        found = [*_of_event(row, said), *_of_question(row, said)]
        return Verdict(row, {"no date": one(not found)}, bool(found), _written(found))
    readers = {"question": _of_question, "relative": _of_words}
    found = readers.get(kind, _of_event)(row, said)
    meant = date.fromisoformat(row["first"]), date.fromisoformat(row["last"])
    got = outcome(found, meant)
    sort = kind.partition(" ")[0]
    marks = {
        "exact": one(got == "exact"),
        "exact or near": one(got in ("exact", "near")),
        "wrong": one(got == "wrong"),
        f"{sort}, exact or near": one(got in ("exact", "near")),
    }
    return Verdict(row, marks, got in ("wrong", "none"), f"{_written(found)} ({got})")


def outcome(found: Sequence[Days], meant: Days) -> Outcome:
    """Compare days found with the days meant; both with their last day."""
    each = {_compared(one, meant) for one in found}
    return next((one for one in WORST_FIRST if one in each), "none")


def _compared(found: Days, meant: Days) -> Outcome:
    if found == meant:
        return "exact"
    wide = _count(found) > NEAR_FACTOR * _count(meant)
    covers = found[0] <= meant[0] and found[1] >= meant[1]
    begins = _count(meant) > 1 and abs(found[0] - meant[0]) <= timedelta(days=1)
    return "near" if (covers or begins) and not wide else "wrong"


def _count(days: Days) -> int:
    return (days[1] - days[0]).days + 1


def _of_event(row: Row, said: datetime) -> list[Days]:
    """Return the days of the sentence as a stored fact, from its quote alone."""
    turn = Turn(
        id=1, session="s", scope="user", speaker="User", role="user", text=row["sentence"], at=said
    )
    zone = ZoneInfo(zone_name(row))
    day = dated(row["sentence"], turn, "", ground((turn,), zone), zone).day
    return [_days_of(day)] if day else []


def _days_of(day: str) -> Days:
    """Return the days of a fact's date: "2026-05-12", "2026-05" or "2026"."""
    year, month, *rest = (*(int(part) for part in day.split("-")), 0)
    if rest and rest[0]:
        whole = date(year, month, rest[0])
        return whole, whole
    if month:
        following = date(year + month // 12, month % 12 + 1, 1)
        return date(year, month, 1), following - timedelta(days=1)
    return date(year, 1, 1), date(year, 12, 31)


def _of_question(row: Row, said: datetime) -> list[Days]:
    """Return the days by which memories are ranked for the sentence as a query."""
    query = judge(row["sentence"], language(row)).query
    zone = ZoneInfo(zone_name(row))
    parsed = parse_query(query, said, zone, language=language(row), options=AskOptions())
    return [_days(interval, zone) for interval in parsed.times]


def _of_words(row: Row, said: datetime) -> list[Days]:
    zone = ZoneInfo(zone_name(row))
    options = WhenOptions(language=language(row))
    found = times(row["sentence"], said, zone, options)
    return [_days(interval, zone) for interval in found if not interval.vague]


def _days(interval: Interval, zone: ZoneInfo) -> Days:
    first = interval.start.astimezone(zone).date()
    last = (interval.end - timedelta(microseconds=1)).astimezone(zone).date()
    return first, max(first, last)


def _written(found: Sequence[Days]) -> str:
    return ", ".join(f"{first} to {last}" for first, last in found) or "no date"
