"""Small lists in the form of ``benchmarks/data/unseen``: rows that are right, and rows that are not.

A row that must fail has a wrong label, so that no better rule mends it.
"""

from pathlib import Path

from tests.support.rows import DATA

MARK = "quetzal"  # in every row of the half "held out" that fails

_PARTS = (DATA / "tiny_unseen.txt").read_text("utf-8").split("# ")[1:]
LISTS = {name: text.rstrip("\n") for name, _, text in (part.partition("\n") for part in _PARTS)}


def write(folder: Path, lists: dict[str, str] | None = None) -> Path:
    """Write lists as tab-separated files, below a comment."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (LISTS if lists is None else lists).items():
        lines = ("\t".join(cell.strip() for cell in line.split("~")) for line in text.splitlines())
        (folder / f"{name}.tsv").write_text("\n".join(("# own sentences", *lines)) + "\n", "utf-8")
    return folder
