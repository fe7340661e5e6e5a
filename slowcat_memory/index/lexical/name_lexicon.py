"""A namespace's own names: what a query that was misheard may have meant.

Counted as documents come, kept beside the sealed index in one file, and bounded. Whatever costs
time waits until it is needed or there is time (``warm``): while an index is opened, texts only queue.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from slowcat_memory.core.text.phonetics import (
    MIN_CLOSENESS,
    MIN_CLOSENESS_OF_WORDS,
    MisheardWord,
    Sound,
    closeness,
    keys,
    sound,
)
from slowcat_memory.core.text.rare_words import MAX_LETTERS, is_common, rare_words
from slowcat_memory.core.text.word_lists import ROLES
from slowcat_memory.records import Hotword

FILE = "names.msgpack"
MOST = 3000  # words that are kept, the most telling ones; twice as many while they are counted
NAMED = 8  # how many mere occurrences one use as a name counts as
WAITING = 1000  # documents that may wait to be counted
ASKED = 64  # words of a query that are looked at: more was not asked in one breath
FEWEST = 4  # letters of a word in lower case that may be a misheard name


class Known(Struct, array_like=True):
    """What is known of a word.

    Attributes:
        form: As it is written.
        count: How often it was said.
        named: How often of these as a name.
    """

    form: str
    count: int = 0
    named: int = 0

    @property
    def telling(self) -> int:
        """How much it is worth keeping."""
        return self.count + NAMED * self.named


class Names:
    """Counts names, and finds those that sound like a word. Not safe for several threads."""

    def __init__(self, sealed: Path | None = None) -> None:
        """Start with what a sealed index knows, or with nothing; its file is read when needed.

        Args:
            sealed: Folder of the sealed index; one of an older version knows no names.
        """
        self._file = sealed / FILE if sealed is not None else None
        self._held: dict[str, Known] = {}
        self._filed: dict[str, dict[str, Sound]] | None = None  # words by the keys of their sound
        self._waiting: list[tuple[str, str]] = []

    def add(self, text: str, speaker: str) -> None:
        """Count a document's words, at once or later.

        Args:
            text: What is indexed of it.
            speaker: Whose words they are.
        """
        self._waiting.append((text, speaker))
        if self._filed is not None or len(self._waiting) > WAITING:
            self._catch_up()

    def _catch_up(self) -> None:
        waiting, self._waiting = self._waiting, []
        for text, speaker in waiting:
            self._count_all(text, speaker)

    def _count_all(self, text: str, speaker: str) -> None:
        for part in speaker.split():
            if part.lower() not in ROLES:
                self._count(part, named=True)
        for word in rare_words(text):
            self._count(word.form, named=word.named)
        if len(self._held) > 2 * MOST:
            self._prune()

    def _count(self, form: str, *, named: bool) -> None:
        bare = form.lower()
        known = self._held.get(bare)
        if known is None:
            known = self._held[bare] = Known(form)
            if self._filed is not None:
                self._file_word(bare)
        elif named and not known.named:
            known.form = form
        known.count += 1
        known.named += named

    def _prune(self) -> None:
        best = sorted(self._held.items(), key=lambda item: -item[1].telling)[:MOST]
        self._held, self._filed = dict(best), None

    def clear(self) -> None:
        """Know nothing any more."""
        self._held, self._filed, self._file, self._waiting = {}, None, None, []

    def write(self, folder: Path) -> None:
        """Store what is known.

        Args:
            folder: Of the sealed index.
        """
        self._catch_up()
        self._prune()
        (folder / FILE).write_bytes(msgspec.msgpack.encode(list(self._held.values())))

    def load(self) -> None:
        """Read what a sealed index knows, and count what has come since."""
        self._catch_up()
        file, self._file = self._file, None
        if file is None or not file.is_file():
            return
        since, self._held = self._held, {}
        for known in msgspec.msgpack.decode(file.read_bytes(), type=list[Known]):
            self._held[known.form.lower()] = known
        for bare, known in since.items():
            held = self._held.setdefault(bare, Known(known.form))
            held.count += known.count
            held.named += known.named
        self._filed = None

    def warm(self) -> None:
        """Be ready for the first misheard word; costs some ten milliseconds once."""
        self.load()
        if self._filed is None:
            self._filed = {}
            for bare in self._held:
                self._file_word(bare)

    def _file_word(self, bare: str) -> None:
        heard = sound(bare)
        if heard is not None and self._filed is not None:
            for key in keys(heard):
                self._filed.setdefault(key, {})[bare] = heard

    def most(self, n: int) -> list[Hotword]:
        """List the names, and the words that are said often and are not everyday ones.

        Args:
            n: How many at most.

        Returns:
            The most telling first.
        """
        self.load()
        kept = [known for known in self._held.values() if known.named or known.count > 2]
        best = sorted(kept, key=lambda known: (-known.telling, known.form))[:n]
        top = math.log1p(best[0].telling) if best else 1.0
        return [
            Hotword(
                word=known.form,
                weight=round(math.log1p(known.telling) / top, 3),
                count=known.count,
                name=known.named > 0,
            )
            for known in best
        ]

    def heard(
        self, words: list[str], unknown: Callable[[Sequence[str]], list[bool]]
    ) -> list[MisheardWord]:
        """Find what the words of a query that nobody has said yet were meant to be.

        Args:
            words: The query's words, in order; the first ``ASKED`` count.
            unknown: Tells which of some words nobody has said.

        Returns:
            At most one name for each word, or pair of words.
        """
        words = words[:ASKED]
        new = [
            1 < len(word) <= MAX_LETTERS and strange
            for word, strange in zip(words, unknown(words), strict=True)
        ]
        if not any(new):
            return []
        self.warm()
        return list(self._meant(words, new))

    def _meant(self, words: list[str], new: list[bool]) -> Iterator[MisheardWord]:
        joined = False  # the word before took this one with it
        for place, (word, strange) in enumerate(zip(words, new, strict=True)):
            if joined or not strange and not any(new[place + 1 : place + 2]):
                joined = False
                continue
            pair = words[place : place + 2]
            if (
                len(pair) == 2
                and len(pair[1]) > 1
                and (whole := self._closest("".join(pair), MIN_CLOSENESS_OF_WORDS))
            ):
                joined = True
                yield MisheardWord(" ".join(pair), *whole)
            elif strange and not is_common(word.lower()):
                yield from self._one(word)

    def _one(self, word: str) -> Iterator[MisheardWord]:
        if len(word) < FEWEST and word.islower():
            return
        if found := self._closest(word, MIN_CLOSENESS):
            yield MisheardWord(word, *found)
            return
        bare = word.lower()
        for cut in range(3, len(bare) - 2):  # two names written as one
            first, second = self._held.get(bare[:cut]), self._held.get(bare[cut:])
            if first and second and first.named and second.named:
                yield MisheardWord(word, f"{first.form} {second.form}", 1.0)
                return

    def _closest(self, word: str, least: float) -> tuple[str, float] | None:
        """Find the name that sounds most like a word."""
        said = sound(word) if len(word) <= MAX_LETTERS else None
        if said is None or self._filed is None:
            return None
        near: dict[str, Sound] = {}
        for key in keys(said):
            near |= self._filed.get(key, {})
        best: tuple[float, int, str] | None = None
        for bare, other in near.items():
            known = self._held.get(bare)
            if known is None:
                continue
            alike = closeness(said, other)
            if alike >= (least if known.named else max(least, MIN_CLOSENESS_OF_WORDS)):
                best = max(best or (0.0, 0, ""), (alike, known.telling, known.form))
        return (best[2], round(best[0], 3)) if best else None
