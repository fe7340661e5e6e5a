"""Final transcripts waiting for their turn, and the division of a turn among its speakers."""

from collections import deque
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from msgspec import Struct

from slowcat_memory.core.text.normalize import fingerprint
from slowcat_memory.records import Channel

WAITING = 256  # transcripts waiting for their turn; muted ones never get one


class Voice(Struct, frozen=True):
    """A speaker: display name, and the scope where their words are stored."""

    scope: str
    name: str


class Transcript(Struct, frozen=True):
    """A final transcript; ``mark`` is its fingerprint, "" for a text without words."""

    voice: Voice
    words: str
    mark: str
    off_record: bool = False


class Part(NamedTuple):
    """Words of one turn that belong to one scope.

    The speaker is "Anna and Ben" if the words of two cannot be separated.
    """

    scope: str
    speaker: str
    words: str


class Transcripts:
    """Transcripts in the order in which they came."""

    def __init__(self) -> None:
        self._waiting: deque[Transcript] = deque(maxlen=WAITING)

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, voice: Voice, words: str, *, off_record: bool = False) -> None:
        self._waiting.append(Transcript(voice, words, fingerprint(words), off_record))

    def any_in(self, text: str) -> bool:
        return bool(_inside(self._waiting, fingerprint(text)))

    def of_turn(self, text: str, channel: Channel | None) -> list[Transcript]:
        """Return everything that may be part of a turn.

        Transcripts that are not in the turn's words were muted, or belong to another turn, unless
        the aggregator has rewritten the words: then all transcripts may be part of it.

        Args:
            channel: "voice" for words that were spoken, however they were rewritten; None if
                unknown.

        Returns:
            Those heard off the record, then the others; none for a typed turn.
        """
        if channel == "text":
            return []  # the transcripts belong to the turn being spoken
        mark = fingerprint(text)
        kept = _of(mark, [one for one in self._waiting if not one.off_record], channel)
        if _joined(kept) == mark:
            return kept
        return _of(mark, [one for one in self._waiting if one.off_record], channel) + kept

    def discard(self, taken: Sequence[Transcript]) -> None:
        """Discard the transcripts up to a turn, where ``of_turn`` returned ``taken``.

        If none of it was on the record, the others still wait.
        """
        wait = all(one.off_record for one in taken)
        waiting = [one for one in self._waiting if wait and not one.off_record]
        self._waiting = deque(waiting, maxlen=WAITING)


def split(text: str, heard: Sequence[Transcript], typed: Voice) -> list[Part]:
    """Divide a turn by scope and speaker.

    With several scopes, each keeps its words as transcribed; else the turn's own words are kept,
    divided by speaker if the transcripts cover them.

    Args:
        heard: From ``Transcripts.of_turn``.
        typed: The author of a turn without transcripts.

    Returns:
        At least one part, in order.
    """
    if not heard:
        return [Part(typed.scope, typed.name, text)]
    runs = [list(run) for _, run in groupby(heard, key=lambda one: one.voice.scope)]
    if len({run[0].voice.scope for run in runs}) == 1:
        return _by_speaker(text, heard)
    return [part for run in runs for part in _by_speaker(_words(run), run)]


def _by_speaker(text: str, heard: Sequence[Transcript]) -> list[Part]:
    mark, scope = fingerprint(text), heard[0].voice.scope
    heard = _inside(heard, mark) or heard
    names = list(dict.fromkeys(one.voice.name for one in heard))
    if len(names) > 1 and _joined(heard) == mark:
        runs = groupby(heard, key=lambda one: one.voice.name)
        return [Part(scope, name, _words(run)) for name, run in runs]
    return [Part(scope, " and ".join(names), text)]


def _of(mark: str, heard: list[Transcript], channel: Channel | None) -> list[Transcript]:
    inside = _inside(heard, mark)
    if inside and _joined(inside) == mark:
        return inside
    return heard if inside or channel == "voice" else []


def _inside(heard: Iterable[Transcript], mark: str) -> list[Transcript]:
    return [one for one in heard if one.mark and one.mark in mark]


def _joined(heard: Sequence[Transcript]) -> str:
    return fingerprint(_words(heard))


def _words(heard: Iterable[Transcript]) -> str:
    return " ".join(one.words for one in heard)
