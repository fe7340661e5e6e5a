"""One namespace's index: tail and sealed part behind one searcher, which one thread at a time uses."""

import re
import threading
from collections.abc import Iterable, Iterator, Set
from pathlib import Path

import numpy as np

from slowcat_memory.core.text.normalize import Tokenizer, digest
from slowcat_memory.core.text.phonetics import MisheardWord
from slowcat_memory.core.text.rare_words import MAX_CHARS
from slowcat_memory.index.build.builder import read_header
from slowcat_memory.index.candidates import Candidates, Lexical
from slowcat_memory.index.files.document import Document
from slowcat_memory.index.files.key_file import VIEWS, parts
from slowcat_memory.index.lexical import scorer_loader
from slowcat_memory.index.lexical.name_lexicon import Names
from slowcat_memory.index.lexical.term_lookup import Lookup
from slowcat_memory.index.lexical.view_set import Words
from slowcat_memory.index.neighbours import Neighbours
from slowcat_memory.index.options import IndexOptions
from slowcat_memory.index.propose import Proposing
from slowcat_memory.index.table import Table
from slowcat_memory.index.vectors.key_view import KeyView
from slowcat_memory.index.vectors.sealed_vectors import VECTORS, SealedVectors
from slowcat_memory.index.vectors.vector_view import DenseView
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
        self._options = options
        self._lock = threading.RLock()
        header = read_header(sealed, options) if sealed is not None else None
        self.table = Table(sealed, header)
        self.words = Words(tokenizer, options, sealed, header)
        self.names = Names(sealed)
        self.dense = DenseView(dim)
        self.keys = {name: KeyView(name, dim, sealed) for name in VIEWS}
        self._sealed_keys = header.keys if header else {}
        self._sealed_dense = bool(header and header.vectors)
        self._neighbours = Neighbours(self.table, self.words, self.dense, self.keys.values())
        self._lookup = Lookup(self.words, tokenizer, options)
        self._proposing = Proposing(self.table, self._lookup, self.dense, self.keys, options)
        if sealed is not None and sealed_vectors and dim and header and header.embedded:
            self.attach_vectors(sealed)

    def attach_vectors(self, sealed: Path) -> None:
        """Open the sealed vectors; what was put or removed meanwhile stays so.

        Args:
            sealed: Folder of the sealed index, checked.
        """
        opened = SealedVectors(sealed, self._options) if self._sealed_dense else None
        keys = {
            name: SealedVectors(sealed, self._options, f"{VECTORS}.{name}")
            for name, count in self._sealed_keys.items()
            if count
        }
        with self._lock:
            if opened is not None:
                self.dense.attach(opened)
            for name, held in keys.items():
                self.keys[name].dense.attach(held)

    def warm(self) -> None:
        """Have what makes recall faster loaded before it is needed."""
        with self._lock:
            self.names.warm()
        if self.sealed_count >= self._options.compiled_from:
            scorer_loader.ask()

    # ---------------------------------------------------------------- size

    def __len__(self) -> int:
        return self.table.living

    def __contains__(self, memory_id: object) -> bool:
        return isinstance(memory_id, str) and self.table.find(memory_id) >= 0

    def items(self) -> Iterator[tuple[str, int]]:
        """Walk what can be found: ids and document numbers."""
        return self.table.items()

    @property
    def sealed_count(self) -> int:
        """How many documents are in the sealed part, dead ones included."""
        return self.table.sealed_count

    @property
    def tail_count(self) -> int:
        """How many documents came after the sealed part."""
        return len(self.table) - self.sealed_count

    @property
    def mean_words(self) -> float:
        """Mean length of the living documents, in words."""
        return self.table.total_words / max(1, self.table.living)

    @property
    def speakers(self) -> list[str]:
        """Who has ever spoken here."""
        return self.table.speakers

    def speaker_numbers(self, names: Iterable[str]) -> list[int]:
        """Tell what stands for speakers in ``Candidates.speaker``; see ``Table``."""
        return self.table.speaker_numbers(names)

    # ---------------------------------------------------------------- change

    def add(self, document: Document) -> None:
        """Make a document findable, at once; one with the same id is replaced in its place.

        Args:
            document: What to index. When the one before it already has a follower, it goes between
                the two. A known id with the same text keeps its vector, else it loses it;
                each of its keys likewise.
        """
        counts, hashed = self.words.count(document), digest(document.text)
        with self._lock:
            number = self.table.find(document.id)
            if number >= 0 and self.table.digest[number] == hashed:
                self.table.describe(number, document)
                if not self.words.has_keys(number, counts):
                    number = self._neighbours.lift(number)
                    self.words.set_keys(number, counts)
                self._point(number, document)
                return
            if number >= 0:
                number = self._neighbours.lift(number)  # its keys are under this number until then
                before, after = self._neighbours.remove(number)
            else:
                before, after = self._neighbours.around(
                    self.table.find(document.before), self.table.find(document.after)
                )
            self.names.add(document.text, document.speaker)
            added = self.table.append(document, hashed)
            self.words.add(added, counts)
            if number >= 0:
                for keys in self.keys.values():
                    keys.move(number, added)
            self._point(added, document)
            if (neighbour := before if before >= 0 else after) >= 0:
                self.table.session[added] = self.table.session[neighbour]
            self._neighbours.link(before, added)
            self._neighbours.link(added, after)

    def _point(self, number: int, document: Document) -> None:
        for name, keys in self.keys.items():
            keys.put(number, document.pointers(name))

    def remove(self, memory_id: str) -> bool:
        """Take a document out of every view, with its keys, and out of its neighbours' windows.

        Args:
            memory_id: The memory's id.

        Returns:
            Whether it was there.
        """
        with self._lock:
            number = self.table.find(memory_id)
            if number >= 0:
                for keys in self.keys.values():
                    keys.remove(number)
                self._neighbours.link(*self._neighbours.remove(number))
            return number >= 0

    def _vectors_of(self, id_: str) -> tuple[DenseView, int]:
        """Find where a document's vector is kept, or a key's, and under which number; -1 for none."""
        number = self.table.find(id_)
        if number < 0 and (owner := parts(id_)[0]) and (target := self.table.find(owner)) >= 0:
            for keys in self.keys.values():
                if (key := keys.find(target, parts(id_)[1])) >= 0:
                    return keys.dense, key
        return self.dense, number

    def has_vector(self, memory_id: str) -> bool:
        """Tell whether a document, or a key, has a vector."""
        with self._lock:
            dense, number = self._vectors_of(memory_id)
            return number >= 0 and number in dense

    def missing_vectors(self) -> list[str]:
        """Return the ids of the living documents that have no vector, in order."""
        with self._lock:
            numbers = np.arange(len(self.table))
            wanted = self.table.alive.take(numbers) & ~self.dense.held(len(numbers))
            return [self.table.ids[number] for number in np.flatnonzero(wanted).tolist()]

    def missing_keys(self) -> list[str]:
        """Return the ids of the living documents some of whose keys have no vector, in order."""
        with self._lock:
            targets = {target for keys in self.keys.values() for target, _ in keys.missing()}
            return [self.table.ids[target] for target in sorted(targets)]

    def put_vector(self, memory_id: str, vector: np.ndarray, of: int = 0) -> None:
        """Set the vector of a document, or of a key; one that is not there is passed over.

        Args:
            memory_id: The memory's id, or the key's.
            vector: Shape (dim,), unit length.
            of: Digest of the text that it was made of: that of another text is passed over. 0 for
                one that is sure.
        """
        with self._lock:
            dense, number = self._vectors_of(memory_id)
            if number >= 0 and dense.dim and of in (0, self._digest(dense, number)):
                dense.put(number, vector)

    def _digest(self, dense: DenseView, number: int) -> int:
        for keys in self.keys.values():
            if keys.dense is dense:
                return keys.digest(number)
        return int(self.table.digest[number])

    def vector(self, memory_id: str) -> np.ndarray | None:
        """Return a document's vector.

        Args:
            memory_id: The memory's id.

        Returns:
            Shape (dim,), or None when it has none.
        """
        with self._lock:
            number = self.table.find(memory_id)
            return self.dense.vector(number) if number >= 0 else None

    # ---------------------------------------------------------------- search

    def heard(self, text: str) -> list[MisheardWord]:
        """Find the names that words of a query may have been, which nobody here has ever said.

        Args:
            text: The query.

        Returns:
            The words, each with the name that sounds like it; none for most queries.
        """
        words = _WORD.findall(text[:MAX_CHARS])
        with self._lock:
            return self.names.heard(words, self._lookup.unknown)

    def hotwords(self, n: int) -> list[Hotword]:
        """List the names, and the words that are frequent here and no everyday ones.

        Args:
            n: How many at most.

        Returns:
            The most telling first.
        """
        with self._lock:
            return self.names.most(n)

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
        with self._lock:
            return self._lookup.best(text, also, sealed=sealed, known=len(self.table))

    def forget_query(self) -> None:
        """Drop what is held of the last query."""
        with self._lock:
            self._lookup.forget()

    def knows(self, word: str) -> bool:
        """Tell whether a word was ever said here; see ``Lookup``."""
        with self._lock:
            return self._lookup.knows(word)

    def postings(self, text: str) -> int:
        """Count the sealed postings that a query walks over, in all lexical views."""
        return self._lookup.postings(text)

    def scores(self, lexical: Lexical, numbers: np.ndarray) -> dict[str, np.ndarray]:
        """Tell documents' scores by words.

        Args:
            lexical: From ``lexical``.
            numbers: Document numbers, shape (n,), living ones.

        Returns:
            By view, shape (n,), float32.
        """
        with self._lock:
            return self._lookup.scores(lexical, numbers)

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
            return self._proposing.candidates(lexical, vector, exclude, own)
