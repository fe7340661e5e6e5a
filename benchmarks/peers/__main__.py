"""Ours and other memories, side by side: the same texts, the same vectors, one run.

Each peer keeps one person's made-up talk. Every question goes to all of them in turn, in an order
that changes, so that the machine's mood is the same for all. *search* includes embedding the question
by our query embedder (all-MiniLM-L6-v2, int8, 1.6 ms on a quiet core), which is given to everybody;
*without embedding* has the vector at hand. Ours is ``engine.recall`` on an event loop, thread hop
included. *by sentence-transformers* is what their users pay who embed as the peers' documentation has
it (fp32, in this process); ours embeds as it always does. *after a pause* is as search, 300 ms after
whatever came before, as a person's turn comes. *cpu* is what all threads of this process compute
during a search. *add* is one turn at a time until a search finds it, with the vector at hand (ours:
until it is on disk and found by its words); *with embedding*, until its vector is in as well.

Each peer is set up as its own documentation has it for speed; its line in the results says how.

Recall is R@10 over the turns of a data folder in the uniform format (``--data``); without one, made-up
turns are asked for by two of five of their own words. Nothing here uses an LLM or the network.

    pip install ".[peers]"
    python -m benchmarks.peers --data DIR --json FILE

The JSON is a list, one entry a peer: ``peer``, ``memories``, ``add``, ``search`` (each n, p50, p95, p99,
max in ms), ``recall_at_10``; and ``search_without_embedding``, ``search_with_sentence_transformers``,
``search_after_pause``, ``cpu`` (of ``search``), ``cpu_without_embedding``, ``add_with_embedding``,
``recall_data``, ``recall_n``, ``disk_mb``, ``packages``, ``note``, ``machine``, ``load``, ``reference``.
"""

import argparse
import os
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks import common, corpus, datasets
from benchmarks.peers import race
from benchmarks.peers.base import PEERS, Peer, open_peer, versions
from benchmarks.peers.recall import Step, embedded, known_items, made_up, of_data, recall
from slowcat_memory import providers
from slowcat_memory.config import load
from slowcat_memory.errors import ProviderError
from slowcat_memory.providers import QueryEmbedder
from slowcat_memory.providers.embedding import model_files

COMMON, AHEAD = "search_with_sentence_transformers", "search_without_embedding"
PAUSED, PAUSE_S = "search_after_pause", 0.3
KNOWN = 300  # made-up questions, and how many turns there are for each


def main() -> None:
    options = _arguments()
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
        os.environ[name] = "1"
    names, missing = installed(options.peers or PEERS)
    for name, why in missing.items():
        common.console.print(f"{name} is left out: {why}")
    embedding = load(None, environ={}).embedding
    embedder, report = providers.open_query_embedder(embedding)
    if embedder is None:
        raise ProviderError(report.source, hint=report.hint)
    results = measure(names, options, embedder)
    _show(results)
    first = results[0]
    written = {"machine": first["machine"], "load": first["load"], "results": results}
    common.write_json(options.json, written)


def installed(names: Iterable[str]) -> tuple[list[str], dict[str, str]]:
    """Tell which peers can be raced.

    Args:
        names: Of ``PEERS``.

    Returns:
        Those that are installed, and why the others are not.
    """
    there, missing = [], {}
    for name in names:
        try:
            versions(name)
            there.append(name)
        except ImportError as error:
            missing[name] = f"{error.name} is not installed (extra: peers)"
    return there, missing


def measure(
    names: Sequence[str],
    options: argparse.Namespace,
    embedder: QueryEmbedder,
) -> list[dict[str, Any]]:
    """Race the peers, then ask them the questions whose answers are known.

    Args:
        names: The peers.
        options: From the command line.
        embedder: Makes all vectors.

    Returns:
        What the JSON holds.
    """
    told, conversations = _questions(options.data, embedder)
    load_, reference = [common.load_average()], [common.reference_ms()]
    with common.scratch() as folder:
        timed = _race(names, folder / "race", options, embedder)
        load_.append(common.load_average())
        reference.append(common.reference_ms())
        found = {}
        for name in names:
            with common.console.status(f"what {name} finds in {told}"):
                found[name] = recall(name, folder / "recall" / name, conversations, embedder)
    return [
        {
            "peer": name,
            "memories": options.size,
            **timed[name],
            "recall_at_10": round(found[name][0], 4),
            "recall_data": told,
            "recall_n": found[name][1],
            "packages": versions(name),
            "note": PEERS[name].note,
            "machine": common.machine(),
            "load": load_,
            "reference": reference,
        }
        for name in names
    ]


def _questions(folder: Path | None, embedder: QueryEmbedder) -> tuple[str, list[list[Step]]]:
    with common.console.status("embedding what recall is measured on"):
        if folder is None:
            return "made-up talk", known_items(made_up(10 * KNOWN), KNOWN, embedder)
        data = datasets.load(folder)
        return data.name, of_data(data, embedder)


