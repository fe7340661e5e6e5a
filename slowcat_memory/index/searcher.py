"""One namespace's index: tail and sealed part behind one searcher.

Documents are numbered in the order in which they come; a number is never used again. Each knows the
document said before and after it in its session, because the window view joins the three. What is
sealed does not change: a sealed document that must is *lifted* into the tail, under a new number.
"""

import re
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from weakref import ReferenceType, ref

import numpy as np

from slowcat_memory.core.lexicon import MOST_CHARS
from slowcat_memory.core.sounds import Heard
from slowcat_memory.core.text import Tokenizer
from slowcat_memory.index import compiled
from slowcat_memory.index.building import COLUMNS, NO_TIME, Document, digest, read_header
from slowcat_memory.index.candidates import Candidates, Lexical
from slowcat_memory.index.columns import Column, split
from slowcat_memory.index.dense import DenseView
from slowcat_memory.index.ids import Ids, Named
from slowcat_memory.index.lexical import LexicalView
from slowcat_memory.index.mapped import open_array
from slowcat_memory.index.names import Names
from slowcat_memory.index.options import IndexOptions
from slowcat_memory.index.postings import SealedPostings
from slowcat_memory.index.source import Source
from slowcat_memory.index.tail import Counts
from slowcat_memory.index.vectors import SealedVectors
from slowcat_memory.index.views import SOURCES, WINDOW, sources, views
from slowcat_memory.index.walk import distinct
from slowcat_memory.records import Hotword

_WORD = re.compile(r"[^\W\d_]+")


