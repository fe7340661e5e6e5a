"""init and config: what is written, checked and shown."""

import json
import re
import stat
import tomllib

import pytest
from typer.testing import CliRunner

from slowcat_memory import providers
from slowcat_memory.cli.app import app
from slowcat_memory.cli.config_file import render_config
from slowcat_memory.config import Config, build, load
from slowcat_memory.config.knobs import KNOBS, options
from slowcat_memory.errors import ModelNotFoundError
from slowcat_memory.providers.llm import model_servers
from tests.support.rows import cases

# ------------------------------------------------------------------- config


def test_config_check_says_what_is_changed_and_by_what(sm, monkeypatch: pytest.MonkeyPatch) -> None:
    sm.config.write_text('[recall]\ndeadline_ms = 12\n[embedding]\nkind="none"\n')
    monkeypatch.setenv("SLOWCAT_RECALL__MEMORIES", "3")
    changed = {knob["knob"]: knob for knob in sm.json("config", "check")["changed"]}
    told = {"value": 12.0, "default": 10.0, "from": str(sm.config), "expert": False}
    assert changed["recall.deadline_ms"] == {"knob": "recall.deadline_ms", **told}
    origins = {name: knob["from"] for name, knob in changed.items()}
    assert origins["recall.memories"] == "SLOWCAT_RECALL__MEMORIES"
    assert origins["memory.path"] == "--path"
    assert "SLOWCAT_RECALL__MEMORIES" in sm.ok("config", "check")


@cases("cli/config.jsonl")
def test_config_check_refuses_what_is_wrong(sm, text: str, reason: str) -> None:
    sm.config.write_text(text)
    assert reason in sm.fails("config", "check")


def test_config_show_is_toml_that_can_be_read_back(sm) -> None:
    shown = build(tomllib.loads(sm.ok("config", "show")))
    assert shown.embedding.kind == "none" and shown.folder == sm.store
    assert sm.json("config", "show")["embedding"]["kind"] == "none"


def test_render_config_shows_every_knob_with_its_default() -> None:
    values = tomllib.loads(re.sub(r"(?m)^#(\w+ = )", r"\1", render_config()))
    assert build(values) == Config()
    shown = {
        f"{section}.{key}": value
        for section, table in values.items()
        for key, value in table.items()
    }
    defaults = {target: default for target, _, default in options()}
    assert shown == json.loads(
        json.dumps({path: defaults[target] for path, target in KNOBS.items()})
    )


# ------------------------------------------------------------------- init


@pytest.fixture
def fresh(sm, monkeypatch: pytest.MonkeyPatch):
    """No configuration yet, no model wanted, and no server."""
    sm.config.unlink()
    monkeypatch.setenv("SLOWCAT_EMBEDDING__KIND", "none")
    monkeypatch.setattr(model_servers.choose_server, "__defaults__", ("", False, ()))
    return sm


def test_init_writes_a_config_and_makes_a_store(fresh) -> None:
    text = fresh.ok("init")
    assert f"{fresh.config} (written)" in text and "only you can read the memory" in text
    assert "GB free" in text and f"SLOWCAT_CONFIG={fresh.config}" in text
    assert stat.S_IMODE(fresh.store.stat().st_mode) == 0o700
    assert stat.S_IMODE(fresh.config.stat().st_mode) == 0o600
    assert load(fresh.config, {}).folder == fresh.store


def test_init_without_a_named_file_writes_to_the_default_place(fresh, monkeypatch):
    monkeypatch.setenv("HOME", str(fresh.folder))
    result = CliRunner().invoke(app, ["init"])
    written = fresh.folder / ".slowcat/config.toml"
    assert result.exit_code == 0 and written.is_file(), result.output
    assert len(written.read_text().splitlines()) <= 30
    assert load(None, {}).folder == fresh.folder / ".slowcat"
    assert "SLOWCAT_CONFIG" not in result.output


def test_init_again_changes_nothing(fresh) -> None:
    fresh.ok("init")
    fresh.config.write_text("# mine\n")
    assert "there already" in fresh.json("init")["configuration"]["found"]
    assert fresh.config.read_text() == "# mine\n"


def test_init_without_a_model_goes_on(fresh, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*args: object) -> None:
        raise ModelNotFoundError("no such model", hint="Install one.")

    monkeypatch.setenv("SLOWCAT_EMBEDDING__KIND", "local")
    monkeypatch.setenv("SLOWCAT_CACHE_DIR", str(fresh.folder / "cache"))
    monkeypatch.setattr(providers, "export_model", missing)
    result = fresh("init")
    assert "search is by words only: no such model" in result.stderr and result.exit_code == 0
    assert fresh.json("init", "--no-model")["model"]["ok"] is False
