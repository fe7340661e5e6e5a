"""The context of a session, but for its icebreaker."""

from datetime import timedelta
from typing import Any

from slowcat_memory.records import Memory, WriteBatch
from tests.support.engine_home import last_session
from tests.support.memories import Look
from tests.support.said import memory_at


def test_head_session_head_summary_of_the_last_session_and_of_no_other(home, engine):
    home.session(engine, "one")
    home.session(engine, "two")

    def summary(id_: str, text: str, **more: Any) -> Memory:
        return memory_at(id_, text, home.clock(), kind="summary/session", **more)

    ids = [turn.id for turn in Look(engine).turns("anna")]
    engine.store.apply("job", WriteBatch(memories=(
        summary("summary/session/1", "They spoke of boats.", sources=(ids[0],)),
        summary("summary/session/2", "They spoke of trains.", sources=(ids[1],)),
        summary("summary/session/3", "Nothing of the kind."),
        summary("summary/session/4", "Not true.", sources=(ids[1],), retired_at=home.clock()),
    ))).wait()  # fmt: skip
    assert engine.session_context("anna").splitlines()[3] == "That time: They spoke of trains."


def test_head_a_session_dated_by_a_wrong_clock_is_not_the_last_time(home, engine):
    home.session(engine, "one")
    told = engine.session_context("anna")
    home.clock.now += timedelta(days=4000)
    home.session(engine, "ahead")
    home.clock.now -= timedelta(days=4000)
    again = engine.session_context("anna")
    date = told.partition("last time on ")[2].partition(",")[0]
    assert date and f"last time on {date}," in again
    assert last_session(engine, "anna").id == "one"  # type: ignore[union-attr]


def test_head_session_that_resumes_keeps_its_context(home, engine):
    home.session(engine, "one")
    home.clock.advance(86400)
    home.edge(engine, "two", "start")
    home.say(engine, "two")
    home.edge(engine, "two", "end", reason="disconnect")
    home.clock.advance(10)
    before = engine.session_context("anna")
    assert "talked 2 times" in before
    home.edge(engine, "two", "resume")
    home.say(engine, "two")
    for _ in range(2):
        home.clock.advance(7200)
        assert engine.session_context("anna") == before
    home.edge(engine, "two", "end", reason="disconnect")
    home.clock.advance(2 * 86400)
    assert engine.session_context("anna") != before, "another session begins"
