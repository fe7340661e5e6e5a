import asyncio
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
from slowcat_memory.core.facts.prompt import SYSTEM, FactsReply
from slowcat_memory.errors import BadAnswerError
from slowcat_memory.providers import Prompt
from tests.support import small_life as small

DAYS = 21
RECORD = """Conversation of Monday 2026-03-09, 12:00 (time zone UTC). Who speaks: Nora, Assistant.
=== record 1 ===
[7] Nora: I moved to Derby on Saturday.
[8] Assistant: Oh.
[9] Nora: If I lived in Bonn, I'd swim.
[11] Nora: I have a dentist appointment on Friday.
=== end of record 1 ===
Write the facts of the turns 7, 9, 11."""


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


def test_a_line_of_a_block_leads_to_the_exchange_that_it_comes_from(by_llm) -> None:
    life, found = by_llm.life, 0
    for answer in by_llm.record.answers:
        for line in answer.lines:
            for session, n, agent in line.sources[:1]:
                turn = life.sessions[session].turns[n]
                assert (turn.agent if agent else turn.user) in line.text
                found += 1
    assert found > 5


def test_a_life_that_is_falsified_is_caught(by_rule) -> None:
    """The player's own record, with the questions of another truth."""
    claims = {claim.id: claim for claim in by_rule.life.claims}
    wrong = tuple(
        replace(ask, expect=(), reject=ask.expect)
        for ask in by_rule.life.asks
        if ask.expect and claims[ask.expect[0]].on is None
    )
    life = replace(by_rule.life, asks=wrong)
    record = replace(
        by_rule.record,
        answers=tuple(
            replace(answer, ask=n)
            for n, ask in enumerate(wrong)
            for answer in by_rule.record.answers
            if by_rule.life.asks[answer.ask].at == ask.at
        ),
    )
    assert judge(Played(life, record))["superseded"].findings


def answered(prompt: str, job: str = "facts", system: str = SYSTEM) -> dict:
    llm = TruthfulLLM(small.life())
    made = Prompt(job=job, version=1, system=system, user=prompt)
    reply = asyncio.run(llm.complete(made, FactsReply))
    return {fact.turn: fact for fact in reply.value.facts}


def test_a_truthful_llm_writes_what_turns_state_with_their_words_and_days() -> None:
    facts = answered(RECORD)
    assert facts.keys() == {7, 11}  # what was only imagined is no fact
    assert facts[7].content == "Nora lives in Derby." and facts[7].quote in RECORD
    assert facts[11].date == "2026-03-13" and "13 March 2026" in facts[11].content


def test_a_truthful_llm_fails_on_a_prompt_that_it_has_no_script_for() -> None:
    with pytest.raises(BadAnswerError, match="no script for weather"):
        answered("How is the weather?", job="weather", system="Write a forecast.")


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


def test_a_diary_that_is_no_life_is_refused_with_its_name(tmp_path) -> None:
    (tmp_path / "odd.toml").write_text('name = "odd"\nlanguage = "fr"\n')
    with pytest.raises(ValueError, match=r"odd\.toml"):
        list(diaries(tmp_path))
