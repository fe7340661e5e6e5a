"""What is asked of a life, and what is right on the day: by the user, and by the oracle."""

from collections.abc import Callable, Sequence
from datetime import date
from functools import partial
from typing import Any

from msgspec import Struct

from benchmarks.lives import builder, dates, plans
from benchmarks.lives.builder import Builder
from benchmarks.lives.events import matter_words
from benchmarks.lives.model import Claim

Question = Callable[[Builder], "Asked | None"]


class Asked(Struct, frozen=True):
    """A question and what answers it.

    Attributes:
        expect: Ids of the claims that answer it.
        reject: Ids of the claims that are over.
        answer: What a truthful agent says; "" if nothing is known.
    """

    text: str
    expect: tuple[str, ...] = ()
    reject: tuple[str, ...] = ()
    answer: str = ""


def held(
    slot: str, kind: str, last: int = 1, *, ended: bool = False, alone: bool = False
) -> Question:
    """Return the question for the last claims that hold of a slot.

    Args:
        last: How many.
        ended: Whether those that are over must not be offered.
        alone: Whether it is also asked where only these are.
    """

    def ask(b: Builder) -> Asked | None:
        now, over = b.holding(slot)[-last:], b.over(slot) if ended else []
        return _asked(b, kind, {}, now, over) if now or (alone and over) else None

    return ask


state = partial(held, ended=True, alone=True)  # of an exclusive slot
several = partial(held, last=2, ended=True)


def home_past(b: Builder) -> Asked | None:
    over = b.over("home")
    return _asked(b, "q_home_past", {}, over[-1:], []) if over else None


def kin(b: Builder) -> Asked | None:
    known = {slot for slot in builder.KIN_SLOTS.values() if b.holding(slot)}
    if not known:
        return None
    slot = b.rng.choice(sorted(known))
    return _asked(b, "q_kin", _kin_words(b, slot), b.holding(slot), b.over(slot))


def _kin_words(b: Builder, slot: str) -> dict[str, str]:
    nouns = [noun for noun, known in builder.KIN_SLOTS.items() if known == slot]
    if b.language == "en":
        return {"kin": nouns[0]}
    is_woman = slot in ("sister", "daughter", "mother", "aunt")
    article, dative = ("meine", "meiner") if is_woman else ("mein", "meinem")
    return {"kin": f"{article} {nouns[1]}", "kin_dat": f"{dative} {nouns[1]}"}


def pet(b: Builder) -> Asked | None:
    kinds = [kind for kind in ("dog", "cat") if b.holding(kind) or b.over(kind)]
    if not kinds:
        return None
    kind = b.rng.choice(kinds)
    return _asked(b, "q_pet", builder.animal(b, kind), b.holding(kind), b.over(kind))


def taste(b: Builder) -> Asked | None:
    now = b.holding("likes") + b.holding("dislikes")
    if not now:
        return None
    claim = b.rng.choice(now)
    over = [one for one in b.over("likes") if one.value == claim.value]
    return _asked(b, "q_likes", {"thing": claim.value}, [claim], over)


def when_appointment(b: Builder) -> Asked | None:
    row, now, over = _planned(b, "appointment", "appointments")
    if not row:
        return None
    slots = {"appt": row["name"], "to": row["to"], "at": row.get("at", "")}
    return _asked(b, "q_appointment_when", slots, now, over)


def when_plan(b: Builder) -> Asked | None:
    row, now, over = _planned(b, "plan", "plans")
    return _asked(b, "q_plan_when", plans.plan_slots(b, row), now, over) if row else None


def when_event(b: Builder) -> Asked | None:
    every = [one for one in b.claims.values() if one.slot == "event" and one.id in b.said]
    if not every:
        return None
    claim = b.rng.choice(every[-6:])
    same = [one for one in every if one.value == claim.value]
    rows = b.words.tables["events"]
    row = next(
        row for row in rows if claim.value in (row.get("done"), row["words"], row.get("part"))
    )
    return _asked(b, "q_event", plans.event_slots(b, row), same[-1:], [])


def upcoming(b: Builder) -> Asked | None:
    now = sorted(plans.upcoming(b), key=lambda one: one.on or date.max)
    over = [one for slot in ("appointment", "plan") for one in b.over(slot)]
    return _asked(b, "q_upcoming", {}, now[:1], over) if now else None


def matter(b: Builder) -> Asked | None:
    now, over = b.holding("thread"), b.over("thread")
    if not now:
        return None
    claim = b.rng.choice(now)
    return _asked(b, "q_matter", matter_words(b, claim.value), [claim], over)


def other(slot: str, kind: str) -> Question:
    """Return the question for something of another person."""

    def ask(b: Builder) -> Asked | None:
        known = [
            one
            for one in b.claims.values()
            if one.slot == slot and one.subject != "user" and one.id in b.said
        ]
        if not known:
            return None
        claim = b.rng.choice(known)
        return _asked(b, kind, {"name": claim.subject}, [claim], [])

    return ask


def unknown(b: Builder) -> Asked | None:
    return _asked(b, "q_unknown", {}, [], [])


QUESTIONS: tuple[tuple[Question, int], ...] = (
    (state("home", "q_home"), 6), (home_past, 2), (state("job", "q_job"), 4),
    (state("employer", "q_employer"), 4), (state("partner", "q_partner"), 4), (kin, 4), (pet, 4),
    (taste, 4), (state("diet", "q_diet"), 3), (several("allergy", "q_allergy"), 3),
    (several("condition", "q_condition"), 2), (several("hobby", "q_hobby"), 3),
    (held("goal", "q_goal"), 2), (held("decision", "q_decision"), 2),
    (state("phone", "q_phone"), 3), (state("car", "q_car"), 3), (held("friend", "q_friend"), 2),
    (held("boss", "q_boss"), 2), (when_appointment, 8), (when_plan, 6), (when_event, 4),
    (upcoming, 3), (matter, 4), (other("home", "q_other_home"), 3),
    (other("job", "q_other_job"), 2), (unknown, 4),
)  # fmt: skip


def question(b: Builder) -> Asked:
    """Return a question that this life can be asked today."""
    while True:
        kinds, weights = zip(*QUESTIONS, strict=True)
        if found := b.rng.choices(kinds, weights)[0](b):
            return found


def _asked(
    b: Builder, kind: str, slots: dict[str, Any], now: Sequence[Claim], over: Sequence[Claim]
) -> Asked:
    values = {one.value for one in now if one.slot not in ("appointment", "plan")}
    answer = " / ".join(_answer(b, one) for one in now)
    return Asked(
        b.phrase(kind, slots).text,
        tuple(one.id for one in now),
        tuple(one.id for one in over if one.value not in values or one.on is not None),
        answer,
    )


def _answer(b: Builder, claim: Claim) -> str:
    return claim.value if claim.on is None else dates.plainly(claim.on, b.today, b.language)


def _planned(b: Builder, slot: str, table: str) -> tuple[dict, list[Claim], list[Claim]]:
    every = [one for one in b.claims.values() if one.slot == slot and one.id in b.said]
    now = plans.upcoming(b, slot)
    gone = [one for one in every if one.id in b.ended and one.on and one.on >= b.today]
    if not now and not gone:
        return {}, [], []
    claim = b.rng.choice(now or gone)
    row = next(row for row in b.words.tables[table] if row["name"] == claim.value)
    over = [one for one in every if one.value == claim.value and one.id in b.ended]
    return row, [one for one in now if one.value == claim.value], over
