"""How much room the disk has left."""

import shutil
import time
from pathlib import Path

ASK_EVERY = 5.0  # seconds
MB = 1_000_000


class FreeSpace:
    """Watches the free space of a folder's disk, asking at most every few seconds."""

    def __init__(self, path: Path, min_free_mb: int) -> None:
        """Know nothing yet.

        Args:
            path: The folder.
            min_free_mb: Less than this is scarce.
        """
        self._path = path
        self._min_free = min_free_mb * MB
        self._ask_at = 0.0
        self._scarce = False

    def scarce(self) -> bool:
        """Tell whether only what was said should still be written.

        Returns:
            True when there is too little free space.
        """
        now = time.monotonic()
        if now >= self._ask_at:
            self._ask_at = now + ASK_EVERY
            self._scarce = shutil.disk_usage(self._path).free < self._min_free
        return self._scarce
