"""icebreaker: what an agent is to bring up by itself."""

from datetime import UTC, datetime

from slowcat_memory.engine import MemoryEngine
from slowcat_memory.testing import memory_config


def test_icebreaker_add_list_and_drop(sm) -> None:
    said = sm.ok("icebreaker", "add", "Ask about [bold]the garden[/].", "--priority", "0.9")
    assert "Queued as icebreaker/" in said
    sm.ok("icebreaker", "add", "Praise the cake.", "--expires", "2999-06-01", "--any-hour")
    text = sm.ok("icebreaker", "list")
    assert text.index("the garden") < text.index("Praise the cake.")
    assert "[bold]the garden[/]" in text and "2999-06-01 00:00" in text
    first, second = sm.json("icebreaker", "list")
    assert (first["importance"], second["kind"]) == (0.9, "icebreaker/any-hour")
    assert "1 icebreaker dropped" in sm.ok("icebreaker", "drop", first["id"])
    assert [one["id"] for one in sm.json("icebreaker", "list")] == [second["id"]]
    assert "1 icebreaker dropped" in sm.ok("icebreaker", "drop", "--all")
    assert "No icebreaker is queued." in sm("icebreaker", "list").stderr
    assert sm.json("icebreaker", "list") == []


def test_icebreaker_list_shows_from_when_each_may_be_used(sm) -> None:
    sm.ok("icebreaker", "add", "Ask about the garden.")
    queued = sm.json("icebreaker", "list")[0]
    begin = datetime.fromisoformat(queued["valid_from"])
    assert f"{begin.astimezone(UTC):%Y-%m-%d %H:%M}" in sm.ok("icebreaker", "list")


def test_icebreaker_it_is_used_by_the_next_session_of_that_scope(sm) -> None:
    sm.config.write_text(sm.config.read_text() + '[icebreakers]\nquiet_hours = ""\n')
    sm.ok("icebreaker", "add", "Ask about the garden.", "--scope", "anna", "--any-hour")
    engine = MemoryEngine(memory_config(sm.store))
    assert engine.session_context("user") == ""
    assert "Ask about the garden." in engine.session_context("anna")
    engine.close()
    taken = sm("icebreaker", "add", "Ask about the garden.", "--scope", "anna")
    assert taken.exit_code == 0 and "Not added" in taken.stderr
    assert sm.json("icebreaker", "list", "--scope", "anna") == []


def test_icebreaker_what_makes_no_sense(sm) -> None:
    assert "needs a text" in sm.fails("icebreaker", "add", " ", code=2)
    assert "expired already" in sm.fails(
        "icebreaker", "add", "x", "--expires", "2020-01-01", code=2
    )
    assert "--expires" in sm.fails("icebreaker", "add", "x", "--expires", "soon", code=2)
    assert "--priority" in sm.fails("icebreaker", "add", "x", "--priority", "1.5", code=2)
    sm.ok("icebreaker", "add", "x")
    assert "give the ids" in sm.fails("icebreaker", "drop", code=2)
    assert "give the ids" in sm.fails("icebreaker", "drop", "--all", "icebreaker/1", code=2)
    assert "No queued icebreaker has the id icebreaker/1" in sm.fails(
        "icebreaker", "drop", "icebreaker/1"
    )
