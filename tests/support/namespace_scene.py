"""A store and a namespace over it, and the check that two namespaces answer alike."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from slowcat_memory.core.memory import chunk_id
from slowcat_memory.core.ranking.score import Row
from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.index import IndexOptions
from slowcat_memory.records import Memory, Turn, Vector, WriteBatch
from slowcat_memory.runtime.namespaces import live_index
from slowcat_memory.runtime.namespaces.live_index import SealOrder, Space
from slowcat_memory.runtime.namespaces.registry import Namespace
from slowcat_memory.store import Store
from slowcat_memory.testing import FixedClock, HashEmbedder
from tests.support.index_oracle import without_drift
from tests.support.said import memory_at, turn_at

EMBEDDER = HashEmbedder(32)
SPACE = Space(EMBEDDER.key, EMBEDDER.dim)
QUERIES = ("max dog", "cat word3 word5", "barks word1", "nobody said this")


class Scene:
    """A store, and users who talk in one scope."""

    def __init__(self, path: Path) -> None:
        self.store, self.clock, self.root = Store.open(path / "store"), FixedClock(), path / "index"
        self.namespace = self.load()

    def load(self, space: Space = SPACE, scope: str = "anna", **options: object) -> Namespace:
        """Load the scope again, as a restart does."""
        self.store.flush()
        known = IndexOptions(**options)  # type: ignore[arg-type]
        tokenizer = Tokenizer(known.stemmer or "english")
        order = SealOrder(
            scope=scope, space=space, zone="", language=tokenizer.language, options=known
        )
        made = Namespace(order, self.store, self.root, tokenizer, 5)
        made.finish_opening()
        return made

    def say(self, text: str, session: str = "s", *, embed: bool = True, **who: str) -> Turn:
        self.clock.advance(1)
        ack = self.store.append(turn_at(text, self.clock(), session=session, **who))
        assert isinstance(ack.event, Turn)
        if ack.event.scope == "anna":
            self.namespace.add_turn(ack.event, ack)
            if embed:
                self.embed(ack.event)
        return ack.event

    def embed(self, turn: Turn, values: np.ndarray | None = None) -> None:
        values = EMBEDDER.encode_query(turn.text).vector if values is None else values
        vector = Vector(scope=turn.scope, memory=chunk_id(turn.id), values=values)
        self.store.apply("test", WriteBatch(vectors=(vector,), embedder=EMBEDDER.key))
        self.namespace.put_vector(vector.memory, values)

    def talk(self, turns: int = 20, start: int = 0) -> list[Turn]:
        """Log two interleaved sessions, so that both continue after later events."""
        return [
            self.say(
                f"word{n % 7} said{n} max" if n % 3 else f"word{n % 5} said{n} a cat yesterday",
                f"s{n % 2}",
                speaker=("Anna", "Ben", "Anna", "Carl")[n % 4],
            )
            for n in range(start, start + turns)
        ]

    def put(self, memory: Memory) -> None:
        self.store.apply("test", WriteBatch(memories=(memory,))).wait()
        self.namespace.refresh([memory.id])


def answers(namespace: Namespace) -> dict[str, dict[str, tuple]]:
    """Everything observable by a search, by query and memory id.

    Lexical scores use the present mean length, also those of sealed documents.
    """
    searcher, told = namespace.searcher, {}
    shared: dict[int, list[str]] = {}
    for memory_id, number in searcher.table.items():
        shared.setdefault(int(searcher.table.session[number]), []).append(memory_id)
    every_id = sorted(memory_id for ids in shared.values() for memory_id in ids)
    session = {i: every_id.index(min(ids)) for ids in shared.values() for i in ids}
    speakers = sorted(
        {searcher.table.speakers[int(searcher.table.speaker[n])] for _, n in searcher.table.items()}
    )
    for query in QUERIES:
        lexical = searcher.lexical(query)
        ids, numbers = zip(*searcher.table.items(), strict=True) if len(searcher) else ((), ())
        every = np.array(numbers, np.int64)
        scores = lexical.scores[every] * without_drift(searcher, query)[every]
        cosines = searcher.dense.cosines(EMBEDDER.encode_query(query).vector, every)
        best = searcher.keys["keys"].best_cosines(EMBEDDER.encode_query(query).vector, every)
        importance = searcher.table.columns(every)[Row.IMPORTANCE]
        told[query] = {
            memory_id: (
                float(scores[place]),
                float(cosines[place]),
                float(best[place]),
                float(searcher.table.at[numbers[place]]),
                round(float(importance[place]), 4),
                bool(searcher.table.pinned[numbers[place]]),
                session[memory_id],
                speakers.index(
                    searcher.table.speakers[int(searcher.table.speaker[numbers[place]])]
                ),
                *(float(column[numbers[place]]) for column in searcher.table.about),
            )
            for place, memory_id in enumerate(ids)
        }
    return told


def check_alike(*told: Namespace | dict[str, dict[str, tuple]]) -> None:
    """Check that several namespaces answer the same; fp16 may change a cosine's third digit."""
    first, *others = (answers(one) if isinstance(one, Namespace) else one for one in told)
    for other in others:
        for query in QUERIES:
            assert other[query].keys() == first[query].keys()
            rows = (
                np.array(list(first[query].values())),
                np.array([other[query][memory_id] for memory_id in first[query]]),
            )
            assert np.allclose(*rows, rtol=1e-5, atol=3e-3, equal_nan=True), query


def from_scratch(scene: Scene) -> Namespace:
    whole, scene.root = scene.root, scene.root.parent / "none"
    try:
        made = scene.load()
    finally:
        scene.root = whole
    assert made.searcher.sealed_count == 0
    return made


def note(id_: str, text: str, **more: Any) -> Memory:
    return memory_at(id_, text, FixedClock()(), **{"kind": "note"} | more)


def meanwhile(monkeypatch: pytest.MonkeyPatch, work: Callable[[], object]) -> None:
    """Run something after the index was built, before it is swapped in."""
    build = live_index.seal

    def slow(*args: object) -> object:
        built = build(*args)  # type: ignore[arg-type]
        work()
        return built

    monkeypatch.setattr(live_index, "seal", slow)
