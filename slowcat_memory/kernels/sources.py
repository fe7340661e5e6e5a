"""The C files of the compiled library, their digest, and where the library is.

Only the standard library is imported: the build of the package runs this too.
"""

import sys
from hashlib import blake2b
from pathlib import Path

FOLDER = Path(__file__).parent
SUFFIXES = {"darwin": ".dylib", "win32": ".dll"}  # by sys.platform; else ".so"


def library_path(platform: str = sys.platform) -> Path:
    return FOLDER / f"slowcat_kernels{SUFFIXES.get(platform, '.so')}"


def sources() -> list[Path]:
    """Return all C files and headers, in the order of their names."""
    return sorted(path for path in FOLDER.iterdir() if path.suffix in (".c", ".h"))


def digest() -> int:
    """Return a number for the text of all sources, 63 bits: a library has that of its own."""
    hashed = blake2b(digest_size=8)
    for path in sources():
        hashed.update(path.name.encode() + b"\0" + path.read_bytes())
    return int.from_bytes(hashed.digest(), "little") >> 1
