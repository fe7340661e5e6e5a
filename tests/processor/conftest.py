"""Fixtures of the processor's tests."""

import pytest

from slowcat_memory import HybridContextualMemoryProcessor
from tests.support.memories import engine_remembering
from tests.support.processors import MAX

engine = engine_remembering({3: [MAX]})


@pytest.fixture(autouse=True)
def cold_start(request, monkeypatch):
    """Send no request as a pipeline starts, unless a test is marked `warm_start`: tests count them."""
    if not request.node.get_closest_marker("warm_start"):
        monkeypatch.setattr(HybridContextualMemoryProcessor, "_warm_at_start", lambda _: None)
