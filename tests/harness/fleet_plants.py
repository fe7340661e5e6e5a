"""Faults that are planted in a worker's own process: each must be found by a law of the harness."""

from typing import Any

# Appends by whoever believes to have the lease, at the end of the log, wherever that is.
_ANYWHERE = """
WITH fence AS (
  UPDATE slowcat.owner SET last_seq = last_seq + $5 - $4
   WHERE tenant = $1 AND person = $2 AND $6::float8 > 0
  RETURNING last_seq - ($5::bigint - $4::bigint) AS before)
INSERT INTO slowcat.log (tenant, person, seq, epoch, last_event, body, crc)
SELECT $1, $2, fence.before + row_number() OVER (ORDER BY s.seq), $3, s.last_event, s.body, s.crc
  FROM fence, unnest($7::bigint[], $8::bigint[], $9::bytea[], $10::bigint[])
       AS s(seq, last_event, body, crc)
"""


def plant(what: str) -> None:
    """Plant a fault in this process; "" for none."""
    from msgspec.structs import replace

    from slowcat_memory.fleet import copies, leases, person_log
    from slowcat_memory.fleet.holding import Holding
    from slowcat_memory.store import Ack, new_future
    from slowcat_memory.store.writer import WriteQueue

    if what == "no-fence":

        async def kept(*_: Any) -> list[Any]:
            return []

        person_log.APPEND, leases.renew = _ANYWHERE, kept  # type: ignore[assignment]
    elif what == "unsaved":
        add = WriteQueue.add_events

        def told_at_once(*given: Any, **how: Any) -> list[Ack]:
            done = new_future()
            done.set_result(None)
            return [Ack(done, ack.event) for ack in add(*given, **how)]

        WriteQueue.add_events = told_at_once  # type: ignore[method-assign]
    elif what == "renumbered":
        with_epoch = "tenant = $1 AND person = $2 AND epoch = $3"
        person_log.APPEND = _ANYWHERE.replace("tenant = $1 AND person = $2", with_epoch)
    elif what == "dropped-late":
        read = copies.read

        def all_but_the_last(*left: Any) -> copies.Left:
            found = read(*left)
            return replace(found, events=found.events[:-1])

        copies.read = all_but_the_last
    elif what == "early":
        send = Holding._send

        def emptied_first(self: Any, *also: Any) -> bool:
            replica = self.replica
            if sets := replica.unsent(self._sent, 1 << 20):
                replica.outbox.note_sent(sets[-1].seq)
                replica.trim()
                replica.unsent = lambda *_: sets
            try:
                return bool(send(self, *also))
            finally:
                vars(replica).pop("unsent", None)

        Holding._send = emptied_first  # type: ignore[method-assign]
    elif what == "no-snapshot":

        def purge(self: Any) -> None:
            self._purged = self.replica.erased() or self._purged

        Holding._purge = purge  # type: ignore[method-assign]
    elif what:
        raise ValueError(f"no such fault: {what}")
