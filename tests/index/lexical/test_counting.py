from collections import Counter
from pathlib import Path

from slowcat_memory.index.lexical.counting import Counting
from slowcat_memory.index.lexical.forward_index import ForwardIndex


def test_counting_stored_counts_are_exact(tmp_path: Path) -> None:
    said = [
        {"often": times, "now": 1 + times % 3, **({"then": 2} if times % 2 else {})}
        for times in (1, 2, 3, 50, 299, 1000, 9000)
    ]
    said.insert(3, {})
    counting = Counting()
    for counts in said:
        counting.add(list(Counter(counts).elements()))
    counting.finish(tmp_path)
    source = ForwardIndex(tmp_path)
    assert [source.own(number) for number in range(len(said))] == said
    assert source.sum_sealed([0, 4], [])[0] == Counter(said[0]) + Counter(said[4])
