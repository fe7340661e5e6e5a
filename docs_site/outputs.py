"""Writes what some commands print into README.md, from a conversation in docs_site/talk.txt.

``python -m docs_site.outputs``; ``make docs`` does so. A test runs the same commands and compares
everything but numbers. The store is searched by words alone, so that no model decides the output.
"""

import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from benchmarks.tables import fill

ROOT = Path(__file__).parent.parent
README, TALK = ROOT / "README.md", ROOT / "docs_site" / "talk.txt"
SHOWN = (
    'slowcat-memory search "what is my dog called" --limit 1',
    "slowcat-memory facts",
    'slowcat-memory as-of 2026-05-01 "Lisbon"',
)
ENVIRONMENT = {
    "SLOWCAT_IDLE_LLM__URL": "",
    "COLUMNS": "78",
    "SLOWCAT_CONFIG": "",
    "SLOWCAT_MEMORY__USER_ID": "anna",
    "SLOWCAT_MEMORY__TIME_ZONE": "UTC",
    "SLOWCAT_EMBEDDING__KIND": "none",
}
TIME = re.compile(r" in [\d.,]+ m?s\b")  # says nothing: this store is new, and the machine busy
Run = Callable[[Sequence[str], Mapping[str, str]], str]
"""Runs the command line with arguments and additions to the environment; returns what it prints."""


def shown(folder: Path, run: Run) -> str:
    """Return the commands with what they print.

    Args:
        folder: For the store; empty.
        run: Runs one command.
    """
    environment = {**ENVIRONMENT, "SLOWCAT_MEMORY__PATH": str(folder)}
    run(["import", str(TALK)], environment)
    run(["idle"], environment)
    parts = []
    for line in SHOWN:
        printed = TIME.sub("", run(shlex.split(line)[1:], environment))
        kept = "\n".join(row.rstrip() for row in printed.splitlines()).strip("\n")
        parts.append(f"$ {line}\n{kept}")
    return "```text\n" + "\n\n".join(parts) + "\n```"


def _run(arguments: Sequence[str], environment: Mapping[str, str]) -> str:
    command = [sys.executable, "-m", "slowcat_memory", *arguments]
    done = subprocess.run(
        command, env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        text = fill(README.read_text("utf-8"), {"output": shown(Path(folder) / "store", _run)})
    README.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
