"""Local-only marks in the store: inherited when a row is written, and when a mark changes."""

import random

import pytest
from msgspec.structs import replace

from slowcat_memory.core.disclosure import origin_of
from slowcat_memory.core.disclosure import origins as origins_of
from slowcat_memory.core.memory import chunk_id
from slowcat_memory.records import Made, WriteBatch
from slowcat_memory.store.disk.transaction import Transaction
from tests.harness.samples import memory, turn
from tests.support.memories import Look

MADE = Made(job="test")


def write(store, *memories):
    store.apply("test", WriteBatch(memories=memories)).wait(30)


def mark(store, id, on=True, scope="anna"):
    store.apply("person", WriteBatch(marks=((scope, id, on),))).wait(30)


def local(store, scope="anna"):
    return {one.id for one in Look(store).memories(scope) if one.local_only}


def derived(id, *sources, **more):
    return replace(memory(id, sources=sources), made=MADE, **more)


@pytest.fixture
def talk(store):
    """Three turns: the user's, the agent's reply to it, and another of the user's."""
    for said in (turn(1), turn(2, role="assistant", reply_to=1), turn(3)):
        store.append(said).wait(30)
    return store


def test_local_marks_what_is_written_later_inherits_it(talk):
    mark(talk, chunk_id(1))
    write(talk, derived("fact/1", 1), derived("fact/3", 3))
    write(talk, derived("summary/day/1", 3, facets={"covers": "fact/1"}))
    assert {"fact/1", "summary/day/1"} <= local(talk) and "fact/3" not in local(talk)


def test_local_marks_what_was_written_before_follows_and_goes_back(talk):
    write(talk, derived("fact/1", 1), derived("fact/3", 3))
    write(talk, derived("block/1", 3, derived_from=(("anna", "fact/1"),)))
    write(talk, derived("icebreaker/1", facets={"source": "fact/1"}))
    mark(talk, chunk_id(1))
    assert local(talk) == {"chunk/1", "chunk/2", "fact/1", "block/1", "icebreaker/1"}
    mark(talk, chunk_id(1), False)
    assert local(talk) == set()


def test_local_marks_only_what_was_made_from_it_is_read(talk, monkeypatch):
    write(talk, *(derived(f"fact/{n}", 3) for n in range(300, 600)), derived("fact/1", 2))
    write(talk, derived("block/1", derived_from=(("anna", "fact/1"),)))
    read, unpacked = Transaction.read, []
    monkeypatch.setattr(Transaction, "read", lambda *args: unpacked.append(args[2:]) or read(*args))
    mark(talk, "fact/1")
    assert local(talk) == {"fact/1", "block/1"}
    assert len(unpacked) < 10


def test_local_marks_a_reply_follows_its_turn_and_one_logged_later_too(talk):
    mark(talk, chunk_id(3))
    talk.append(turn(4, role="assistant", reply_to=3)).wait(30)
    assert {"chunk/3", "chunk/4"} <= local(talk)
    mark(talk, chunk_id(3), False)
    assert local(talk) == set()


def test_local_marks_a_turn_is_logged_with_its_mark(store):
    store.append(turn(1, local_only=True, derived_from=(("anna", "note/1"),))).wait(30)
    store.append(turn(2, local_only=True)).wait(30)
    assert local(store) == {"chunk/1", "chunk/2"}
    assert Look(store).memory("anna", "chunk/1").local_inherited
    assert not Look(store).memory("anna", "chunk/2").local_inherited


def test_local_marks_a_voice_command_and_its_answer_become_no_memories(store):
    """A row would be indexed at the next start, and recalled."""
    origin = (("anna", "note/1"),)
    store.append(turn(1, aside=True)).wait(30)
    store.append(turn(2, role="assistant", reply_to=1, aside=True,
                         local_only=True, derived_from=origin)).wait(30)  # fmt: skip
    mark(store, chunk_id(1))
    mark(store, chunk_id(2))
    assert Look(store).memories("anna") == []


def test_local_marks_no_job_removes_a_persons_mark(talk):
    write(talk, derived("fact/1", 1))
    mark(talk, "fact/1")
    write(talk, derived("fact/1", 1, text="the same fact, written again"))
    assert local(talk) == {"fact/1"}
    mark(talk, chunk_id(1))
    mark(talk, chunk_id(1), False)
    assert local(talk) == {"fact/1"}, "that of its turn came and went"
    mark(talk, "fact/1", False)
    assert local(talk) == set()


