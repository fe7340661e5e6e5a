"""A tiny data folder in the uniform format, written for these tests."""

import gzip
from pathlib import Path

from tests.support.rows import DATA


def write(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for path in (DATA / "tiny_dataset").iterdir():
        (folder / f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
    (folder / "low_overlap.txt").write_text("q2\n")
    return folder
