"""Commands of a fleet where there is none: each says what is missing."""

import json

import pytest

EACH = (
    ("init",),
    ("push", "user"),
    ("pull", "anna", "--to", "new"),
    ("status",),
    ("work", "--until-done"),
)
AWAY = '\n[fleet]\ndsn = "postgresql://nobody@127.0.0.1:1/none"\n'


@pytest.mark.parametrize("command", EACH, ids=" ".join)
def test_fleet_without_a_database_each_command_says_which_setting(
    sm, command: tuple[str, ...]
) -> None:
    said = sm.fails("fleet", *command)
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
