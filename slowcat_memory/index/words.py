"""The words of a namespace: BM25 over each document's window, and names, to correct misheard words.

A window has the terms of a document, each twice, and of its neighbours: what was said comes before
the reply to it. A sealed document never changes: before a change it is copied to the tail, and the
original tombstoned.

A sealed posting is a document's number (int32) and its score by bm25s at sealing (float32), which
includes the term's idf and the mean length of that time. A query adds the scores of its terms, each
times ``idf now / idf at sealing``: exact for idf, whatever was added or forgotten since then. The
mean length is that at sealing until the next seal; the effect is measured in
docs/decisions/0024-eager-scores.md.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from msgspec import Struct

from slowcat_memory.core.language.data import word_set
from slowcat_memory.core.language.english.vocabulary import PRONOUNS, ROLES, STOP_WORDS
from slowcat_memory.core.language.names import forms_of_one, is_ordinary
from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.core.text.pronunciations import (
    MisheardWord,
    heard_as,
    pronunciations,
    sound_code,
    sound_keys,
    sound_likeness,
)
from slowcat_memory.core.text.rare_words import MAX_LETTERS, rare_words
from slowcat_memory.index.format import Document, Header, IndexOptions
from slowcat_memory.index.table import Column, DocumentTable, Texts, open_or_empty
from slowcat_memory.records import Hotword

Counts = Mapping[str, int]
"""Occurrences by term."""
NAME = "words"  # prefix of the names of the files
OWN = f"{NAME}.own"


class Vocabulary:
    """The terms of a sealed index; a term's row is its position in a sorted array of hashes.

    Opening it costs nothing, whatever its size.
    """

    def __init__(self, sealed: Path | None = None) -> None:
        self._hashes = open_or_empty(sealed, f"{NAME}.hashes", np.uint64)
        self._terms = Texts(sealed, NAME)

    @staticmethod
    def write(terms: Sequence[str], folder: Path) -> np.ndarray:
        """Store distinct terms and return the row of each, shape (n,), int32."""
        encoded = [term.encode() for term in terms]
        hashes = np.fromiter(map(_hash, encoded), np.uint64, len(terms))
        order = np.argsort(hashes, kind="stable")
        np.save(folder / f"{NAME}.hashes.npy", hashes[order])
        Texts.write([encoded[place] for place in order.tolist()], folder, NAME)
        rows = np.empty(len(terms), np.int32)
        rows[order] = np.arange(len(terms), dtype=np.int32)
        return rows

    def __len__(self) -> int:
        return len(self._hashes)

    def rows(self, terms: Sequence[str]) -> list[int]:
        """Return the row of each term, -1 for an unknown one."""
        hashes = np.array([_hash(term.encode()) for term in terms], np.uint64)
        places = self._hashes.searchsorted(hashes).tolist()
        return [self._row(*row) for row in zip(places, terms, hashes, strict=True)]

    def _row(self, place: int, term: str, hashed: np.uint64) -> int:
        while place < len(self) and self._hashes[place] == hashed:
            if self.term(place) == term:
                return place
            place += 1
        return -1

    def term(self, row: int) -> str:
        return self._terms[row]


def _hash(encoded: bytes) -> int:
    return int.from_bytes(blake2b(encoded, digest_size=8).digest(), "little")


class ForwardIndex:
    """Every document's own terms, sealed and in the tail."""

    def __init__(self, sealed: Path | None) -> None:
        self.vocabulary = Vocabulary(sealed)
        self._starts = open_or_empty(sealed, f"{OWN}.starts", np.int64)
        self._rows = open_or_empty(sealed, f"{OWN}.rows", np.int32)
        self._tail: dict[int, Counts] = {}

    def add(self, document: int, own: Counts) -> None:
        self._tail[document] = own

    def remove(self, document: int) -> None:
        """Remove a tail document's terms; does nothing for a sealed one."""
        self._tail.pop(document, None)

    def own(self, document: int) -> Counts:
        """Return a document's own terms; read-only."""
        counts = self._tail.get(document)
        return self.sum_sealed([document])[0] if counts is None else counts

    def sum_sealed(self, documents: list[int]) -> tuple[Counter[str], list[int]]:
        """Sum sealed documents' own terms; return occurrences by term, and the terms' rows."""
        total: Counter[int] = Counter()
        for document in documents:
            part = slice(int(self._starts[document]), int(self._starts[document + 1]))
            total.update(self._rows[part].tolist())
        term = self.vocabulary.term
        return Counter({term(row): times for row, times in total.items()}), list(total)


