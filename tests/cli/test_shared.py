"""What the commands share: whose memory, dates in words, exit codes."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
import typer

from slowcat_memory.cli.output import last_moment, parse_time, period_of
from tests.support.rows import each_row, listed

NOW = datetime(2026, 11, 25, 10, 0, tzinfo=UTC)  # a Wednesday


@each_row(("text", "start", "end"), listed("times/command_line"))
def test_dates_are_read_as_people_write_them(text: str, start: str, end: str) -> None:
    found = period_of(text, NOW, UTC, "--since")
    assert found[0] == datetime.fromisoformat(start).replace(tzinfo=UTC)
    assert found[1] == datetime.fromisoformat(end).replace(tzinfo=UTC)


@pytest.mark.parametrize("text", ["", "soon-ish", "my March trip", "20:00", "0001-01-01"])
def test_dates_what_is_none_is_refused_with_examples(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="such as|between"):
        parse_time(text, NOW, UTC, "--since")


def test_dates_are_those_of_the_users_zone_and_end_at_the_present() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    assert parse_time("yesterday", NOW, berlin, "--since") == datetime(
        2026, 11, 23, 23, 0, tzinfo=UTC
    )
    assert last_moment("today", NOW, UTC, "DATE") == NOW
    assert last_moment("yesterday", NOW, UTC, "DATE").isoformat()[:19] == "2026-11-24T23:59:59"


def test_whose_memory_is_that_of_the_only_person_or_of_the_one_named(sm) -> None:
    sm.ok("remember", "I like tea.", "--user", "anna")
    assert sm.json("remember", "I like trains.")["scope"] == "anna", "the only person"
    sm.ok("remember", "I like jazz.", "--user", "Ben")
    said = sm.fails("remember", "I like chess.")
    assert "This memory has 2 people: anna, ben." in said and "--user anna" in said
    for before, after in (
        (("--user", "ben"), ()),
        ((), ("--user", "ben")),
        ((), ("--scope", "ben")),
    ):
        assert sm.json(*before, "remember", "I like chess.", *after)["scope"] == "ben"
    sm.config.write_text(sm.config.read_text().replace("[memory]", '[memory]\nuser_id = "anna"'))
    assert sm.json("remember", "I like rain.")["scope"] == "anna", "the configured person"


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (("--version",), 0),
        (("facts",), 1),  # no store yet
        (("show", "--nope"), 2),
        (("serach",), 2),
        (("--nope",), 2),
        (("search",), 2),
        (("search", "tea", "--k", "none"), 2),
        (("forget",), 1),  # no store yet
        (("config", "nope"), 2),
        (("chat", "--nope"), 2),
    ],
)
def test_exits_an_error_is_one_line_without_a_box(sm, command: tuple[str, ...], code: int) -> None:
    result = sm(*command)
    assert result.exit_code == code, result.output
    if code:
        assert result.stdout == "" and result.stderr.startswith("Error: ")
        assert result.stderr.count("\n") == 1 and result.stderr.endswith(("\n",))
    if code == 2:
        assert "--help`." in result.stderr
