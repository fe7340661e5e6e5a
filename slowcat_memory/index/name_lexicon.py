"""The names of a namespace, to correct misheard words of a query.

Names are counted as documents come, stored in one file of the sealed index, and bounded in number.
Slow work is done when it is needed or in ``warm``: while an index is opened, texts only queue.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from slowcat_memory.core.language.data import word_set
from slowcat_memory.core.language.english.vocabulary import PRONOUNS, ROLES, STOP_WORDS
from slowcat_memory.core.language.names import forms_of_one, is_ordinary
from slowcat_memory.core.text.pronunciations import (
    MisheardWord,
    heard_as,
    pronunciations,
    sound_code,
    sound_keys,
    sound_likeness,
)
from slowcat_memory.core.text.rare_words import MAX_LETTERS, rare_words
from slowcat_memory.records import Hotword

FILE = "names.msgpack"
MOST = 3000  # words that are kept, by salience; twice as many while they are counted
NAMED = 8  # how many plain occurrences one use as a name counts as
WAITING = 1000  # documents that may wait to be counted
QUERY_WORDS = 64  # words of a query that are checked: a spoken question is shorter
MOST_WORDS = 3  # of a query that may be one misheard name
# Likeness from which a name is taken for what was heard: one unusual word; several, of which one is
# unusual; several everyday words.
LIKE_WORD, LIKE_WORDS, LIKE_EVERYDAY = 0.8, 0.78, 0.86
NEVER_NAMED = 0.08  # more for a word that was never seen as a name
FEWEST_SOUNDS = 2  # consonants of a name that several words may make up
FEWEST = 4  # letters of a word in lower case that may be a misheard name


_FUNCTION_WORDS = (
    STOP_WORDS - {"an", "be", "is"}
    | PRONOUNS
    | word_set(
        "ich du er es wir ihr der die das den dem des ein eine was wer wo wann wie warum hat ist war mit "
        "von für und oder nicht noch mal auch so zu im in am an auf aus bei nach nochmal denn mein meine"
    )
)

_SUBJECTS = word_set("ich wir man du i we")
_BEFORE_OTHERS = _SUBJECTS | word_set(
    "a an some any every each very too they a ein eine einen einem einer eines kein keine keinen keinem "
    "jeder jede jedes viele mehr weniger sehr zu ganz genug manche welche welcher"
)


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
        # Words and their sounds by phonetic key.
        self._by_sound: dict[str, dict[tuple[str, str], None]] | None = None
        self._waiting: list[tuple[str, str]] = []

    def add(self, text: str, speaker: str) -> None:
        """Count the words of a document's indexed text and its speaker, now or later."""
        self._waiting.append((text, speaker))
        if self._by_sound is not None or len(self._waiting) > WAITING:
            self._catch_up()

    def is_name(self, bare: str) -> bool:
        """Return whether a word in lower case mostly was a name, as far as it is counted.

        Reads no file and changes nothing: any thread may ask.
        """
        entry = self._entries.get(bare)
        return entry is not None and 2 * entry.named > entry.count

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
        if file is None:
            return
        for entry in msgspec.msgpack.decode(file.read_bytes(), type=list[NameEntry]):
            if new := self._entries.get(bare := entry.form.lower()):
                entry.count += new.count
                entry.named += new.named
            self._entries[bare] = entry
        self._by_sound = None

    def warm(self) -> None:
        """Prepare for the first misheard word; takes some ten milliseconds once."""
        self.load()
        if self._by_sound is None:
            self._by_sound = {}
            for bare in self._entries:
                self._index_sound(bare)

    def _index_sound(self, bare: str) -> None:
        if self._by_sound is not None:
            for code in dict.fromkeys(map(sound_code, pronunciations(bare))):
                for key in sound_keys(code):
                    self._by_sound.setdefault(key, {})[bare, code] = None

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
        words do not occur in the namespace. At most one name is returned for each word, or pair
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
        """Yield a name for the longest run of words at each place that sounds like one."""
        place = 0
        while place < len(words):
            for many in range(min(MOST_WORDS, len(words) - place), 0, -1):
                run = words[place : place + many]
                if many == 1 and _is_no_name(words, place):
                    continue
                if any(new[place : place + many]) and (match := self._of_run(run)):
                    yield MisheardWord(" ".join(run), *match)
                    place += many - 1
                    break
            place += 1

    def _of_run(self, run: list[str]) -> tuple[str, float] | None:
        """Return the name that words may be, and the likeness; None for none."""
        everyday = [is_ordinary(_bare(word)) for word in run]
        if len(run) == 1:
            if everyday[0] or (len(run[0]) < FEWEST and run[0].islower()):
                return None
            return self._closest(_bare(run[0]), LIKE_WORD) or self._two_names(run[0].lower())
        if not _bare(run[0]) or any(_bare(word) in _FUNCTION_WORDS for word in (run[0], run[-1])):
            return None
        least = LIKE_EVERYDAY if all(everyday) else LIKE_WORDS
        joined = "".join(map(_bare, run))
        return self._closest(joined, least, whole=True)

    def _two_names(self, bare: str) -> tuple[str, float] | None:
        for cut in range(3, len(bare) - 2):  # two names written as one
            first, second = map(self._entries.get, (bare[:cut], bare[cut:]))
            if first and second and first.named and second.named:
                return f"{first.form} {second.form}", 1.0
        return None

    def _closest(
        self, heard: str, least: float, *, whole: bool = False
    ) -> tuple[str, float] | None:
        """Return the name that sounds most like what was heard, and the likeness, 0 to 1."""
        if len(heard) > MAX_LETTERS or self._by_sound is None:
            return None
        best: tuple[float, int, str] | None = None
        for code in map(sound_code, heard_as(heard)):
            near = dict[tuple[str, str], None]()
            for key in sound_keys(code):
                near |= self._by_sound.get(key, {})
            for bare, other in near:
                entry = self._entries.get(bare)
                if entry is None or (whole and len(sound_keys(other)[0]) < FEWEST_SOUNDS):
                    continue
                if forms_of_one(heard, bare) is False:  # "Hanna" is no misheard "Anna"
                    continue
                alike = sound_likeness(code, other)
                if alike >= (least if entry.named else least + NEVER_NAMED):
                    best = max(best or (0.0, 0, ""), (alike, entry.salience, entry.form))
        return (best[2], round(best[0], 3)) if best else None


def _is_no_name(words: Sequence[str], place: int) -> bool:
    """Return whether a word cannot be a name where it stands: "an anchor", "wie kläre ich"."""
    near = ["", *map(str.lower, words), ""]
    return near[place] in _BEFORE_OTHERS or near[place + 2] in _SUBJECTS


def _bare(word: str) -> str:
    """Return a word in lower case without a possessive ending."""
    low = word.lower().replace("’", "'")
    return low.removesuffix("'s").rstrip("'")
