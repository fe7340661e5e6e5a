from collections.abc import Iterator
from pathlib import Path

import pytest

from slowcat_memory.owner.member import Member
from slowcat_memory.testing import memory_config

WAIT_S = 30.0


@pytest.fixture
def owner(tmp_path: Path) -> Iterator[Member]:
    """The owner of a memory, in this process."""
    member = Member(memory_config(tmp_path / "memory"), name="owner")
    member.prepare("anna")
    member.start(WAIT_S)
    yield member
    member.release()
