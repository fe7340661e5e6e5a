"""A text as a number that tells whether it changed."""

import hashlib


def digest(text: str) -> int:
    """Reduce a text to a number that tells whether it changed.

    Args:
        text: Any text.

    Returns:
        64 bits, signed.
    """
    hashed = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(hashed, signed=True)
