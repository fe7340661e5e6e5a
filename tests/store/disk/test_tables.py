"""The name of a store's format changes with its rows."""

import ast
import hashlib
import inspect
import textwrap

from slowcat_memory import records
from slowcat_memory.store.blocks import Head
from slowcat_memory.store.disk.envelope import FORMAT
from slowcat_memory.store.disk.outbox import CopyState, Unsent
from slowcat_memory.store.disk.tables import TABLES
from slowcat_memory.store.forget import Pending

ROWS = (
    *(records.Turn, records.SessionEdge, records.Session, records.Memory, records.Made),
    *(records.Context, records.Key, records.LedgerEntry, records.Offer, records.LeftOut),
    *(records.CallEntry, records.CommandEntry, records.Task, records.Run, records.Cursor),
    *(records.Manifest, records.IndexFile, records.Forget, Pending, records.TrustedTime),
    *(records.Statement, records.Ending),
    *(Head, CopyState, Unsent),
)
DIGESTS = {"slowcat-7": "cb37521a0e83a140"}


def fields_of(kind: type) -> list[str]:
    """Return the options and the fields of a row's struct, as its source has them."""
    (made,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(made, ast.ClassDef)
    options = [ast.unparse(option) for option in made.keywords]
    return [*options, *(ast.unparse(one) for one in made.body if isinstance(one, ast.AnnAssign))]


def test_tables_a_change_of_a_row_has_a_new_name_of_the_format() -> None:
    tables = [(table.name, table.key, table.value) for table in TABLES]
    rows = {kind.__name__: fields_of(kind) for kind in ROWS}
    digest = hashlib.sha256(repr((tables, rows)).encode()).hexdigest()[:16]
    assert DIGESTS.get(FORMAT) == digest, (
        f"rows have changed: give envelope.FORMAT another name, and keep {digest} beside it here"
    )
