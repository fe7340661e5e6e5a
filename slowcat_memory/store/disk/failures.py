"""Whose fault a failed write is: the record's, the file's or the disk's."""

import lmdb

from slowcat_memory.errors import StoreDamagedError, StoreError, StoreFullError

# The record's fault, not the disk's: trying again changes nothing.
POISON = (lmdb.BadValsizeError, lmdb.TxnFullError, lmdb.KeyExistsError, lmdb.PageFullError)
BROKEN = (lmdb.CorruptedError, lmdb.PageNotFoundError, lmdb.PanicError, lmdb.InvalidError)


def as_store_error(error: Exception) -> StoreError:
    """Say whose fault it is.

    Args:
        error: What LMDB or a stage raised.

    Returns:
        The error to show a caller.
    """
    if isinstance(error, StoreError):
        return error
    if isinstance(error, BROKEN):
        return StoreDamagedError(f"the store fails: {error}", hint="Start the agent again.")
    if isinstance(error, lmdb.Error):
        return StoreFullError(f"the disk refuses: {error}", hint="Make room on the disk.")
    return StoreError(f"this cannot be saved: {error}")
