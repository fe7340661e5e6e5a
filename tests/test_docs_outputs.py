"""What README shows of the commands is what they print."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from typer.testing import CliRunner

from docs_site import outputs
from slowcat_memory.cli.app import app


def run(arguments: Sequence[str], environment: Mapping[str, str]) -> str:
    done = CliRunner().invoke(app, list(arguments), env=dict(environment))
    assert done.exit_code == 0, done.output
    return done.stdout


def in_words(text: str) -> list[str]:
    """Return a text's lines without figures, rules and spaces, which a machine may change."""
    lines = (re.sub(r"[\d.,]+|[─-╿]|\s+", " ", line).split() for line in text.splitlines())
    return [" ".join(line) for line in lines if line]


def test_readme_shows_what_the_commands_print(tmp_path: Path) -> None:
    block = re.search(
        r"<!-- begin output -->\n(.*?)\n<!-- end output -->", outputs.README.read_text(), re.S
    )
    printed = outputs.shown(tmp_path / "store", run)
    assert block and in_words(block[1]) == in_words(printed), "run `make docs`"
    assert "Max" in printed and "Lisbon" in printed and "walnuts" in printed
