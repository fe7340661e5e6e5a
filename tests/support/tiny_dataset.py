"""A tiny data folder in the uniform format."""

import gzip
from pathlib import Path

from tests.support.rows import DATA


def write(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for file in (DATA / "tiny_dataset").iterdir():
        if file.suffix == ".jsonl":
            (folder / f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes()))
        else:
            (folder / file.name).write_bytes(file.read_bytes())
    return folder
