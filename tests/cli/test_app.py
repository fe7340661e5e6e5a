"""What all commands share: a fast start, help, errors in one line, whose memory, dates in words."""

import resource
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
import typer

from slowcat_memory.cli.app import app
from slowcat_memory.cli.shell import last_moment, parse_time, period_of
from tests.support.other_process import python
from tests.support.rows import cases, each_listed

HEAVY = ["faiss", "bm25s", "torch", "openai", "pipecat", "onnxruntime", "numpy", "lmdb"]


def test_app_help_is_there_at_once_and_loads_nothing_heavy() -> None:
    script = (
        "import sys; from slowcat_memory.cli.app import app\n"
        "try: app(['--help'])\nexcept SystemExit: pass\n"
        f"print(sorted(set({HEAVY}) & set(sys.modules)))"
    )
    begun = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime  # the machine may be busy
    ran = python("-c", script)
    assert ran.stdout.splitlines()[-1] == "[]", ran.stderr
    took = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - begun
    assert took < 3, f"{took:.1f} s"  # 0.3 s on an idle machine


def test_app_the_help_lists_every_command(sm) -> None:
    names = {c.name for c in app.registered_commands} | {"config", "fleet"}
    every = sm.ok("-h")
    assert all(f"│ {name} " in every for name in names)


def test_app_as_a_program_it_tells_an_error_in_one_line(sm) -> None:
    ran = python("-m", "slowcat_memory", "--path", str(sm.store), "why")
    assert (ran.returncode, ran.stdout) == (1, "")
    remedy = "Run `slowcat-memory init`, or start your bot."
    assert ran.stderr == f"Error: no memory at {sm.store} yet. {remedy}\n"


def test_app_what_cannot_be_a_folder_or_a_scope_is_refused(sm) -> None:
    sm.store = sm.config / "below-a-file"
    said = sm.fails("remember", "x")
    assert "cannot make" in said and "another folder" in said
    sm.store = sm.folder / "memory"
    assert "--user 'No Good' cannot name a memory" in sm.fails(
        "remember", "x", "--scope", "No Good"
    )


NOW = datetime(2026, 11, 25, 10, 0, tzinfo=UTC)  # a Wednesday


@each_listed("times/command_line", "")
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
    (sm.folder / "tea.txt").write_text("# 2024-05-12 18:30\nAnna: I like rain.\n")
    assert sm.json("import", "tea.txt", "--no-embed")["scopes"] == ["anna"]
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


@cases("cli/app.jsonl")
def test_exits_an_error_is_one_line_without_a_box(sm, command: tuple[str, ...], code: int) -> None:
    result = sm(*command)
    assert result.exit_code == code, result.output
    if code:
        assert result.stdout == "" and result.stderr.startswith("Error: ")
        assert result.stderr.count("\n") == 1 and result.stderr.endswith(("\n",))
    if code == 2:
        assert "--help`." in result.stderr
