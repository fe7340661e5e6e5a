"""A store whose events are moved through tiny tiers, and checks of where they are."""

import shutil
from pathlib import Path

import msgspec

from slowcat_memory.core.retention import TierOptions
from slowcat_memory.records import Forget
from slowcat_memory.store import StoreOptions, blocks
from slowcat_memory.store.blocks import BlockReader, decode_location
from slowcat_memory.store.disk import codec
from slowcat_memory.store.disk.transaction import reading, transact
from tests.harness import samples
from tests.harness.samples import token, turn
from tests.support.memories import Look

SMALL = StoreOptions(map_size_gib=1 / 16)
TIERS = TierOptions(warm=20, block_exchanges=4, block_bytes=1_000_000)


def say(store, count, *, session=lambda n: f"s{n // 30}", **fields):
    numbers = range(1, count + 1)
    made = [store.append(turn(n, session=session(n), **fields)).event for n in numbers]
    store.flush()
    return made


def leave(store) -> Path:
    """Copy the store's folder as a kill would leave it, then close it; return the copy."""
    store.flush()
    killed = store.path.with_name("killed")
    shutil.copytree(store.path, killed)
    store.close()
    return killed


def wished(given) -> Forget:
    """Return a forget request as a list has it: its times are seconds of ``samples.at``."""
    times = {name: samples.at(given[name]) for name in ("since", "until") if name in given}
    return msgspec.convert(given | times, Forget)


def age(store, hot=10, **given):
    return store.age("anna", hot=hot, options=given.pop("options", TIERS), **given)


def events(store, **given):
    return Look(store).events(**given)


def rows(store, table):
    with reading(store._env) as tx:
        return {codec.id_of(key): value for key, value in tx.rows(table)}


def every_block(store):
    """Each block's ids, and its texts, by number."""
    with reading(store._env) as tx:
        reader = BlockReader(tx)
        return {
            number: reader.block(number)
            for table in blocks.TABLES
            for number in map(codec.id_of, tx.keys(table))
        }


def check_places(store):
    """Check that every event is in exactly one place."""
    lies_in = {id: number for number, block in every_block(store).items() for id in block.ids}
    held = sum(len(block.ids) for block in every_block(store).values())
    assert held == len(lies_in), "an event is in two blocks"
    said = {id: decode_location(codec.id_key(id), row) for id, row in rows(store, "places").items()}
    assert said == lies_in
    assert not said.keys() & rows(store, "log").keys()


def traces(store, path: Path, *numbers: int) -> list:
    """Return where a turn's words remain: in files, in unpacked blocks."""
    plain = {f"block {n}": block.plain for n, block in every_block(store).items()}
    held = [(n, name) for n in numbers for name, body in plain.items() if token(n).encode() in body]
    return [*samples.traces(path, *numbers), *held]


def spoil(store, table, number):
    """Flip one bit in a row, in a transaction of its own."""
    key = codec.id_key(number)
    value = bytearray(rows(store, table)[number])
    value[len(value) // 2] ^= 1
    store._writer.call(lambda: transact(store._env, lambda e: e.put(table, key, bytes(value))))
    store._read_block.cache_clear()


def block_of(store, id):
    return next(n for n, block in every_block(store).items() if id in block.ids)
