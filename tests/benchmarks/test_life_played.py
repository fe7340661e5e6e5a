"""Lives of two years: how they are written, played, and judged by laws that can fail."""

import sys
import tempfile
from datetime import date, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from benchmarks import life as cli
from benchmarks.lives.generate import generate
from benchmarks.lives.laws import LAWS, beyond, judge
from benchmarks.lives.model import Exchange, Life, Session, diaries
from benchmarks.lives.player import Played, play
from benchmarks.lives.record import Seen
from benchmarks.lives.truthful import TruthfulLLM
from benchmarks.lives.wordings import wordings
from tests.support import small_life as small
from tests.support.rows import each_row

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


def test_each_question_of_a_life_is_asked_once_and_stored_nowhere(by_rule) -> None:
    asked = [answer.ask for answer in by_rule.record.answers]
    assert asked == list(range(len(by_rule.life.asks)))
    stages = {answer.stage for answer in by_rule.record.answers}
    assert "none" not in stages
    said = {turn.user for session in by_rule.life.sessions for turn in session.turns}
    lines = [line for answer in by_rule.record.answers for line in answer.lines if line.sources]
    chunks = [line.text.partition(": ")[2] for line in lines if line.kind == "chunk"]
    assert lines and not {text for text in chunks if text.startswith("wo")} - said


@pytest.mark.parametrize(("more", "shown"), [((), False), (("--reveal-held-out",), True)])
def test_cases_of_the_held_out_half_are_printed_on_request_alone(
    more, shown, monkeypatch, capsys
) -> None:
    life = replace(small.life(), half="held out")
    given = ["life", "--seeds", "1", "--half", "held out", "--wrong", *more]
    monkeypatch.setattr(sys, "argv", given)
    monkeypatch.setattr(cli, "generate", lambda *_: life)
    monkeypatch.setattr(
        cli, "play", lambda life, *_, **__: Played(life, small.FALSIFIED["superseded"])
    )
    cli.main()
    printed = capsys.readouterr().out
    assert ("I live in York" in printed) is shown


def test_diaries_are_lives_of_both_languages_told_in_order() -> None:
    written = list(diaries())
    assert len(written) >= 12 and {life.language for life in written} == {"en", "de"}
    for life in written:
        assert life.sessions and life.asks, life.name
        assert [one.at for one in life.sessions] == sorted(one.at for one in life.sessions)


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


LANGUAGES = ("en", "de")


HALVES = ("tuned", "held out")


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_halves_share_no_sentence_and_cover_the_same_kinds(language) -> None:
    tuned, held_out = (wordings(language, half) for half in HALVES)
    assert tuned.sentences.keys() == held_out.sentences.keys()
    for kind, rows in tuned.sentences.items():
        assert not {text for _, text in rows} & {text for _, text in held_out.sentences[kind]}
        assert abs(len(rows) - len(held_out.sentences[kind])) <= 1
    assert not set(tuned.values["city"]) & set(held_out.values["city"])


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("seed", (1, 2))
def test_a_life_of_two_years_is_whole_and_the_same_every_time(seed, half) -> None:
    life = generate(seed, half)
    assert life == generate(seed, half)
    turns = [turn for session in life.sessions for turn in session.turns]
    assert 280 < len(life.sessions) < 380 and 1200 < len(turns) < 1900
    assert not any("{" in turn.user or "{" in turn.agent for turn in turns)
    known = {claim.id for claim in life.claims}
    assert {id for turn in turns for id in (*turn.says, *turn.ends, *turn.asks)} <= known
    assert {turn.kind for turn in turns} == {
        "fact", "correction", "question", "small talk", "hypothetical", "joke", "quote", "other"
    }  # fmt: skip


@pytest.mark.parametrize("seed", (1, 2, 3))
def test_what_excludes_each_other_is_never_true_on_one_day(seed) -> None:
    life = generate(seed)
    for slot in ("home", "job", "employer", "partner", "diet", "phone", "car"):
        spans = sorted(
            (claim.begins or date.min, claim.ends or date.max)
            for claim in life.claims
            if claim.slot == slot and claim.subject == "user"
        )
        assert all(one[1] <= two[0] for one, two in zip(spans, spans[1:], strict=False))


@pytest.mark.parametrize("seed", (1, 2, 3))
def test_a_question_expects_what_was_said_and_not_said_to_be_over(seed) -> None:
    life = generate(seed)
    said, ended = dict[str, datetime](), dict[str, datetime]()
    for session in life.sessions:
        for turn in session.turns:
            said |= {id: session.at for id in turn.says if id not in said}
            ended |= {id: session.at for id in turn.ends if id not in ended}
    for ask in life.asks:
        assert not set(ask.expect) & set(ask.reject)
        assert all(said[id] < ask.at for id in (*ask.expect, *ask.reject))
        assert all(ended[id] < ask.at for id in ask.reject)


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
