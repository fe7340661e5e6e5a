"""One namespace's index: sealed part and tail behind one searcher, used by one thread at a time."""

import re
import threading
from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import compress
from pathlib import Path

import numpy as np
from msgspec import Struct

from slowcat_memory.core.ranking.score import Candidates, Row
from slowcat_memory.core.ranking.token_codes import as_kept
from slowcat_memory.core.text.normalize import Tokenizer, digest
from slowcat_memory.core.text.pronunciations import MisheardWord
from slowcat_memory.core.text.rare_words import MAX_CHARS
from slowcat_memory.index.format import (
    ASKED,
    KEY_VIEWS,
    KEYS,
    Document,
    IndexOptions,
    read_header,
    split_key_id,
)
from slowcat_memory.index.table import Column, DocumentTable
from slowcat_memory.index.vectors import VECTORS, KeyView, SealedVectors, VectorView
from slowcat_memory.index.words import Counts, NameLexicon, Windows
from slowcat_memory.records import Hotword

_WORD = re.compile(r"[^\W\d_]+")
NONE = -1  # no neighbour
WIDER = 4  # factor on the number of candidates, where most of them say nothing


class Lexical(Struct, frozen=True, eq=False):
    """The first stage of a search: all documents by words.

    Attributes:
        scores: Shape (documents,), float32; documents added later are not proposed.
        ceiling: Upper bound of all scores: every word, saturated.
        weights: The query's tokens, each with its idf.
    """

    scores: np.ndarray
    ceiling: float
    weights: dict[str, float]

    def best(self, count: int) -> np.ndarray:
        """Return the numbers of the best documents, unordered."""
        numbers = np.flatnonzero(self.scores)
        if len(numbers) > count:
            numbers = numbers[np.argpartition(-self.scores[numbers], count - 1)[:count]]
        return numbers


