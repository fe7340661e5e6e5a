"""zstd with a trained dictionary: what many texts have in common is kept once.

A dictionary holds pieces of the texts that it was trained on. So it belongs to one namespace, says
which events those were, and goes as soon as one of them is forgotten (see ``store.unblocking``).

zstandard is imported on first use: a store without cold blocks never needs it.
"""

import threading
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from slowcat_memory.errors import StoreDamagedError
from slowcat_memory.store.blocks.block import Parts

SAMPLE_BYTES = 4 << 20  # of texts to train on
LEAST_SAMPLES = 8


class Dictionary(Struct, frozen=True, array_like=True):
    """A trained dictionary.

    Attributes:
        number: Its number; never given twice.
        scope: The namespace whose blocks may name it.
        made_from: Log ids of the events that it was trained on, sorted.
        cold: How many cold memories the namespace had then.
        data: zstd's own bytes.
    """

    number: int
    scope: str
    made_from: tuple[int, ...]
    cold: int
    data: bytes


def train(samples: Sequence[bytes], size: int) -> bytes:
    """Train a dictionary.

    Args:
        samples: Bytes like those to be packed.
        size: Bytes that it may have.

    Returns:
        Its bytes; none when the samples are too few or have too little in common.
    """
    import zstandard

    if len(samples) < LEAST_SAMPLES:
        return b""
    try:
        return zstandard.train_dictionary(size, list(samples)).as_bytes()
    except zstandard.ZstdError:
        return b""


class Packer:
    """Packs blocks with one dictionary, or without."""

    def __init__(self, level: int, dictionary: Dictionary | None = None) -> None:
        """Digest the dictionary.

        Args:
            level: zstd's, 1 to 19.
            dictionary: The dictionary; None for none.
        """
        import zstandard

        self.number = dictionary.number if dictionary else 0
        data = zstandard.ZstdCompressionDict(dictionary.data) if dictionary else None
        self._zstd = zstandard.ZstdCompressor(
            level=level,
            dict_data=data,
            write_checksum=False,  # the envelope has one
            write_content_size=False,  # the head has it
            write_dict_id=False,  # the head has it
        )

    def pack(self, plain: bytes) -> bytes:
        """Pack.

        Args:
            plain: From ``blocks.join``.

        Returns:
            The packed part.
        """
        return self._zstd.compress(plain)


class Unpacker:
    """Unpacks blocks with one dictionary, or without; one thread at a time, it sees to that."""

    def __init__(self, data: bytes = b"") -> None:
        """Digest the dictionary.

        Args:
            data: Its bytes; none for none.

        Raises:
            StoreDamagedError: That is no dictionary.
        """
        import zstandard

        self._lock = threading.Lock()
        try:
            known = zstandard.ZstdCompressionDict(data) if data else None
            self._zstd = zstandard.ZstdDecompressor(dict_data=known)
        except zstandard.ZstdError as error:
            raise StoreDamagedError("a dictionary does not read") from error
        self._error: Any = zstandard.ZstdError

    def unpack(self, found: Parts) -> bytes:
        """Unpack.

        Args:
            found: The block's parts; its declared size is within bounds.

        Returns:
            What ``blocks.join`` laid.

        Raises:
            StoreDamagedError: It does not unpack, or not to the size that the head says.
        """
        try:
            with self._lock:
                plain = self._zstd.decompress(
                    found.packed, max_output_size=found.head.unpacked, allow_extra_data=False
                )
        except self._error as error:
            raise StoreDamagedError("a block does not unpack") from error
        if len(plain) != found.head.unpacked:
            raise StoreDamagedError("a block unpacks to another size")
        return plain