Run = tuple[np.ndarray, np.ndarray]
"""A term's documents (int32), and for each its score or the term's occurrences (float32)."""


def idf(frequency: int, documents: int) -> float:
    """Return the idf of a term from its document frequency; always positive."""
    return math.log(1 + (documents - frequency + 0.5) / (frequency + 0.5))


class SealedPostings(NamedTuple):
    """For each term a run of documents, with bm25s's score for each: its CSC arrays.

    Attributes:
        indptr: Shape (terms + 1,), int64, start of each term's postings.
        documents: Shape (postings,), int32, rising within a term.
        scores: Shape (postings,), float32, at sealing.
        lengths: Shape (documents,), int32, tokens by document.
    """

    indptr: np.ndarray
    documents: np.ndarray
    scores: np.ndarray
    lengths: np.ndarray

    @classmethod
    def open(cls, sealed: Path | None) -> "SealedPostings":
        files = zip(cls._fields, ("int64", "int32", "float32", "int32"), strict=True)
        return cls(*(open_or_empty(sealed, f"window.{name}", dtype) for name, dtype in files))

    def write(self, folder: Path) -> None:
        for name, values in self._asdict().items():
            np.save(folder / f"window.{name}.npy", values)

    def frequency(self, row: int) -> int:
        """Return the number of documents with a term, dead ones included."""
        return int(self.indptr[row + 1]) - int(self.indptr[row])

    def idf(self, row: int) -> float:
        """Return a term's idf at sealing, which is in its scores."""
        return idf(self.frequency(row), len(self.lengths))

    def postings(self, row: int) -> Run:
        part = slice(int(self.indptr[row]), int(self.indptr[row + 1]))
        return self.documents[part], self.scores[part]


# ------------------------------------------------------------------- two generations
# BM25 over two generations of postings, with one set of statistics.
#
# Theory of operation. There are *sealed* postings, in files, and *tail* postings, plain
# dictionaries to which a document is added with its turn. Document frequency and document count
# are those of both together (with statistics per part, the top ten agree by 0.8). The mean length is
# that of both for the tail, and that at sealing for sealed documents (see above), so with an
# empty tail the scores are bm25s's own. A sealed document never changes: it is *tombstoned*, which
# removes it from ranking and statistics.
#
# The formula is bm25s's "lucene" (Robertson with an idf that cannot be negative):
# ``idf * tf / (tf + k1 * (1 - b + b * length / average))``.


