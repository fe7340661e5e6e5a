"""What counts before a question is asked: age, pins, earlier judgements."""

from datetime import UTC, datetime

import numpy as np
import pytest

from slowcat_memory.core.ranking.offering import Candidates, Question, Row
from slowcat_memory.core.ranking.score import RankOptions, priors, votes
from slowcat_memory.core.time.expressions import Interval
from slowcat_memory.index.format import Pointer
from slowcat_memory.index.vectors import KeyView, VectorView
from tests.support.rows import cases

# ------------------------------------------------------------------- what is added to a score whoever asks: importance, pins, age, and what a questio

DAY = 86_400.0
NOW = 1000 * DAY
ASKED = 500 * DAY  # start of the day that the query names, if it names one


def ranked(
    options: RankOptions = RankOptions(), *, keyed: bool = False, **facts: list
) -> list[float]:
    """Return the scores; ``when`` is how much of the day asked for each memory mentions."""
    size = max(len(values) for values in facts.values())
    facts = {"importance": [0.5] * size, **facts}
    known = frozenset({"asked", "keys"} if keyed else {"asked"})
    frame = Candidates(block=np.zeros((len(Row), size)), known=known)
    scores = np.array(facts.pop("scores", [0.5] * size))
    rows = {"named": Row.SPEAKER, "votes": Row.ASKED, "when": Row.ABOUT_FROM}
    for name, values in facts.items():
        frame.block[rows.get(name) or Row[name.upper()]] = values
    mentions = ASKED + DAY * (1 - frame.block[Row.ABOUT_FROM])
    frame.block[[Row.ABOUT_FROM, Row.ABOUT_UNTIL]] = mentions, mentions + DAY
    day = (datetime.fromtimestamp(at, UTC) for at in (ASKED, ASKED + DAY))
    times = (Interval(*day, ""),) if "when" in facts else ()
    question = Question(NOW, 0.0, False, size, speakers=(1,), times=times)
    return (scores + priors(frame, question, options)).tolist()


def test_priors_an_ordinary_old_memory_keeps_its_score() -> None:
    assert ranked(scores=[0.7], at=[-1e12]) == [pytest.approx(0.7)]


def test_priors_keys_say_whose_words_and_when_themselves() -> None:
    facts: dict[str, list] = {"named": [True, False], "when": [1.0, 0.0]}
    (plain, none), (less, same) = ranked(**facts), ranked(keyed=True, **facts)
    assert less - same == pytest.approx(0.6 * (plain - none))
    assert ranked(keyed=True, pinned=[True]) == [pytest.approx(ranked(pinned=[True])[0])]


def test_priors_recency_halves_by_its_half_life() -> None:
    options = RankOptions(recency=0.2, half_life_days=30)
    at = [NOW, NOW - 30 * DAY, NOW - 60 * DAY, NOW + DAY]
    fresh, month, two, future = ranked(options, at=at)
    assert [fresh, month, two] == pytest.approx([0.7, 0.6, 0.55])
    assert future == fresh


def test_priors_recency_can_be_switched_off() -> None:
    for options in (RankOptions(half_life_days=0), RankOptions(recency=0)):
        assert ranked(options, at=[NOW, 0.0]) == pytest.approx([0.5, 0.5])


@cases("rules/priors.jsonl")
def test_priors_what_the_question_names_and_what_counts_gain(option, facts, gains):
    least, *more = ranked(RankOptions(**{option: 0.1}), **facts)
    assert [one - least for one in more] == pytest.approx(gains)
    assert len(set(ranked(RankOptions(**{option: 0.0}), **facts))) == 1


# ------------------------------------------------------------------- laws: votes are bounded, leave pinned memories alone, and only ever reorder


def bounded(summed: np.ndarray, *pinned: int) -> np.ndarray:
    block = np.zeros((len(Row), len(summed)))
    block[Row.ASKED], block[Row.PINNED, list(pinned)] = summed, 1.0
    return votes(Candidates(block=block, known=frozenset({"window", "asked"})))


def test_votes_a_hard_negative_takes_nothing_from_what_is_pinned() -> None:
    assert bounded(np.array([-1.0, -1.0, 0.5]), 0).tolist() == [0, -1, 0.5]


def test_votes_the_index_adds_up_what_the_like_was_judged() -> None:
    dim = 8
    view = KeyView("asked", VectorView(dim))
    rows = np.eye(dim, dtype=np.float32)
    like = (rows[0] * 0.9 + rows[1] * np.sqrt(1 - 0.81)).astype(np.float32)
    told = [
        (0, "a", 1.0, rows[0]),
        (0, "b", 0.5, like),
        (1, "c", -0.5, rows[0]),
        (2, "d", 1.0, rows[3]),
    ]
    for target in (0, 1, 2):
        view.put(
            target,
            [Pointer(name=n, kind="asked", text=n, weight=w) for t, n, w, _ in told if t == target],
        )
        for number, name, _, vector in told:
            if number == target:
                view.dense.put(view.find(target, name), vector)
    summed = view.sum_votes(rows[0], np.arange(3), 0.6)
    assert summed.tolist() == pytest.approx([1 + 0.5 * 0.75, -0.5, 0.0], abs=0.01)
