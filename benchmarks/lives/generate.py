"""A generated life: two years of a person, told in some 330 conversations of 1,500 turns.

The same seed gives the same life. Its wordings and values are of one half alone, so that figures
can be given by half. Seeds vary the language, the recogniser's capitals and the apostrophe.
"""

import random
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from functools import partial

from msgspec.structs import replace

from benchmarks.lives import builder, events, plans, questions
from benchmarks.lives.builder import Builder, Said
from benchmarks.lives.model import Ask, Exchange, Life, Session
from benchmarks.lives.plans import Agenda
from benchmarks.lives.wordings import Half, Language

FIRST = date(2026, 1, 5)
YEARS_OF_DAYS = 730
TALKS = 0.45  # share of the days with a conversation
TURNS = 4.5  # in a conversation, on average
ASKED_EVERY = 4  # days

BEGINNING: Sequence[events.Event] = (
    events.home_now, events.job_now, events.employer_now, events.partner_now, events.pet_now,
    events.friend_named, events.kin_named, events.boss_named, events.likes, events.diet_now,
    events.likes, events.allergy, events.phone_changed, events.car_changed, events.kin_named,
    events.colleague_named, events.goal,
)  # fmt: skip
IN_TWO_YEARS: Sequence[tuple[events.Event, int]] = (
    (events.home_moved, 3), (events.home_moving, 2), (events.job_started, 3),
    (events.job_left, 2), (events.employer_new, 3), (events.partner_left, 2),
    (events.partner_new, 3), (events.kin_named, 4), (events.friend_named, 4),
    (events.colleague_named, 2), (events.boss_named, 1), (events.pet_died, 2), (events.pet_got, 3),
    (events.likes, 7), (events.turned, 4), (events.dislikes, 3), (events.hobby_began, 4),
    (events.hobby_stopped, 2), (events.allergy, 2), (events.diet_changed, 3),
    (events.condition_began, 5), (events.condition_over, 5), (events.goal, 3),
    (events.decision, 4), (plans.purchase, 6), (plans.success, 4), (events.phone_changed, 2),
    (events.car_changed, 2), (events.thread_opened, 10), (events.thread_closed, 8),
    (plans.past_event, 30), (events.other_home, 5), (events.other_job, 4),
    (events.other_likes, 5), (events.other_animal, 3),
)  # fmt: skip
PLANNED = ((plans.appointment, 40), (plans.plan, 16))


def generate(
    seed: int, half: Half = "tuned", days: int = YEARS_OF_DAYS, language: Language | None = None
) -> Life:
    """Return the life of a seed: every second one is German, every third in lower case."""
    rng = random.Random(f"{seed}/{half}")
    spoken: Language = language or ("en", "de")[seed % 2]
    lower = seed % 3 == 0
    b = Builder(spoken, half, rng)
    made = _Teller(b, days).tell()
    return Life(
        name=f"life {seed}", language=spoken, user=b.user,
        voice=f"generated, {'lower case' if lower else 'cased'}",
        claims=tuple(b.claims.values()),
        sessions=tuple(_written(one, lower, seed % 4 == 1) for one in made[0]),
        asks=tuple(_asked(one, lower) for one in made[1]),
        lower_case=lower, half=half,
    )  # fmt: skip