class Windows:
    """The documents' windows in both generations, scored together."""

    def __init__(
        self,
        tokenizer: Tokenizer,
        options: IndexOptions,
        sealed: Path | None,
        header: Header | None,
        table: DocumentTable,
    ) -> None:
        """Open the sealed part, or start empty. Queries must use the same tokenizer."""
        self._tokenizer, self._options, self._table = tokenizer, options, table
        self.forward, self._sealed = ForwardIndex(sealed), SealedPostings.open(sealed)
        # The neighbours at sealing: their terms are in a sealed document's window.
        self._neighbours = [open_or_empty(sealed, name, np.int32) for name in ("before", "after")]
        self._dead: Counter[int] = Counter()  # dead sealed documents by term
        self._tail: dict[str, dict[int, int]] = {}  # occurrences by term and document
        self._runs: dict[str, Run] = {}  # the same as arrays, made when they are searched
        self._lengths = Column(self._sealed.lengths)
        self.total = header.tokens if header else 0.0

    def count(self, document: Document) -> Counts:
        return Counter(self._tokenizer(document.text))

    def add(self, number: int, terms: Counts) -> None:
        """Add a document without neighbours to the tail; its number is the next one."""
        self.forward.add(number, terms)
        self._lengths.append(0)
        self.change(number, terms, 2)

    def change(self, number: int, terms: Counts, times: int = 1) -> None:
        """Add terms to a tail document's window so many times; below 0 they are removed."""
        for term, count in terms.items():
            documents = self._tail.setdefault(term, {})
            documents[number] = documents.get(number, 0) + times * count
            if not documents[number]:
                del documents[number]
            if not documents:
                del self._tail[term]
            self._runs.pop(term, None)
        added = times * sum(terms.values())
        self._lengths[number] += added
        self.total += added

    def remove(self, number: int) -> Counts:
        """Remove a document from ranking and statistics; one in the tail has no neighbours.

        Returns:
            The terms that a sealed one's window had from its neighbours.
        """
        if number >= len(self._sealed.lengths):
            self.change(number, self.forward.own(number), -2)
            self.forward.remove(number)
            return {}
        neighbours = [int(column[number]) for column in self._neighbours if column[number] >= 0]
        self._dead.update(self.forward.sum_sealed([number, *neighbours])[1])
        self.total -= self._lengths[number]
        return self.forward.sum_sealed(neighbours)[0]

    def frequencies(self, terms: Sequence[str], rows: Sequence[int] = ()) -> list[int]:
        """Return the number of living documents with each term; ``rows`` are the terms' if known."""
        return [
            len(self._tail.get(term, ()))
            + (self._sealed.frequency(row) - self._dead[row] if row >= 0 else 0)
            for term, row in zip(terms, rows or self.forward.vocabulary.rows(terms), strict=True)
        ]

    def search(
        self, shares: Mapping[str, float], *, sealed: bool = True
    ) -> tuple[np.ndarray, dict[str, float]]:
        """Score all documents for a query.

        Args:
            shares: The query's tokens, each with the share of its weight that counts.
            sealed: False skips the sealed generation, for a turn that is out of time.

        Returns:
            Scores, shape (documents,), float32; and each term's weight, its idf times its share,
            also of terms that occur nowhere: no score can exceed their sum.
        """
        scores, terms = np.zeros(len(self._lengths), np.float32), list(shares)
        rows, weights = self.forward.vocabulary.rows(terms), dict[str, float]()
        k1, b, living = self._options.k1, self._options.b, self._table.living
        for term, row, frequency in zip(terms, rows, self.frequencies(terms, rows), strict=True):
            weight = weights[term] = shares[term] * idf(frequency, living)
            if sealed and row >= 0:
                documents, added = self._sealed.postings(row)
                # Half the time of ``[...] +=``, which reads and writes through a copy.
                np.add.at(scores, documents, added * np.float32(weight / self._sealed.idf(row)))
            if term in self._tail:
                documents, times = self._run(term)
                lengths = self._lengths.values[documents]
                norm = k1 * (1 - b) + k1 * b * living / self.total * lengths
                scores[documents] += weight * (times / (times + norm))
        if living < len(scores):
            scores *= self._table.alive.values
        return scores, weights

    def _run(self, term: str) -> Run:
        if term not in self._runs:
            counts = self._tail[term]
            documents = np.fromiter(counts, np.int32, len(counts))
            self._runs[term] = documents, np.fromiter(counts.values(), np.float32, len(counts))
        return self._runs[term]


# ------------------------------------------------------------------- names
# Names are counted as documents come, stored in one file of the sealed index, and bounded in number.

NAMES_FILE = "names.msgpack"
MOST = 3000  # words that are kept, by salience; twice as many while they are counted
NAMED = 8  # how many plain occurrences one use as a name counts as
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
        """Start with the names of a sealed index's folder, or with none."""
        self._entries: dict[str, NameEntry] = {}
        if sealed is not None:
            kept = msgspec.msgpack.decode((sealed / NAMES_FILE).read_bytes(), type=list[NameEntry])
            self._entries = {entry.form.lower(): entry for entry in kept}
        # Words and their sounds by phonetic key; made in ``warm``.
        self._by_sound: dict[str, dict[tuple[str, str], None]] | None = None

    def is_name(self, bare: str) -> bool:
        """Return whether a word in lower case mostly was a name; any thread may ask."""
        entry = self._entries.get(bare)
        return entry is not None and 2 * entry.named > entry.count

    def add(self, text: str, speaker: str) -> None:
        """Count the words of a document's indexed text and its speaker."""
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
        self._entries, self._by_sound = {}, None

    def write(self, folder: Path) -> None:
        self._prune()
        (folder / NAMES_FILE).write_bytes(msgspec.msgpack.encode(list(self._entries.values())))

    def warm(self) -> None:
        """Prepare for the first misheard word; takes some ten milliseconds once."""
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
