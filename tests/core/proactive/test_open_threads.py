"""Matters that are open: what is asked about, what closes them, and when."""

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
import pytest
from msgspec.structs import replace

from slowcat_memory.core.memory import ICEBREAKER
from slowcat_memory.core.proactive import open_threads as threads
from slowcat_memory.core.proactive.open_threads import closed, later_of, of_facts, repeats
from slowcat_memory.core.proactive.policy import (
    ANY_HOUR,
    BringUpOptions,
    IcebreakerOptions,
    choose,
    is_quiet,
)
from slowcat_memory.records import Memory, Turn
from tests.support import said as facts
from tests.support.rows import each_listed
from tests.support.said import NOON

# ------------------------------------------------------------------- what is worth bringing up

NOW = NOON
OPTIONS = BringUpOptions()


def fact(name: str, kind: str, text: str = "", **more: Any) -> Memory:
    given = {"id": f"fact/{name}", "sources": ()} | more
    return facts.fact(text or f"Anna has {name}.", kind.removeprefix("fact/"), **given)


def said(text: str) -> Turn:
    return facts.turn(text, id=7)


def test_of_facts_asks_only_about_what_lay_ahead_and_is_over() -> None:
    told = fact("been to the castle", "fact/event", date="2026-05-10")
    today = fact("been to the sauna", "fact/event", date="2026-05-12")
    assert of_facts([told, today], NOW, UTC, OPTIONS) == [], "who told it need not be asked"
    weekend = fact("a hike", "fact/plan", date="2026-05-16", last="2026-05-17")
    month = fact("a move", "fact/plan", date="2026-06")
    never = fact("a pass", "fact/plan", date="9999-12-31")
    hike, move = of_facts([month, weekend, never], NOW, UTC, OPTIONS)
    days = [datetime(2026, 5, 18, tzinfo=UTC), datetime(2026, 7, 1, tzinfo=UTC)]
    assert [hike.due, move.due] == days, "when the last of its days is over, the nearest first"


def test_a_reminder_comes_on_its_day_and_is_worded_as_one() -> None:
    wish = fact("a wish", "fact/open_thread", date="2026-05-13", predicate="wants_reminder")
    (one,) = of_facts([wish], NOW, UTC, OPTIONS)
    assert [one.due, one.until] == [datetime(2026, 5, day, tzinfo=UTC) for day in (13, 14)]
    assert threads.phrase(one, UTC) == "Remind them of this: “Anna has a wish” (12 May 2026)."


@each_listed("rules/open_threads")
def test_an_open_task_closes_when_it_is_done(text: str, later: str, outcome: str) -> None:
    opened = fact("it", "fact/open_thread", text, sources=(3,))
    heard = later_of([said(later)], [])
    found = closed(opened, heard)
    assert (found[0] if found else "") == outcome
    assert bool(of_facts([opened], NOW, UTC, OPTIONS, heard)) is not bool(outcome)


@each_listed("rules/open_threads")
def test_an_event_is_not_asked_about_when_it_was_moved_called_off_or_told(later, outcome) -> None:
    own = {"sources": (3,), "date": "2026-05-20"}
    viewing = fact("it", "fact/event", "Anna has a viewing on 20 May.", **own)
    found = closed(viewing, later_of([said(later)], []))
    assert (found[0] if found else "") == outcome


def test_a_task_that_an_llm_calls_completed_closes_the_open_one() -> None:
    opened = fact("it", "fact/open_thread", "Anna must fix the sledge.", sources=(3,))
    done = fact("other", "fact/task_completed", "Anna repaired the sledge.", sources=(7,))
    assert closed(opened, later_of([], [done]))
    assert not closed(replace(opened, sources=(9,)), later_of([], [done]))


def test_a_matter_is_brought_up_once_though_it_was_said_twice() -> None:
    one, two = (
        fact(name, "fact/event", f"Anna has {name} an audition.", date="2026-05-20")
        for name in ("again", "soon")
    )
    first, second = of_facts([one, two], NOW, UTC, OPTIONS)
    assert repeats(second, first.said.text, first.due)
    assert not repeats(second, "Anna has a fitting.", first.due)
    assert not repeats(second, first.said.text, first.due + timedelta(days=9))