class Searcher:
    """Adds, removes and finds documents. Safe to use from several threads."""

    def __init__(
        self,
        tokenizer: Tokenizer,
        options: IndexOptions,
        dim: int = 0,
        sealed: Path | None = None,
        *,
        vectors: bool = True,
    ) -> None:
        """Open a sealed index, or start empty.

        Args:
            tokenizer: The same one for documents and queries.
            dim: Dimension of vectors, 0 for none.
            sealed: Folder of a checked sealed index.
            vectors: False when the sealed vectors are of another space.

        Raises:
            IndexDamagedError: The sealed index is of another version.
        """
        self._lock = threading.RLock()
        header = read_header(sealed, options) if sealed is not None else None

        def opened(name: str, count: int) -> VectorView:
            has = sealed is not None and vectors and dim and count
            return VectorView(dim, SealedVectors(sealed, name) if sealed and has else None)

        self.table = DocumentTable(sealed, header)
        self.words = Windows(tokenizer, options, sealed, header, self.table)
        self.names = NameLexicon(sealed)
        self.dense = opened(VECTORS, header.vectors if header else 0)
        counts = header.keys if header else {}
        self.keys = {
            name: KeyView(name, opened(f"{VECTORS}.{name}", counts.get(name, 0)), sealed)
            for name in KEY_VIEWS
        }
        self._tokenize = tokenizer.for_queries()  # without the cache: a query's words are not kept
        self._options = options

    def warm(self) -> None:
        with self._lock:
            self.names.warm()

    # ---------------------------------------------------------------- size

    def __len__(self) -> int:
        return self.table.living

    def __contains__(self, memory_id: object) -> bool:
        return isinstance(memory_id, str) and self.table.find(memory_id) >= 0

    @property
    def sealed_count(self) -> int:
        """Number of documents in the sealed part, dead ones included."""
        return self.table.sealed_count

    @property
    def tail_count(self) -> int:
        """Number of documents added after the sealed part, dead ones included."""
        return len(self.table) - self.sealed_count

    @property
    def mean_words(self) -> float:
        return self.table.total_words / max(1, self.table.living)

    # ---------------------------------------------------------------- change

    def add(self, document: Document) -> None:
        """Add a document; one with the same id is replaced in its place. Searchable at once.

        If its predecessor already has a successor, the document is inserted between the two. A
        known id with the same text keeps its vector, else it loses it; each of its index keys
        likewise.
        """
        terms = self.words.count(document)
        with self._lock:
            number = self.table.find(document.id)
            number = self._set_text(number, document, terms)
            for name, keys in self.keys.items():
                keys.put(number, document.keys_of(name))

    def _set_text(self, number: int, document: Document, terms: Counts) -> int:
        """Add or replace a document; return its new number.

        The keys of document ``number`` and their vectors move to the new number.
        """
        hashed = digest(document.text)
        if number >= 0 and self.table.digest[number] == hashed:
            self.table.update(number, document)
            return number
        if number >= 0:
            number = self._promote_to_tail(number)  # its keys stay at this number
            before, after = self._detach(number)
        else:
            before, after = self._make_room(
                self.table.find(document.before), self.table.find(document.after)
            )
        self.names.add(document.text, document.speaker)
        added = self.table.append(document, hashed)
        self.words.add(added, terms)
        if number >= 0:
            for keys in self.keys.values():
                keys.renumber(number, added)
        if (neighbour := before if before >= 0 else after) >= 0:
            self.table.session[added] = self.table.session[neighbour]
        self._link(before, added)
        self._link(added, after)
        return added

    def set_columns(self, memory_id: str, **columns: float) -> None:
        """Set some columns of a document; no unknown id is added."""
        with self._lock:
            number = self.table.find(memory_id)
            if number >= 0:
                self.table.set_columns(number, columns)

    def remove(self, memory_id: str) -> bool:
        """Remove a document and its keys from every view and from its neighbours' windows."""
        with self._lock:
            number = self.table.find(memory_id)
            if number >= 0:
                for keys in self.keys.values():
                    keys.remove(number)
                self._link(*self._detach(number))
            return number >= 0

    def _find_vector(self, id_: str) -> tuple[VectorView, int, int]:
        """Return the view of a document or key, its number, -1 for none, and its text's digest."""
        number = self.table.find(id_)
        owner, name = split_key_id(id_)
        if number < 0 and owner and (target := self.table.find(owner)) >= 0:
            for keys in self.keys.values():
                if (key := keys.find(target, name)) >= 0:
                    return keys.dense, key, int(keys.digests[key])
        return self.dense, number, int(self.table.digest[number]) if number >= 0 else 0

    def has_vector(self, memory_id: str) -> bool:
        with self._lock:
            dense, number, _ = self._find_vector(memory_id)
            return number >= 0 and number in dense

    def incomplete(self, memory_ids: Iterable[str] | None = None) -> list[str]:
        """Return the ids of documents, of some or of all, that lack a vector: theirs or a key's."""
        with self._lock:
            table = self.table
            lacks = table.alive.values & ~self.dense.present(len(table))
            for keys in self.keys.values():
                lacks[keys.without_vector()] = True
            if memory_ids is None:
                return [table.ids[number] for number in np.flatnonzero(lacks).tolist()]
            known = ((id_, table.find(id_)) for id_ in memory_ids)
            return [id_ for id_, number in known if number >= 0 and lacks[number]]

    def put_vector(self, memory_id: str, vector: np.ndarray, of: int = 0) -> None:
        """Set the vector of a document, or of a key, shape (dim,), unit length.

        An unknown id is ignored. ``of`` is the digest of the text that was embedded: a vector of
        another text is ignored. 0 skips the check.
        """
        with self._lock:
            dense, number, text = self._find_vector(memory_id)
            if number >= 0 and dense.dim and of in (0, text):
                dense.put(number, as_kept(vector))

    def vector(self, memory_id: str) -> np.ndarray | None:
        """Return a document's vector, shape (dim,), or None when it has none."""
        with self._lock:
            number = self.table.find(memory_id)
            return self.dense.vector(number) if number >= 0 else None

    # ---------------------------------------------------------------- search

    def heard(self, text: str) -> list[MisheardWord]:
        """Return names that sound like the query's unknown words; none for most queries."""
        words = _WORD.findall(text[:MAX_CHARS])
        with self._lock:
            return self.names.sounding_like(words, self._unknown)

    def hotwords(self, n: int) -> list[Hotword]:
        """Return up to n names and frequent uncommon words, the most salient first."""
        with self._lock:
            return self.names.hotwords(n)

    def lexical(
        self, text: str, *, also: tuple[tuple[str, float], ...] = (), sealed: bool = True
    ) -> Lexical:
        """Score all documents by the words of a query.

        Args:
            also: Words possibly meant (see ``heard``), each with its share of their weight.
            sealed: False searches the tail only, for a turn that is out of time.
        """
        with self._lock:
            shares = dict.fromkeys(self._tokenize(text), 1.0)
            own = len(shares)
            for word, share in also:
                for token in self._tokenize(word):
                    shares.setdefault(token, share)
            scores, weights = self.words.search(shares, sealed=sealed)
            # The meant word replaces the spoken one: it counts once.
            return Lexical(scores, sum([*weights.values()][:own]), weights)

    def _unknown(self, words: Sequence[str]) -> list[bool]:
        """Return which words of a query no living document has; False for stop words."""
        tokenized = [self._tokenize(word) for word in words]
        tokens = list(dict.fromkeys(token for words in tokenized for token in words))
        known = set(compress(tokens, self.words.frequencies(tokens)))
        return [bool(words) and known.isdisjoint(words) for words in tokenized]

    def knows(self, word: str) -> bool:
        """Return whether a living document or its neighbour has a word; True for stop words."""
        with self._lock:
            tokens = self._tokenize(word)
            return not tokens or any(self.words.frequencies(tokens))

    def candidates(
        self,
        lexical: Lexical,
        vector: np.ndarray | None = None,
        own: np.ndarray | None = None,
        *,
        local: bool = True,
        talk: bool = False,
        visible: Set[str] = frozenset(),
    ) -> Candidates:
        """Choose the best documents of each view.

        Args:
            lexical: From ``lexical``; documents added since then are not proposed.
            vector: The query's vector, shape (dim,); None skips the dense view.
            own: The vector of the query's words alone, where ``vector`` is another one.
            local: Propose also what must not leave this machine.
            talk: Propose also what says nothing of its own: questions, fillers, repetitions.
            visible: Ids that the caller has already: proposed like others, but marked.
        """
        with self._lock:
            table, count = self.table, self._options.candidates
            if vector is None or not len(self.dense):
                vector = own = None
            usable = table.alive.values if local else table.alive.values & ~table.local.values
            seen = np.zeros(len(table), bool)
            seen[[number for number in map(table.find, visible) if number >= 0]] = True
            while True:
                proposed = np.zeros(len(table), bool)
                for proposal in self._propose(lexical, vector, count):
                    proposed[proposal] = True
                numbers = np.flatnonzero((proposed & usable)[: len(lexical.scores)])
                fresh = ~seen[numbers]
                says = np.ones(len(numbers), bool) if talk else table.says(numbers)
                if 2 * (says & fresh).sum() >= fresh.sum() or count >= len(table):
                    break  # else copies of a question may have taken the places of its answer
                count *= WIDER
            numbers, known = numbers[says], {"window"}
            block = table.columns(numbers)
            block[Row.VISIBLE] = ~fresh[says]
            block[Row.WINDOW] = lexical.scores[numbers]
            if vector is not None:
                own = vector if own is None else own
                block[Row.DENSE] = block[Row.COSINE] = self.dense.cosines(vector, numbers)
                if own is not vector:
                    block[Row.COSINE] = self.dense.cosines(own, numbers)
                known |= {"dense"} | self._score_keys(vector, own, numbers, block)
            return Candidates(block=block, known=frozenset(known), ids=table.ids.of(numbers))

    def _propose(
        self, lexical: Lexical, vector: np.ndarray | None, count: int
    ) -> Iterator[np.ndarray]:
        """Yield the best documents of each view."""
        yield lexical.best(count)
        if vector is not None:
            yield self.dense.nearest(vector, count)
            yield from (v.nearest(vector, count) for v in self.keys.values() if len(v.dense))

    def _score_keys(
        self, vector: np.ndarray, own: np.ndarray, numbers: np.ndarray, block: np.ndarray
    ) -> set[str]:
        """Score by keys and return the names of these views, of those that have any keys.

        Judged queries are compared with the query alone.
        """
        known, written, asked = set(), self.keys[KEYS], self.keys[ASKED]
        if len(written.dense):
            block[Row.KEYS] = written.best_cosines(vector, numbers)
            known.add(KEYS)
        if len(asked.dense):
            block[Row.ASKED] = asked.sum_votes(own, numbers, self._options.same)
            known.add(ASKED)
        return known

    # ---------------------------------------------------------------- neighbours
    # Previous/next links between documents of a session, and the window terms that depend on them. Each
    # document is linked to the previous and the next one, because a window joins the three. A sealed
    # document never changes: one that must is *promoted* to the tail, under a new number.
    #
    # A change of links follows this order, as ``Searcher.add`` and ``Searcher.remove`` do:
    #
    # 1. ``_detach`` or ``_make_room`` cuts links; both ends are promoted, so earlier numbers are invalid.
    # 2. The document is removed from, or added to, the windows, without neighbours.
    # 3. ``_link`` joins it to its neighbours, and adds each one's terms to the other's windows.

    def _make_room(self, before: int, after: int) -> tuple[int, int]:
        """Cut the link after ``before``, or else the one before ``after``.

        Returns the two documents, in order, between which a new one is inserted.
        """
        if before >= 0:
            return self._link(before, _at(self.table.after, before), -1)
        return self._link(_at(self.table.before, after), after, -1)

    def _detach(self, number: int) -> tuple[int, int]:
        """Remove a document from every view. Its keys remain, for its replacement.

        Returns its neighbours, which are not linked to each other yet.
        """
        before, number = self._link(_at(self.table.before, number), number, -1)
        number, after = self._link(number, _at(self.table.after, number), -1)
        self.words.remove(number)
        self.dense.remove(number)
        self.table.remove(number)
        return before, after

    def _link(self, before: int, after: int, sign: int = 1) -> tuple[int, int]:
        """Make two documents neighbours; each one's terms are added to the other's windows.

        ``sign`` -1 undoes that. Returns their numbers, which change when they are promoted.
        """
        if before >= 0 and after >= 0:
            before, after = self._promote_to_tail(before), self._promote_to_tail(after)
            linked = (after, before) if sign > 0 else (NONE, NONE)
            self.table.after[before], self.table.before[after] = linked
            for number, other in ((before, after), (after, before)):
                self.words.change(number, self.words.forward.own(other), sign)
        return before, after

    def _promote_to_tail(self, number: int) -> int:
        """Copy a sealed document to the tail, where it can change, and tombstone the original.

        Returns its new number; unchanged when it was in the tail.
        """
        table, words = self.table, self.words
        if number >= table.sealed_count:
            return number
        before, after = int(table.before[number]), int(table.after[number])
        terms, around = words.forward.own(number), words.remove(number)
        table.remove(number)
        promoted = table.append_copy(number)
        words.add(promoted, terms)
        words.change(promoted, around)
        if before >= 0:
            table.after[before] = promoted
        if after >= 0:
            table.before[after] = promoted
        self.dense.renumber(number, promoted)
        for keys in self.keys.values():
            keys.renumber(number, promoted)
        return promoted


def _at(column: Column, number: int) -> int:
    return int(column[number]) if number >= 0 else NONE
