"""Tier moves in the crash harnesses: tiers so small that everything moves all the time."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any
from unittest import mock

from slowcat_memory.core.retention import TierOptions
from slowcat_memory.errors import StoreError
from slowcat_memory.store import Store, blocks, tier_mover
from slowcat_memory.store.blocks import EVENTS, BlockReader, decode_location
from slowcat_memory.store.disk import codec
from slowcat_memory.store.disk.transaction import reading
from tests.harness.command import around

TINY = TierOptions(warm=8, block_exchanges=3)
HOT = 8


def age(store: Store) -> None:
    store.age("anna", hot=HOT, options=TINY)


def age_for_ever(store: Store) -> None:
    """Age once, then on a thread of its own until the process ends."""

    def run() -> None:
        with suppress(StoreError):
            while True:
                age(store)
                time.sleep(0.002)  # else it keeps the interpreter's lock

    age(store)
    threading.Thread(target=run, daemon=True).start()


def contents(store: Store, after: int = 0) -> tuple[bytes, int]:
    """Read all blocks from number ``after`` on.

    Returns:
        Their unpacked bytes, and how many events are not in exactly one place.
    """
    with reading(store._env) as tx:
        reader = BlockReader(tx)
        tables = {table: dict(tx.rows(table)) for table in (*EVENTS, *blocks.TABLES)}
        numbers = [codec.id_of(key) for table in blocks.TABLES for key in tables[table]]
        found = {number: reader.block(number) for number in numbers if number > after}
    said = {codec.id_of(k): decode_location(k, v) for k, v in tables["places"].items()}
    said = {id: number for id, number in said.items() if number > after}
    held = [(id, number) for number, block in found.items() for id in block.ids]
    wrong = len(set(held) ^ set(said.items())) + len(held) - len({id for id, _ in held})
    wrong += len(tables["log"].keys() & tables["places"].keys())
    return b"".join(block.plain for block in found.values()), wrong


# ------------------------------------------------------------------- planted faults


@contextmanager
def rows_go_first() -> Iterator[None]:
    """Delete rows in one transaction; be killed before their block is written in the next.

    By chance a kill seldom falls between the two.
    """

    def first(shares, tx):
        for id in (id for ids in shares for id in ids):
            tx.drop("log", codec.id_key(id))

    def commit(real, store, change):
        result = real(store, change)
        if getattr(change, "func", None) is first:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    with (
        around(Store, "_commit_beside", commit),
        mock.patch.object(tier_mover, "pack_warm", first),
    ):
        yield


def blocks_stay() -> Any:
    """Forget, but keep the blocks that have it."""
    return mock.patch.object(blocks, "remove_events", lambda table, gone, numbers, tx: None)
