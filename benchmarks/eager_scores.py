"""Should sealed postings hold bm25s's scores, or codes from which a query works its weights out?

*Speed*: one query's scores of the window view of a sealed index, and its best 100, from product code
over scores (``eager``), from code of this module over codes of (occurrences, document length), as they
were stored before (``codes``), and by bm25s itself. Documents are turns of the data, then mixtures of
two of them; without ``--data`` they are made up.

*Drift*: sealed scores keep the mean length of sealing. Each conversation is indexed with none of its
turns sealed, which is exact, with half, with nine tenths and with all of them. R@10 is that of the
window view alone. A difference is the largest one of a question's scores, as a share of the best score.

    python -m benchmarks.eager_scores --data DIR --json benchmarks/results/eager_scores.json

The JSON: ``machine``, ``load``, ``speed`` (``documents``, ``postings``, ``codes``, ``queries``, ``sealing``
with seconds of processor time and the peak of memory, ``arms`` with p50 and p95 in milliseconds) and
``drift``, one a data set: ``data``, ``n``, ``shares`` (``sealed``, ``recall``, ``difference_p95``).
"""

import argparse
import itertools
import random
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import common, corpus, datasets
from slowcat_memory.core.memory import chunk_id
from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.index import Builder, Document, IndexOptions, Searcher
from slowcat_memory.index.lexical.forward_index import Vocabulary
from slowcat_memory.index.lexical.postings import SealedPostings
from slowcat_memory.index.options import WINDOW
from slowcat_memory.kernels import library
from slowcat_memory.kernels.lexical import NO_RUN, LexicalArrays
from slowcat_memory.records import Turn

BEST, TOP = 100, 10
SHARES = (0.0, 0.5, 0.9, 1.0)
OPTIONS = IndexOptions(turn_view=False, candidates=TOP)
TOKENIZER = Tokenizer()


def main() -> None:
    options = _arguments()
    load = [common.load_average()]
    folders = datasets.find(options.data)
    written: dict[str, Any] = {"speed": speed(folders, options.size, options.queries)}
    written["drift"] = [drift(folder) for folder in folders]
    written |= {"machine": common.machine(), "load": [*load, common.load_average()]}
    _show(written)
    common.write_json(options.json, written)


# -------------------------------------------------------------------- speed


def speed(folders: Sequence[Path], size: int, queries: int, rounds: int = 5) -> dict[str, Any]:
    """Measure every arm over one sealed index, in alternating rounds."""
    with common.scratch() as folder:
        sealing = seal(documents(texts(folders, size)), folder)
        postings = SealedPostings.open(folder, WINDOW.name)
        rows = [found for text in asked(folders, queries) if len(found := _rows(text, folder))]
        codes = Codes(postings)
        arms = _arms(postings, codes)
        took: dict[str, list[list[float]]] = {name: [] for name in arms}
        for arm in arms.values():
            arm(rows[0])  # compiled, and its pages mapped
        for _ in range(rounds):
            for name, arm in arms.items():
                took[name].append([_time(arm, one) for one in rows])
    each = {name: np.median(np.array(times), axis=0) for name, times in took.items()}
    return {
        "documents": size,
        "postings": len(postings.documents),
        "codes": len(codes.pairs),
        "queries": len(rows),
        "sealing": sealing,
        "arms": {
            name: {f"p{n}": round(float(np.percentile(times, n)), 4) for n in (50, 95)}
            for name, times in each.items()
        },
    }


def texts(folders: Sequence[Path], size: int) -> Iterator[str]:
    """Yield texts of turns: those of the data, then mixtures of two; made-up ones without data."""
    if not folders:
        events = (event for _, some in corpus.turns(size, common.SEED) for event in some)
        yield from (event.text for event in events if isinstance(event, Turn))
        return
    known = [turn["text"] for folder in folders for turn in _turns(folder) if turn["text"]]
    yield from known[:size]
    chance = random.Random(common.SEED)
    for _ in range(size - len(known)):
        first, second = chance.choice(known).split(), chance.choice(known).split()
        yield " ".join(first[:12] + second[-8:])


def asked(folders: Sequence[Path], count: int) -> list[str]:
    """Return questions: those of the data in turn, or made-up ones."""
    if not folders:
        return corpus.questions(count, common.SEED)
    each = [[question.text for question in datasets.load(folder).questions] for folder in folders]
    mixed = itertools.chain.from_iterable(itertools.zip_longest(*each, fillvalue=""))
    return list(itertools.islice((text for text in mixed if text), count))


