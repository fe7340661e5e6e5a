"""A namespace that is told of every change equals one that is loaded, and one made anew."""

import random
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from slowcat_memory.core.memory import chunk_id, indexed_text
from slowcat_memory.records import Context, Forget, Key, Memory, Vector, WriteBatch
from slowcat_memory.runtime.namespaces import live_index
from slowcat_memory.store.bookkeeping import changed_by
from slowcat_memory.store.disk import codec
from tests.support.memories import Look
from tests.support.namespace_scene import EMBEDDER, Scene, check_alike, from_scratch, note

STEPS, LOOK = 40, 4
WORDS = ("max", "dog", "cat", "barks", "word1", "word3", "word5", "Lena", "Porto")


class Life(Scene):
    """A scene in which anything may happen next."""

    def __init__(self, path: Path, seed: int) -> None:
        super().__init__(path)
        self.chance = random.Random(seed)
        self.turns: list[int] = []

    def live(self, steps: int) -> Iterator[str]:
        """Let things happen.

        Args:
            steps: How many.

        Yields:
            What has just happened.
        """
        for _ in range(6):
            self.says()
        happen: tuple[Callable[[], None], ...] = (
            self.says,
            self.says,
            self.places,
            self.places,
            self.displaces,
            self.points,
            self.points_no_more,
            self.retires,
            self.brings_back,
            self.pins,
            self.notes,
            self.drops,
            self.forgets,
            self.seals,
        )
        for _ in range(steps):
            what = self.chance.choice(happen)
            what()
            yield what.__name__

    def words(self) -> str:
        return " ".join(self.chance.choices(WORDS, k=4))

    def some(self) -> Memory:
        """Return any memory, retired or not."""
        self.store.flush()
        with self.store.snapshot() as snapshot:
            every = [snapshot.read("anna", chunk_id(id_)) for id_ in self.turns]
            every += list(snapshot.memories("anna"))
        return self.chance.choice([memory for memory in every if memory])

    def read(self, turn: int) -> Memory:
        self.store.flush()
        memory = Look(self.store).read("anna", chunk_id(turn))
        assert memory is not None
        return memory

    def write(self, **changes: Any) -> None:
        batch = WriteBatch(**changes)
        self.store.apply("test", batch).wait()
        self.namespace.refresh(
            changed_by(batch, lambda v: codec.owner_of(v.memory) or v.memory)["anna"]
        )

    def put(self, memory: Memory) -> None:
        self.write(memories=(memory,))

    # -------------------------------------------------------------- what may happen

    def says(self) -> None:
        session, speaker = self.chance.choice("st"), self.chance.choice(("Anna", "Ben"))
        self.turns.append(self.say(self.words(), session, speaker=speaker).id)

    def places(self) -> None:
        memory, text = self.some(), f"About {self.words()}"
        vector = EMBEDDER.encode_query(indexed_text(replace(memory, context=text))).vector
        self.write(
            contexts=(Context(scope="anna", memory=memory.id, text=text),),
            vectors=(Vector(scope="anna", memory=memory.id, values=vector),),
            embedder=EMBEDDER.key,
        )

    def displaces(self) -> None:
        """Take a context away; the vector of its text goes with it."""
        memory = self.some()
        none = Context(scope="anna", memory=memory.id, text="")
        self.write(contexts=(none,))

    def points(self) -> None:
        memory, text = self.some(), self.words()
        id_ = f"{memory.id}?q{self.chance.choice('12')}"
        key = Key(scope="anna", memory=memory.id, id=id_, kind="question", text=text)
        vector = Vector(scope="anna", memory=id_, values=EMBEDDER.encode_query(text).vector)
        self.write(keys=(key,), vectors=(vector,), embedder=EMBEDDER.key)

    def points_no_more(self) -> None:
        memory = self.some()
        gone = tuple(("anna", f"{memory.id}?q{n}") for n in (1, 2))
        self.write(drop_keys=gone)

    def retires(self) -> None:
        self.put(replace(self.some(), context="", retired_at=self.clock()))

    def brings_back(self) -> None:
        self.store.flush()
        retired = [memory for memory in Look(self.store).memories("anna") if memory.retired_at]
        if retired:
            self.put(replace(self.chance.choice(retired), context="", retired_at=None))

    def pins(self) -> None:
        memory = self.some()
        self.put(replace(memory, context="", pinned=not memory.pinned, importance=0.9))

    def notes(self) -> None:
        self.put(note(f"note/{self.chance.randrange(3)}", self.words()))

    def drops(self) -> None:
        """Take a derived record away: a turn is as it was said again, a note is gone."""
        self.write(drop=(("anna", self.some().id),))

    def forgets(self) -> None:
        self.store.flush()
        gone = self.store.forget(
            Forget(turns=(self.turns.pop(self.chance.randrange(len(self.turns))),))
        )
        self.namespace.forget([id_ for _, id_ in gone.memories])
        self.namespace = self.load()  # as the engine does

    def seals(self) -> None:
        self.namespace.reseal()


@pytest.mark.parametrize(
    "seed", [1, 3, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (2, 4, 5))]
)
def test_same_as_new_namespace_changed_step_by_step_equals_one_loaded_anew(
    tmp_path, seed, monkeypatch
):
    monkeypatch.setattr(live_index, "PART", 3)  # rows of a snapshot
    life = Life(tmp_path, seed)
    with closing(life.store):
        for number, what in enumerate(life.live(STEPS)):
            print(what)  # shown when it fails
            if number % LOOK == 0:
                check_alike(from_scratch(life), life.load(), life.namespace)


def test_same_as_new_namespace_neighbours_close_up_around_what_is_retired_and_make_room_again(
    tmp_path,
):
    life = Life(tmp_path, 0)
    first, second, _ = (life.say(f"word{n} max").id for n in range(3))
    with closing(life.store):
        for id_ in (first, second):
            life.put(replace(life.read(id_), retired_at=life.clock()))
        life.say("word3 dog")
        check_alike(from_scratch(life), life.namespace)
        life.namespace.reseal()
        for id_ in (second, first):
            life.put(replace(life.read(id_), retired_at=None))
            check_alike(from_scratch(life), life.load(), life.namespace)
        window = life.namespace.searcher.lexical("word2").best(100)
        ids = {life.namespace.searcher.table.ids[n] for n in window.tolist()}
        assert chunk_id(second) in ids and chunk_id(first) not in ids
