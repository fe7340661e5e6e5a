import stat
from pathlib import Path

import pytest

from slowcat_memory import config as configuration
from slowcat_memory.errors import ModelNotFoundError
from slowcat_memory.providers.llm import model_servers


@pytest.fixture
def fresh(sm, monkeypatch: pytest.MonkeyPatch):
    """No configuration yet, no model wanted, and no server."""
    sm.config.unlink()
    monkeypatch.setenv("SLOWCAT_EMBEDDING__KIND", "none")
    monkeypatch.setattr(model_servers, "find_servers", lambda: [])
    return sm


def test_init_writes_a_config_and_makes_a_store(fresh) -> None:
    text = fresh.ok("init")
    assert f"{fresh.config} (written)" in text and "only you can read the memory" in text
    assert "GB free" in text and f"SLOWCAT_CONFIG={fresh.config}" in text
    assert stat.S_IMODE(fresh.store.stat().st_mode) == 0o700
    assert stat.S_IMODE(fresh.config.stat().st_mode) == 0o600
    assert configuration.load(fresh.config, {}).folder == fresh.store


def test_init_without_a_named_file_writes_to_the_default_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from typer.testing import CliRunner

    from slowcat_memory.cli.app import app

    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("SLOWCAT_CONFIG")
    monkeypatch.setenv("SLOWCAT_EMBEDDING__KIND", "none")
    monkeypatch.setattr(model_servers, "find_servers", lambda: [])
    result = CliRunner().invoke(app, ["init"])
    written = tmp_path / ".slowcat/config.toml"
    assert result.exit_code == 0 and written.is_file(), result.output
    assert len(written.read_text().splitlines()) <= 30
    assert configuration.load(None, {}).folder == tmp_path / ".slowcat"
    assert "SLOWCAT_CONFIG" not in result.output


def test_init_again_changes_nothing(fresh) -> None:
    fresh.ok("init")
    fresh.config.write_text("# mine\n")
    found = fresh.json("init")
    assert "there already" in found["configuration"]["found"]
    assert fresh.config.read_text() == "# mine\n"


def test_init_without_a_model_goes_on(fresh, monkeypatch: pytest.MonkeyPatch) -> None:
    from slowcat_memory import providers

    def missing(*args: object) -> None:
        raise ModelNotFoundError("no such model", hint="Install one.")

    monkeypatch.setenv("SLOWCAT_EMBEDDING__KIND", "local")
    monkeypatch.setenv("SLOWCAT_CACHE_DIR", str(fresh.folder / "cache"))
    monkeypatch.setattr(providers, "export_model", missing)
    result = fresh("init")
    assert "search is by words only: no such model" in result.stderr and result.exit_code == 0
    assert fresh.json("init", "--no-model")["model"]["ok"] is False