def documents(told: Iterator[str]) -> Iterator[Document]:
    """Yield the documents of one long session."""
    before = ""
    for number, text in enumerate(told, 1):
        yield Document(id=chunk_id(number), text=text, at=float(number), before=before)
        before = chunk_id(number)


def seal(told: Iterator[Document], folder: Path) -> dict[str, float]:
    """Write a sealed index; return what that cost."""
    started, builder = time.process_time(), Builder(folder, TOKENIZER, OPTIONS, 0)
    for document in told:
        builder.add(document)
    added = time.process_time()
    builder.finish()
    return {
        "add_s": round(added - started, 2),
        "finish_s": round(time.process_time() - added, 2),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "view_mb": round(sum(f.stat().st_size for f in folder.glob(f"{WINDOW.name}.*")) / 1e6),
    }


def _rows(text: str, folder: Path) -> np.ndarray:
    rows = Vocabulary(folder).rows(list(dict.fromkeys(TOKENIZER(text))))
    return np.array([row for row in rows if row >= 0], np.int64)


class Codes:
    """Postings with a code each, the place of its pair (occurrences, document length) in a table."""

    def __init__(self, postings: SealedPostings) -> None:
        """Recover the occurrences from the scores, and number the pairs."""
        found = np.diff(postings.indptr)
        idf = np.log(1 + (len(postings.lengths) - found + 0.5) / (found + 0.5))
        share = postings.scores / np.repeat(idf, found)
        lengths = postings.lengths[postings.documents].astype(np.int64)
        self._average = postings.lengths.mean()
        times = np.rint(share * self._norm(lengths) / (1 - share)).astype(np.int64)
        step = int(lengths.max()) + 1
        self.pairs, codes = np.unique(times * step + lengths, return_inverse=True)
        self.codes = codes.astype(np.uint16 if len(self.pairs) <= 2**16 else np.uint32)
        self.postings, self.idf = postings, idf
        times, lengths = np.divmod(self.pairs, step)
        self.weights = (times / (times + self._norm(lengths))).astype(np.float32)

    def _norm(self, lengths: np.ndarray) -> np.ndarray:
        return OPTIONS.k1 * (1 - OPTIONS.b + OPTIONS.b * lengths / self._average)

    def add(self, rows: np.ndarray, scores: np.ndarray) -> None:
        """Add the weights of a query's terms to the documents' scores, with NumPy."""
        indptr, documents = self.postings.indptr, self.postings.documents
        for row in rows.tolist():
            part = slice(int(indptr[row]), int(indptr[row + 1]))
            weights = self.weights * np.float32(self.idf[row])
            np.add.at(scores, documents[part], weights[self.codes[part]])


def _arms(postings: SealedPostings, codes: Codes) -> dict[str, Callable[[np.ndarray], object]]:
    """Return what searches for a query's rows, by name; each leaves its scores at zero."""
    import bm25s

    scores = np.zeros(len(postings.lengths), np.float32)
    eager = LexicalArrays(postings.indptr, postings.documents, postings.scores, len(scores))
    eager.start(float(postings.lengths.sum()), OPTIONS.k1, OPTIONS.b)

    def coded(rows: np.ndarray) -> np.ndarray:
        scores[:] = 0
        codes.add(rows, scores)
        return np.argpartition(-scores, min(BEST, len(scores)) - 1)[:BEST]

    def at(level: str) -> Callable[[np.ndarray], object]:
        def run(rows: np.ndarray) -> None:
            with library.using(level):
                eager.search(rows.tolist(), (), [NO_RUN] * len(rows), BEST, sealed=True)

        return run

    theirs = bm25s.BM25(method="lucene", k1=OPTIONS.k1, b=OPTIONS.b)
    theirs.nonoccurrence_array = None
    theirs.scores = {
        "data": postings.scores,
        "indices": postings.documents,
        "indptr": postings.indptr,
        "num_docs": len(postings.lengths),
    }

    def by_bm25s(rows: np.ndarray) -> np.ndarray:
        found = theirs.get_scores_from_ids(rows.tolist())
        return np.argpartition(-found, min(BEST, len(found)) - 1)[:BEST]

    return {
        "codes, NumPy": coded,
        "eager, NumPy": at(library.NUMPY),
        "eager, compiled": at(library.levels()[0]),
        "bm25s": by_bm25s,
    }


