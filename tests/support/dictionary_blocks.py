"""Blocks that name a trained zstd dictionary, as earlier versions of the store wrote them."""

import zstandard

from slowcat_memory.records import Cursor
from slowcat_memory.store import Store
from slowcat_memory.store.blocks import block as blocks
from slowcat_memory.store.blocks.block import COLD, Dictionary
from slowcat_memory.store.blocks.reader import BlockCache, BlockReader
from slowcat_memory.store.disk import codec, keys
from slowcat_memory.store.disk.transaction import Transaction, transact
from slowcat_memory.store.writer.tier_view import CURSOR

OLD_NOTE = "0 500 2000"  # of the tiers' cursor: epoch, warm and dictionary_from


def pack_with_dictionary(
    store: Store, scope: str = "anna", size: int = 4096, *, old_cursor: bool = True
) -> Dictionary:
    """Train a dictionary on a namespace's cold events, and pack all its cold blocks with it.

    ``old_cursor`` makes the cursor of its tiers that of an earlier version, too.
    """

    def change(tx: Transaction) -> Dictionary:
        reader = BlockReader(tx.get, BlockCache())
        numbers = [
            keys.id_of(key)
            for key, value in tx.rows(COLD)
            if blocks.read_head(value).scope == scope
        ]
        found = {number: reader.block(number) for number in numbers}
        samples = {id: body for block in found.values() for id, body in block.bodies()}
        data = zstandard.train_dictionary(size, list(samples.values())).as_bytes()
        number = max((keys.id_of(key) for key in tx.keys("dictionaries")), default=0) + 1
        trained = Dictionary(number, scope, tuple(sorted(samples)), len(samples), data)
        key = keys.id_key(number)
        tx.put("dictionaries", key, codec.encode(key, trained))
        packer = zstandard.ZstdCompressor(
            dict_data=zstandard.ZstdCompressionDict(data),
            write_checksum=False,
            write_content_size=False,
            write_dict_id=False,
        )
        for at, block in found.items():
            plain, key = block.plain, keys.id_key(at)
            packed = packer.compress(plain)
            row = blocks.make_row(key, block.head, blocks.ZSTD, number, len(plain), packed)
            tx.put(COLD, key, row)
        cursor = tx.read(Cursor, "cursors", keys.name_key(f"{CURSOR}{scope}"))
        if cursor is not None and old_cursor:
            old = Cursor(name=cursor.name, position=cursor.position, note=OLD_NOTE)
            tx.put("cursors", keys.name_key(old.name), codec.encode(keys.name_key(old.name), old))
        return trained

    assert store._writer is not None
    return store._writer.call(lambda: transact(store._env, change))
