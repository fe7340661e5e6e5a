"""Summaries, topics and episodes are found by their words and by what they mean."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from slowcat_memory.core.summaries.summary import Coverage, SummaryText, archived, summary
from slowcat_memory.errors import ConfigError
from slowcat_memory.records import Made, Memory, WriteBatch
from slowcat_memory.testing import HashEmbedder
from tests.support.engine_home import Home, RecordingEmbedder
from tests.support.rows import cases
from tests.support.said import memory_at

MEANS = {"puppy": "dog", "pet": "dog", "journey": "travel", "flight": "travel"}


class Synonyms(HashEmbedder):
    """Gives words of one meaning one vector."""

    def encode(self, texts):
        return super().encode([self._plain(text) for text in texts])

    def encode_query(self, text):
        return super().encode_query(self._plain(text))

    def _plain(self, text: str) -> str:
        words = (word.strip(".,?") for word in text.lower().split())
        return " ".join(MEANS.get(word, word) for word in words)


def made(home: Home, id: str, text: str, local_only=False, **fields) -> Memory:
    """Return a summary by the LLM: "day/2026-05-11"."""
    kind = f"summary/{id.partition('/')[0]}"
    now = home.clock()
    subject = Coverage(
        id=f"summary/{id}", kind=kind, scope="anna", start=now - timedelta(hours=2),
        until=now - timedelta(hours=1), digest="d", **{"sources": (), **fields},
    )  # fmt: skip
    told = summary(subject, SummaryText(text=text, model="m"), Made(job="test"), now)
    return replace(told, local_only=local_only)


def found(engine, query: str, kind: str = "summary", k: int = 10, *, local: bool = False):
    return engine.search(query, "anna", k, kinds=(kind,), local=local).hits


def ids(hits) -> list[str]:
    return [hit.memory.id for hit in hits]


@pytest.fixture
def engine(home: Home):
    engine = home.open(Synonyms())
    turns = home.talk(engine)
    episode = memory_at("episode/1", "Anna won a race.", home.clock())
    rows = (
        made(home, "session/a", "Anna bought a puppy and called it Bello."),
        made(home, "session/b", "They repaired the bicycle.", sources=(turns[2],)),
        made(home, "day/2026-05-11", "The garden was dug over."),
        made(home, "topic/t", "Several things were compared.", name="journey"),
        episode,
    )
    engine.apply("test", WriteBatch(memories=rows))
    return engine


@cases("derived_search")
def test_derived_search_finds_a_summary(engine, query, kind, best):
    assert ids(found(engine, query, kind))[0] == best


def test_derived_search_is_of_one_kind_and_limited(engine):
    assert ids(found(engine, "garden", "session")) == []
    assert len(found(engine, "puppy garden bicycle", k=2)) == 2
    with pytest.raises(ConfigError, match="no kind 'poem'"):
        found(engine, "garden", "poem")


def test_derived_search_shows_no_former_version_and_no_text_twice(engine, home):
    old = made(home, "day/2026-05-12", "The fence was painted green.")
    new = made(home, "day/2026-05-12", "The fence was painted blue.")
    week = made(home, "week/2026-W20", "The fence was painted blue.")
    engine.apply("test", WriteBatch(memories=(*archived(old, home.clock()), new, week)))
    texts = [hit.memory.text for hit in found(engine, "fence painted")]
    assert [one for one in texts if "fence" in one] == ["The fence was painted blue."]


def test_derived_search_keeps_local_only_summaries_on_this_machine(engine, home):
    engine.apply(
        "test", WriteBatch(memories=(made(home, "day/2026-05-13", "A wig.", local_only=True),))
    )
    assert not any("wig" in hit.memory.text for hit in found(engine, "wig"))
    assert found(engine, "wig", local=True)[0].memory.text == "A wig."


def test_derived_search_sends_no_local_only_text_to_another_machine(home):
    embedder = RecordingEmbedder()
    engine = home.open(embedder)
    rows = (made(home, "day/2026-05-13", "A wig.", local_only=True), made(home, "day/1", "A hat."))
    engine.apply("test", WriteBatch(memories=rows))
    assert len(found(engine, "wig or hat", local=True)) == 2
    assert embedder.texts == ["A hat."]