def _time(arm: Callable[[np.ndarray], object], rows: np.ndarray) -> float:
    began = time.perf_counter()
    arm(rows)
    return (time.perf_counter() - began) * 1e3


# -------------------------------------------------------------------- drift


def drift(folder: Path) -> dict[str, Any]:
    """Compare indexes of which different shares of the turns are sealed."""
    data = datasets.load(folder)
    recall: dict[float, list[float]] = {share: [] for share in SHARES}
    difference: dict[float, list[float]] = {share: [] for share in SHARES}
    for conversation in datasets.lines(data.conversations):
        turns = [
            (turn["turn_id"], turn["text"], place == 0)
            for session in conversation["sessions"]
            for place, turn in enumerate(session["turns"])
        ]
        known = {name for name, _, _ in turns}
        questions = [
            question
            for question in data.asked(conversation["conversation_id"])
            if question.evidence & known
        ]
        if not questions:
            continue
        exact: list[np.ndarray] = []
        for share in SHARES:
            with common.scratch() as path:
                found = answers(turns, round(share * len(turns)), questions, path)
            exact = exact or [scores for _, scores in found]
            for question, (best, scores), true in zip(questions, found, exact, strict=True):
                recall[share].append(len(question.evidence & best) / len(question.evidence))
                top = max(float(true.max()), 1e-9)
                difference[share].append(float(np.abs(scores - true).max()) / top)
    return {
        "data": data.name,
        "n": len(recall[0.0]),
        "shares": [
            {
                "sealed": share,
                "recall": float(np.mean(recall[share])) if recall[share] else 0.0,
                "difference_p95": float(np.percentile(difference[share] or [0.0], 95)),
            }
            for share in SHARES
        ],
    }


def answers(
    turns: Sequence[tuple[str, str, bool]],
    sealed: int,
    questions: Sequence[datasets.Question],
    folder: Path,
) -> list[tuple[set[str], np.ndarray]]:
    """Ask an index of which the first turns are sealed.

    Args:
        turns: Id, text, and whether a session starts, in order.
        sealed: How many are.
        questions: What is asked.
        folder: An empty one.

    Returns:
        For each question the ids of the best by words, and the scores of all turns in order.
    """
    told = [
        Document(id=chunk_id(n), text=text, at=float(n), before="" if first else chunk_id(n - 1))
        for n, (_, text, first) in enumerate(turns, 1)
    ]
    if sealed:
        seal(iter(told[:sealed]), folder)
    searcher = Searcher(TOKENIZER, OPTIONS, 0, folder if sealed else None)
    for document in told[sealed:]:
        searcher.add(document)
    numbers = dict(searcher.items())
    places = np.array([numbers[document.id] for document in told], np.int64)
    names = {number: turns[place][0] for place, number in enumerate(places.tolist())}
    found = []
    for question in questions:
        lexical = searcher.lexical(question.text)
        best = {names[number] for number in lexical.best[WINDOW.name].tolist()}
        found.append((best, searcher.scores(lexical, places)[WINDOW.name]))
    return found


def _turns(folder: Path) -> Iterator[dict[str, Any]]:
    for conversation in datasets.lines(datasets.load(folder).conversations):
        for session in conversation["sessions"]:
            yield from session["turns"]


# -------------------------------------------------------------------- output


def _show(written: dict[str, Any]) -> None:
    found = written["speed"]
    sealing = ", ".join(f"{name} {value}" for name, value in found["sealing"].items())
    title = f"{found['documents']} documents, {found['postings']} postings; sealing: {sealing}"
    rows = [(name, times["p50"], times["p95"]) for name, times in found["arms"].items()]
    common.table(title, ("a query, ms", "p50", "p95"), rows)
    for one in written["drift"]:
        rows = [
            (str(share["sealed"]), 100 * share["recall"], 100 * share["difference_p95"])
            for share in one["shares"]
        ]
        columns = ("sealed", "R@10", "difference, % (p95)")
        common.table(f"{one['data']}, {one['n']} questions", columns, rows)


def _arguments() -> argparse.Namespace:
    parser = common.arguments(__doc__)
    parser.add_argument(
        "--data",
        type=Path,
        action="append",
        default=[],
        help="folder in the uniform format, or of such folders; may be repeated",
    )
    parser.add_argument("--size", type=int, default=20_000, help="documents (default 20,000)")
    parser.add_argument("--queries", type=int, default=300, help="how many (default 300)")
    return parser.parse_args()


if __name__ == "__main__":
    main()
