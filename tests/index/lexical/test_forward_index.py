from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from slowcat_memory.index import IndexOptions, windows
from slowcat_memory.index.builder import LexicalWriter
from slowcat_memory.index.windows import ForwardIndex, Vocabulary


def test_vocabulary_terms_of_equal_hash_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(windows, "_hash", lambda term: len(term))
    terms = ["one", "two", "six", "three", "seven", "eleven"]
    rows = Vocabulary.write(terms, tmp_path).tolist()
    made = Vocabulary(tmp_path)
    assert made.rows([*terms, "ten", "nobody", ""]) == [*rows, -1, -1, -1]
    assert [made.term(row) for row in rows] == terms


def test_lexical_writer_stored_counts_are_exact(tmp_path: Path) -> None:
    said = [
        {"often": times, "now": 1 + times % 3, **({"then": 2} if times % 2 else {})}
        for times in (1, 2, 3, 50, 299, 1000, 9000)
    ]
    said.insert(3, {})
    writer = LexicalWriter()
    for counts in said:
        writer.add(list(Counter(counts).elements()))
    none = np.full(len(said), -1, np.int32)
    writer.finish(tmp_path, IndexOptions(), none, none)
    source = ForwardIndex(tmp_path)
    assert [source.own(number) for number in range(len(said))] == said
    assert source.sum_sealed([0, 4])[0] == Counter(said[0]) + Counter(said[4])
