from pathlib import Path

import pytest

from slowcat_memory.index.lexical import windows
from slowcat_memory.index.lexical.windows import Vocabulary


def test_vocabulary_terms_of_equal_hash_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(windows, "_hash", lambda term: len(term))
    terms = ["one", "two", "six", "three", "seven", "eleven"]
    rows = Vocabulary.write(terms, tmp_path).tolist()
    made = Vocabulary(tmp_path)
    assert made.rows([*terms, "ten", "nobody", ""]) == [*rows, -1, -1, -1]
    assert [made.term(row) for row in rows] == terms
