"""Whoever reads how a query becomes a block opens few files: counted in real calls."""

import sys
from pathlib import Path
from types import FrameType

import slowcat_memory
from slowcat_memory.core.query.understand import DialogueTurn
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.runtime.recall.query import Query
from slowcat_memory.testing import HashEmbedder
from tests.support.engine_talks import talk

PACKAGE = Path(slowcat_memory.__file__).parent
MOST = 40


def test_a_query_becomes_a_block_in_few_files(open_engine) -> None:
    engine: MemoryEngine = open_engine(embedder=HashEmbedder(512, token_dim=64))
    talk(engine, "My sister Mia lives in Graz", "Nice.", "Our cat hates the vacuum cleaner")
    dialogue = (DialogueTurn("How is your family?", engine.clock()),)
    query = Query(
        text="Where does my sister live?",
        scope="anna",
        now=engine.clock(),
        dialogue=dialogue,
        local=True,
    )
    retrieval, files = engine.wiring.retrieval, set[Path]()

    def called(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            files.add(Path(frame.f_code.co_filename))

    retrieval.pack(retrieval.answer(query), query.now)  # what is read once is read
    sys.setprofile(called)
    try:
        packed = retrieval.pack(retrieval.answer(query), query.now)
    finally:
        sys.setprofile(None)
    assert "Mia lives in Graz" in packed.text
    names = sorted(str(file.relative_to(PACKAGE)) for file in files if PACKAGE in file.parents)
    assert len(names) <= MOST, names
