"""Makes a closed store look as an earlier version left it."""

import json
from pathlib import Path

import lmdb

from slowcat_memory.store.disk import codec
from slowcat_memory.store.disk.envelope import HEADER


def drop_tables(path: Path, *tables: str) -> None:
    """Empty tables of a closed store, and leave them out of its row counts."""
    with lmdb.open(str(path), max_dbs=32, map_size=1 << 26, lib_version=0) as env:
        meta = env.open_db(b"meta")
        with env.begin(write=True) as txn:
            for table in tables:
                txn.drop(env.open_db(table.encode(), txn=txn))
            counts = json.loads(txn.get(b"counts", db=meta)[HEADER.size :])
            kept = {name: n for name, n in counts.items() if name not in tables}
            txn.put(b"counts", codec.encode_meta(b"counts", kept), db=meta)
