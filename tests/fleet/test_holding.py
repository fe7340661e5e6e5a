"""From the lease to the open copy."""

import threading

import pytest

from slowcat_memory.errors import BusyElsewhereError, StoreError
from slowcat_memory.fleet import housekeeping
from slowcat_memory.fleet.holding import Holding
from slowcat_memory.metrics import Metrics
from slowcat_memory.store import replica
from slowcat_memory.store.disk.outbox import CopyState
from tests.fleet.talking import say, talking


def test_a_copy_that_cannot_be_opened_leaves_a_lease_that_others_can_take(first, second):
    broken = Holding(first.worker, "anna", Metrics())
    (broken.folder / "data.mdb").unlink()
    (broken.folder / "data.mdb").mkdir()
    with pytest.raises(StoreError):
        broken.open_store(broken.folder)
    first._renew()  # which would hold it for good
    assert Holding(second.worker, "anna", Metrics()).lease.epoch > broken.lease.epoch


def test_a_copy_that_is_about_to_be_opened_is_not_tidied_away(fleet):
    held = Holding(fleet.worker, "anna", Metrics())
    name = held.folder.parent.name
    replica.write(held.folder, CopyState(tenant=fleet.worker.tenant, person="anna", epoch=-1))
    tidying = threading.Thread(target=housekeeping.tidy_person, args=(fleet.worker, name))
    tidying.start()
    tidying.join(0.5)  # it waits; without a lock it has deleted the copy by now
    store = held.open_store(held.folder)
    tidying.join(10.0)
    assert not tidying.is_alive() and (held.folder / "data.mdb").is_file()
    store.close()


def test_idle_work_takes_no_lease_from_a_conversation_of_its_own_process(fleet):
    held = Holding(fleet.worker, "anna", Metrics())
    store = held.open_store(held.folder)
    with pytest.raises(BusyElsewhereError):
        Holding(fleet.worker, "anna", Metrics(), purpose="idle")
    assert Holding(fleet.worker, "anna", Metrics()).lease.epoch == held.lease.epoch + 1
    store.close()


def test_sending_lets_a_recall_end_but_not_for_long(fleet, monkeypatch):
    with talking(fleet) as member:
        holding, running = member.holding, iter([True, True, False])
        assert holding.wait_sent(10.0)
        holding.recalls = lambda: next(running, False)
        monkeypatch.setattr("slowcat_memory.fleet.holding.YIELD_S", 30.0)  # a busy machine
        holding._let_recalls_end()
        monkeypatch.undo()
        assert next(running, None) is None, "it has waited for the end"
        holding.recalls = lambda: True
        say(member, "My cat is called Mimi.")  # a recall that never ends holds up nothing
