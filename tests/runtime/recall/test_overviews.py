"""A question that asks for an overview brings summaries; any other one brings none."""

import contextlib
from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from slowcat_memory import MemoryEngine
from slowcat_memory.core.query.recall_gate import judge
from slowcat_memory.runtime.recall.query import Query
from slowcat_memory.testing import FixedClock, memory_config
from tests.support.rows import each_row, listed
from tests.support.sessions import hold

NOW = datetime(2026, 5, 20, 15, tzinfo=UTC)
JOBS = ("session_summary", "window_summary", "rollups", "topics")
SAID = ("My dog Max barks at the neighbour.", "The vet said that Max is fine.")


@pytest.fixture
def engine(tmp_path):
    config = memory_config(tmp_path, idle={"enabled": False, "grace_s": 0.0, "rest_s": 0.01})
    with contextlib.closing(MemoryEngine(config, clock=FixedClock(NOW))) as made:
        for day in (11, 13, 20):
            at = datetime(2026, 5, day, 9, tzinfo=UTC)
            hold(made, f"s{day}", [f"{text} It is the {day}th." for text in SAID], at, step_s=60)
        made.store.flush(None)
        made.idle.until_done(JOBS)
        yield made


def ids(engine, text, **given):
    return [hit.memory.id for hit in engine.search(text, "anna", 10, **given).hits]


@each_row(
    ("text", "first"),
    listed("rules/overviews", "overviews_an_overview_begins_with_the_summary_of_its_time"),
)
def test_overviews_an_overview_begins_with_the_summary_of_its_time(engine, text, first):
    found = ids(engine, text)
    assert found[0] == first and len(set(found)) == len(found)
    assert sum(id.startswith("summary/") for id in found) <= 4


@pytest.mark.parametrize("text", ["what is my dog called", "Max the dog", "what did the vet say"])
def test_overviews_no_summary_comes_with_any_other_question(engine, text):
    found = ids(engine, text)
    assert found and not any(id.startswith("summary/") for id in found)


def test_overviews_what_is_excluded_stays_away_and_other_scopes_have_nothing(engine):
    week = "summary/week/2026-W20"
    text = "what did we talk about last week?"
    assert week not in ids(engine, text, exclude=frozenset({week}))
    assert not engine.search(text, "ben", 10).hits


def test_overviews_a_late_question_has_its_summary_and_is_not_denied(engine):
    retrieval, namespace = engine.wiring.retrieval, engine.wiring.namespaces.get("anna")
    text = "what did we talk about last week?"
    query = Query(text=text, scope="anna", now=NOW, need=judge(text), local=True)
    late = retrieval._pipeline.settle(*retrieval._pipeline.begin(query, [namespace]))
    assert late.hits[0].memory.id == "summary/week/2026-W20" and late.evidence is None
    nowhere = replace(query, text="what did we talk about in March last year?")
    late = retrieval._pipeline.settle(*retrieval._pipeline.begin(nowhere, [namespace]))
    assert late.evidence is None
