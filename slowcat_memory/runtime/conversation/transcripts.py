"""What was heard and is not yet part of a turn: final transcripts, with who said them."""

from collections import deque
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from slowcat_memory.core.text.normalize import fingerprint
from slowcat_memory.records import Channel

HEARD = 256  # transcripts that may wait for the turn they belong to; muted ones wait in vain
Speaker = TypeVar("Speaker")


class Hearing(Generic[Speaker]):
    """Transcripts in the order in which they came, each with whatever says who spoke."""

    def __init__(self) -> None:
        """Start with nothing heard."""
        self._heard: deque[tuple[Speaker, str]] = deque(maxlen=HEARD)

    def add(self, speaker: Speaker, words: str) -> None:
        """Note a transcript.

        Args:
            speaker: Who said it.
            words: A final transcript.
        """
        self._heard.append((speaker, words))

    def inside(self, text: str) -> list[tuple[Speaker, str]]:
        """Find what was heard of a turn; what is not in its words was muted, or is another's.

        Args:
            text: The turn's words.

        Returns:
            Its parts, in order.
        """
        whole = fingerprint(text)
        marks = ((part, fingerprint(part[1])) for part in self._heard)
        return [part for part, mark in marks if mark and mark in whole]

    def parts(self, text: str, channel: Channel | None) -> list[tuple[Speaker, str]]:
        """Find what was heard of a turn.

        Args:
            text: The turn's words.
            channel: "voice" for words that were spoken, however they were rewritten.

        Returns:
            Its parts, in order; none for a turn that was typed.
        """
        if channel == "text":
            return []  # what was heard belongs to a turn that is being spoken
        return self.inside(text) or (list(self._heard) if channel == "voice" else [])

    def around(self, text: str, channel: Channel | None) -> list[tuple[Speaker, str]]:
        """Find everybody who may have said a part of a turn.

        Args:
            text: The turn's words.
            channel: As in ``parts``.

        Returns:
            Its parts, in order; all that was heard where they are not all of its words, since the
            aggregator has rewritten some.
        """
        parts = self.parts(text, channel)
        return parts if not parts or covers(parts, text) else list(self._heard)

    def take(self, text: str, channel: Channel | None) -> list[tuple[Speaker, str]]:
        """Find what was heard of a turn, and wait for the next one.

        Args:
            text: The turn's words.
            channel: As in ``parts``.

        Returns:
            Its parts, in order.
        """
        heard = self.parts(text, channel)
        if heard:
            self._heard.clear()
        return heard

    def clear(self) -> None:
        """Forget what was heard."""
        self._heard.clear()


def covers(parts: Sequence[tuple[Any, str]], text: str) -> bool:
    """Tell whether parts are all of a turn.

    Args:
        parts: What was heard.
        text: The turn's words.

    Returns:
        Whether their words, in order, are its words.
    """
    return fingerprint(" ".join(words for _, words in parts)) == fingerprint(text)
