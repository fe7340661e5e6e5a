"""mcp, calls and fleet on the command line: what is refused, and what is shown."""

import json
import stat

import pytest

from slowcat_memory.cli import serve
from slowcat_memory.records import CallEntry, WriteBatch
from slowcat_memory.store import Store
from slowcat_memory.testing import FixedClock

# ------------------------------------------------------------------- ``mcp`` and ``calls`` on the command line: what is refused, and what is shown


def test_mcp_a_token_file_is_made_for_this_user_alone_and_read_again(tmp_path) -> None:
    file = tmp_path / "token"
    made = serve.token_of(file)
    assert len(made) >= serve.LEAST_TOKEN and serve.token_of(file) == made
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_mcp_refuses_options_that_would_leave_it_open_or_do_nothing(filled, tmp_path) -> None:
    file = tmp_path / "token"
    file.write_text("abc")
    assert "too short" in filled.fails("mcp", "--http", "--token-file", str(file))
    assert "token is needed" in filled.fails("mcp", "--http", "--host", "0.0.0.0")
    assert "needs --http" in filled.fails("mcp", "--token-file", str(file), code=2)


def test_mcp_without_the_extra_names_it(filled, monkeypatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert 'pip install ".[mcp]"' in filled.fails("mcp")


def test_calls_show_who_asked_and_when_but_no_text(filled) -> None:
    assert "No program has asked yet" in filled("show", "calls").stderr
    with Store.open(filled.store) as store:
        for number in range(3):
            call = CallEntry(
                scope="anna", client="Desk\x1b[2J", tool="search_memory", at=FixedClock()(),
                memories=("chunk/1",) * number,
            )  # fmt: skip
            store.apply("mcp", WriteBatch(call=call)).wait()
    text = filled.ok("show", "calls", "--limit", "2")
    assert "Desk" in text and "\x1b[2J" not in text and "2 memories" in text
    assert "0 memories" not in text, "the oldest is beyond --limit"
    assert [one["id"] for one in filled.json("show", "calls")] == [1, 2, 3]


# ------------------------------------------------------------------- commands of a fleet where there is none: each says what is missing

EACH = ("init", "push user", "pull anna --to new", "status", "work --until-done")
AWAY = '\n[fleet]\ndsn = "postgresql://nobody@127.0.0.1:1/none"\n'


@pytest.mark.parametrize("command", EACH)
def test_fleet_without_a_database_each_command_says_which_setting(sm, command):
    said = sm.fails("fleet", *command.split())
    assert said.startswith("Error: there is no database for a fleet. Set dsn under [fleet]")


def test_fleet_status_shows_the_copies_here_also_without_a_database(sm) -> None:
    pytest.importorskip("asyncpg")
    sm.config.write_text(sm.config.read_text() + AWAY + f'cache = "{sm.folder / "cache"}"\n')
    result = sm("fleet", "status")
    assert result.exit_code == 1 and f"{sm.folder / 'cache'} has 0 copies" in result.stdout
    result = sm("fleet", "status", "--json")
    found = json.loads(result.stdout)
    assert result.exit_code == 1 and found["database"] is None and found["copies"] == []
    assert "cannot be reached" in found["error"]


def test_fleet_a_push_of_somebody_else_is_refused(filled) -> None:
    pytest.importorskip("asyncpg")
    filled.config.write_text(filled.config.read_text() + AWAY)
    said = filled.fails("fleet", "push", "clara")
    assert "has nothing of clara" in said and "but of user" in said
