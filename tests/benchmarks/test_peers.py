import pytest

from benchmarks import datasets, scoring
from benchmarks.peers import race, stores
from slowcat_memory.testing import HashEmbedder
from tests.support import tiny_dataset as made_up


@pytest.mark.parametrize("name", stores.PEERS)
def test_peers_a_peer_keeps_what_it_is_told(name, tmp_path):
    """It finds what was added, alone or with many, by its own id."""
    try:
        stores.versions(name)
        stores.open_peer(name, tmp_path / "there", HashEmbedder()).close()
    except ImportError as error:
        pytest.skip(f"{error.name} is not installed (extra: peers)")
    embedder = HashEmbedder()
    items = race.embedded(race.made_up(45), embedder)
    peer = stores.open_peer(name, tmp_path / "peer", embedder)
    try:
        peer.add_all(items[:20])
        peer.add_all(items[20:40])
        for item in items[40:]:
            peer.add(item)
            peer.settle()
        for item in (items[0], items[25], items[44]):
            found = peer.search(item.turn.text, embedder.encode_query(item.text).vector, 10)
            assert len(found) == 10 == len(set(found))
            assert item.id in found[:3]
        if peer.embeds:
            assert items[44].id in peer.search(items[44].turn.text, None, 10)[:3]
    finally:
        peer.close()


def test_peers_what_is_found_is_what_the_quality_benchmark_counts(tmp_path):
    """The same engine, asked here and there: the same share of the evidence."""
    data, embedder = datasets.load(made_up.write(tmp_path / "data")), HashEmbedder()
    steps = race.of_data(data, embedder)
    share, count = race.recall("slowcat", tmp_path / "peer", steps, embedder)
    rank, place = data.rank, data.place
    before = {
        q.id: [turn for turn, s in data.session_of.items() if rank[s] < place(q.before)]
        for q in data.questions
    }
    scores = scoring.evaluate(data, before)["all"]
    assert count == scores["n"] == 3
    assert share == pytest.approx(scores["R@10"])  # ten hits of six turns: all of them
