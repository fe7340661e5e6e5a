"""Tier moves in the crash harnesses: tiers so small that everything moves all the time."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any
from unittest import mock

from slowcat_memory.core.retention.tiering import TierOptions
from slowcat_memory.errors import StoreError
from slowcat_memory.store import Store
from slowcat_memory.store.blocks import block as blocks
from slowcat_memory.store.blocks.reader import EVENTS, BlockCache, BlockReader, decode_location
from slowcat_memory.store.disk import keys
from slowcat_memory.store.rows import forget_rules
from slowcat_memory.store.writer import tier_mover
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
    with store._env.reading() as (txn, handles):
        reader = BlockReader(lambda table, key: txn.get(key, db=handles[table]), BlockCache())
        tables = {
            table: {key: value for key, value in txn.cursor(handles[table])}
            for table in (*EVENTS, *blocks.TABLES)
        }
        numbers = [keys.id_of(key) for table in blocks.TABLES for key in tables[table]]
        found = {number: reader.block(number) for number in numbers if number > after}
    said = {keys.id_of(k): decode_location(k, v) for k, v in tables["places"].items()}
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

    def first(moves, tx):
        for made in moves:
            for key, _ in made.rows:
                tx.drop("log", key)

    def derive(real, store, change):
        ack = real(store, change)
        if getattr(change, "func", None) is first:
            ack.wait(None)
            os.kill(os.getpid(), signal.SIGKILL)
        return ack

    with (
        around(Store, "_write_derived", derive),
        mock.patch.object(tier_mover, "move_blocks", first),
    ):
        yield


def blocks_stay() -> Any:
    """Forget, but keep the blocks that have it."""
    return mock.patch.object(forget_rules, "remove_events", lambda table, gone, numbers, tx: None)
