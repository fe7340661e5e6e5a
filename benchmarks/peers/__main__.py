"""Ours and other memories, side by side: the same texts, the same vectors, one run.

Each peer keeps one person's made-up talk. Every question goes to all of them in turn, in an order
that changes, so that the machine's mood is the same for all. *search* includes embedding the question
by our query embedder (all-MiniLM-L6-v2, int8, 1.6 ms on a quiet core), which is given to everybody;
*without embedding* has the vector at hand. Ours is ``engine.recall`` on an event loop, thread hop
included. *after a pause* is as search, 300 ms after whatever came before, as a person's turn comes.
*add* is one turn at a time until a
search finds it, with the vector at hand (ours: until it is on disk and found by its words); *with
embedding*, until its vector is in as well.

Each peer is set up as its own documentation has it for speed; its line in the results says how.

Recall is R@10 over the turns of a data folder in the uniform format. Nothing here uses an LLM or the
network.

    pip install ".[peers]"
    python -m benchmarks.peers --data DIR --json FILE

The JSON: ``results``, one entry a peer: ``peer``, ``memories``, ``add``, ``search`` (each n, p50, p95,
p99, max in ms), ``recall_at_10`` (null without ``--data``); and ``search_without_embedding``,
``search_after_pause``, ``add_with_embedding``, ``recall_data``, ``recall_n``, ``disk_mb``, ``packages``, ``note``.
"""

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks import common, corpus, datasets
from benchmarks.common import percentiles
from benchmarks.peers import race
from benchmarks.peers.stores import PEERS, Peer, open_peer, versions
from benchmarks.tables import percent, table
from slowcat_memory.config import load
from slowcat_memory.engine.upkeep import disk_bytes
from slowcat_memory.providers import Embedder

SEARCHES = {
    "search": "search",
    "search_without_embedding": "ahead",
    "search_after_pause": "after a pause",
}
PAUSE_S = 0.3
SIZE = 10_000  # memories in the race


def main() -> None:
    parser = common.arguments(__doc__)
    parser.add_argument("--queries", type=int, default=200, help="for each figure")
    parser.add_argument("--paused", type=int, default=50, help="searches after a pause")
    parser.add_argument("--adds", type=int, default=50, help="memories added one at a time")
    parser.add_argument("--data", type=Path, help="data folder for recall")
    options = parser.parse_args()
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
        os.environ[name] = "1"
    names = list(installed())
    embedder = common.embedder_of(load(None, environ={}))
    results = measure(names, options, embedder)
    print(report({"results": results}))
    common.write_json(options.json, {"results": results})


def installed() -> Iterator[str]:
    """Yield the names of the peers that are installed; tell why the others are left out."""
    for name in PEERS:
        try:
            versions(name)
            yield name
        except ImportError as error:
            print(f"{name} is left out: {error.name} is not installed (extra: peers)")


def measure(
    names: Sequence[str], options: argparse.Namespace, embedder: Embedder
) -> list[dict[str, Any]]:
    """Race the peers, then ask them the questions whose answers are known."""
    data = datasets.load(options.data) if options.data else None
    found = dict.fromkeys(names, (None, 0))
    with common.scratch() as folder:
        timed = _race(names, folder / "race", options, embedder)
        conversations = race.of_data(data, embedder) if data else []
        for name in names if data else ():
            with common.console.status(f"what {name} finds"):
                found[name] = race.recall(name, folder / "recall" / name, conversations, embedder)
    return [
        {
            "peer": name,
            "memories": SIZE,
            **timed[name],
            "recall_at_10": found[name][0],
            "recall_data": data.name if data else "",
            "recall_n": found[name][1],
            "packages": versions(name),
            "note": PEERS[name].note,
        }
        for name in names
    ]


def _race(
    names: Sequence[str], folder: Path, options: argparse.Namespace, embedder: Embedder
) -> dict[str, dict[str, Any]]:
    with common.console.status(f"embedding {SIZE} memories"):
        items = race.embedded(race.made_up(SIZE), embedder)
        new = race.embedded(race.made_up(options.adds, after=SIZE), embedder)
    each, paused = options.queries + race.WARM_UP, options.paused + race.WARM_UP
    texts = iter(corpus.questions(2 * each + paused, common.SEED))
    peers: dict[str, Peer] = {}
    embed = embedder.encode_query
    with ExitStack() as opened:
        for name in names:
            with common.console.status(f"filling {name}"):
                peer = open_peer(name, folder / name, embedder)
                peers[name] = opened.enter_context(closing(peer))
                peer.add_all(items)
        with common.console.status("searching"):
            found = {
                "search": race.search(peers, list(islice(texts, each)), embed),
                "search_without_embedding": race.search(
                    peers, list(islice(texts, each)), embed, ahead=True
                ),
                "search_after_pause": race.search(peers, list(texts), embed, pause_s=PAUSE_S),
            }
        with common.console.status("adding"):
            added = race.add(peers, new, embed)
    return {
        name: {
            **{figure: percentiles(ms) for figure, ms in added[name].items()},
            **{figure: percentiles(made[name]) for figure, made in found.items()},
            "disk_mb": round(disk_bytes(folder / name) / 1e6, 1),
        }
        for name in names
    }


def report(written: Mapping[str, Any]) -> str:
    """Write the results as Markdown; beside the medians how many times ours they are."""
    results = written["results"]
    ours = results[0]
    columns = (
        "",
        *(f"{name}, {p}" for name in SEARCHES.values() for p in ("p50", "p99")),
        "search, over ours",
        "add p50",
        "add with vector",
        "disk MB",
        "R@10",
    )
    rows = [
        (
            result["peer"],
            *(result[way][p] for way in SEARCHES for p in ("p50", "p99")),
            " / ".join(f"{result['search'][p] / ours['search'][p]:.2f}" for p in ("p50", "p99")),
            result["add"]["p50"],
            result["add_with_embedding"]["p50"],
            result["disk_mb"],
            percent(result["recall_at_10"]) if result["recall_n"] else "-",
        )
        for result in results
    ]
    packages = dict(sorted(pair for result in results for pair in result["packages"].items()))
    return "\n\n".join(
        (
            f"**{ours['memories']:,} memories**, {ours['search']['n']} questions of each kind, "
            f"milliseconds; R@10 of {ours['recall_n']} questions of {ours['recall_data']}:",
            table(columns, rows),
            "\n".join(f"- {result['peer']}: {result['note']}." for result in results),
            f"Versions: {', '.join(f'{name} {version}' for name, version in packages.items())}.",
        )
    )


if __name__ == "__main__":
    main()