class _Teller:
    """Lets a life go by, day by day."""

    def __init__(self, b: Builder, days: int) -> None:
        self._b, self._days, self._agenda = b, days, Agenda()
        self._again: tuple[Said, tuple[str, ...]] | None = None  # a question not answered
        _schedule(b, self._agenda, days)

    def tell(self) -> tuple[list[Session], list[Ask]]:
        sessions, asks = list[Session](), list[Ask]()
        for n in range(self._days):
            self._b.today = FIRST + timedelta(days=n)
            if n < 4 or self._b.rng.random() < TALKS:
                at = datetime.combine(self._b.today, time(self._b.rng.randint(11, 17), 5))
                sessions.append(Session(at=at, turns=tuple(self._session())))
            if n % ASKED_EVERY == 0 and n >= ASKED_EVERY:
                asks += self._asks()
        return sessions, asks

    def _session(self) -> list[Exchange]:
        told = list[Exchange]()
        for later in self._agenda.take(self._b.today, 3):
            told += later(self._b)
        while len(told) < self._b.rng.gauss(TURNS, 1.2):
            tied = any(one.kind == "correction" for one in told)  # which follows what it corrects
            told.insert(0 if tied else self._b.rng.randint(0, len(told)), self._chat())
        return told

    def _chat(self) -> Exchange:
        chance = self._b.rng.random()
        if chance < 0.17 and self._b.said:
            return self._question()
        if chance < 0.22:
            return _trap(self._b)
        said = self._b.phrase("small_talk", {})
        return self._b.exchange(said, "small talk", agent=_chatty(self._b))

    def _question(self) -> Exchange:
        if self._again and self._b.rng.random() < 0.4:
            (said, asks), self._again = self._again, None
            return self._b.exchange(said, "question", agent=_unknowing(self._b), asks=asks)
        asked = questions.question(self._b)
        said = Said(asked.text, "")
        if asked.answer and self._b.rng.random() < 0.6:
            reply = self._b.words.pick("agent_answer", self._b.rng)[1].format(value=asked.answer)
            return self._b.exchange(said, "question", agent=reply, asks=asked.expect)
        self._again = said, asked.expect
        return self._b.exchange(said, "question", agent=_unknowing(self._b), asks=asked.expect)

    def _asks(self) -> list[Ask]:
        at = datetime.combine(self._b.today, time(19))
        made = list[Ask]()
        for n in range(2):
            one = questions.question(self._b)
            made.append(
                Ask(
                    at=at + timedelta(minutes=10 * n), question=one.text, expect=one.expect,
                    reject=one.reject, unknown=not one.expect and not one.reject,
                )
            )  # fmt: skip
        return made


def _schedule(b: Builder, agenda: Agenda, days: int) -> None:
    """Spread what happens over the days, the beginning over the first two weeks."""
    share = days / YEARS_OF_DAYS
    for n, event in enumerate(BEGINNING):
        agenda.add(FIRST + timedelta(days=n * min(14, days // 2) // len(BEGINNING)), event)
    for event, count in IN_TWO_YEARS:
        for _ in range(_times(b, count * share)):
            agenda.add(_some_day(b, days), event)
    for planned, count in PLANNED:
        for _ in range(_times(b, count * share)):
            agenda.add(_some_day(b, days), partial(planned, agenda=agenda))


def _times(b: Builder, expected: float) -> int:
    return int(expected) + (b.rng.random() < expected % 1)


def _some_day(b: Builder, days: int) -> date:
    return FIRST + timedelta(days=b.rng.randint(min(5, days - 1), days - 1))


def _trap(b: Builder) -> Exchange:
    """Something that sounds like a fact and is none."""
    kind = b.rng.choice(("joke", "hypothetical", "quote"))
    if b.language == "en":
        job = builder.job(b, b.some("job"))
    else:
        job = builder.job(b, b.some("job_woman" if b.is_woman else "job_man"))
    slots = {
        "city": b.elsewhere(), "thing": b.some("thing"), "employer": b.some("employer"),
        **job, **builder.animal(b, b.rng.choice(("dog", "cat"))),
    }  # fmt: skip
    return b.exchange(b.phrase(kind, slots), kind, agent=_chatty(b))  # type: ignore[arg-type]  # one of three kinds


def _chatty(b: Builder) -> str:
    return b.words.pick("agent_chat", b.rng)[1]


def _unknowing(b: Builder) -> str:
    return b.words.pick("agent_unknown", b.rng)[1]


def _written(session: Session, lower: bool, typographic: bool) -> Session:
    turns = tuple(
        replace(
            one,
            user=heard(one.user, lower, typographic),
            when=heard(one.when, lower, typographic),
        )
        for one in session.turns
    )
    return Session(at=session.at, turns=turns)


def _asked(ask: Ask, lower: bool) -> Ask:
    return replace(ask, question=heard(ask.question, lower))


def heard(text: str, lower: bool, typographic: bool = False) -> str:
    """Return a text as a recogniser writes it: cased, or without capitals and punctuation."""
    if lower:
        return " ".join("".join(c for c in text.lower() if c not in ".,!?;:").split())
    return text.replace("'", "’") if typographic else text
