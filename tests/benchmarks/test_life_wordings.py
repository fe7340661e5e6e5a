from datetime import date, datetime

import pytest

from benchmarks.lives.making.generate import generate
from benchmarks.lives.wordings import wordings

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
