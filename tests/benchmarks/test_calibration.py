from contextlib import contextmanager
from datetime import UTC, datetime
from types import SimpleNamespace

import numpy as np
import pytest
from msgspec.structs import replace

from benchmarks import calibration, common, datasets, logistic, offers, recall_plots, related
from benchmarks import recall_tables as tables
from benchmarks.offers import Bar, offered
from slowcat_memory.core.ranking import calibration as calibrate
from slowcat_memory.core.ranking.calibration import FULL
from slowcat_memory.core.render.memory_block import Packed
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.records import Hit, Memory
from slowcat_memory.runtime.recall.query import Query, Recollection
from slowcat_memory.testing import HashEmbedder
from tests.support import tiny_dataset as made_up

NOW = datetime(2024, 5, 1, tzinfo=UTC)


@pytest.fixture
def two(tmp_path):
    """A data set of talk and one of a list: a conversation each."""
    return [
        datasets.load(made_up.write(tmp_path / "talk")),
        datasets.load(made_up.write_list(tmp_path / "list")),
    ]


@contextmanager
def opened(path):
    engine = MemoryEngine(common.configuration(path), embedder=HashEmbedder())
    try:
        yield engine
    finally:
        engine.close()


def test_calibration_questions_are_asked_where_they_belong_and_where_they_do_not(two, tmp_path):
    with opened(tmp_path / "store") as engine:
        asked = related.ask(engine, two, HashEmbedder())
    kinds = {(one.id, one.kind) for one in asked}
    assert ("q0", "own") in kinds and ("q0", "unrelated") in kinds
    assert ("q3", "adversarial") in kinds and ("q3", "unrelated") not in kinds
    assert not any(one.id == "q4" for one in asked)  # nobody knows its answer
    for one in asked:
        assert len(one.found.hits) == len(one.holds) == len(one.right)
        assert one.kind == "own" or not any(one.right)
        texts = " ".join(hit.memory.text for hit in one.found.hits)
        elsewhere = "frozen lake" in texts or "red glove" in texts
        assert elsewhere == ((one.conversation == "l") == (one.kind != "unrelated"))
    first = next(one for one in asked if (one.id, one.kind) == ("q0", "own"))
    assert first.gold == 2 and {turn for held in first.holds for turn in held} == {
        "c/S1:0",
        "c/S1:1",
    }


def hit(name: str, score: float, probability: float, *, pinned: bool = False, **more) -> Hit:
    memory = Memory(
        id=name,
        kind="chunk",
        scope="s",
        speaker="A",
        text=f"we saw {name}",
        valid_from=NOW,
        pinned=pinned,
    )
    return Hit(memory=memory, score=score, probability=probability, **more)


HITS = [hit("a", 1.0, 0.2), hit("b", 0.8, 0.6), hit("c", 0.5, 0.1), hit("d", 0.2, 0.3)]


@pytest.mark.parametrize(
    ("bar", "kept"),
    [
        (Bar(), [0, 1, 2, 3]),
        (Bar(floor=0.6), [0, 1, 2, 3]),
        (Bar(floor=0.61), []),
        (Bar(floor=0.2, who="each"), [0, 1, 3]),
        (Bar(share=0.4), [0, 1, 2]),
        (Bar(share=0.5), [0, 1]),  # the third would need 0.55
        (Bar(share=0.5, of="probability"), [1, 3]),
        (Bar(floor=0.25, who="each", share=0.9), [1]),
    ],
)
def test_calibration_a_bar_keeps_what_reaches_it(bar, kept):
    assert offered(HITS, bar) == kept


def test_calibration_a_bar_weighs_questions_and_the_agents_words_as_recall_does():
    said = [hit("tea", 0.90, 0.5), hit("dog", 0.89, 0.5)]
    agent = replace(said[0], memory=replace(said[0].memory, role="assistant"))
    asking = replace(said[0], memory=replace(said[0].memory, text="what did we see"))
    for weak in (agent, asking):
        assert offered([weak, said[1]], Bar(share=0.5)) == [1, 0]
        assert offered([weak, said[1]], Bar()) == [0, 1]  # a search is not weighed
        assert offered([weak, said[1]], Bar(share=0.95)) == [1]
    assert offered(said, Bar(share=0.95)) == [0, 1]


