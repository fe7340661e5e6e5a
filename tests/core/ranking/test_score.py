"""Scores of what was found, their fields, and the chance that one answers."""

from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from slowcat_memory.config import build
from slowcat_memory.core.query.recall_gate import names_in
from slowcat_memory.core.ranking.score import (
    UNRELATED_TOKENS,
    VIEWS,
    WEIGHTS,
    AnswerEvidence,
    Candidates,
    FuseOptions,
    Question,
    RankOptions,
    Row,
    answer_probability,
    by_cosine,
    by_tokens,
    distinct,
    priors,
    probability,
    score,
    votes,
)
from slowcat_memory.core.time.expressions import Interval
from tests.support.rows import cases, each_listed

# ------------------------------------------------------------------- candidates to one order, with tokens and without

NOW, DAY = 1.8e9, 86_400.0
NAN = float("nan")


def some(random: np.random.Generator, size: int, share: float) -> np.ndarray:
    return random.random(size) < share


def frame_at_random(
    random: np.random.Generator, size: int, views: frozenset[str], visible: float = 0.2
) -> Candidates:
    """Draw the columns of candidates.

    Args:
        views: The views besides the window.
        visible: Share of them that the caller has already.
    """
    none, zero = np.full(size, NAN), np.zeros(size)
    about = np.where(some(random, size, 0.5), NAN, NOW - 300 * DAY * random.random(size))
    columns = {
        "window": random.gamma(1, 4, size) * some(random, size, 0.8),
        "dense": np.where(some(random, size, 0.2), none, random.normal(0.2, 0.2, size)),
        "keys": np.where(some(random, size, 0.5), none, random.normal(0.3, 0.2, size)),
        "asked": np.where(some(random, size, 0.5), zero, random.normal(0, 1, size)),
        "before": random.integers(-1, max(size, 1), size),
        "after": random.integers(-1, max(size, 1), size),
        "at": NOW - 400 * DAY * random.random(size) + 2 * DAY,
        "importance": random.choice([0.0, 0.5, 1.0], size),
        "substance": random.random(size),
        "agent": some(random, size, 0.4),
        "pinned": some(random, size, 0.1),
        "session": random.permutation(random.integers(0, 2**31, size // 4 + 1).repeat(4))[:size],
        "speaker": random.integers(0, 4, size),
        "about_from": about,
        "about_until": about + random.choice([0, 1, 30], size) * DAY,
        "visible": some(random, size, visible),
    }
    columns["cosine"] = columns["dense"] + 0.1 * random.random(size)
    known = {"window"} | views
    names = [row.name.lower() for row in Row]
    rows = [none if name in VIEWS and name not in known else columns[name] for name in names]
    return Candidates(block=np.array(rows, float), known=known)


def question_at_random(random: np.random.Generator) -> Question:
    ends, lengths = random.integers(0, 300, 2), random.choice([1, 7, 365], 2)
    spans = zip(NOW - (ends + lengths) * DAY, NOW - ends * DAY, strict=True)
    times = tuple(Interval(*(datetime.fromtimestamp(at, UTC) for at in span), "") for span in spans)
    return Question(
        now=NOW,
        ceiling=float(random.choice([0.0, 10.0])),
        long_turns=bool(random.integers(2)),
        memories=int(random.choice([0, 1, 100, 10_000])),
        speakers=random.integers(0, 4, random.integers(3)).tolist(),
        times=times[: random.integers(3)],
    )


seeds = st.integers(0, 2**32 - 1)
sizes = st.sampled_from([0, 1, 2, 5, 40, 300])
views = st.frozensets(st.sampled_from(sorted(VIEWS))).map(
    # Without vectors there are no cosines of keys or judged queries either.
    lambda names: names if "dense" in names else names & {"window"}
)


@given(seed=seeds, size=sizes, views=views)
def test_score_what_the_caller_has_already_is_ranked_like_all_others(seed, size, views):
    random = np.random.default_rng(seed)
    frame, question = frame_at_random(random, size, views), question_at_random(random)
    block = frame.block.copy()
    block[Row.VISIBLE] = 0
    similarity = random.random(size)
    orders = [
        score(one, question, FuseOptions(), RankOptions(), WEIGHTS, lambda best: similarity).order
        for one in (frame, replace(frame, block=block))
    ]
    assert sorted(orders[0]) == list(range(size))
    assert orders[0].tolist() == orders[1].tolist()


def test_score_equal_scores_stay_in_order_and_a_missing_one_is_last() -> None:
    random = np.random.default_rng(7)
    frame = frame_at_random(random, 400, frozenset(), visible=0.0)
    frame.block[: Row.VISIBLE] = np.where(frame.block[:1] > 1, 1.0, 0.5)
    frame.block[[Row.BEFORE, Row.AFTER]] = -1
    frame.block[Row.IMPORTANCE, [3, 50]] = np.nan
    question = replace(question_at_random(random), times=(), speakers=())
    found = score(frame, question, FuseOptions(), RankOptions())
    key = np.where(np.isnan(found.scores), -np.inf, found.scores)
    assert list(found.ranked) == sorted(range(400), key=lambda n: (-key[n], n))
    assert list(found.ranked[-2:]) == [3, 50] and len(set(key.round(9))) == 3


# ------------------------------------------------------------------- weights of the fields


def fused(fields: dict[str, list[float]], sessions: list[int], **options: Any) -> list[float]:
    """Return scores by fields alone, without priors and smoothing."""
    block = np.full((len(Row), len(sessions)), np.nan)
    block[Row.IMPORTANCE], block[Row.SUBSTANCE] = 0.5, 1.0
    block[[Row.AT, Row.AGENT, Row.PINNED, Row.SPEAKER]] = 0.0
    block[Row.SESSION] = sessions
    for name, values in fields.items():
        block[VIEWS[name]] = values
    question = replace(question_at_random(np.random.default_rng(0)), speakers=(), times=())
    candidates = Candidates(block=block, known=frozenset(fields))
    options = {"session": 0.0, "smoothing": 0.0, **options}
    return score(candidates, question, FuseOptions(**options), RankOptions(recency=0)).scores


def test_score_by_ranks_a_lead_counts_no_more_than_a_place() -> None:
    chosen = build({"recall": {"fusion": "rrf"}}).fuse.method
    fields = {"window": [1.0, 0.1, 0.0, 0.1], "dense": [0.9, 1.0, 0.0, np.nan]}
    found = fused(fields, [1, 2, 3, 4], method=chosen, rrf_k=1.0, window=1.0, dense=1.0)
    assert found == pytest.approx([(1 + 2 / 3) / 2, (2 / 3 + 1) / 2, 0.0, (2 / 3) / 2])


# ------------------------------------------------------------------- score fields


cosine = st.floats(-1, 1, width=32) | st.just(NAN)
cosines = st.lists(cosine, min_size=1, max_size=20)


def array(values: list[float]) -> np.ndarray:
    return np.array(values, np.float32)


# ------------------------------------------------------------------- one view to 0..1


@given(cosines)
def test_by_tokens_without_tokens_a_memory_is_as_good_as_the_worst_that_has_some(scores):
    raw = array(scores)
    scaled, known = by_tokens(raw), ~np.isnan(raw)
    assert ((scaled >= 0) & (scaled <= 1)).all()
    if known.any():
        assert np.array_equal(scaled[known], by_cosine(raw, UNRELATED_TOKENS)[known])
        assert (scaled[~known] == scaled[known].min()).all()
    else:
        assert not scaled.any()


# ------------------------------------------------------------------- sessions


def test_distinct_the_first_of_equal_texts_stays() -> None:
    texts = ["My dog is Max.", "my DOG is max", "Moritz is a cat", "My dog is Max!", ""]
    assert distinct(texts, 0.8) == [0, 2, 4]
    assert distinct(["...", "!?"], 0.8) == [0]
    assert distinct([], 0.8) == []


# ------------------------------------------------------------------- abstention

GOOD = AnswerEvidence(coverage=0.7, max_similarity=0.8, unseen_names=0.0, memories=500)
BAD = AnswerEvidence(coverage=0.1, max_similarity=0.45, unseen_names=1.0, memories=500)


@each_listed("rules/abstention", "names")
def test_names_in_a_question_are_told_from_nouns_and_ordinary_words(language, text, names) -> None:
    assert names_in(text, language) == names.split()


@given(st.text(max_size=300))
def test_names_in_takes_any_text(text: str) -> None:
    assert all(name in text for name in names_in(text))


def test_answer_probability_the_nearest_of_few_memories_says_more() -> None:
    few, many = replace(BAD, memories=15), replace(BAD, memories=5000)
    assert answer_probability(few) > answer_probability(many)
    assert answer_probability(replace(GOOD, memories=0)) == 0.0


# ------------------------------------------------------------------- calibration


rounded = st.floats(-2, 2)  # a little beyond what they may be


def told(coverage: float, cosine: float | None = None) -> float:
    found = probability(np.array([coverage]), None if cosine is None else np.array([cosine]))
    return float(found[0])


@given(rounded, rounded | st.just(NAN) | st.none())
def test_probability_takes_measures_beyond_their_range(coverage, cosine):
    assert 0 < told(coverage, cosine) < 1


# ------------------------------------------------------------------- what counts before a question is asked: age, pins, earlier judgements

# ------------------------------------------------------------------- what is added to a score whoever asks: importance, pins, age, and what a questio

TODAY = 1000 * DAY
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
    question = Question(TODAY, 0.0, False, size, speakers=(1,), times=times)
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
    at = [TODAY, TODAY - 30 * DAY, TODAY - 60 * DAY, TODAY + DAY]
    fresh, month, two, future = ranked(options, at=at)
    assert [fresh, month, two] == pytest.approx([0.7, 0.6, 0.55])
    assert future == fresh


def test_priors_recency_can_be_switched_off() -> None:
    for options in (RankOptions(half_life_days=0), RankOptions(recency=0)):
        assert ranked(options, at=[TODAY, 0.0]) == pytest.approx([0.5, 0.5])


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
