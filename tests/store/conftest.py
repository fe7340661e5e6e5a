from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from slowcat_memory.store import Store, StoreOptions

SMALL = StoreOptions(map_size_gib=1 / 16)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def open_store(path: Path) -> Iterator[Callable[..., Store]]:
    """Opens the store at ``path``; whatever is open at the end is closed."""
    opened = []

    def open_it(**given: object) -> Store:
        store = Store.open(path, **{"options": SMALL, **given})  # type: ignore[arg-type]
        opened.append(store)
        return store

    yield open_it
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store: Callable[..., Store]) -> Store:
    return open_store()