def test_calibration_a_bar_is_the_one_of_recall(two, tmp_path):
    data = two[0]
    with opened(tmp_path / "store") as engine:
        asked = related.ask(engine, [data], HashEmbedder())
        size = len(engine.wiring.namespaces.get("c").searcher)
        late = [one for one in asked if one.memories == size]
        assert late  # what was asked earlier was asked of a smaller store, which tells otherwise
        for one in late:
            text = next(q.text for q in data.questions if q.id == one.id)
            seen = {hit.memory.id for hit in one.found.hits}
            for floor, share in ((0.0, 0.0), (0.3, 0.7), (0.05, 0.5), (0.99, 0.0)):
                query = Query(text=text, scope="c", now=one.at, k=24, floor=floor, keep_share=share)
                found = engine.wiring.retrieval.search(query).hits
                places = offered(one.found.hits, Bar(floor=floor, share=share))
                expected = [one.found.hits[n].memory.id for n in places]
                assert [h.memory.id for h in found if h.memory.id in seen] == expected


def asked(kind: str, hits: list[Hit], right=(), gold: int = 0, name: str = "q", whose: str = "c"):
    holds = [frozenset({f"t{n}"}) if n in right else frozenset() for n in range(len(hits))]
    return related.Asked(
        id=name,
        conversation=whose,
        kind=kind,
        found=Recollection(hits=hits),
        at=NOW,
        gold=gold,
        holds=tuple(holds),
        right=tuple(n in right for n in range(len(hits))),
    )


def packed(one: related.Asked, found: Recollection) -> Packed:
    return Packed("x" * bool(found.hits), tuple(found.hits), 10 * len(found.hits))


def test_calibration_what_is_offered_is_counted():
    every = [
        asked("own", HITS, right={2}, gold=2),
        asked("own", [hit("e", 1.0, 0.05)], right={0}, gold=1),
        asked("unrelated", [hit("f", 1.0, 0.3)]),
        asked("unrelated", [hit("g", 1.0, 0.01)]),
    ]
    row = offers.Offers(every, packed, most=3).at(Bar(floor=0.1))
    assert row["hit"] == 0.5 and row["recall"] == 0.25 and row["tokens"] == 15
    assert row["recall_per_100_tokens"] == pytest.approx(100 * 0.25 / 15)
    assert row["unrelated"] == {"nothing": 0.5, "tokens": 5.0} and "adversarial" not in row
    assert offers.Offers(every, packed, most=2).at(Bar())["recall"] == 0.5  # the third is cut off


# ------------------------------------------------------------------- the arithmetic


@pytest.mark.parametrize("seed", range(5))
def test_calibration_the_area_is_that_of_the_oracle(seed):
    metrics = pytest.importorskip("sklearn.metrics")
    chance = np.random.default_rng(seed)
    yes, no = chance.integers(3, 12, 40) / 10, chance.integers(0, 9, 70) / 10  # with many ties
    curve = logistic.roc(yes, no)
    labels = np.r_[np.ones(40), np.zeros(70)]
    assert curve["auc"] == pytest.approx(metrics.roc_auc_score(labels, np.r_[yes, no]))
    assert curve["caught"] == sorted(curve["caught"]) and curve["caught"][-1] == 1.0


def test_calibration_a_fit_finds_the_coefficients_that_made_the_labels():
    pytest.importorskip("sklearn")
    chance = np.random.default_rng(common.SEED)
    features = chance.uniform(0, 1, (20_000, 2))
    made = logistic.predict(np.array([-2.0, 3.0, 1.0]), features)
    found = logistic.fit(features, (chance.uniform(size=20_000) < made).astype(float))
    assert found == pytest.approx([-2.0, 3.0, 1.0], abs=0.2)


