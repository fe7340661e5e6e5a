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
        run, tenant = fleet.database.run, fleet.worker.tenant
        lease = run(partial(leases.take, tenant=tenant, person="anna", holder="w", lease_s=5.0))
        append = partial(person_log.append, lease=lease, lease_s=5.0)
        assert run(partial(append, sets=sets[:2])) == 2  # its answer was lost
        assert run(partial(append, sets=sets)) == 2
        assert run(partial(append, sets=sets[2:])) == 3
        assert run(partial(append, sets=sets[2:])) == 3
