"""What a fleet needs of an open copy: what is to be sent, and all of it at one moment."""

from collections.abc import Callable
from functools import partial

from msgspec import Struct

from slowcat_memory.errors import StoreDamagedError
from slowcat_memory.records import Manifest
from slowcat_memory.store.care import copy
from slowcat_memory.store.disk import keys
from slowcat_memory.store.disk.change_set import COPY, OUTBOX
from slowcat_memory.store.disk.environment import Environment
from slowcat_memory.store.disk.outbox import Outbox, Unsent, decode, read_state
from slowcat_memory.store.disk.tables import EPOCH, ERASE_DUE
from slowcat_memory.store.disk.transaction import Run, Transaction, reading, transact
from slowcat_memory.store.replica import parts
from slowcat_memory.store.replica.parts import Part


class Whole(Struct, frozen=True):
    """A store at one moment.

    Attributes:
        seq: Number of the last change set in it.
        generations: Names of the sealed indexes in it.
        parts: See ``parts.of_store``.
    """

    seq: int
    generations: tuple[str, ...]
    parts: list[Part]


class Erased(Struct, frozen=True):
    """How far forgetting has come here.

    Attributes:
        epoch: How many deletions there were.
        under_way: Whether rows or bytes of the last one are still there.
    """

    epoch: int
    under_way: bool


class Replica:
    """The replicated side of an open store. Safe to use from any thread but the writer's.

    Attributes:
        on_closing: Called when the last write is saved, while the store can still be read.
    """

    def __init__(self, env: Environment, outbox: Outbox, run: Run) -> None:
        self._env, self._outbox, self._run = env, outbox, run
        self.on_closing: Callable[[], object] = lambda: None
        self._erased: tuple[int, Erased] | None = None

    @property
    def seq(self) -> int:
        """Number of the last change set that is on disk here."""
        return self._outbox.seq

    def unsent(self, after: int, most_bytes: int) -> list[Unsent]:
        """Return change sets after a number, in order; at least one if there is any."""
        found, size = list[Unsent](), 0
        with self._env.reading() as (txn, handles):
            cursor = txn.cursor(handles[OUTBOX])
            if not cursor.set_range(keys.id_key(after + 1)):
                return found
            for key, value in cursor:
                size += len(value)
                if found and size > most_bytes:
                    break
                found.append(decode(key, value))
        return found

    def note_sent(self, upto: int) -> None:
        """Record that change sets were sent; the next transaction deletes them here."""
        self._outbox.note_sent(upto)

    def trim(self) -> None:
        """Delete now what was sent. Blocks."""
        self._run(partial(transact, self._env, self._outbox.trim))

    def scrub(self) -> bool:
        """Erase the bytes of what was sent before the last forgetting; return whether that is done.

        Blocks; mostly for nothing, since erasing rewrote the file without them. It cannot be done
        while somebody reads.
        """
        return self._outbox.is_scrubbed or copy.rewrite(self._env, self._run)

    def erased(self) -> Erased:
        """Return how far forgetting has come; read only when that may have changed."""
        count = self._outbox.erasures
        if self._erased is None or self._erased[0] != count:
            self._erased = count, self._read_erased()
        return self._erased[1]

    def _read_erased(self) -> Erased:
        with reading(self._env) as tx:
            return Erased(int(tx.meta(EPOCH, 0)), bool(tx.meta(ERASE_DUE, False)))

    def generations(self) -> tuple[str, ...]:
        """Return the names of the sealed indexes."""
        with self._env.reading() as (txn, handles):
            return _generations(Transaction(txn, handles))

    def whole(self) -> Whole:
        """Return everything, compressed. Blocks, about 0.1 s for 10,000 memories.

        Raises:
            StoreError: It cannot be read.
        """
        with self._env.reading() as (txn, handles):
            tx = Transaction(txn, handles)
            state = read_state(tx.get("meta", keys.name_key(COPY)))
            if state is None:
                raise StoreDamagedError("this folder is not the copy of a memory in a database")
            made = [parts.seal(one) for one in parts.of_store(txn, handles, self._env.path)]
            return Whole(state.seq, _generations(tx), made)


def _generations(tx: Transaction) -> tuple[str, ...]:
    found = (tx.read(Manifest, "manifest", key) for key in tx.keys("manifest"))
    return tuple(sorted(one.generation for one in found if one is not None))
