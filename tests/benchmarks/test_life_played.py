"""Lives of two years: how they are written, played, and judged by laws that can fail."""

import asyncio
import sys
import tempfile
from pathlib import Path

import pytest
from msgspec.structs import replace

from benchmarks import life as cli
from benchmarks.lives.generate import generate
from benchmarks.lives.laws import LAWS, judge
from benchmarks.lives.model import Exchange, Life, Session
from benchmarks.lives.player import Played, play
from benchmarks.lives.record import Seen
from benchmarks.lives.truthful import SLOTS, TruthfulLLM
from slowcat_memory.core.facts import merging
from slowcat_memory.providers import Prompt
from tests.harness.simulated_lives import beyond
from tests.support import small_life as small
from tests.support.rows import each_row
from tests.support.said import fact

DAYS = 21


def played(life: Life, llm: TruthfulLLM | None = None) -> Played:
    with tempfile.TemporaryDirectory(dir=cli.MEMORY) as folder:
        return play(life, Path(folder, "store"), vectors=False, llm=llm)


@pytest.fixture(scope="module")
def by_rule() -> Played:
    """Three weeks in German and lower case, without an LLM."""
    return played(generate(3, days=DAYS))


@pytest.fixture(scope="module")
def by_llm() -> Played:
    """Three weeks in English with a truthful LLM."""
    life = generate(8, days=DAYS)
    return played(life, TruthfulLLM(life))


def test_a_short_life_without_an_llm_offers_nothing_that_is_over(by_rule) -> None:
    verdicts = judge(by_rule)
    assert verdicts["current"].cases and verdicts["opposites"].cases
    for law in ("superseded", "icebreakers", "opposites", "traps"):
        assert not verdicts[law].findings, cli.as_text(verdicts[law].findings[0])


def test_a_short_life_with_a_truthful_llm_is_dated_as_it_was_said(by_llm) -> None:
    verdicts = judge(by_llm)
    assert verdicts["dates"].cases > 2 and verdicts["read"].hits > 10
    for law in ("dates", "superseded", "icebreakers", "traps"):
        assert not verdicts[law].findings, cli.as_text(verdicts[law].findings[0])


def test_a_truthful_llm_answers_about_every_pair_of_the_memorys_own_prompt():
    homes = fact(small.OLD_HOME.text), fact(small.NEW_HOME.text)
    user = merging.build_prompt([merging.Pair(*homes)])
    prompt = Prompt(job="merge", version=1, system="", user=user)
    answer = asyncio.run(TruthfulLLM(small.life()).complete(prompt, merging.PairsReply))
    assert [pair.same_fact for pair in answer.value.pairs] == [True]


def test_a_truthful_llm_has_words_for_every_claim_of_the_diaries():
    assert {claim.slot for life in cli.diaries() for claim in life.claims} <= SLOTS.keys()


@pytest.mark.parametrize(("half", "shown"), [("tuned", True), ("held out", False)])
def test_cases_of_the_held_out_half_are_never_printed(half, shown, monkeypatch, capsys) -> None:
    life = replace(small.life(), half=half)
    monkeypatch.setattr(sys, "argv", ["life", "--seeds", "1", "--half", half, "--wrong"])
    monkeypatch.setattr(cli, "generate", lambda *_: life)
    monkeypatch.setattr(
        cli, "play", lambda life, *_, **__: Played(life, small.FALSIFIED["superseded"])
    )
    cli.main()
    assert ("I live in York" in capsys.readouterr().out) is shown


def wrong(record, life=None) -> set[str]:
    verdicts = judge(Played(life or small.life(), record))
    return {name for name, one in verdicts.items() if one.findings}


def test_a_memory_that_is_right_breaks_no_law() -> None:
    assert wrong(small.truthful()) == set()
    assert all(one.cases for one in judge(Played(small.life(), small.truthful())).values())


@each_row("law", small.FALSIFIED)
def test_each_law_catches_what_breaks_it(law: str) -> None:
    assert law in wrong(small.FALSIFIED[law])


def test_every_law_has_a_control() -> None:
    assert set(small.FALSIFIED) == set(LAWS)


def test_an_icebreaker_for_what_was_asked_before_is_caught() -> None:
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
    assert {law for law, wrong in beyond(kept, "none").items() if wrong} == {"current"}
    found = beyond(kept, "scripted")
    assert found["dates"] == 2 and found["current"] == 8 and not found["spoken"]


def test_two_lines_of_a_head_that_contradict_each_other_are_caught() -> None:
    head = Seen(small.LATER, "About Nora: lives in Derby.\nNora likes tea.\nNora dislikes tea.")
    assert "opposites" in wrong(replace(small.truthful(), heads=(head,)))
    head = Seen(small.LATER, "Nora lives in York.\nNora lives in Derby.")
    assert "opposites" in wrong(replace(small.truthful(), heads=(head,)))


def test_a_spoken_fact_that_only_says_what_is_over_is_a_fact() -> None:
    life, off = small.life(), Exchange("I got the sack.", "Oh.", "fact", ends=("likes1",))
    life = replace(life, sessions=(*life.sessions, Session(small.ASKED, (off,))))
    told = Seen(small.LATER, "I know this: “Nora lives in Derby”; “Nora is out of work”.")
    sacked = small.fact("Nora is out of work.", (2, 0))
    record = replace(small.held(*small.DERIVED, sacked), spoken=(told,))
    assert "spoken" not in wrong(record, life)
    assert "spoken" in wrong(replace(small.truthful(), spoken=(told,)), life)
