from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.idle_doubles import Rig


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Callable[..., Rig]]:
    """Makes a loop over one store, in which something may be said; at the end it is closed."""
    made: list[Rig] = []

    def make(*jobs: Any, said: Iterable[str] = (), **given: Any) -> Rig:
        for earlier in made:
            earlier.close()
        made.append(Rig(tmp_path / "store", *jobs, **given))
        made[-1].say(*said)
        return made[-1]

    yield make
    for one in made:
        one.close()
