from datetime import timedelta

from msgspec.structs import replace

from benchmarks.lives.judging import limits
from benchmarks.lives.judging.oracle import LAWS, judge
from benchmarks.lives.model import Exchange, Session
from benchmarks.lives.playing.player import Played
from tests.support import small_life as small
from tests.support.rows import each_row


def wrong(record, life=None) -> set[str]:
    verdicts = judge(Played(life or small.life(), record))
    return {name for name, one in verdicts.items() if one.findings}


def told_life():
    """The same life, in which the user says how the appointment went."""
    life, said = small.life(), small.FRIDAY + timedelta(days=2)
    went = Exchange("My dentist appointment went fine.", "Good.", "fact", says=("appointment1",))
    session = Session(small.MONDAY.replace(day=said.day), (went,))
    return replace(life, sessions=(*life.sessions, session))


def test_a_memory_that_is_right_breaks_no_law() -> None:
    assert wrong(small.truthful()) == set()
    assert all(one.cases for one in judge(Played(small.life(), small.truthful())).values())


@each_row("law", small.FALSIFIED)
def test_each_law_catches_what_breaks_it(law: str) -> None:
    assert law in wrong(small.FALSIFIED[law])


def test_every_law_has_a_control() -> None:
    assert set(small.FALSIFIED) | {"told_already"} == set(LAWS)


def test_an_icebreaker_for_what_was_told_or_asked_before_is_caught() -> None:
    assert "told_already" in wrong(small.truthful(), told_life())
    assert "icebreakers" in wrong(small.opened(small.LATER, times=2))


def test_what_is_marked_as_over_may_be_offered_beside_what_holds() -> None:
    marked = replace(small.YORK, text="- (until 7 March) Nora: I live in York.")
    answer = replace(small.truthful().answers[0], lines=(marked, small.BLOCK))
    assert wrong(small.answered(answer, small.truthful().answers[1])) == set()


def test_a_limit_is_kept_up_to_its_share_of_wrong_cases() -> None:
    kept = {law: {"cases": 100, "right": 100} for law in LAWS} | {
        "dates": {"cases": 100, "right": 98},
        "current": {"cases": 100, "right": 92},
        "spoken": {"cases": 0, "right": 0},
    }
    assert {law for law, wrong in limits.beyond(kept, "none").items() if wrong} == {"current"}
    found = limits.beyond(kept, "scripted")
    assert found["dates"] == 2 and found["current"] == 8 and not found["spoken"]
