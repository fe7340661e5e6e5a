from collections import Counter
from pathlib import Path

import numpy as np

from slowcat_memory.index.lexical.lexical_writer import LexicalWriter
from slowcat_memory.index.lexical.windows import ForwardIndex
from slowcat_memory.index.options import IndexOptions


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
