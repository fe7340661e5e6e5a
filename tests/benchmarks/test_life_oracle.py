from datetime import timedelta

from msgspec.structs import replace

from benchmarks import life as cli
from benchmarks.lives.judging import limits
from benchmarks.lives.judging.oracle import LAWS, judge
from benchmarks.lives.model import Exchange, Session
from benchmarks.lives.playing.player import Played
from benchmarks.lives.playing.record import Opener, Seen
from tests.harness import simulated_lives
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


def test_an_icebreaker_for_what_was_cancelled_is_caught() -> None:
    life = small.life()
    off = Exchange("My dentist appointment is cancelled.", "Oh.", "fact", ends=("appointment1",))
    session = Session(small.ASKED, (off,))
    assert "icebreakers" in wrong(
        small.truthful(), replace(life, sessions=(*life.sessions, session))
    )


def test_what_is_marked_as_over_may_be_offered_beside_what_holds() -> None:
    marked = replace(small.YORK, text="- (until 7 March) Nora: I live in York.")
    answer = replace(small.truthful().answers[0], lines=(marked, small.BLOCK))
    assert wrong(small.answered(answer, small.truthful().answers[1])) == set()


def test_a_question_that_repeats_the_words_is_no_answer() -> None:
    asked = replace(small.BLOCK, sources=((0, 2, False),))
    answer = replace(small.truthful().answers[0], lines=(asked,))
    assert "current" in wrong(small.answered(answer, small.truthful().answers[1]))


def test_two_lines_of_a_head_that_contradict_each_other_are_caught() -> None:
    head = Seen(small.LATER, "About Nora: lives in Derby.\nNora likes tea.\nNora dislikes tea.")
    assert "opposites" in wrong(replace(small.truthful(), heads=(head,)))
    head = Seen(small.LATER, "Nora lives in York.\nNora lives in Derby.")
    assert "opposites" in wrong(replace(small.truthful(), heads=(head,)))


def test_a_spoken_count_of_records_is_caught() -> None:
    told = Seen(small.LATER, "I know 99 things about you, first of all: “Nora lives in Derby”.")
    assert "spoken" in wrong(replace(small.truthful(), spoken=(told,)))


def test_a_wrong_case_shows_its_sentence_its_chain_and_what_was_expected() -> None:
    verdict = judge(Played(small.life(), small.FALSIFIED["dates"]))["dates"]
    shown = cli.as_text(verdict.findings[0])
    assert "I have a dentist appointment on Friday." in shown
    assert "13 Mar 2026" in shown and "dated Fri 06 Mar 2026" in shown


def test_an_icebreaker_on_the_day_of_an_event_may_wish_luck_but_not_ask_how_it_went() -> None:
    morning = small.MONDAY.replace(day=small.FRIDAY.day, hour=8)
    luck = Opener(morning, "Wish luck for the dentist appointment today.", ((1, 2, False),))
    assert wrong(replace(small.truthful(), openers=(luck,))) == set()
    assert "icebreakers" in wrong(small.opened(morning))


def test_a_limit_is_kept_up_to_its_share_of_wrong_cases() -> None:
    kept = {law: {"cases": 100, "right": 100} for law in LAWS} | {
        "dates": {"cases": 100, "right": 98},
        "current": {"cases": 100, "right": 92},
        "spoken": {"cases": 0, "right": 0},
    }
    assert {law for law, wrong in limits.beyond(kept, "none").items() if wrong} == {"current"}
    found = limits.beyond(kept, "scripted")
    assert found["dates"] == 2 and found["current"] == 8 and not found["spoken"]


def test_the_nightly_control_catches_every_law_that_has_a_limit() -> None:
    assert simulated_lives.falsified("none")


def test_an_icebreaker_from_the_turn_that_moved_an_event_asks_about_the_new_day() -> None:
    life, new = small.life(), small.FRIDAY + timedelta(days=5)
    moved = replace(life.claims[-1], id="appointment2", on=new)
    said = Exchange(
        "They moved the dentist to Wednesday.", "Ok.", "fact",
        says=("appointment1", "appointment2"), ends=("appointment1",),
    )  # fmt: skip
    session = Session(small.ASKED, (said,))
    life = replace(life, claims=(*life.claims, moved), sessions=(*life.sessions, session))
    opener = Opener(small.LATER, "Ask how the dentist went.", ((2, 0, False),))
    assert "icebreakers" not in wrong(replace(small.truthful(), openers=(opener,)), life)
    early = replace(opener, at=small.ASKED + timedelta(days=2))
    assert "icebreakers" in wrong(replace(small.truthful(), openers=(early,)), life)


def test_a_spoken_fact_that_only_says_what_is_over_is_a_fact() -> None:
    life, off = small.life(), Exchange("I got the sack.", "Oh.", "fact", ends=("likes1",))
    life = replace(life, sessions=(*life.sessions, Session(small.ASKED, (off,))))
    told = Seen(small.LATER, "I know this: “Nora lives in Derby”; “Nora is out of work”.")
    sacked = small.fact("Nora is out of work.", (2, 0))
    record = replace(small.held(*small.DERIVED, sacked), spoken=(told,))
    assert "spoken" not in wrong(record, life)
    assert "spoken" in wrong(replace(small.truthful(), spoken=(told,)), life)
