"""One namespace's index: tail and sealed part behind one searcher.

Documents are numbered in the order in which they come; a number is never used again. Each knows the
document said before and after it in its session, because the window view joins the three.
"""

import hashlib
import threading
from collections import Counter
from collections.abc import Mapping, Set
from pathlib import Path

import msgspec
import numpy as np
from msgspec import Struct

from slowcat_memory.core.text import Tokenizer
from slowcat_memory.index.columns import Column
from slowcat_memory.index.dense import DenseView
from slowcat_memory.index.lexical import Counts, LexicalView, SealedPostings
from slowcat_memory.index.options import IndexOptions


class Document(Struct, frozen=True, kw_only=True):
    """What the index keeps of a memory.

    Attributes:
        id: The memory's id.
        text: What is indexed: speaker, text, context.
        at: Seconds since the epoch since when it is true.
        importance: 0 to 1.
        pinned: A person asked that it always counts.
        agent: The agent's own words.
        before: Id of the memory said just before it in the same session, "" when none.
        words: Length of the text in words.
    """

    id: str
    text: str
    at: float
    importance: float = 0.5
    pinned: bool = False
    agent: bool = False
    before: str = ""
    words: int = 0


class Candidates(Struct, frozen=True):
    """What a search proposes, for fusion.

    Attributes:
        ids: Memory ids, n of them.
        views: Raw scores by view, each of shape (n,). "dense" is missing without a query vector,
            and NaN where a memory has no vector yet.
        before: Shape (n,), position of the neighbour said before, -1 when there is none.
        after: The same for the one said after.
        at: Shape (n,), seconds since the epoch.
        importance: Shape (n,), 0 to 1.
        pinned: Shape (n,), bool.
        agent: Shape (n,), bool.
    """

    ids: list[str]
    views: dict[str, np.ndarray]
    before: np.ndarray
    after: np.ndarray
    at: np.ndarray
    importance: np.ndarray
    pinned: np.ndarray
    agent: np.ndarray


