from pathlib import Path

import numpy as np
import pytest

from slowcat_memory.core.ranking.score import Row
from slowcat_memory.index import Document, IndexOptions, Searcher
from slowcat_memory.testing import HashEmbedder
from tests.support.index_oracle import (
    OPTIONS,
    TOKENS,
    Oracle,
    check_equal,
    counts_of,
    seal,
)

EMBEDDER = HashEmbedder(32)


def doc(id_: str, text: str = "", before: str = "", **more: object) -> Document:
    return Document(id=id_, text=text or id_, at=0.0, before=before, **more)  # type: ignore[arg-type]


def line(*ids: str) -> list[Document]:
    """Documents said one after another; each one's text is its id."""
    return [doc(id_, before=before) for id_, before in zip(ids, ("", *ids), strict=False)]


def searcher(*documents: Document, dim: int = 0, options: IndexOptions = OPTIONS) -> Searcher:
    made = Searcher(TOKENS, options, dim)
    for document in documents:
        made.add(document)
        if dim:
            made.put_vector(document.id, EMBEDDER.encode([document.text])[0])
    return made


def window(made: Searcher, id_: str) -> str:
    return " ".join(sorted(counts_of(made, id_)))


def test_neighbours_in_the_sealed_part_follow(tmp_path: Path) -> None:
    oracle = Oracle()
    for document in line("e", "f", "g", "h"):
        oracle.add(document)
    vectors = {id_: EMBEDDER.encode_query(id_) for id_ in "efgh"}
    made = seal(oracle, tmp_path / "sealed", vectors)
    made.remove("f")
    made.add(doc("k", before="h"))
    assert [window(made, id_) for id_ in "eghk"] == ["e g", "e g h", "g h k", "h k"]
    oracle.remove("f")
    oracle.add(doc("k", before="h"))
    check_equal(made, oracle, "e h k")
    for id_ in "egh":  # what was lifted out of the sealed part kept its vector
        cosine = made.dense.cosines(vectors[id_], np.array([dict(made.items())[id_]]))
        assert cosine == pytest.approx(1.0, abs=2e-3)


def test_neighbours_candidates_know_their_neighbours() -> None:
    made = searcher(*line(*"efghjklno"), options=IndexOptions(candidates=3))
    candidates = made.candidates(made.lexical("h"))
    assert set(candidates.ids) == {"g", "h", "j"}
    before, after = candidates.block[[Row.BEFORE, Row.AFTER]].astype(int)
    assert max(before) >= 0 and max(after) >= 0
    for place, id_ in enumerate(candidates.ids):
        for column, step in ((before, -1), (after, 1)):
            there = candidates.ids[column[place]] if column[place] >= 0 else None
            neighbour = "efghjklno"["efghjklno".index(id_) + step]
            assert there == (neighbour if neighbour in candidates.ids else None)
