import statistics

from benchmarks import query_embedder
from slowcat_memory.kernels import encoder, library


def test_query_embedder_queries_are_as_long_as_spoken_ones() -> None:
    lengths = [len(text.split()) for text in query_embedder.queries(300)]
    assert min(lengths) >= 6 and max(lengths) <= 22 and 12 < statistics.mean(lengths) < 16


def test_query_embedder_arms_take_turns() -> None:
    asked: list[tuple[str, str]] = []
    arms = {name: lambda text, name=name: asked.append((name, text)) for name in ("one", "other")}
    took = query_embedder._interleaved(arms, ["a", "b"], pause=False)  # type: ignore[arg-type]
    assert asked[2:] == [("one", "a"), ("other", "a"), ("one", "b"), ("other", "b")]
    assert took.keys() == arms.keys() and took["one"].keys() == {"p10", "p50", "p90", "wall"}


def test_query_embedder_only_forms_that_work_here_are_measured() -> None:
    arms = query_embedder.open_arms()
    assert library.NUMPY in arms and not arms[library.NUMPY].packed
    assert all(arm.packed for name, arm in arms.items() if name != library.NUMPY)
    assert encoder.available() == (len(arms) > 1)
