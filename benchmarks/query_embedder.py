"""How long the query embedder takes, in each form that its model has on this machine.

Arms: the packed model at each level of the compiled library, and the same model in ONNX Runtime. They
take turns, query by query, in one process: back to back, and after pauses in which other memory fills
the caches. Times are of the thread (its processor time), and of the wall for comparison. Opening is
measured in a process for each arm: what imports and loading cost, and the memory that stays.

    python -m benchmarks.query_embedder --json query_embedder.json

The JSON: ``machine``, ``load``, ``tokens`` (the mean of the queries, without punctuation) and ``arms``: milliseconds by arm
and way of asking (p10, p50, p90 of the thread's time, ``wall`` p50), ``by_tokens`` (p50), and
``opening`` (``ms``, ``rss_mb``).
"""

import json
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks import common, corpus
from slowcat_memory.errors import ProviderError
from slowcat_memory.kernels import library
from slowcat_memory.providers import EmbedderOptions, LocalEmbedder
from slowcat_memory.providers.embedding.factory import find_export

QUERIES, PAUSES, PAUSE_S = 500, 60, 0.3
LENGTHS = (4, 8, 14, 20, 32, 64)  # tokens
OTHER = 64 << 20  # bytes read in a pause, more than a core's caches hold
OPEN = """
import json, sys, time, psutil
from slowcat_memory.kernels import library
from slowcat_memory.providers.embedding import base  # what the talking process has in any case
import numpy, loguru
before, began = psutil.Process().memory_info().rss, time.perf_counter()
with library.using(sys.argv[1]):
    from slowcat_memory.providers import EmbedderOptions, open_query_embedder
    embedder, _ = open_query_embedder(EmbedderOptions())
embedder.encode_query("hello there")
took = (time.perf_counter() - began) * 1e3
print(json.dumps({"ms": took, "rss_mb": (psutil.Process().memory_info().rss - before) / 2**20}))
"""

Ask = Callable[[str], Any]


def main() -> None:
    parser = common.arguments(__doc__)
    parser.add_argument("--queries", type=int, default=QUERIES, help="back to back")
    parser.add_argument("--pauses", type=int, default=PAUSES, help="of 0.3 s, for each arm")
    options = parser.parse_args()
    written: dict[str, Any] = {"machine": common.machine(), "load": [common.load_average()]}
    embedders = open_arms()
    arms = {name: embedder.encode_query_tokens for name, embedder in embedders.items()}
    texts = queries(options.queries)
    counts = [len(embedders[library.NUMPY].encode_query_tokens(text).tokens) for text in texts]
    written["tokens"] = round(statistics.mean(counts) + 2, 1)
    written["arms"] = {name: {} for name in arms}
    for way, asked, pause in (
        ("back to back", texts, False),
        ("after a pause", texts[: options.pauses], True),
    ):
        for name, took in _interleaved(arms, asked, pause).items():
            written["arms"][name][way] = took
    for name, embedder in embedders.items():
        written["arms"][name]["by_tokens"] = {
            count: _of_length(embedder, count) for count in LENGTHS
        }
        written["arms"][name]["opening"] = _opening(name)
    written["load"].append(common.load_average())
    _show(written)
    common.write_json(options.json, written)


def open_arms() -> dict[str, LocalEmbedder]:
    """Return the embedder in each form, by the name of the level; "numpy" runs ONNX Runtime."""
    found = find_export(EmbedderOptions(), None)
    if found is None:
        raise ProviderError("the model is not exported", hint="slowcat-memory init")
    arms = {}
    for level in library.levels():
        with library.using(level):
            arms[level] = LocalEmbedder.load(found[0])
    return arms


def queries(count: int) -> list[str]:
    """Return made-up questions of 6 to 22 words."""
    chance = random.Random(common.SEED)
    words = " ".join(corpus.questions(count, common.SEED)).split()
    return [" ".join(chance.choices(words, k=chance.randint(6, 22))) for _ in range(count)]


def _interleaved(
    arms: dict[str, Ask], texts: Sequence[str], pause: bool
) -> dict[str, dict[str, float]]:
    other = np.ones(OTHER // 8)
    took: dict[str, list[tuple[float, float]]] = {name: [] for name in arms}
    for ask in arms.values():
        ask(texts[0])
    for text in texts:
        for name, ask in arms.items():
            if pause:
                time.sleep(PAUSE_S)
                other += 1
            took[name].append(_time(ask, text))
    return {name: _summary(pairs) for name, pairs in took.items()}


def _time(ask: Ask, text: str) -> tuple[float, float]:
    wall, thread = time.perf_counter(), time.thread_time()
    ask(text)
    return (time.thread_time() - thread) * 1e3, (time.perf_counter() - wall) * 1e3


def _summary(pairs: Sequence[tuple[float, float]]) -> dict[str, float]:
    thread, wall = np.array(pairs).T
    found = {f"p{n}": round(float(np.percentile(thread, n)), 3) for n in (10, 50, 90)}
    return found | {"wall": round(float(np.median(wall)), 3)}


def _of_length(embedder: LocalEmbedder, tokens: int) -> float:
    """Return the median milliseconds of a query of so many tokens, special ones included."""
    text = " ".join(["dog"] * (tokens - 2))
    return round(
        statistics.median(_time(embedder.encode_query_tokens, text)[0] for _ in range(100)), 3
    )


def _opening(level: str) -> dict[str, float]:
    best = min((_open_once(level) for _ in range(3)), key=lambda took: took["ms"])
    return {name: round(value, 1) for name, value in best.items()}


def _open_once(level: str) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-c", OPEN, level], capture_output=True, check=True, text=True
    )
    return json.loads(done.stdout)


def _show(written: dict[str, Any]) -> None:
    ways = ("back to back", "after a pause")
    rows = [
        [
            "ONNX Runtime" if name == library.NUMPY else f"packed, {name}",
            *(f"{arm[way]['p10']:.2f} {arm[way]['p50']:.2f} {arm[way]['p90']:.2f}" for way in ways),
            *(f"{arm['by_tokens'][count]:.2f}" for count in LENGTHS),
            f"{arm['opening']['ms']:.0f}",
            f"{arm['opening']['rss_mb']:.0f}",
        ]
        for name, arm in written["arms"].items()
    ]
    columns = ["", *(f"{way}: p10 p50 p90" for way in ways), *(f"{n} tokens" for n in LENGTHS)]
    common.table(
        f"milliseconds of the thread for a query of {written['tokens']} tokens",
        [*columns, "opening, ms", "MB"],
        rows,
    )


if __name__ == "__main__":
    main()
