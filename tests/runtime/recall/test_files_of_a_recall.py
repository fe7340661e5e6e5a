"""Whoever reads how a query becomes a block opens few files: counted in real calls."""

from slowcat_memory.core.query.understand import DialogueTurn
from slowcat_memory.runtime.recall.query import Query
from slowcat_memory.testing import HashEmbedder
from tests.support.called_files import CalledFiles
from tests.support.engine_talks import talk

MOST = 29


def test_a_query_becomes_a_block_in_few_files(home):
    engine = home.open(HashEmbedder(512, token_dim=64))
    talk(engine, "My sister Mia lives in Graz", "Nice.", "Our cat hates the vacuum cleaner")
    now, asked = engine.clock(), "Where does my sister live?"
    dialogue = (DialogueTurn("How is your family?", now),)
    query = Query(text=asked, scope="anna", now=now, dialogue=dialogue, local=True)
    retrieval, calls = engine.retrieval, CalledFiles()
    retrieval.writer.pack(retrieval.answer(query), query.now)  # what is read once is read
    with calls.hearing(), calls.counted():
        packed = retrieval.writer.pack(retrieval.answer(query), query.now)
    assert "Mia lives in Graz" in packed.text
    opened = {name for name in calls.names if not name.startswith("testing/")}  # the model
    assert len(opened) <= MOST, sorted(opened)
