"""The harness of starts, with its planted fault."""

import pytest

from tests.support.harnesses import harness


@pytest.mark.slow
def test_starts_cost_no_reply_and_no_word() -> None:
    harness("starts", "--count", "8")


@pytest.mark.slow
def test_starts_a_backlog_that_drops_is_caught() -> None:
    harness("starts", "--control", "dropped")