def _race(
    names: Sequence[str],
    folder: Path,
    options: argparse.Namespace,
    embedder: QueryEmbedder,
) -> dict[str, dict[str, Any]]:
    with common.console.status(f"embedding {options.size} memories"):
        items = embedded(made_up(options.size), embedder)
        new = embedded(made_up(options.adds, after=options.size), embedder)
    each, paused = options.queries + race.WARM_UP, options.paused + race.WARM_UP
    texts = iter(corpus.questions(3 * each + paused, common.SEED))
    peers: dict[str, Peer] = {}
    embed = embedder.encode_query
    try:
        for name in names:
            with common.console.status(f"filling {name}"):
                peers[name] = open_peer(name, folder / name, embedder)
                peers[name].add_all(items)
        with common.console.status("searching"):
            found = {
                "search": race.search(peers, list(islice(texts, each)), embed),
                AHEAD: race.search(peers, list(islice(texts, each)), embed, ahead=True),
                PAUSED: race.search(peers, list(islice(texts, paused)), embed, pause_s=PAUSE_S),
            }
        with common.console.status("adding"):
            added = race.add(peers, new, embed)
        with common.console.status("searching, questions embedded by sentence-transformers"):
            common_way = sentence_transformers(load(None, environ={}).embedding.model)
            found[COMMON] = race.search(peers, list(islice(texts, each)), common_way)
    finally:
        for peer in peers.values():
            peer.close()
    return {
        name: {
            **{figure: common.percentiles(ms) for figure, ms in added[name].items()},
            **{figure: common.percentiles(made.waits[name]) for figure, made in found.items()},
            "cpu": common.percentiles(found["search"].cpu[name]),
            "cpu_without_embedding": common.percentiles(found[AHEAD].cpu[name]),
            "disk_mb": _disk_mb(folder / name),
        }
        for name in names
    }


def sentence_transformers(model: str) -> race.Embed:
    """Open a model as the peers' documentation has it: sentence-transformers in this process, fp32.

    Args:
        model: A name on the hub, or a path; never downloaded.

    Returns:
        Turns a text into its vector, on one thread.
    """
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(1)
    folder = str(model_files.resolve(model).where)
    loaded = SentenceTransformer(folder, device="cpu", local_files_only=True)
    return lambda text: loaded.encode(text, normalize_embeddings=True, show_progress_bar=False)


def _disk_mb(folder: Path) -> float:
    files = (path for path in folder.rglob("*") if path.is_file())
    return round(sum(path.stat().st_blocks * 512 for path in files) / 1e6, 1)


# -------------------------------------------------------------------- output


def _show(results: Sequence[Mapping[str, Any]]) -> None:
    ours = next((r for r in results if r["peer"] == "slowcat"), None)
    ways = {"search": "search", AHEAD: "ahead", PAUSED: "after a pause", COMMON: "by s-t"}
    for figure, way in ways.items():
        rows = []
        for result in results:
            row: list[Any] = [result["peer"]]
            for p in ("p50", "p99"):
                ms = result[figure][p]
                row += [ms, f"{ms / ours[figure][p]:.2f}" if ours else "-"]
            rows.append(row)
        common.table(f"{way}, ms", ("", "p50", "x", "p99", "x"), rows)
    first = results[0]
    common.table(
        f"{first['memories']} memories; R@10 of {first['recall_n']} questions: "
        f"{first['recall_data']}",
        ("", "CPU a search", "ahead", "add", "p99", "disk MB", "R@10"),
        [
            (
                result["peer"],
                result["cpu"]["p50"],
                result["cpu_without_embedding"]["p50"],
                result["add"]["p50"],
                result["add"]["p99"],
                result["disk_mb"],
                100 * result["recall_at_10"],
            )
            for result in results
        ],
    )
    common.console.print(
        "search: embedded by our embedder; by s-t: by sentence-transformers; ahead: the vector is at "
        "hand; x: times ours\n"
        f"{first['machine']}, load {first['load']}, reference {first['reference']} ms"
    )


def _arguments() -> argparse.Namespace:
    parser = common.arguments(__doc__)
    parser.add_argument("--size", type=int, default=10_000, help="memories in the race")
    parser.add_argument("--queries", type=int, default=200, help="for each figure")
    parser.add_argument("--paused", type=int, default=50, help="searches after a pause")
    parser.add_argument("--adds", type=int, default=50, help="memories added one at a time")
    parser.add_argument("--data", type=Path, help="data folder for recall (default: made-up talk)")
    parser.add_argument(
        "--peers", nargs="+", choices=PEERS, metavar="NAME", help=f"some of: {', '.join(PEERS)}"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
