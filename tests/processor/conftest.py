"""Fixtures of the processor's tests."""

import contextlib

import pytest

from slowcat_memory import HybridContextualMemoryProcessor, MemoryEngine
from tests.support.memories import remember
from tests.support.processors import MAX


@pytest.fixture
def engine(config):
    """An engine of its own, so that a test can look into the log while the agent runs."""
    remember(config, MAX)
    engine = MemoryEngine(config)
    with contextlib.closing(engine):
        yield engine


@pytest.fixture(autouse=True)
def cold_start(request, monkeypatch):
    """Send no request as a pipeline starts, unless a test is marked `warm_start`: tests count them."""
    if not request.node.get_closest_marker("warm_start"):
        monkeypatch.setattr(HybridContextualMemoryProcessor, "_warm_at_start", lambda _: None)
