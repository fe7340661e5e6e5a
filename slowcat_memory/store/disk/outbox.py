"""The change sets of a copy that are still to be sent to the database that all copies share.

Each transaction writes its own change set into the table ``outbox``, numbered, together with the
rows that it changes. So whatever ends this process, what was saved here and what must be sent are
the same. A change set is deleted by a later transaction, once it is known to have been sent.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from slowcat_memory.errors import StoreDamagedError
from slowcat_memory.store.disk import change_set, codec, envelope, keys
from slowcat_memory.store.disk.change_set import COPY, OUTBOX

if TYPE_CHECKING:
    from slowcat_memory.store.disk.transaction import Transaction


class CopyState(Struct, frozen=True, kw_only=True):
    """Whose copy a store is, and up to where; a row of ``meta``.

    Attributes:
        tenant: The tenant in the database.
        person: The person whose memory it is.
        seq: Number of the last change set that it contains.
        epoch: Epoch of the lease under which it was last written.
    """

    tenant: str
    person: str
    seq: int = 0
    epoch: int = 0


class Unsent(Struct, frozen=True):
    """A change set that waits.

    Attributes:
        seq: Its number; the first of a person is 1.
        epoch: Epoch of the lease under which it was written.
        last_event: Highest log id of the events in it, 0 for none.
        body: See ``change_set.encode``.
    """

    seq: int
    epoch: int
    last_event: int
    body: bytes


_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder(Unsent).decode


def decode(key: bytes, value: bytes) -> Unsent:
    """Return the change set in a row; raises ``StoreDamagedError`` if it is damaged."""
    return _unpack(codec.unseal(key, value))


def encode(unsent: Unsent) -> tuple[bytes, bytes]:
    """Return a change set's row."""
    key = keys.id_key(unsent.seq)
    return key, envelope.seal(key, _pack(unsent))


class Outbox:
    """Numbers and keeps the change sets of one open store.

    ``add_to`` and ``committed`` belong to the thread that writes; the rest to any.

    Attributes:
        erasures: How often an erasure began or ended since the store was opened.
    """

    def __init__(self, epoch: int, on_commit: Callable[[int], None] = lambda seq: None) -> None:
        """Take the epoch of the present lease.

        Args:
            on_commit: Called on the writing thread with the number of each committed change set.
        """
        self._epoch, self._on_commit = epoch, on_commit
        self._state: CopyState | None = None
        self._next: CopyState | None = None
        self._dropped = self._dropping = 0
        self._sent = 0
        self.erasures = 0
        self._erases = False  # of the transaction that is being written
        self._forgot = 0  # number of the last change set that forgets something
        self._clean = 0  # number up to which no byte is left in the file

    def read(self, row: bytes | None, first: int) -> None:
        """Read the copy's state, as the store is opened.

        Args:
            row: The row of ``meta``.
            first: Number of the first change set that is kept; 0 for none.

        Raises:
            StoreDamagedError: The store is nobody's copy.
        """
        self._state = read_state(row)
        state = self._copy
        self._dropped = first - 1 if first else state.seq

    @property
    def _copy(self) -> CopyState:
        if self._state is None:
            raise StoreDamagedError("this folder is not the copy of a memory in a database")
        return self._state

    @property
    def seq(self) -> int:
        """Number of the last change set that is committed here."""
        return self._state.seq if self._state else 0

    @property
    def dropped(self) -> int:
        """Number up to which change sets are deleted here."""
        return self._dropped

    @property
    def is_scrubbed(self) -> bool:
        """Whether no byte is left here of what was written before the last forgetting.

        False where that is not known: the store was opened since.
        """
        return 0 < self._forgot <= self._clean + 1

    def note_rewritten(self, without: int) -> None:
        """Record that the file was rewritten after change sets up to a number were deleted."""
        self._clean = max(self._clean, without)

    def note_sent(self, upto: int) -> None:
        """Record that change sets were sent; a later transaction deletes them here."""
        self._sent = max(self._sent, upto)

    def trim(self, tx: "Transaction") -> None:
        """Delete what was sent."""
        for seq in range(self._dropped + 1, self._sent + 1):
            tx.drop(OUTBOX, keys.id_key(seq))

    def add_to(self, tx: "Transaction") -> None:
        """Add a transaction's own change set to it, and delete what was sent."""
        state = self._copy
        self._dropping = max(self._dropped, self._sent)
        for seq in range(self._dropped + 1, self._dropping + 1):
            tx.drop(OUTBOX, keys.id_key(seq))
        self._next, self._erases = state, False
        changes = change_set.shared(tx.changes)
        if changes:
            self._next = CopyState(
                tenant=state.tenant, person=state.person, seq=state.seq + 1, epoch=self._epoch
            )
            if change_set.forgets(changes):
                self._forgot = self._next.seq
            self._erases = change_set.erases(changes)
            last, body = change_set.last_event(changes), change_set.encode(changes)
            tx.put(OUTBOX, *encode(Unsent(self._next.seq, self._epoch, last, body)))
            tx.set_meta(COPY, msgspec.to_builtins(self._next))

    def committed(self) -> None:
        """Record that the transaction of the last ``add_to`` is on disk."""
        self.erasures += self._erases
        before, now = self._copy, self._next or self._copy
        self._state, self._dropped = now, self._dropping
        if now.seq > before.seq:
            self._on_commit(now.seq)


def read_state(row: bytes | None) -> CopyState | None:
    """Return what the row of ``meta`` says; None without one: the store is nobody's copy."""
    if row is None:
        return None
    return msgspec.convert(codec.decode_meta(keys.name_key(COPY), row), CopyState)
