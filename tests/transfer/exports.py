"""Export files of made-up people, as the apps write them: each with what must be read from it."""

import msgspec
from msgspec import Struct

from tests.support.rows import DATA, listed

DOG, GOOD = "My dog is called Max.", "What a good name!"


class Export(Struct, frozen=True):
    """What must be read from a file."""

    format: str
    said: list[tuple[str, str, str]]  # speaker, role ("u" or "a") and text
    first: str = ""  # the time of the first turn, "" for none
    sessions: int = 1
    notes: tuple[str, ...] = ()
    skipped: int = 0


EXPORTS = msgspec.json.decode((DATA / "exports.json").read_bytes(), type=dict[str, Export])
REFUSED: dict[str, str] = dict(listed("exports/refused"))  # with the reason


def content_of(name: str) -> bytes:
    folder = DATA / "exports"
    return (folder / name if name in EXPORTS else folder / "refused" / name).read_bytes()
