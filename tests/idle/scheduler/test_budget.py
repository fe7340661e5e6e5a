from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from slowcat_memory.idle.options import Budget, IdleOptions
from slowcat_memory.records import Run
from tests.support.idle_doubles import NOW

BERLIN = ZoneInfo("Europe/Berlin")


def test_budget_blocks_names_the_limit():
    options = IdleOptions(from_hour=22, to_hour=6, tokens_per_hour=100)
    plugged = [True]
    budget = Budget(options, lambda: not plugged[0])
    night, noon = datetime(2026, 5, 12, 23, tzinfo=BERLIN), datetime(2026, 5, 12, 12, tzinfo=BERLIN)
    assert budget.blocks("llm", noon, BERLIN) == "hours"
    assert budget.blocks("llm", night, BERLIN) == ""
    plugged[0] = False
    assert budget.blocks("llm", night, BERLIN) == "", "it looked a moment ago"
    assert budget.blocks("llm", night + timedelta(seconds=31), BERLIN) == "battery"
    plugged[0] = True
    later = night + timedelta(minutes=5)
    budget.spend(100, later)
    assert budget.blocks("llm", later, BERLIN) == "tokens"
    assert budget.blocks("embedder", later, BERLIN) == ""
    assert budget.blocks("llm", later + timedelta(hours=1), BERLIN) == ""


def test_budget_tokens_dated_by_a_wrong_clock_do_not_block_for_years():
    budget = Budget(IdleOptions(tokens_per_hour=100), lambda: False)
    ahead = NOW + timedelta(days=365 * 30)
    budget.remember([Run(task="t", job="j", at=ahead, ms=1, outcome="done", tokens_in=500)])
    assert budget.blocks("llm", NOW, UTC) == ""
