"""Draws docs/images/demo.svg: what ``slowcat-memory demo`` prints, as text in a picture.

``python -m docs_site.demo_picture`` plays the demo in a terminal of 80 columns and keeps some of its
sessions. The picture is text, set in whatever monospaced font there is: it loads nothing.
"""

import os
import re
import subprocess
import sys
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

OUT = Path(__file__).parent.parent / "docs" / "images" / "demo.svg"
COLUMNS = 80
# The parts that are shown, by the beginnings of their headlines: what was said, what was made of it
# at night, and what became of it weeks later.
SHOWN = ("Monday 2 March", "That night", "Saturday 11 April")
ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
FONTS = re.compile(r"@font-face \{.*?\}\s*", re.S)  # rich names a web font


def play() -> str:
    """Return what the demo prints, with its colours."""
    colours = {"COLUMNS": str(COLUMNS), "FORCE_COLOR": "1", "TERM": "xterm-256color"}
    command = [sys.executable, "-m", "slowcat_memory", "demo"]
    done = subprocess.run(
        command, env={**os.environ, **colours}, capture_output=True, text=True, check=True
    )
    return done.stdout


def chosen(printed: str) -> str:
    """Return the parts that are shown, each from its headline (with a rule behind it) to the next."""
    parts: list[list[str]] = [[]]
    for line in printed.splitlines():
        plain = ESCAPES.sub("", line).rstrip()
        if plain.endswith("──"):
            parts.append([])
        parts[-1].append(line if plain else "")
    kept = [part for part in parts if part and ESCAPES.sub("", part[0]).startswith(SHOWN)]
    return "\n\n".join("\n".join(part).strip("\n") for part in kept)


def picture(printed: str) -> str:
    """Return an SVG of some lines of a terminal."""
    console = Console(
        record=True, width=COLUMNS, file=StringIO(), force_terminal=True, color_system="truecolor"
    )
    console.print(Text.from_ansi(printed), soft_wrap=True)
    svg = console.export_svg(title="slowcat-memory demo", theme=MONOKAI, unique_id="demo")
    return FONTS.sub("", svg)


def main() -> None:
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(picture(chosen(play())), encoding="utf-8")


if __name__ == "__main__":
    main()
