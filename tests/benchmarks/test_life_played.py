import sys
import tempfile
from pathlib import Path

import pytest
from msgspec.structs import replace

from benchmarks import life as cli
from benchmarks.lives.diaries import diaries
from benchmarks.lives.judging.oracle import judge
from benchmarks.lives.making.generate import generate
from benchmarks.lives.model import Life
from benchmarks.lives.playing.player import Played, play
from benchmarks.lives.playing.truthful import TruthfulLLM
from tests.support import small_life as small

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
    assert verdicts["current"].cases and verdicts["heads"].cases
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
