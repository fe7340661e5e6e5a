import pytest

from benchmarks import datasets, scoring
from benchmarks.peers import race, stores
from slowcat_memory.testing import HashEmbedder
from tests.support import tiny_dataset as made_up


def check_peer(name, folder):
    """What any peer does: it finds what was added, alone or with many, by its own id."""
    embedder = HashEmbedder()
    items = race.embedded(race.made_up(45), embedder)
    peer = stores.open_peer(name, folder, embedder)
    try:
        peer.add_all(items[:20])
        peer.add_all(items[20:40])
        for item in items[40:]:
            peer.add(item)
            peer.settle()
        for item in (items[0], items[25], items[44]):
            found = peer.search(item.turn.text, embedder.encode_query(item.text), 10)
            assert len(found) == 10 == len(set(found))
            assert item.id in found[:3]
        if peer.embeds:
            assert items[44].id in peer.search(items[44].turn.text, None, 10)[:3]
    finally:
        peer.close()


@pytest.mark.parametrize("name", stores.PEERS)
def test_peers_a_peer_keeps_what_it_is_told(name, tmp_path):
    try:
        stores.versions(name)
        stores.open_peer(name, tmp_path / "there", HashEmbedder()).close()
    except ImportError as error:
        pytest.skip(f"{error.name} is not installed (extra: peers)")
    check_peer(name, tmp_path / "peer")


class Fake:
    """Answers at once, and notes what it is asked."""

    def __init__(self, log, name, embeds):
        self.log, self.name, self.embeds = log, name, embeds

    def add(self, item):
        self.log.append((self.name, item.id))

    def settle(self):
        """Nothing to wait for."""

    def search(self, text, vector, k):
        assert (vector is None) == self.embeds or self.log == []
        self.log.append((self.name, text))
        return []


def test_peers_every_text_goes_to_all_before_the_next(monkeypatch):
    monkeypatch.setattr(race, "WARM_UP", 2)
    log = []
    peers = {name: Fake(log, name, name == "a") for name in "abc"}
    texts = [f"question {n}" for n in range(8)]
    made = race.search(peers, texts, HashEmbedder().encode_query)
    assert {name: len(ms) for name, ms in made.items()} == dict.fromkeys("abc", 6)
    rounds = [log[n : n + 3] for n in range(0, len(log), 3)]
    assert [{text for _, text in part} for part in rounds] == [{text} for text in texts]
    assert len({tuple(name for name, _ in part) for part in rounds}) > 1


def test_peers_what_is_found_is_what_the_quality_benchmark_counts(tmp_path):
    """The same engine, asked here and there: the same share of the evidence."""
    data, embedder = datasets.load(made_up.write(tmp_path / "data")), HashEmbedder()
    steps = race.of_data(data, embedder)
    share, count = race.recall("slowcat", tmp_path / "peer", steps, embedder)
    scores = scoring.evaluate(data, {q.id: _all_before(data, q) for q in data.questions})["all"]
    assert count == scores["n"] == 3
    assert share == pytest.approx(scores["R@10"])  # ten hits of six turns: all of them


def _all_before(data, question):
    return [t for t, s in data.session_of.items() if data.rank[s] < data.place(question.before)]
