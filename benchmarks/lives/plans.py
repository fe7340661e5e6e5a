"""What is planned in a life, and what becomes of it: appointments, plans, and single events.

A planned event returns what is told when it is made, and leaves what is told later with an `Agenda`.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import date, timedelta

from msgspec.structs import replace

from benchmarks.lives import dates
from benchmarks.lives.builder import Builder
from benchmarks.lives.events import telling_word
from benchmarks.lives.model import Claim, Exchange

Later = Callable[[Builder], Sequence[Exchange]]


class Agenda:
    """What is to be told on a day or soon after."""

    def __init__(self) -> None:
        self._due = defaultdict[date, list[Later]](list)

    def add(self, day: date, told: Later) -> None:
        self._due[day].append(told)

    def take(self, day: date, most: int) -> list[Later]:
        """Return what is due by a day, the oldest first."""
        found = list[Later]()
        for one in sorted(self._due):
            while one <= day and self._due[one] and len(found) < most:
                found.append(self._due[one].pop(0))
        return found


def appointment(b: Builder, agenda: Agenda) -> list[Exchange]:
    row = b.value("appointments")
    if any(one.value == row["name"] for one in upcoming(b, "appointment")):
        return []
    slots = {"appt": row["name"], "to": row["to"], "at": row.get("at", "")}
    said = b.phrase("appointment", slots, past=False, dated=True)
    assert said.day is not None
    claim = _dated(b, "appointment", row, said.day)
    if b.rng.random() < 0.12:
        return _misdated(b, agenda, claim, slots, row, b.exchange(said, says=[claim.id]))
    made = [b.exchange(said, says=[claim.id])]
    _becomes(b, agenda, claim.id, "appointment", slots, row)
    return made


def _misdated(
    b: Builder, agenda: Agenda, wrong: Claim, slots: dict[str, str], row: dict, first: Exchange
) -> list[Exchange]:
    assert wrong.on is not None
    slots = slots | {"old_when": dates.plainly(wrong.on, b.today, b.language)}
    again = b.phrase("correct_when", slots, past=False, dated=True)
    assert again.day is not None
    right = _dated(b, "appointment", row, again.day)
    b.end(wrong, b.today, "moved")
    _becomes(b, agenda, right.id, "appointment", slots, row)
    return [first, b.exchange(again, "correction", says=[right.id], ends=[wrong.id])]


def plan(b: Builder, agenda: Agenda) -> list[Exchange]:
    row = b.value("plans")
    if any(one.value == row["name"] for one in upcoming(b, "plan")):
        return []
    slots = plan_slots(b, row)
    friends = b.holding("friend")
    if friends:
        slots["name"] = b.rng.choice(friends).value
    said = b.phrase("plan_made", slots, past=False, dated=True)
    assert said.day is not None
    claim = _dated(b, "plan", row, said.day)
    made = [b.exchange(said, says=[claim.id])]
    _becomes(b, agenda, claim.id, "plan", slots, row)
    return made


def plan_slots(b: Builder, row: dict) -> dict[str, str]:
    """Return the words of a plan for sentences about it."""
    more = {"the_plan": row["name"], "the_plan_dat": row.get("dat", "")}
    return {key: value for key, value in row.items() if isinstance(value, str)} | more


def past_event(b: Builder) -> list[Exchange]:
    row = b.value("events")
    said = b.phrase("past_event", event_slots(b, row), dated=True)
    words = tuple(row["words"])
    claim = b.add(
        "event", row.get("done") or row["part"], words=words, begins=b.today, on=said.day,
        outcome="happened",
    )  # fmt: skip
    return [b.exchange(said, says=[claim.id])]


def event_slots(b: Builder, row: dict) -> dict[str, str]:
    """Return the words of an event; German ones with the auxiliaries for "I" and for "we"."""
    slots = {key: value for key, value in row.items() if isinstance(value, str)}
    if b.language == "de":
        singular = {"sind": "bin", "haben": "habe"}[row["aux"]]
        slots |= {"aux_ich": singular, "part_end": f"{row['part']} {singular}"}
    return slots


def purchase(b: Builder) -> list[Exchange]:
    return _done(b, "purchase", "article")


def success(b: Builder) -> list[Exchange]:
    return _done(b, "success", "success")


def _done(b: Builder, slot: str, name: str) -> list[Exchange]:
    value = b.value(name)
    said = b.phrase(slot, {name: value})
    word = value.lower().split(maxsplit=1)[-1]
    if slot == "success":
        word = telling_word(value, b.language)
    claim = b.add(
        slot, value, words=(word,), begins=b.today, on=said.day or b.today, outcome="happened"
    )
    return [b.exchange(said, says=[claim.id])]


def upcoming(b: Builder, *slots: str) -> list[Claim]:
    """Return what was told of, is still to come, and was neither moved nor cancelled."""
    every = b.claims.values()
    return [
        one
        for one in every
        if one.slot in (slots or ("appointment", "plan"))
        and one.id in b.said
        and one.on is not None
        and one.on >= b.today
        and one.id not in b.ended
    ]


def _dated(b: Builder, slot: str, row: dict, on: date) -> Claim:
    words = tuple(row["words"])
    return b.add(slot, row["name"], words=words, begins=b.today, on=on, outcome="happened")


def _becomes(
    b: Builder, agenda: Agenda, id: str, kind: str, slots: dict[str, str], row: dict
) -> None:
    """Decide what becomes of a planned event, and leave it to be told in time."""
    on, fate = b.claims[id].on, b.rng.random()
    assert on is not None
    between = b.today + timedelta(days=max(1, (on - b.today).days // 2))
    if fate < 0.5:
        agenda.add(on + timedelta(days=1), lambda b: _went(b, id, kind, slots))
    elif fate < 0.7 and between < on:
        agenda.add(between, lambda b: _moved(b, agenda, id, kind, slots, row))
    elif fate < 0.88 and between < on:
        agenda.add(between, lambda b: _cancelled(b, id, kind, slots))


def _went(b: Builder, id: str, kind: str, slots: dict[str, str]) -> list[Exchange]:
    claim = b.claims[id]
    assert claim.on is not None
    if id in b.ended or not 0 < (b.today - claim.on).days <= 28:
        return []
    told = {"appointment": "appointment_went", "plan": "plan_happened"}[kind]
    said = b.phrase(told, slots, on=claim.on, dated=True)
    return [b.exchange(said, says=[id])]


def _moved(
    b: Builder, agenda: Agenda, id: str, kind: str, slots: dict[str, str], row: dict
) -> list[Exchange]:
    claim = b.claims[id]
    if claim.on is None or b.today >= claim.on:
        return []
    slots = slots | {"old_when": dates.plainly(claim.on, b.today, b.language)}
    said = b.phrase(f"{kind}_moved", slots, past=False, dated=True)
    if said.day is None or said.day == claim.on:
        return []
    made = _dated(b, kind, row, said.day)
    b.end(claim, b.today, "moved")
    exchange = b.exchange(said, says=[made.id], ends=[id])
    agenda.add(said.day + timedelta(days=1), lambda b: _went(b, made.id, kind, slots))
    return [exchange]


def _cancelled(b: Builder, id: str, kind: str, slots: dict[str, str]) -> list[Exchange]:
    claim = b.claims[id]
    if claim.on is None or b.today >= claim.on:
        return []
    said = b.phrase(f"{kind}_cancelled", slots)
    b.claims[id] = replace(claim, outcome="cancelled")
    return [b.exchange(said, ends=[b.end(b.claims[id], b.today, "cancelled")])]
