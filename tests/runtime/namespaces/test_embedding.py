import contextlib
from pathlib import Path

import numpy as np
import pytest

from slowcat_memory import providers
from slowcat_memory.cli import setup as checks
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.providers import EmbedderReport, Encoded
from slowcat_memory.providers.embedding import model_files
from slowcat_memory.runtime.namespaces.embedding import GuardedEmbed
from slowcat_memory.testing import FixedClock, memory_config
from tests.support.processors import logged
from tests.support.recall_without_store import EMBEDDER, Mind, query


class Moody:
    """An embedder that does what it is told: raise, be late, or work."""

    def __init__(self, clock: FixedClock) -> None:
        self.clock, self.raises, self.takes, self.asked = clock, None, 0.0, 0

    def __call__(self, text: str) -> np.ndarray:
        self.asked += 1
        self.clock.advance(self.takes)
        if self.raises:
            raise self.raises
        return EMBEDDER.encode_query(text)


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def moody(clock: FixedClock) -> Moody:
    return Moody(clock)


def test_guarded_embed_a_failing_embedder_costs_the_vectors_only(
    moody: Moody, clock: FixedClock
) -> None:
    problems: list[str] = []
    mind = Mind(embed=GuardedEmbed(moody, clock, problems.append))
    moody.raises = MemoryError()
    found = mind.run(query("my dog"))
    assert found.stage == "lexical" and found.hits[0].memory.id == "dog"
    moody.raises = None
    assert mind.run(query("my dog")).stage == "full"
    assert problems == ["MemoryError"]


def test_guarded_embed_three_failures_in_a_row_open_it_for_a_minute(
    moody: Moody, clock: FixedClock
) -> None:
    problems: list[str] = []
    breaker = GuardedEmbed(moody, clock, problems.append)
    moody.raises = RuntimeError("no")
    for _ in range(10):
        assert breaker("x") is None
        clock.advance(1)
    assert moody.asked == 3 and len(problems) == 3
    clock.advance(51.9)
    assert breaker("x") is None and moody.asked == 3
    clock.advance(0.1)  # 60 s after the third failure: one try, which fails and opens it again
    assert breaker("x") is None and breaker("x") is None and moody.asked == 4
    clock.advance(60)
    moody.raises = None
    assert breaker("x") is not None and moody.asked == 5
    moody.raises = RuntimeError("again")
    for _ in range(3):  # it counts anew
        assert breaker("x") is None
    assert moody.asked == 8


def test_guarded_embed_a_late_vector_is_taken_but_counts_as_a_failure(
    moody: Moody, clock: FixedClock
) -> None:
    problems: list[str] = []
    breaker = GuardedEmbed(moody, clock, problems.append, clock.boot_s)
    moody.takes = 1.0
    assert [breaker("x") is not None for _ in range(4)] == [True, True, True, False]
    assert moody.asked == 3 and problems == ["late"] * 3


def test_guarded_embed_a_vector_and_what_is_embedded_already_come_out_alike(
    clock: FixedClock,
) -> None:
    vector = EMBEDDER.encode_query("my dog")
    for told in (vector, Encoded(vector)):
        encoded = GuardedEmbed(lambda _, told=told: told, clock, print)("my dog")
        assert encoded is not None and np.array_equal(encoded.vector, vector)
        assert encoded.tokens is None
    whole = GuardedEmbed(EMBEDDER.encode_query_tokens, clock, print)("my dog")
    assert whole is not None and whole.tokens is not None and len(whole.tokens) == 2


# ------------------------------------------------------------------- what cannot be opened


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"kind": "endpoint", "endpoint_url": "http://203.0.113.7/v1", "endpoint_model": "m"}, "not this machine"),
        ({"kind": "endpoint", "endpoint_url": "not a url", "endpoint_model": "m"}, "not an http URL"),
        ({"kind": "endpoint", "endpoint_url": "http://127.0.0.1:9/v1", "endpoint_model": ""}, ""),
        ({"kind": "local", "model": "no such model!"}, "no such model!"),
        ({"kind": "local", "model": "\0"}, ""),
        ({"kind": "local", "model": "nobody/no-such-model"}, "no-such-model"),
    ],
)  # fmt: skip
def test_embedding_a_model_that_cannot_be_used_costs_vectors_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict, why: str
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with logged("WARNING") as lines:
        engine = MemoryEngine(memory_config(tmp_path, embedding=options))
        with contextlib.closing(engine):
            engine.remember("My dog is called Max", "anna")
            assert engine.search("dog", "anna").hits
            assert engine.embedding.state == "missing"
    (line,) = lines
    assert "by words alone" in line and why in line


def test_embedding_an_export_without_a_network_names_the_model_and_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = "all-MiniLM-L6-v2"

    def export(_: object) -> None:
        raise model_files.not_downloadable(model, "no network")

    monkeypatch.setattr(providers, "export_model", export)
    monkeypatch.setattr(
        providers,
        "open_query_embedder",
        lambda _: (None, EmbedderReport(state="needs export", source="the model hub")),
    )
    with logged("WARNING") as lines:
        engine = MemoryEngine(memory_config(tmp_path, embedding={"kind": "local"}))
        engine.drain()
        engine.close()
    assert any(model in line and "pip install" in line for line in lines), lines


def test_embedding_the_doctor_repairs_no_model_that_is_not_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        providers,
        "open_query_embedder",
        lambda _: (None, EmbedderReport(state="needs export", source="the model hub")),
    )
    config = memory_config(tmp_path, embedding={"kind": "local", "model": "nobody/no-such-model"})
    with contextlib.closing(MemoryEngine(config, readonly=False)) as engine:
        found = checks.model(engine)
    assert found.repair is None and "init" in found.hint
