"""The command line in this process, on a store of the test's own."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from slowcat_memory.cli.app import app
from tests.support.rows import DATA

CONFIG = '[memory]\ntime_zone = "UTC"\n[embedding]\nkind = "none"\n'
CHAT = (DATA / "cli/chat.txt").read_text("utf-8")


@dataclass
class CommandLine:
    """Runs commands; a result has ``exit_code``, ``stdout`` and ``stderr``."""

    folder: Path
    config: Path
    store: Path

    def __call__(self, *args: str, stdin: str = "") -> Result:
        every = ["--config", str(self.config), "--path", str(self.store), *args]
        result = CliRunner().invoke(app, every, input=stdin)
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    def ok(self, *args: str, stdin: str = "") -> str:
        result = self(*args, stdin=stdin)
        assert result.exit_code == 0, result.output
        return result.stdout

    def json(self, *args: str) -> Any:
        return json.loads(self.ok(*args, "--json"))

    def fails(self, *args: str, code: int = 1, stdin: str = "") -> str:
        result = self(*args, stdin=stdin)
        assert result.exit_code == code, result.output
        assert "Traceback" not in result.output
        return " ".join(result.stderr.replace("│", " ").split())


@pytest.fixture
def sm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    """A command line whose store does not exist yet."""
    config = tmp_path / "config.toml"
    config.write_text(CONFIG)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.delenv("SLOWCAT_CONFIG", raising=False)
    monkeypatch.chdir(tmp_path)
    return CommandLine(tmp_path, config, tmp_path / "memory")


@pytest.fixture
def filled(sm: CommandLine) -> CommandLine:
    """A command line whose store holds two sessions: turns 2, 3, 4 and 7, 8."""
    (sm.folder / "chat.txt").write_text(CHAT)
    sm.ok("import", "chat.txt", "--no-embed")
    return sm
