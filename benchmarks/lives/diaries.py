"""The hand-written diaries: lives of two to four weeks, in voices that differ."""

from collections.abc import Iterator
from pathlib import Path

from benchmarks.lives.model import Life, load

FOLDER = Path(__file__).parents[1] / "data" / "diaries"


def diaries(folder: Path = FOLDER) -> Iterator[Life]:
    """Yield the diaries of a folder, by name."""
    for path in sorted(folder.glob("*.toml")):
        yield load(path)