class Lexical(Struct, frozen=True):
    """Scores of every document by lexical view, the first stage of a search.

    Attributes:
        turn: Shape (documents,), BM25 over the turn's own words.
        window: Shape (documents,), BM25 over the turn and its neighbours.
        ceiling: What no score can exceed: every word of the query, over and over.
    """

    turn: np.ndarray
    window: np.ndarray
    ceiling: float


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
            sealed_vectors: False when its vectors are of another space, or not wanted.
        """
        self._tokenizer, self._options = tokenizer, options
        self._lock = threading.RLock()
        table = _read_table(sealed)
        self._ids: list[str] = table["ids"]
        self._number = {id_: n for n, id_ in enumerate(self._ids) if id_}
        self._before = Column(np.int32, table["before"])
        self._after = Column(np.int32, table["after"])
        self._at = Column(np.float64, table["at"])
        self._importance = Column(np.float32, table["importance"])
        self._pinned = Column(bool, table["pinned"])
        self._agent = Column(bool, table["agent"])
        self._words = Column(np.int32, table["words"])
        self._digest = Column(np.int64, table["digest"])
        self._alive = Column(bool, np.ones(len(self._ids), bool))
        self.sealed_count = len(self._ids)
        self._total_words = int(self._words.values.sum())
        self._views = {
            name: LexicalView(_postings(sealed, name), options.k1, options.b)
            for name in ("turn", "window")
        }
        self.dense = DenseView(dim, sealed if sealed_vectors and dim else None)

    # ---------------------------------------------------------------- size

    def __len__(self) -> int:
        return len(self._number)

    def __contains__(self, memory_id: str) -> bool:
        return memory_id in self._number

    @property
    def tail_count(self) -> int:
        """How many documents came after the sealed part."""
        return len(self._ids) - self.sealed_count

    @property
    def mean_words(self) -> float:
        """Mean length of the living documents, in words."""
        return self._total_words / max(1, len(self._number))

    # ---------------------------------------------------------------- change

    def add(self, document: Document) -> None:
        """Make a document findable, at once; one with the same id is replaced in its place.

        Args:
            document: What to index. When ``before`` already has a follower, the document goes
                between the two. A known id with the same text keeps its vector, else it loses it.
        """
        counts, digest = Counter(self._tokenizer(document.text)), _digest(document.text)
        with self._lock:
            before, after = document.before, self._neighbour(self._after, document.before)
            if (number := self._number.get(document.id)) is not None:
                if self._digest.values[number] == digest:
                    self._describe(number, document)
                    return
                before = self._neighbour(self._before, document.id)
                after = self._neighbour(self._after, document.id)
                self._remove(document.id)
            self._append(document, dict.fromkeys(self._views, counts), digest)
            self._unlink(before, after)
            self._link(before, document.id)
            self._link(document.id, after)

    def remove(self, memory_id: str) -> bool:
        """Take a document out of every view, and its words out of its neighbours' windows.

        Args:
            memory_id: The memory's id.

        Returns:
            Whether it was there.
        """
        with self._lock:
            if memory_id not in self._number:
                return False
            self._remove(memory_id)
            return True

    def has_vector(self, memory_id: str) -> bool:
        """Tell whether a document has a vector."""
        number = self._number.get(memory_id)
        return number is not None and number in self.dense

    def put_vector(self, memory_id: str, vector: np.ndarray) -> None:
        """Set a document's vector; one that is not there is passed over.

        Args:
            memory_id: The memory's id.
            vector: Shape (dim,), unit length.
        """
        with self._lock:
            if (number := self._number.get(memory_id)) is not None and self.dense.dim:
                self.dense.put(number, vector)

    def set_priors(self, memory_id: str, importance: float, pinned: bool) -> None:
        """Change what is known about a document before any question.

        Args:
            memory_id: The memory's id.
            importance: 0 to 1.
            pinned: Whether a person pinned it.
        """
        with self._lock:
            if (number := self._number.get(memory_id)) is not None:
                self._importance.values[number] = importance
                self._pinned.values[number] = pinned

    def _append(self, document: Document, counts: Mapping[str, Counts], digest: int) -> int:
        number = len(self._ids)
        self._ids.append(document.id)
        self._number[document.id] = number
        self._before.append(-1)
        self._after.append(-1)
        self._at.append(document.at)
        self._importance.append(document.importance)
        self._pinned.append(document.pinned)
        self._agent.append(document.agent)
        self._words.append(document.words)
        self._digest.append(digest)
        self._alive.append(True)
        self._total_words += document.words
        for name, view in self._views.items():
            view.add(number, counts[name])
        return number

    def _describe(self, number: int, document: Document) -> None:
        """Bring everything but the text up to date."""
        self._total_words += document.words - int(self._words.values[number])
        self._at.values[number] = document.at
        self._importance.values[number] = document.importance
        self._pinned.values[number] = document.pinned
        self._agent.values[number] = document.agent
        self._words.values[number] = document.words

    def _remove(self, memory_id: str) -> None:
        before = self._neighbour(self._before, memory_id)
        after = self._neighbour(self._after, memory_id)
        self._unlink(before, memory_id)
        self._unlink(memory_id, after)
        number = self._number[memory_id]
        for view in self._views.values():
            view.remove(number)
        self._kill(number)
        self._link(before, after)

    def _kill(self, number: int) -> None:
        self.dense.remove(number)
        self._number.pop(self._ids[number], None)
        self._ids[number] = ""
        self._alive.values[number] = False
        self._total_words -= int(self._words.values[number])

    # ---------------------------------------------------------------- neighbours

    def _neighbour(self, column: Column, memory_id: str) -> str:
        number = self._number.get(memory_id)
        if number is None or (other := int(column.values[number])) < 0:
            return ""
        return self._ids[other]

    def _link(self, before: str, after: str) -> None:
        """Make two documents neighbours: each one's words enter the other's window."""
        if before in self._number and after in self._number:
            first, second = self._in_tail(before), self._in_tail(after)
            self._after.values[first], self._before.values[second] = second, first
            self._share(first, second, 1)

    def _unlink(self, before: str, after: str) -> None:
        if before in self._number and after in self._number:
            first, second = self._in_tail(before), self._in_tail(after)
            self._after.values[first] = self._before.values[second] = -1
            self._share(first, second, -1)

    def _share(self, first: int, second: int, sign: int) -> None:
        turn, window = self._views["turn"], self._views["window"]
        window.change(first, turn.counts(second), sign)
        window.change(second, turn.counts(first), sign)

    def _in_tail(self, memory_id: str) -> int:
        """Return a document's number after lifting it out of the sealed part, which cannot change."""
        number = self._number[memory_id]
        if number >= self.sealed_count:
            return number
        before, after = int(self._before.values[number]), int(self._after.values[number])
        counts = {name: view.remove(number) for name, view in self._views.items()}
        vector = self.dense.remove(number)
        document, digest = self._document(number), int(self._digest.values[number])
        self._kill(number)
        lifted = self._append(document, counts, digest)
        self._before.values[lifted], self._after.values[lifted] = before, after
        if before >= 0:
            self._after.values[before] = lifted
        if after >= 0:
            self._before.values[after] = lifted
        if vector is not None:
            self.dense.put(lifted, vector)
        return lifted

    def _document(self, number: int) -> Document:
        return Document(
            id=self._ids[number],
            text="",
            at=float(self._at.values[number]),
            importance=float(self._importance.values[number]),
            pinned=bool(self._pinned.values[number]),
            agent=bool(self._agent.values[number]),
            words=int(self._words.values[number]),
        )

    # ---------------------------------------------------------------- search

    def lexical(self, text: str, *, sealed: bool = True) -> Lexical:
        """Score every document by the words of a query.

        Args:
            text: The query.
            sealed: False looks at the tail only, for a turn that is out of time.

        Returns:
            BM25 scores by view.
        """
        terms = self._tokenizer(text)
        with self._lock:
            alive = self._alive.values
            turn, window = (
                self._views[name].scores(terms, sealed=sealed) * alive
                for name in ("turn", "window")
            )
            return Lexical(turn, window, self._views["window"].ceiling(terms))

    def candidates(
        self,
        lexical: Lexical,
        vector: np.ndarray | None = None,
        exclude: Set[str] = frozenset(),
    ) -> Candidates:
        """Choose what may answer a query: the best of each view.

        Args:
            lexical: From ``lexical``; documents added since then are not proposed.
            vector: The query's vector, shape (dim,); None leaves the dense view out.
            exclude: Ids not to propose, so that they do not set the scale for the others either.

        Returns:
            The candidates with their raw scores by view.
        """
        with self._lock:
            if vector is None or not len(self.dense):
                vector = None
            excluded = [self._number[id_] for id_ in exclude if id_ in self._number]
            numbers = self._choose(lexical, vector, excluded)
            views = {"turn": lexical.turn[numbers], "window": lexical.window[numbers]}
            if vector is not None:
                views["dense"] = self.dense.cosines(vector, numbers)
            return Candidates(
                ids=list(map(self._ids.__getitem__, numbers.tolist())),
                views=views,
                before=_positions(numbers, self._before.values[numbers]),
                after=_positions(numbers, self._after.values[numbers]),
                at=self._at.values[numbers],
                importance=self._importance.values[numbers],
                pinned=self._pinned.values[numbers],
                agent=self._agent.values[numbers],
            )

    def _choose(
        self, lexical: Lexical, vector: np.ndarray | None, excluded: list[int]
    ) -> np.ndarray:
        k, known = self._options.candidates, len(lexical.turn)
        chosen = [_best(lexical.turn, k), _best(lexical.window, k)]
        if vector is not None:
            nearest, _ = self.dense.top(vector, k)
            chosen.append(nearest[nearest < known])
        wanted = np.zeros(known, bool)
        wanted[np.concatenate(chosen)] = True
        wanted[[number for number in excluded if number < known]] = False
        return np.flatnonzero(wanted & self._alive.values[:known])

    # ---------------------------------------------------------------- sealing

    @staticmethod
    def build(
        documents: list[Document],
        vectors: dict[str, np.ndarray],
        dim: int,
        folder: Path,
        tokenizer: Tokenizer,
        options: IndexOptions,
    ) -> None:
        """Write a sealed index.

        Args:
            documents: In the order in which they were said; ``before`` names earlier ones.
            vectors: Unit vectors by memory id; some may be missing.
            dim: Dimension of the vectors, 0 for none.
            folder: Where the files go; must exist and be empty.
            tokenizer: The same one that queries will use.
            options: The index's options.
        """
        number = {document.id: n for n, document in enumerate(documents)}
        before = np.array([number.get(d.before, -1) for d in documents], np.int32)
        after = np.full(len(documents), -1, np.int32)
        after[before[before >= 0]] = np.flatnonzero(before >= 0)
        turns = [Counter(tokenizer(document.text)) for document in documents]
        windows = (
            sum((turns[n] for n in (i, int(before[i]), int(after[i])) if n >= 0), Counter())
            for i in range(len(documents))
        )
        for name, counts in (("turn", turns), ("window", windows)):
            (folder / name).mkdir(mode=0o700)
            SealedPostings.build(counts, folder / name, options.k1, options.b)
        if dim:
            held = {number[id_]: vector for id_, vector in vectors.items() if id_ in number}
            DenseView.build(held, dim, folder)
        _write_table(folder, documents, before, after)


