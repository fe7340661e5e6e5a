"""What a client does ahead, so that it can take the store over, and answer its first turn, at once.

Compiling the rules that read statements takes seconds of processor time, in which a new owner would
answer late; it is done while nobody waits for it.
"""

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime

from slowcat_memory.config import Config
from slowcat_memory.records import Turn
from slowcat_memory.runtime.first_turn import compile_patterns

AFTER_S = 2.0  # of being a client: commands have ended by then
SAID = datetime(2026, 1, 1, tzinfo=UTC)  # of statements that are read and thrown away
NICE = 10  # of the thread, where each has a priority of its own


class Heir:
    """Prepares this process once, some seconds after it became a client."""

    def __init__(self, config: Config, is_needed: Callable[[], bool]) -> None:
        """Do nothing before ``prepare_soon``.

        Args:
            is_needed: Whether this process is a client still.
        """
        self._config, self._is_needed = config, is_needed
        self._timer: threading.Timer | None = None

    def prepare_soon(self) -> None:
        if self._timer is None:
            self._timer = threading.Timer(AFTER_S, self._prepare)
            self._timer.name, self._timer.daemon = "slowcat-heir", True
            self._timer.start()

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _prepare(self) -> None:
        if not self._is_needed():
            return
        with suppress(OSError, AttributeError):  # macOS has no priority for a thread
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)
        memory = self._config.memory
        compile_patterns(memory.language, memory.agent_name)
        if self._config.owner.mode == "auto" and self._is_needed():
            _read_a_statement()


def _read_a_statement() -> None:
    """Compile what a new owner reads its turns with, in every language."""
    from slowcat_memory.core.extraction.stated import stated_by

    for text in ("I moved to Porto in May.", "Ich bin im Mai nach Porto gezogen."):
        turn = Turn(session="", scope="", speaker="User", role="user", text=text, at=SAID)
        stated_by(turn)
