"""Reading events, wherever they are: in a row of their own, or in a block.

A cache keeps the blocks that were read last unpacked, so that a block is unpacked once for all
that is read from it, and keeps dictionaries digested. It belongs to an open store. A reader finds
its way through one transaction, or one tx, with the help of the cache.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable

from slowcat_memory.errors import StoreDamagedError
from slowcat_memory.records import Event
from slowcat_memory.store.blocks import block as blocks
from slowcat_memory.store.blocks import locations
from slowcat_memory.store.blocks.block import Block
from slowcat_memory.store.blocks.dictionary import Dictionary, Unpacker
from slowcat_memory.store.blocks.locations import PLACES
from slowcat_memory.store.disk import codec, keys
from slowcat_memory.store.disk.canary import HEADER

Get = Callable[[str, bytes], bytes | None]
"""Table and key to the row's envelope, None when there is none."""

KEPT_BYTES = 4 << 20
OVERHEAD = 120  # bytes that an event's place in a block costs in memory, roughly


class DamagedRow(StoreDamagedError):
    """A row that does not read, by table and key."""

    def __init__(self, table: str, key: bytes, why: str) -> None:
        """Name the row.

        Args:
            table: The table.
            key: The key.
            why: What is wrong with it.
        """
        super().__init__(why)
        self.table, self.key = table, key


class BlockCache:
    """Unpacked blocks and digested dictionaries. Safe to use from any thread."""

    def __init__(self, limit: int = KEPT_BYTES) -> None:
        """Start empty.

        Args:
            limit: Bytes of unpacked blocks that are kept.
        """
        self._limit = limit
        self._lock = threading.Lock()
        self._blocks: OrderedDict[tuple[int, bytes], Block] = OrderedDict()
        self._bytes = 0
        self._unpackers: dict[int, Unpacker] = {}

    def find(self, number: int, value: bytes) -> Block | None:
        """Look for a block.

        Args:
            number: Its number.
            value: Its row: another row of the same number is another block.

        Returns:
            The block, None when it is not here.
        """
        at = number, value[: HEADER.size]
        with self._lock:
            block = self._blocks.get(at)
            if block is not None:
                self._blocks.move_to_end(at)
            return block

    def keep(self, number: int, value: bytes, block: Block) -> None:
        """Put a block here, and those that were not asked for longest away.

        Args:
            number: Its number.
            value: Its row.
            block: The block.
        """
        at = number, value[: HEADER.size]
        with self._lock:
            known = self._blocks.pop(at, None)
            self._bytes -= _cost(known) if known else 0
            self._blocks[at] = block
            self._bytes += _cost(block)
            while self._bytes > self._limit and len(self._blocks) > 1:
                self._bytes -= _cost(self._blocks.popitem(last=False)[1])

    def unpacker(self, number: int, read: Callable[[int], bytes]) -> Unpacker:
        """Return what unpacks with a dictionary.

        Args:
            number: The dictionary's number, 0 for none.
            read: Reads the dictionary's bytes.

        Returns:
            The unpacker.

        Raises:
            StoreDamagedError: The dictionary does not read.
        """
        found = self._unpackers.get(number)
        if found is None:
            found = self._unpackers[number] = Unpacker(read(number) if number else b"")
        return found

    def clear(self) -> None:
        """Put everything away: something was forgotten."""
        with self._lock:
            self._blocks.clear()
            self._bytes = 0
            self._unpackers.clear()


def _cost(block: Block) -> int:
    return len(block.plain) + OVERHEAD * len(block.ids)


class BlockReader:
    """Reads events through one transaction or tx."""

    def __init__(self, get: Get, cache: BlockCache) -> None:
        """Read nothing yet.

        Args:
            get: Reads a row.
            cache: Keeps what is unpacked.
        """
        self._get, self._cache = get, cache

    def event(self, key: bytes) -> Event | None:
        """Read an event.

        Args:
            key: Its key.

        Returns:
            The event, None when there is none.

        Raises:
            DamagedRow: Its row, or its block's, is not what was written.
        """
        value = self._get("log", key)
        if value is None:
            return self._in_block(key)
        try:
            return codec.decode(Event, key, value)  # type: ignore[arg-type]
        except StoreDamagedError as error:
            raise DamagedRow("log", key, str(error)) from error

    def _in_block(self, key: bytes) -> Event | None:
        number = self.number(key)
        if not number:
            return None
        try:
            body = self.block(number).body(keys.id_of(key))
            return codec.decode_body(Event, body)  # type: ignore[arg-type]
        except DamagedRow:
            raise
        except StoreDamagedError as error:
            raise DamagedRow(self.table(number), keys.id_key(number), str(error)) from error

    def number(self, key: bytes) -> int:
        """Tell which block holds an event.

        Args:
            key: Its key.

        Returns:
            The block's number; 0 when none does.

        Raises:
            DamagedRow: What says so is not what was written.
        """
        value = self._get(PLACES, key)
        try:
            return 0 if value is None else locations.number(key, value)
        except StoreDamagedError as error:
            raise DamagedRow(PLACES, key, str(error)) from error

    def table(self, number: int) -> str:
        """Tell which table holds a block.

        Args:
            number: The block's number.

        Returns:
            The table; the first of them when none does.
        """
        key = keys.id_key(number)
        held = (table for table in blocks.TABLES if self._get(table, key) is not None)
        return next(held, blocks.TABLES[0])

    def block(self, number: int) -> Block:
        """Read a block.

        Args:
            number: Its number.

        Returns:
            The block, unpacked.

        Raises:
            DamagedRow: It is not there, or not what was written.
        """
        key = keys.id_key(number)
        for table in blocks.TABLES:
            value = self._get(table, key)
            if value is not None:
                break
        else:
            raise DamagedRow(blocks.TABLES[0], key, "a block is missing")
        block = self._cache.find(number, value)
        if block is None:
            try:
                block = self.unpacked(key, value)
            except DamagedRow:
                raise
            except StoreDamagedError as error:
                raise DamagedRow(table, key, str(error)) from error
            self._cache.keep(number, value, block)
        return block

    def unpacked(self, key: bytes, value: bytes) -> Block:
        """Unpack a block's row.

        Args:
            key: The row's key.
            value: The envelope.

        Returns:
            The block.

        Raises:
            StoreDamagedError: It, or its dictionary, is not what was written.
        """
        found = blocks.parts(key, value)
        if found.head.codec == blocks.LZ4:
            return blocks.opened(found.head, blocks.unpack_lz4(found))
        unpacker = self._cache.unpacker(found.head.dictionary, self._dictionary)
        return blocks.opened(found.head, unpacker.unpack(found))

    def _dictionary(self, number: int) -> bytes:
        key = keys.id_key(number)
        value = self._get("dictionaries", key)
        if value is None:
            raise DamagedRow("dictionaries", key, "a dictionary is missing")
        try:
            return codec.decode(Dictionary, key, value).data
        except StoreDamagedError as error:
            raise DamagedRow("dictionaries", key, str(error)) from error
