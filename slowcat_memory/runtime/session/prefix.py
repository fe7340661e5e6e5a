"""Whether a local LLM should be made to read the conversation so far, before it is asked anything.

A server on this machine keeps what it read of one prompt. Work of the idle path takes that place, and
the next turn then waits for the whole conversation to be read again; the first request of a process
waits for connections and models besides. Asking for a single token while nobody speaks moves both out
of the way. What is decided here: not while somebody speaks, and not twice for the same words.
"""

import hashlib
from collections.abc import Sequence
from typing import Any, Literal

from msgspec import Struct


class PrefixOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When the LLM reads the prompt ahead.

    Attributes:
        warm_at_start: Whether the LLM is asked for one token as the pipeline starts, which takes
            280 to 510 ms off the first reply, and more where a server loads its model when it is
            first asked: "never", "local" if its server is on this machine, or "always", for which
            a remote service may charge. "never", since the application did not ask for a request.
    """

    warm_at_start: Literal["never", "local", "always"] = "never"


class Warmth:
    """Knows who speaks, and which words the LLM has read ahead."""

    def __init__(self) -> None:
        """Start cold, with nobody speaking."""
        self._speaking = self._answering = False
        self._read = ""

    def speaks(self, speaking: bool) -> None:
        """Note that somebody begins or ends to speak.

        Args:
            speaking: Which.
        """
        self._speaking = speaking

    def answers(self, answering: bool) -> None:
        """Note that the LLM begins to answer, or that its answer was heard.

        Args:
            answering: Which.
        """
        self._answering = answering

    def wanted(self, messages: Sequence[Any], *, again: bool = False) -> str:
        """Decide whether to read ahead.

        Args:
            messages: The conversation.
            again: Whether something else was read since.

        Returns:
            What to tell ``read`` when it is done; "" for no.
        """
        if self._speaking or self._answering:
            return ""
        key = hashlib.blake2b(repr(messages).encode("utf-8", "replace"), digest_size=16).hexdigest()
        return "" if key == self._read and not again else key

    def read(self, key: str) -> None:
        """Note that the LLM has read.

        Args:
            key: From ``wanted``.
        """
        self._read = key
