"""The names of a namespace, to correct misheard words of a query.

Names are counted as documents come, stored in one file of the sealed index, and bounded in number.
Slow work is done when it is needed or in ``warm``: while an index is opened, texts only queue.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from slowcat_memory.core.language.english.vocabulary import ROLES
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
from slowcat_memory.records import Hotword

FILE = "names.msgpack"
MOST = 3000  # words that are kept, by salience; twice as many while they are counted
NAMED = 8  # how many plain occurrences one use as a name counts as
WAITING = 1000  # documents that may wait to be counted
QUERY_WORDS = 64  # words of a query that are checked: a spoken question is shorter
FEWEST = 4  # letters of a word in lower case that may be a misheard name


class NameEntry(Struct, array_like=True):
    """A word and how often it occurred: in all (``count``), and as a name (``named``)."""

    form: str
    count: int = 0
    named: int = 0

    @property
    def salience(self) -> int:
        return self.count + NAMED * self.named


class NameLexicon:
    """Counts names and finds those that sound like a word. Not safe to use from several threads."""

    def __init__(self, sealed: Path | None = None) -> None:
        """Start with the names of a sealed index's folder, read when needed, or with none."""
        self._file = sealed / FILE if sealed is not None else None
        self._entries: dict[str, NameEntry] = {}
        self._by_sound: dict[str, dict[str, Sound]] | None = None  # words by phonetic key
        self._waiting: list[tuple[str, str]] = []

    def add(self, text: str, speaker: str) -> None:
        """Count the words of a document's indexed text and its speaker, now or later."""
        self._waiting.append((text, speaker))
        if self._by_sound is not None or len(self._waiting) > WAITING:
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
        if len(self._entries) > 2 * MOST:
            self._prune()

    def _count(self, form: str, *, named: bool) -> None:
        bare = form.lower()
        entry = self._entries.get(bare)
        if entry is None:
            entry = self._entries[bare] = NameEntry(form)
            if self._by_sound is not None:
                self._index_sound(bare)
        elif named and not entry.named:
            entry.form = form
        entry.count += 1
        entry.named += named

    def _prune(self) -> None:
        best = sorted(self._entries.items(), key=lambda item: -item[1].salience)[:MOST]
        self._entries, self._by_sound = dict(best), None

    def clear(self) -> None:
        """Drop everything, the sealed names included."""
        self._entries, self._by_sound, self._file, self._waiting = {}, None, None, []

    def write(self, folder: Path) -> None:
        self._catch_up()
        self._prune()
        (folder / FILE).write_bytes(msgspec.msgpack.encode(list(self._entries.values())))

    def load(self) -> None:
        self._catch_up()
        file, self._file = self._file, None
        if file is None or not file.is_file():
            return
        since, self._entries = self._entries, {}
        for entry in msgspec.msgpack.decode(file.read_bytes(), type=list[NameEntry]):
            self._entries[entry.form.lower()] = entry
        for bare, entry in since.items():
            total = self._entries.setdefault(bare, NameEntry(entry.form))
            total.count += entry.count
            total.named += entry.named
        self._by_sound = None

    def warm(self) -> None:
        """Prepare for the first misheard word; takes some ten milliseconds once."""
        self.load()
        if self._by_sound is None:
            self._by_sound = {}
            for bare in self._entries:
                self._index_sound(bare)

    def _index_sound(self, bare: str) -> None:
        heard = sound(bare)
        if heard is not None and self._by_sound is not None:
            for key in keys(heard):
                self._by_sound.setdefault(key, {})[bare] = heard

    def hotwords(self, n: int) -> list[Hotword]:
        """Return up to n names and frequent uncommon words, the most salient first."""
        self.load()
        kept = [entry for entry in self._entries.values() if entry.named or entry.count > 2]
        best = sorted(kept, key=lambda entry: (-entry.salience, entry.form))[:n]
        top = math.log1p(best[0].salience) if best else 1.0
        return [
            Hotword(
                word=entry.form,
                weight=round(math.log1p(entry.salience) / top, 3),
                count=entry.count,
                name=entry.named > 0,
            )
            for entry in best
        ]

    def sounding_like(
        self, words: list[str], unknown: Callable[[Sequence[str]], list[bool]]
    ) -> list[MisheardWord]:
        """Return names that sound like unknown words of a query.

        Only the first ``QUERY_WORDS`` of ``words`` are checked. ``unknown`` returns which of some
        words never occurred in the namespace. At most one name is returned for each word, or pair
        of words.
        """
        words = words[:QUERY_WORDS]
        new = [
            1 < len(word) <= MAX_LETTERS and is_new
            for word, is_new in zip(words, unknown(words), strict=True)
        ]
        if not any(new):
            return []
        self.warm()
        return list(self._matches(words, new))

    def _matches(self, words: list[str], new: list[bool]) -> Iterator[MisheardWord]:
        joined = False  # this word was matched together with the previous one
        for place, (word, is_new) in enumerate(zip(words, new, strict=True)):
            if joined or not is_new and not any(new[place + 1 : place + 2]):
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
            elif is_new and not is_common(word.lower()):
                yield from self._one(word)

    def _one(self, word: str) -> Iterator[MisheardWord]:
        if len(word) < FEWEST and word.islower():
            return
        if found := self._closest(word, MIN_CLOSENESS):
            yield MisheardWord(word, *found)
            return
        bare = word.lower()
        for cut in range(3, len(bare) - 2):  # two names written as one
            first, second = self._entries.get(bare[:cut]), self._entries.get(bare[cut:])
            if first and second and first.named and second.named:
                yield MisheardWord(word, f"{first.form} {second.form}", 1.0)
                return

    def _closest(self, word: str, least: float) -> tuple[str, float] | None:
        """Return the name that sounds most like a word, and the similarity, 0 to 1."""
        spoken = sound(word) if len(word) <= MAX_LETTERS else None
        if spoken is None or self._by_sound is None:
            return None
        near: dict[str, Sound] = {}
        for key in keys(spoken):
            near |= self._by_sound.get(key, {})
        best: tuple[float, int, str] | None = None
        for bare, other in near.items():
            entry = self._entries.get(bare)
            if entry is None:
                continue
            alike = closeness(spoken, other)
            if alike >= (least if entry.named else max(least, MIN_CLOSENESS_OF_WORDS)):
                best = max(best or (0.0, 0, ""), (alike, entry.salience, entry.form))
        return (best[2], round(best[0], 3)) if best else None