def test_local_marks_a_derived_memory_stays_while_another_origin_is(talk):
    write(talk, derived("fact/1", 1, 3))
    mark(talk, chunk_id(1))
    mark(talk, chunk_id(3))
    mark(talk, chunk_id(1), False)
    assert local(talk) == {"chunk/3", "fact/1"}
    mark(talk, "fact/1", False)
    assert local(talk) == {"chunk/3", "fact/1"}, "its turn is local-only still"


def test_local_marks_cross_into_another_namespace(talk):
    note = replace(memory("note/1", scope="home", sources=(1,)), kind="note", made=None)
    write(talk, note)
    mark(talk, chunk_id(1))
    write(talk, replace(note, id="note/3"))
    assert local(talk, "home") == {"note/1", "note/3"}
    mark(talk, chunk_id(1), False)
    assert local(talk, "home") == set()
    write(talk, replace(note, id="note/2"))
    origin = (("home", "note/2"),)
    talk.append(turn(4, role="assistant", local_only=True, derived_from=origin)).wait(30)
    mark(talk, "note/2", scope="home")
    assert local(talk) == {"chunk/4"}
    mark(talk, "note/2", False, scope="home")
    assert local(talk) == set()


def test_local_marks_of_what_does_not_exist_change_nothing(talk):
    mark(talk, "note/none")
    mark(talk, chunk_id(99))
    mark(talk, chunk_id(1), scope="ben")
    assert local(talk) == set() and local(talk, "ben") == set()


def test_local_marks_what_is_written_with_it_or_was_made_of_an_earlier_version_follows(talk):
    write(talk, derived("summary/day/1", 3))
    write(talk, derived("block/1", derived_from=(("anna", "summary/day/1"),)))
    talk.apply("test", WriteBatch(drop=(("anna", "summary/day/1"),))).wait(30)
    mark(talk, chunk_id(1))
    later = derived("fact/2", 3, derived_from=(("anna", "fact/1"),))
    write(talk, later, derived("fact/1", 1), derived("summary/day/1", 1))
    assert {"fact/1", "fact/2", "summary/day/1", "block/1"} <= local(talk)
    write(talk, derived("fact/4", 3))
    write(talk, replace(memory(chunk_id(3), sources=(3,)), local_only=True))  # it had no row
    assert {"chunk/3", "fact/4"} <= local(talk) and "block/1" in local(talk)


IDS = ("fact/1", "fact/2", "summary/day/1", "summary/day/2", "episode/1")


@pytest.mark.parametrize("seed", range(12))
def test_local_marks_nothing_made_of_a_marked_memory_lacks_the_mark(talk, seed):
    """Whoever shows a memory asks for its own mark alone, not for those of its origins."""
    chance, known = random.Random(seed), set[str]()
    for _ in range(60):
        match chance.randrange(4):
            case 0:
                marked = chance.choice([*map(chunk_id, (1, 3)), *known])
                mark(talk, marked, chance.random() < 0.6)
            case 1:
                again = ("anna", chance.choice(IDS[2:]))  # jobs drop no fact
                talk.apply("test", WriteBatch(drop=(again,))).wait(30)
            case _:
                ids = chance.sample(IDS, 3)
                # Of earlier ones, and of each other in whatever order.
                origins = [("anna", id) for id in {*ids, *known}]
                write(talk, *(
                    derived(id, *chance.sample((1, 2, 3), chance.randrange(2)),
                            derived_from=tuple(chance.sample(origins, chance.randrange(3))))
                    for id in ids))  # fmt: skip
                known |= {*ids}
        stored = {origin_of(one): one for one in Look(talk).memories("anna")}
        marked = {key for key, one in stored.items() if one.local_only}
        reached = {key for key, one in stored.items() if not marked.isdisjoint(origins_of(one))}
        assert reached <= marked


def test_local_marks_are_known_to_indexes_as_changes(talk):
    write(talk, derived("fact/1", 1))
    before = Look(talk).last_change()
    mark(talk, chunk_id(1))
    assert {"chunk/1", "fact/1"} <= set(Look(talk).changed("anna", before))
