"""A view that steps share is as complete as one that was just made."""

import pytest

from slowcat_memory.idle.working_set import WorkingSet
from slowcat_memory.records import Forget, Memory, WriteBatch
from slowcat_memory.store import Snapshot
from tests.support.idle_doubles import Rig, memory


class Notes:
    """The texts of all notes, and how many rows were read."""

    beginnings = ("note/",)

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.reads = 0

    def put(self, memory: Memory, snapshot: Snapshot) -> None:
        self.reads += 1
        self.texts[memory.id] = memory.text

    def drop(self, id: str) -> None:
        self.texts.pop(id, None)


@pytest.fixture
def one(rig):
    return rig()


def write(rig: Rig, **batch) -> None:
    rig.store.apply("fake", WriteBatch(**batch)).wait()


def seen(rig: Rig, views: WorkingSet) -> Notes:
    with rig.store.snapshot() as snapshot:
        return views.view(Notes, snapshot, "anna")


def test_working_set_reads_only_what_changed(one) -> None:
    views = WorkingSet()
    write(one, memories=tuple(memory(str(n)) for n in range(9)))
    assert len(seen(one, views).texts) == 9
    write(one, memories=(memory("4", "changed"), memory("10")), drop=(("anna", "note/5"),))
    view = seen(one, views)
    assert view.texts == seen(one, WorkingSet()).texts
    assert view.texts["note/4"] == "changed" and "note/5" not in view.texts
    assert view.reads == 11


def test_working_set_begins_anew_after_forgetting(one) -> None:
    views = WorkingSet()
    one.say("my secret")
    write(one, memories=(memory("1"), memory("2")))
    before = seen(one, views)
    one.store.forget(Forget(memories=("note/1",)))
    assert seen(one, views) is not before
    assert seen(one, views).texts == seen(one, WorkingSet()).texts