class Searcher:
    """Adds, removes and finds documents. Safe to use from several threads."""

    def __init__(
        self,
        tokenizer: Tokenizer,
        options: IndexOptions,
        dim: int = 0,
        sealed: Path | None = None,
        sealed_vectors: bool = True,
    ) -> None:
        """Open a sealed index, or start empty.

        Args:
            tokenizer: The same one for documents and queries.
            options: The index's options.
            dim: Dimension of vectors, 0 for none.
            sealed: Folder of a checked sealed index.
            sealed_vectors: False when its vectors are of another space, not wanted, or come later
                (see ``attach_vectors``).

        Raises:
            IndexDamagedError: The sealed index is of another version.
        """
        self._tokenizer, self._options = tokenizer, options
        self._asking = tokenizer.passing()
        self._lock = threading.RLock()
        header = read_header(sealed, options) if sealed is not None else None
        self._ids = Ids(sealed)
        self.sealed_count = self._ids.base
        columns = {
            name: Column(kind, open_array(sealed / f"{name}.npy", private=True) if sealed else None)
            for name, kind in COLUMNS.items()
        }
        self._before, self._after = columns["before"], columns["after"]
        self._at, self._importance = columns["at"], columns["importance"]
        self._pinned, self._agent = columns["pinned"], columns["agent"]
        self._words, self._digest = columns["words"], columns["digest"]
        self._session, self._speaker = columns["session"], columns["speaker"]
        self._about = columns["about_from"], columns["about_until"]
        self.speakers = list(header.speakers) if header else []
        self.names = Names(sealed)
        # As they were when it was sealed: those whose words are in a sealed document's window.
        self._sealed_before = open_array(sealed / "before.npy") if sealed else np.zeros(0, np.int32)
        self._sealed_after = open_array(sealed / "after.npy") if sealed else np.zeros(0, np.int32)
        self._alive = Column("bool", np.ones(self.sealed_count, bool))
        self._living = self.sealed_count
        self._total_words = header.words if header else 0
        self._chosen = views(options)
        self._sources = {name: Source(sealed, name) for name in sources(self._chosen)}
        self._views = {
            view.name: LexicalView(
                SealedPostings.open(sealed, view.name) if sealed else SealedPostings.empty(),
                header.views[view.name] if header else 0.0,
                options,
            )
            for view in self._chosen
        }
        # Whose scores the views hold; its words go with it, when the query is done.
        self._scored: ReferenceType[Lexical] | None = None
        self.dense = DenseView(dim)
        if sealed is not None and sealed_vectors and dim and header and header.vectors:
            self.attach_vectors(sealed)

    def attach_vectors(self, sealed: Path) -> None:
        """Open the sealed vectors; what was put or removed meanwhile stays so.

        Args:
            sealed: Folder of the sealed index, checked.
        """
        opened = SealedVectors(sealed, self._options)
        with self._lock:
            self.dense.attach(opened)

    def warm(self) -> None:
        """Have what makes recall faster loaded before it is needed."""
        with self._lock:
            self.names.warm()
        if self.sealed_count >= self._options.compiled_from:
            compiled.ask()

    # ---------------------------------------------------------------- size

    def __len__(self) -> int:
        return self._living

    def __contains__(self, memory_id: str) -> bool:
        return self._find(memory_id) >= 0

    def items(self) -> Iterator[tuple[str, int]]:
        """Walk what can be found: ids and document numbers."""
        for number in range(len(self._ids)):
            if self._alive[number]:
                yield self._ids[number], number

    @property
    def tail_count(self) -> int:
        """How many documents came after the sealed part."""
        return len(self._ids) - self.sealed_count

    @property
    def mean_words(self) -> float:
        """Mean length of the living documents, in words."""
        return self._total_words / max(1, self._living)

    def _find(self, memory_id: str) -> int:
        """Return a living document's number, -1 when there is none."""
        number = self._ids.find(memory_id) if memory_id else -1
        return number if number >= 0 and self._alive[number] else -1

    # ---------------------------------------------------------------- change

    def add(self, document: Document) -> None:
        """Make a document findable, at once; one with the same id is replaced in its place.

        Args:
            document: What to index. When ``before`` already has a follower, the document goes
                between the two. A known id with the same text keeps its vector, else it loses it.
        """
        counts, hashed = self._count(document.text), digest(document.text)
        with self._lock:
            number = self._find(document.id)
            if number >= 0 and self._digest[number] == hashed:
                self._describe(number, document)
                return
            if number >= 0:
                before, after = self._remove(number)
            else:
                before = self._find(document.before)
                before, after = self._unlink(before, self._neighbour(self._after, before))
            self.names.add(document.text, document.speaker)
            added = self._append(document, counts, hashed)
            if (neighbour := before if before >= 0 else after) >= 0:
                self._session[added] = self._session[neighbour]
            self._link(before, added)
            self._link(added, after)

    def remove(self, memory_id: str) -> bool:
        """Take a document out of every view, and its words out of its neighbours' windows.

        Args:
            memory_id: The memory's id.

        Returns:
            Whether it was there.
        """
        with self._lock:
            number = self._find(memory_id)
            if number >= 0:
                self._link(*self._remove(number))
            return number >= 0

    def has_vector(self, memory_id: str) -> bool:
        """Tell whether a document has a vector."""
        number = self._find(memory_id)
        return number >= 0 and number in self.dense

    def missing_vectors(self) -> list[str]:
        """Return the ids of the living documents that have no vector, in order."""
        with self._lock:
            numbers = np.arange(len(self._ids))
            wanted = self._alive.take(numbers) & ~self.dense.held(len(numbers))
            return [self._ids[number] for number in np.flatnonzero(wanted).tolist()]

    def put_vector(self, memory_id: str, vector: np.ndarray) -> None:
        """Set a document's vector; one that is not there is passed over.

        Args:
            memory_id: The memory's id.
            vector: Shape (dim,), unit length.
        """
        with self._lock:
            if (number := self._find(memory_id)) >= 0 and self.dense.dim:
                self.dense.put(number, vector)

    def set_priors(self, memory_id: str, importance: float, pinned: bool) -> None:
        """Change what is known about a document before any question.

        Args:
            memory_id: The memory's id.
            importance: 0 to 1.
            pinned: Whether a person pinned it.
        """
        with self._lock:
            if (number := self._find(memory_id)) >= 0:
                self._importance[number] = importance
                self._pinned[number] = pinned

    def _count(self, text: str) -> dict[str, Counts]:
        """Count what each source counts."""
        return {name: Counter(SOURCES[name](self._tokenizer, text)) for name in self._sources}

    def _append(self, document: Document, counts: Mapping[str, Counts], hashed: int) -> int:
        """Add a document without neighbours."""
        number = self._ids.append(document.id)
        self._before.append(-1)
        self._after.append(-1)
        self._at.append(document.at)
        self._importance.append(document.importance)
        self._pinned.append(document.pinned)
        self._agent.append(document.agent)
        self._words.append(document.words)
        self._digest.append(hashed)
        self._session.append(number)
        self._speaker.append(self._speaker_number(document.speaker))
        for column, time in zip(self._about, document.about or NO_TIME, strict=True):
            column.append(time)
        self._alive.append(True)
        self._living += 1
        self._total_words += document.words
        for name, source in self._sources.items():
            source.add(number, counts[name])
        for view in self._chosen:
            self._views[view.name].add(number, counts[view.source])
        return number

    def _speaker_number(self, name: str) -> int:
        if name not in self.speakers:
            self.speakers.append(name)
        return self.speakers.index(name)

    def speaker_numbers(self, names: Iterable[str]) -> list[int]:
        """Tell what stands for speakers in ``Candidates.speaker``.

        Args:
            names: Some of ``speakers``.

        Returns:
            Their numbers.
        """
        return [self.speakers.index(name) for name in names if name in self.speakers]

    def vector(self, memory_id: str) -> np.ndarray | None:
        """Return a document's vector.

        Args:
            memory_id: The memory's id.

        Returns:
            Shape (dim,), or None when it has none.
        """
        with self._lock:
            number = self._find(memory_id)
            return self.dense.vector(number) if number >= 0 else None

    def _describe(self, number: int, document: Document) -> None:
        """Bring everything but the text up to date."""
        self._total_words += document.words - int(self._words[number])
        self._at[number] = document.at
        self._importance[number] = document.importance
        self._pinned[number] = document.pinned
        self._agent[number] = document.agent
        self._words[number] = document.words
        self._speaker[number] = self._speaker_number(document.speaker)
        for column, time in zip(self._about, document.about or NO_TIME, strict=True):
            column[number] = time

    def _remove(self, number: int) -> tuple[int, int]:
        """Take a document out; return its neighbours, who are not yet neighbours of each other."""
        before = self._neighbour(self._before, number)
        before, number = self._unlink(before, number)
        number, after = self._unlink(number, self._neighbour(self._after, number))
        for name in self._views if number >= self.sealed_count else ():
            self._views[name].remove(number)
        if number < self.sealed_count:
            self._bury(number)
        self.dense.remove(number)
        self._kill(number)
        return before, after

    def _bury(self, number: int) -> dict[str, Counts]:
        """Take a sealed document out of every view; return its counts by view."""
        found: dict[str, Counts] = {}
        for view in self._chosen:
            lent = [number]
            if view.before and (before := int(self._sealed_before[number])) >= 0:
                lent.append(before)
            if view.after and (after := int(self._sealed_after[number])) >= 0:
                lent.append(after)
            found[view.name], rows = self._sources[view.source].joined(lent)
            self._views[view.name].bury(number, rows)
        return found

    def _kill(self, number: int) -> None:
        self._ids.drop(number)
        for source in self._sources.values():
            source.remove(number)
        self._alive[number] = False
        self._living -= 1
        self._total_words -= int(self._words[number])

    # ---------------------------------------------------------------- neighbours

    def _neighbour(self, column: Column, number: int) -> int:
        return int(column[number]) if number >= 0 else -1

    def _link(self, before: int, after: int) -> tuple[int, int]:
        """Make two documents neighbours: each one's words enter the other's views that look there.

        Returns:
            Their numbers, which change when they are lifted; -1 stands for nobody.
        """
        if before >= 0 and after >= 0:
            before, after = self._in_tail(before), self._in_tail(after)
            self._after[before], self._before[after] = after, before
            self._share(before, after, 1)
        return before, after

    def _unlink(self, before: int, after: int) -> tuple[int, int]:
        """Undo ``_link``; return the same."""
        if before >= 0 and after >= 0:
            before, after = self._in_tail(before), self._in_tail(after)
            self._after[before] = self._before[after] = -1
            self._share(before, after, -1)
        return before, after

    def _share(self, before: int, after: int, sign: int) -> None:
        for view in self._chosen:
            own = self._sources[view.source].counts
            if view.after:
                self._views[view.name].change(before, own(after), sign)
            if view.before:
                self._views[view.name].change(after, own(before), sign)

    def _in_tail(self, number: int) -> int:
        """Return a document's number after lifting it out of the sealed part, which cannot change."""
        if number >= self.sealed_count:
            return number
        before, after = int(self._before[number]), int(self._after[number])
        own = {name: source.counts(number) for name, source in self._sources.items()}
        counts, document = self._bury(number), self._document(number)
        hashed = int(self._digest[number])
        self._kill(number)
        lifted = self._append(document, own, hashed)
        for view in self._chosen:
            lent = Counter(counts[view.name])
            lent.subtract(own[view.source])
            self._views[view.name].change(lifted, +lent)
        self._before[lifted], self._after[lifted] = before, after
        self._session[lifted] = self._session[number]
        if before >= 0:
            self._after[before] = lifted
        if after >= 0:
            self._before[after] = lifted
        self.dense.move(number, lifted)
        return lifted

    def _document(self, number: int) -> Document:
        return Document(
            id=self._ids[number],
            text="",
            at=self._at[number],
            importance=self._importance[number],
            pinned=bool(self._pinned[number]),
            agent=bool(self._agent[number]),
            words=int(self._words[number]),
            speaker=self.speakers[int(self._speaker[number])],
            about=(self._about[0][number], self._about[1][number]),
        )

    # ---------------------------------------------------------------- search

    def heard(self, text: str) -> list[Heard]:
        """Find the names that words of a query may have been, which nobody here has ever said.

        Args:
            text: The query.

        Returns:
            The words, each with the name that sounds like it; none for most queries.
        """
        words = _WORD.findall(text[:MOST_CHARS])
        with self._lock:
            return self.names.heard(words, self._unknown)

    def hotwords(self, n: int) -> list[Hotword]:
        """List the names, and the words that are frequent here and no everyday ones.

        Args:
            n: How many at most.

        Returns:
            The most telling first.
        """
        with self._lock:
            return self.names.most(n)

    def _unknown(self, words: Sequence[str]) -> list[bool]:
        made = [self._asking(word) for word in words]
        tokens = list(dict.fromkeys(token for each in made for token in each))
        rows = self._sources["words"].vocabulary.rows(tokens)
        tail = self._views[WINDOW.name]
        new = {
            token
            for token, row in zip(tokens, rows, strict=True)
            if row < 0 and not tail.tail_frequency(token)
        }
        return [bool(each) and new.issuperset(each) for each in made]

    def lexical(
        self, text: str, *, also: tuple[tuple[str, float], ...] = (), sealed: bool = True
    ) -> Lexical:
        """Find the best documents by the words of a query.

        Args:
            text: The query.
            also: Words that it may have meant (see ``heard``), each with its share of their weight.
            sealed: False looks at the tail only, for a turn that is out of time.

        Returns:
            The best by view.
        """
        asked = {
            name: list(dict.fromkeys(SOURCES[name](self._asking, text))) for name in self._sources
        }
        own = len(asked["words"])
        shares = self._add(asked["words"], also)
        with self._lock:
            self._scored = None
            rows = {name: self._sources[name].vocabulary.rows(asked[name]) for name in asked}
            best, ceiling, weights = {}, 0.0, dict[str, float]()
            for view in self._chosen:
                found, idf = self._views[view.name].search(
                    asked[view.source],
                    rows[view.source],
                    self._options.candidates,
                    sealed=sealed,
                    shares=shares if view.source == "words" else (),
                )
                best[view.name] = found
                if view is WINDOW:  # what was meant stands for what was said: it weighs once
                    ceiling = sum(idf[:own])
                    weights = dict(zip(asked[view.source], idf, strict=True))
            made = Lexical(text, also, sealed, best, ceiling, weights, len(self._ids))
            self._scored = ref(made)
            return made

    def forget_query(self) -> None:
        """Drop what is held of the last query."""
        with self._lock:
            self._scored = None

    def _add(self, asked: list[str], also: tuple[tuple[str, float], ...]) -> list[float]:
        """Add tokens to those of a query; return each one's share, nothing without additions."""
        if not also:
            return []
        shares = dict.fromkeys(asked, 1.0)
        for word, share in also:
            for token in self._asking(word):
                shares.setdefault(token, share)
        asked[:] = shares
        return list(shares.values())

    def knows(self, word: str) -> bool:
        """Tell whether a word was ever said here.

        Args:
            word: A word of a query.

        Returns:
            Whether a living document, or the one next to it, holds it; True for a stop word.
        """
        source = self._sources[WINDOW.source]
        terms = SOURCES[WINDOW.source](self._asking, word)
        with self._lock:
            rows = source.vocabulary.rows(terms)
            frequency = self._views[WINDOW.name].frequency
            return not terms or any(map(frequency, terms, rows))

    def postings(self, text: str) -> int:
        """Count the sealed postings that a query walks over, in all lexical views.

        Args:
            text: The query.

        Returns:
            How many.
        """
        total = 0
        for view in self._chosen:
            terms = list(dict.fromkeys(SOURCES[view.source](self._asking, text)))
            rows = self._sources[view.source].vocabulary.rows(terms)
            total += sum(self._views[view.name].sealed_frequency(row) for row in rows)
        return total

    def scores(self, lexical: Lexical, numbers: np.ndarray) -> dict[str, np.ndarray]:
        """Tell documents' scores by words.

        Args:
            lexical: From ``lexical``.
            numbers: Document numbers, shape (n,), living ones.

        Returns:
            By view, shape (n,), float32.
        """
        with self._lock:
            if self._scored is None or self._scored() is not lexical:  # another query came by
                self.lexical(lexical.text, also=lexical.also, sealed=lexical.sealed)
                self._scored = ref(lexical)
            return {view.name: self._views[view.name].scores(numbers) for view in self._chosen}

    def candidates(
        self,
        lexical: Lexical,
        vector: np.ndarray | None = None,
        exclude: Set[str] = frozenset(),
        own: np.ndarray | None = None,
    ) -> Candidates:
        """Choose what may answer a query: the best of each view.

        Args:
            lexical: From ``lexical``; documents added since then are not proposed.
            vector: The query's vector, shape (dim,); None leaves the dense view out.
            exclude: Ids not to propose, so that they do not set the scale for the others either.
            own: The vector of the query's words alone, where ``vector`` is another one.

        Returns:
            The candidates with their raw scores by view.
        """
        with self._lock:
            if vector is None or not len(self.dense):
                vector = None
            near = None if vector is None else self.dense.top(vector, self._options.candidates)
            numbers, excluded = self._choose(lexical, near, exclude)
            views = self.scores(lexical, numbers)
            if vector is not None and near is not None:
                views["dense"] = self._cosines(vector, numbers, *near)
            cosine = views.get("dense")
            if own is not None and cosine is not None:
                cosine = self.dense.cosines(own, numbers)
            parts = split(numbers, self.sealed_count)
            return Candidates(
                ids=Named(self._ids, numbers),
                views=views,
                cosine=cosine,
                before=_positions(numbers, self._before.gather(*parts)),
                after=_positions(numbers, self._after.gather(*parts)),
                at=self._at.gather(*parts),
                importance=self._importance.gather(*parts),
                pinned=self._pinned.gather(*parts),
                agent=self._agent.gather(*parts),
                session=self._session.gather(*parts),
                speaker=self._speaker.gather(*parts),
                about_from=self._about[0].gather(*parts),
                about_until=self._about[1].gather(*parts),
                excluded=Named(self._ids, excluded),
            )

    def _cosines(
        self, vector: np.ndarray, numbers: np.ndarray, nearest: np.ndarray, known: np.ndarray
    ) -> np.ndarray:
        """Take the cosines that a search told, and work out the others."""
        cosines = np.full(len(numbers), np.nan, np.float32)
        places = _positions(numbers, nearest)
        cosines[places[places >= 0]] = known[places >= 0]
        others = np.flatnonzero(np.isnan(cosines))
        cosines[others] = self.dense.cosines(vector, numbers[others])
        return cosines

    def _choose(
        self,
        lexical: Lexical,
        near: tuple[np.ndarray, np.ndarray] | None,
        exclude: Set[str],
    ) -> tuple[np.ndarray, np.ndarray]:
        """Choose the documents to propose, and those that are only told to be excluded."""
        chosen = list(lexical.best.values())
        if near is not None:
            chosen.append(near[0])
        numbers = distinct(np.concatenate(chosen))
        wanted = self._alive.take(numbers)
        if near is not None:
            wanted = wanted & (numbers < lexical.known)
        if not exclude:
            return numbers[wanted], numbers[:0]
        barred = np.isin(numbers, [self._find(memory_id) for memory_id in exclude])
        return numbers[wanted & ~barred], numbers[wanted & barred]


def _positions(numbers: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Find each wanted number's position in the sorted ``numbers``, -1 where it is not there."""
    if not len(numbers):
        return np.zeros(0, np.int64)
    at = np.searchsorted(numbers, wanted)
    at[at == len(numbers)] = 0
    return np.where(numbers[at] == wanted, at, -1)