# ------------------------------------------------------------------- which later sentence closes an open matter

AT = datetime(2026, 4, 19, 10, tzinfo=UTC)


@each_listed("rules/closing")
def test_a_result_closes_a_matter_whoever_did_it(matter, later):
    found = threads.closed_by(matter, "Ida", 1, [threads.Later(later, AT, 2)])
    assert found and found[0] == "done"


# ------------------------------------------------------------------- policy

LISBON = ZoneInfo("Europe/Lisbon")
NIGHT = "22:00-08:00"


def icebreaker(id_: str, priority: float = 0.5, hours: float = 48, **more: object) -> Memory:
    given = {"id": id_, "importance": priority, "valid_to": NOON + timedelta(hours=hours)} | more
    return facts.memory(given.pop("kind", ICEBREAKER), id_, **given)


def chosen(*memories: Memory, now: datetime = NOON, last: datetime | None = None, **how) -> str:
    found = choose(memories, now, UTC, last, IcebreakerOptions(**how))
    return found.id if found else ""


def local(*parts: int, fold: int = 0) -> datetime:
    """A time on a wall in Lisbon."""
    return datetime(*parts, tzinfo=LISBON, fold=fold).astimezone(UTC)  # type: ignore[misc]


# ------------------------------------------------------------------- quiet hours


def test_is_quiet_follows_local_time_at_a_change_of_clocks() -> None:
    # On 29 March 2026 Lisbon's clocks go from 01:00 to 02:00, on 25 October from 02:00 to 01:00.
    for day in (datetime(2026, 3, 28), datetime(2026, 3, 29), datetime(2026, 10, 25)):
        before = local(day.year, day.month, day.day, 7, 59)
        assert is_quiet(before, LISBON, NIGHT)
        assert not is_quiet(before + timedelta(minutes=1), LISBON, NIGHT)
    assert local(2026, 3, 28, 8).hour == 8 and local(2026, 3, 29, 8).hour == 7  # in UTC
    short = "01:30-03:00"  # half of it does not exist in March; in October it comes twice
    assert is_quiet(local(2026, 3, 29, 2, 15), LISBON, short)
    assert [is_quiet(local(2026, 10, 25, 1, 45, fold=n), LISBON, short) for n in (0, 1)] == [1, 1]
    assert not is_quiet(local(2026, 10, 25, 1, 15, fold=1), LISBON, short)


@pytest.mark.parametrize("wrong", ["22-8", "22:00", "25:00-08:00", "22:60-08:00", "22:00-08:00 "])
def test_policy_options_refuse_wrong_quiet_hours(wrong: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"quiet_hours": wrong}, IcebreakerOptions)
    assert msgspec.convert({"quiet_hours": ""}, IcebreakerOptions).quiet_hours == ""


# ------------------------------------------------------------------- which


def test_waiting_leaves_out_used_and_expired() -> None:
    gone = (
        icebreaker("used", 0.9, retired_at=NOON),
        icebreaker("expired", 0.9, hours=0),
        icebreaker("note", 0.9, kind="note"),
    )
    assert chosen(*gone) == "" and chosen(*gone, icebreaker("left", 0.1)) == "left"
    assert chosen(icebreaker("x", hours=1), now=NOON + timedelta(minutes=59)) == "x"
    assert chosen(icebreaker("x", hours=1), now=NOON + timedelta(minutes=60)) == ""


def test_choose_in_quiet_hours_only_any_hour() -> None:
    night = NOON + timedelta(hours=11)
    both = (icebreaker("polite", 0.9), icebreaker("urgent", 0.2, kind=ANY_HOUR))
    assert chosen(*both, now=night) == "urgent"
    assert chosen(*both) == "polite"
    assert chosen(both[0], now=night) == "" and chosen(both[0], now=night, quiet_hours="") != ""
