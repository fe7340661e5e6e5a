"""What is sent again after nobody knows whether it arrived."""

from collections.abc import Callable
from functools import partial

from slowcat_memory.config import Config
from slowcat_memory.fleet import leases, person_log
from slowcat_memory.fleet.fleet_process import Fleet
from slowcat_memory.store.disk.outbox import Unsent


def test_a_second_try_with_more_in_it_goes_on_where_the_first_came(
    worker_config: Callable[..., Config],
) -> None:
    sets = [Unsent(seq, 1, seq, b"%d" % seq) for seq in (1, 2, 3)]
    with Fleet(worker_config()) as fleet:
        lease = fleet.database.run(leases.take, fleet.worker, "anna")
        append = partial(fleet.database.run, person_log.append, lease)
        assert append(sets[:2]) == 2  # its answer was lost
        assert append(sets) == 2
        assert [append(sets[2:]), append(sets[2:])] == [3, 3]
