"""Moving events from tier to tier, in small steps.

Theory of operation. Which event goes where is ``core.ageing``'s business. Here a thread in the
background reads a slice of the log, packs blocks while nobody waits for it, and hands them to the
writer a few at a time, between two of the conversation's own writes. A write checks that every row
is still what was packed, and then puts the blocks, takes the rows away and says where their events
are, all in one transaction: so at every moment each event is in exactly one place. What was
forgotten meanwhile makes the check fail, and the round ends.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from msgspec.structs import replace

from slowcat_memory.core.retention import tiering as policy
from slowcat_memory.core.retention.tiering import Row, TierOptions
from slowcat_memory.errors import StoreDamagedError, StoreError
from slowcat_memory.records import Aged
from slowcat_memory.store.blocks import block as blocks
from slowcat_memory.store.blocks import dictionary as dictionaries
from slowcat_memory.store.blocks import locations
from slowcat_memory.store.blocks.block import COLD, WARM
from slowcat_memory.store.blocks.dictionary import Dictionary, Packer
from slowcat_memory.store.blocks.locations import PLACES
from slowcat_memory.store.blocks.reader import BlockCache
from slowcat_memory.store.blocks.removal import read
from slowcat_memory.store.disk import codec, keys
from slowcat_memory.store.disk.environment import Environment
from slowcat_memory.store.disk.tables import DICTIONARIES, EPOCH
from slowcat_memory.store.disk.transaction import Transaction
from slowcat_memory.store.rows import apply
from slowcat_memory.store.writer.ack import Ack
from slowcat_memory.store.writer.tier_view import TierView
from slowcat_memory.store.writer.write_queue import Stage

SLICE = 2048  # events looked at in one snapshot
EVENTS = 256  # given rows' places in one transaction: about a millisecond of the writer's time
BLOCKS = 8  # packed anew in one transaction: some 4 ms of this thread's time, between two stops

Submit = Callable[[Stage], Ack]


class OvertakenError(StoreError):
    """What was packed has changed meanwhile: something was forgotten."""


@dataclass(frozen=True, slots=True)
class Move:
    """A block to be written, and what it takes the place of.

    Attributes:
        number: The block's number.
        to: Its table.
        value: Its row.
        events: How many events it holds.
        rows: Keys and rows of the log that it replaces; none when a block is packed anew.
        was: For a block packed anew: its table and row until now.
        dictionary: The dictionary that it needs, 0 for none.
    """

    number: int
    to: str
    value: bytes
    events: int
    rows: tuple[tuple[bytes, bytes], ...] = ()
    was: tuple[str, bytes] | None = None
    dictionary: int = 0


class TierMover:
    """Ages the namespaces of a store; one thread at a time."""

    def __init__(self, env: Environment, submit: Submit, cache: BlockCache) -> None:
        """Wire it.

        Args:
            env: Read from here.
            submit: Hands a change to the writer.
            cache: Keeps blocks unpacked.
        """
        self._env, self._submit, self._cache = env, submit, cache
        self._lock = threading.Lock()

    def run(
        self,
        scope: str,
        hot: int,
        options: TierOptions,
        now: datetime,
        stop: Callable[[], bool],
    ) -> Aged:
        """Move what is due, oldest first.

        Args:
            scope: The namespace.
            hot: How many of its latest turns keep rows of their own.
            options: The tiers.
            now: The time.
            stop: Asked between two transactions.

        Returns:
            What moved.

        Raises:
            StoreError: The store is closed or full; what moved until then stays moved.
        """
        with self._lock:
            try:
                aged = self._warm(scope, hot, options, stop)
                return self._cool(scope, options, now, stop, aged) if aged.done else aged
            except OvertakenError:
                return Aged(done=False)

    # ------------------------------------------------------------------- hot to warm

    def _warm(self, scope: str, hot: int, options: TierOptions, stop: Callable[[], bool]) -> Aged:
        warmed, upto, last = 0, -1, False
        waiting: dict[int, Row] = {}  # what does not fill a block yet
        while not last:
            if stop():
                return Aged(warmed=warmed, done=False)
            with self._env.reading() as view:
                found = TierView(*view, self._cache)
                at = found.cursor(scope)
                rows, upto, last = found.slice(scope, max(upto, at.position), hot, SLICE)
                values = {id: found.value("log", keys.id_key(id)) for id in waiting | rows}
                rows = {id: row for id, row in (waiting | rows).items() if values[id]}
                unfinished = found.unfinished({row.session for row in rows.values()}, upto)
            shares, left = policy.share(list(rows.values()), unfinished, options)
            for some in _some(shares):
                if stop():
                    return Aged(warmed=warmed, done=False)
                moves = [_packed(scope, ids, values) for ids in some]
                self._submit(partial(move, moves)).wait(None)
                warmed += sum(len(ids) for ids in some)
            waiting = {id: rows[id] for id in left}
            reached = min(left, default=upto + 1) - 1
            if shares or reached > at.position:
                reach = replace(at, position=reached, note="" if shares else at.note)
                self._submit(partial(apply.move, reach)).wait(None)
        return Aged(warmed=warmed)

    # ------------------------------------------------------------------- warm to cold

    def _cool(
        self,
        scope: str,
        options: TierOptions,
        now: datetime,
        stop: Callable[[], bool],
        aged: Aged,
    ) -> Aged:
        with self._env.reading() as view:
            found = TierView(*view, self._cache)
            at, circumstances = found.cursor(scope), found.circumstances(options)
            if at.note == circumstances:
                return aged
            warm = {block.block: block for block in found.warm(scope, now)}
            going = policy.cooling(list(warm.values()), options.warm, now.timestamp())
            cold = found.cold(scope)
            dictionary = found.dictionary(scope)
            turns = sum(head.turns for head in cold.values())
            turns += sum(warm[number].turns for number in going)
        trained_at = dictionary.cold if dictionary else 0
        if policy.dictionary_due(turns, trained_at, options) and not stop():
            trained = self._train(scope, [*cold, *going], turns, options)
            dictionary = trained or dictionary
            aged = replace(aged, trained=aged.trained + (trained is not None))
        if dictionary is not None:
            going += [number for number, head in cold.items() if not head.dictionary]
        packer = Packer(options.level, dictionary)
        for first in range(0, len(going), BLOCKS):
            if stop():
                return replace(aged, done=False)
            made = (self._repacked(n, packer) for n in going[first : first + BLOCKS])
            moves = [one for one in made if one is not None]
            self._submit(partial(move, moves)).wait(None)
            aged = replace(aged, cooled=aged.cooled + sum(one.events for one in moves))
        self._sweep(scope)
        self._submit(partial(apply.move, replace(at, note=circumstances))).wait(None)
        return aged

    def _repacked(self, number: int, packer: Packer) -> Move | None:
        """Pack a block by zstd; None for a damaged one, which stays as it is."""
        key = keys.id_key(number)
        with self._env.reading() as view:
            found = TierView(*view, self._cache)
            table = found.reader.table(number)
            value = found.value(table, key)
            if not value:
                raise OvertakenError("a block was forgotten before it was packed")
            try:
                block = found.reader.unpacked(key, value)
            except StoreDamagedError:
                return None
        packed = packer.pack(block.plain)
        size = len(block.plain)
        made = blocks.row(key, block.head, blocks.ZSTD, packer.number, size, packed)
        return Move(
            number=number,
            to=COLD,
            value=made,
            events=len(block.ids),
            was=(table, value),
            dictionary=packer.number,
        )

    # ------------------------------------------------------------------- dictionaries

    def _train(
        self, scope: str, numbers: Sequence[int], cold: int, options: TierOptions
    ) -> Dictionary | None:
        """Train on the latest events that are cold, or about to be."""
        with self._env.reading() as view:
            found = TierView(*view, self._cache)
            epoch = int(Transaction(*view).meta(EPOCH, 0))
            samples = found.samples(numbers, options.dictionary_from)
        data = dictionaries.train(list(samples.values()), options.dictionary_bytes)
        if not data:
            return None
        made_from = tuple(sorted(samples))
        trained = Dictionary(number=0, scope=scope, made_from=made_from, cold=cold, data=data)
        numbered: list[Dictionary] = []
        self._submit(partial(_keep_dictionary, trained, epoch, numbered)).wait(None)
        return numbered[-1]

    def _sweep(self, scope: str) -> None:
        """Drop the dictionaries that no block names any more, but not the newest."""
        with self._env.reading() as view:
            found = TierView(*view, self._cache)
            named = {head.dictionary for head in found.cold(scope).values()}
            idle = [number for number in found.dictionaries(scope)[:-1] if number not in named]
        if idle:
            self._submit(partial(_drop_dictionaries, idle)).wait(None)


def _some(shares: Sequence[list[int]]) -> Iterator[list[list[int]]]:
    """Put together as many blocks as one transaction takes."""
    some: list[list[int]] = []
    for ids in shares:
        if some and sum(map(len, some)) + len(ids) > EVENTS:
            yield some
            some = []
        some.append(ids)
    if some:
        yield some


def _packed(scope: str, ids: Sequence[int], values: dict[int, bytes]) -> Move:
    """Pack events that have rows of their own."""
    rows = tuple((keys.id_key(id), values[id]) for id in ids)
    bodies = [codec.unseal(key, value) for key, value in rows]
    events = [read(body) for body in bodies]
    key = keys.id_key(ids[0])
    head = blocks.describe(scope, events[0].session, events)
    plain = blocks.join(list(zip(ids, bodies, strict=True)))
    return Move(
        number=ids[0],
        to=WARM,
        value=blocks.lz4_row(key, head, plain),
        events=len(ids),
        rows=rows,
    )


# ------------------------------------------------------------------- on the writer thread


def move(moves: Sequence[Move], tx: Transaction) -> None:
    """Write blocks, and take away what they replace.

    Args:
        moves: The blocks.
        tx: Takes the changes.

    Raises:
        OvertakenError: Something is not what it was when it was packed; nothing is changed.
    """
    for made in moves:
        key = keys.id_key(made.number)
        _check(made, key, tx)
        if made.was is not None:
            tx.drop(made.was[0], key)
        tx.put(made.to, key, made.value)
        for at, _ in made.rows:
            tx.drop("log", at)
            tx.put(PLACES, at, locations.row(at, made.number))


def _check(made: Move, key: bytes, tx: Transaction) -> None:
    here = [tx.get("log", at) == value for at, value in made.rows]
    if made.was is None:
        here += [tx.get(table, key) is None for table in blocks.TABLES]
    else:
        here.append(tx.get(made.was[0], key) == made.was[1])
    if made.dictionary:
        here.append(tx.get("dictionaries", keys.id_key(made.dictionary)) is not None)
    if not all(here):
        raise OvertakenError("something was forgotten while it was packed")


def _keep_dictionary(
    trained: Dictionary, epoch: int, numbered: list[Dictionary], tx: Transaction
) -> None:
    if tx.meta(EPOCH, 0) != epoch:
        raise OvertakenError("something was forgotten while a dictionary was trained")
    number = tx.meta(DICTIONARIES, 0) + 1
    numbered.append(replace(trained, number=number))
    tx.set_meta(DICTIONARIES, number)
    tx.write_record("dictionaries", keys.id_key(number), numbered[-1])


def _drop_dictionaries(numbers: Sequence[int], tx: Transaction) -> None:
    for number in numbers:
        tx.drop("dictionaries", keys.id_key(number))