TABLE, IDS = "documents.npz", "documents.json"


def _write_table(
    folder: Path, documents: list[Document], before: np.ndarray, after: np.ndarray
) -> None:
    (folder / IDS).write_bytes(msgspec.json.encode([document.id for document in documents]))
    np.savez(
        folder / TABLE,
        before=before,
        after=after,
        at=np.array([d.at for d in documents], np.float64),
        importance=np.array([d.importance for d in documents], np.float32),
        pinned=np.array([d.pinned for d in documents], bool),
        agent=np.array([d.agent for d in documents], bool),
        words=np.array([d.words for d in documents], np.int32),
        digest=np.array([_digest(d.text) for d in documents], np.int64),
    )


def _read_table(sealed: Path | None) -> dict:
    names = ("before", "after", "at", "importance", "pinned", "agent", "words", "digest")
    if sealed is None:
        return {"ids": [], **dict.fromkeys(names)}
    with np.load(sealed / TABLE, allow_pickle=False) as table:
        columns = {name: table[name] for name in names}
    return {"ids": msgspec.json.decode((sealed / IDS).read_bytes(), type=list[str]), **columns}


def _digest(text: str) -> int:
    digest = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, signed=True)


def _postings(sealed: Path | None, name: str) -> SealedPostings:
    return SealedPostings.load(sealed / name) if sealed else SealedPostings.empty()


def _best(scores: np.ndarray, k: int) -> np.ndarray:
    """Return the numbers of the k best positive scores, in no order."""
    matched = np.flatnonzero(scores)
    if len(matched) <= k:
        return matched
    return matched[np.argpartition(-scores[matched], k)[:k]]


def _positions(numbers: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Find each wanted number's position in the sorted ``numbers``, -1 where it is not there."""
    at = np.searchsorted(numbers, wanted)
    at[at == len(numbers)] = 0
    return np.where((wanted >= 0) & (numbers[at] == wanted) if len(numbers) else False, at, -1)