def test_calibration_reliability_of_a_perfect_and_of_a_boastful_judge():
    true = np.array([0.0, 0, 0, 0, 1, 1, 1, 1])
    perfect = logistic.reliability(true, true)
    assert perfect["brier"] == perfect["error"] == 0 and len(perfect["bins"]) == 2
    boast = logistic.reliability(np.full(8, 0.95), true)
    assert boast["error"] == pytest.approx(0.45) and boast["brier_of_share"] == 0.25
    assert boast["bins"] == [{"from": 0.9, "n": 8, "predicted": pytest.approx(0.95), "true": 0.5}]


def test_calibration_folds_keep_a_group_together():
    groups = ["a"] * 5 + ["b"] * 3 + ["c"] * 2 + ["d"]
    parts = logistic.folds(groups, most=3)
    assert (sum(part.astype(int) for part in parts) == 1).all()
    for part in parts:
        assert {g for g, held in zip(groups, part, strict=True) if held}.isdisjoint(
            g for g, held in zip(groups, part, strict=True) if not held
        )
    assert sorted(part.sum() for part in parts) == [3, 3, 5]


# ------------------------------------------------------------------- all of it


def random_asked(seed: int) -> list[related.Asked]:
    chance = np.random.default_rng(seed)
    every = []
    for n in range(60):
        for kind, lift in (("own", 0.3), ("unrelated", 0.0), ("adversarial", 0.25)):
            coverage = chance.uniform(0, 0.6, 8) + lift
            cosine = chance.uniform(0, 0.5, 8) + lift
            sure = calibrate.probability(coverage, cosine)
            hits = [
                hit(f"{n}.{m}", 1 - m / 10, float(sure[m]), coverage=float(coverage[m]),
                    cosine=float(cosine[m]))
                for m in range(8)
            ]  # fmt: skip
            right = {m for m in range(8) if kind == "own" and chance.uniform() < sure[m]}
            every.append(asked(kind, hits, right, 2, f"q{n}", f"c{n % 4}"))
    return every


def test_calibration_a_report_is_written_and_drawn(monkeypatch, tmp_path):
    pytest.importorskip("sklearn")
    every = random_asked(1)

    @contextmanager
    def no_engine(config, cache=None):
        yield SimpleNamespace(pack=lambda found, at: packed(every[0], found)), None

    monkeypatch.setattr(related, "ask", lambda *_: every)
    monkeypatch.setattr(calibration.quality, "opened", no_engine)
    options = SimpleNamespace(config=None, cache=None, limit=0)
    data = SimpleNamespace(name="Made-up", rank={}, lists=())
    written = calibration.learn([data], options)
    written["judged"] = calibration.examine(data, options)
    calibration._show_fits(written)
    calibration._show_judged(written["judged"])
    full = written["fits"]["full"]
    assert full["n"] == 60 * 2 * calibrate.BEST and list(full["coefficients"]) == list(full["used"])
    assert written["cross"]["folds"] == 4 and written["cross"]["roc"]["auc"] > 0.7
    judged = written["judged"]
    assert judged["roc"]["unrelated"]["auc"] > judged["roc"]["adversarial"]["auc"]
    silent = [row["unrelated"]["nothing"] for row in judged["offers"]["floors"]]
    assert silent == sorted(silent) and silent[0] == 0
    common.write_json(tmp_path / "calibration.json", written)
    read = common.read_json(tmp_path / "calibration.json")
    text = tables.calibration(read)
    assert "| FULL |" in text and "never fitted: against adversarial" in text
    assert text.count("| 0.55 |") == 2 and "Brier score" in text
    recall_plots.calibration(read, tmp_path / "calibration.png")
    assert (tmp_path / "calibration.png").stat().st_size > 10_000
    alone = tables.calibration({**read, **calibration.NOT_FITTED})
    assert alone.startswith("Judged by") and "cross-validated" not in alone


def test_calibration_coefficients_that_moved_are_noticed():
    used = {"bias": FULL.bias, "coverage": FULL.coverage, "cosine": FULL.cosine}
    assert not calibration.moved({"coefficients": used, "used": used})
    other = {**used, "cosine": 1.1 * FULL.cosine}
    assert calibration.moved({"coefficients": other, "used": used})
