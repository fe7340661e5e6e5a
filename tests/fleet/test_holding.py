"""What becomes of a lease whose copy cannot be opened."""

from collections.abc import Callable

import pytest

from slowcat_memory.config import Config
from slowcat_memory.errors import StoreError
from slowcat_memory.fleet.fleet_process import Fleet
from slowcat_memory.metrics import Metrics

Make = Callable[..., Config]


def test_a_copy_that_cannot_be_opened_leaves_a_lease_that_others_can_take(
    worker_config: Make,
) -> None:
    with Fleet(worker_config("a")) as first, Fleet(worker_config("b")) as second:
        broken = first.hold("anna", Metrics())
        (broken.folder / "data.mdb").unlink()
        (broken.folder / "data.mdb").mkdir()
        with pytest.raises(StoreError):
            broken.open_store(broken.folder)
        first._renew()  # which would hold it for good
        held = second.hold("anna", Metrics())
        assert held.lease.epoch > broken.lease.epoch
