"""What does text that a language model wrote about a turn add? Four arms, after Anthropic's table.

Anthropic ("Introducing Contextual Retrieval", 2024) report 1 - recall@20: 5.7 % with embeddings, 3.7
with contextual embeddings, 2.9 with contextual BM25 as well, 1.9 with reranking. Here the same four
run through the product's own engine, each arm also without the text, so that it shows what the text
adds and what the words and the ranking add by themselves:

- *embeddings*: the vectors alone, no smoothing over neighbours;
- *+ BM25*: the lexical views as well, fused as configured, no smoothing;
- *+ reranking*: everything that the configuration asks for.

The text is one description a turn (``Context``), embedded and indexed together with the turn.
It comes from a file in the form of ``llm_notes.jsonl.gz``: one line a session with
``conversation_id`` and ``contexts``, a text by turn id. Only the conversations in that file are asked
about. Without such a file the arms that need it say so. No model runs here.

    python -m benchmarks.contextual --data DIR --cache CACHE

``--data`` may be given several times, and may be a folder of data folders. The JSON: ``machine``,
``load``, and ``results``, one a data folder: ``data``, ``conversations``, ``n``, ``contexts`` (how many
turns have one), ``arms`` (by name: every metric over all questions and ``missed``, which is 1 - R@20;
or ``reason`` when the arm could not run).
"""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from benchmarks import common, datasets, quality, recall_plots
from benchmarks.datasets import Dataset
from benchmarks.scoring import ALL, LOW, evaluate

NOTES = "llm_notes.jsonl.gz"
NO_TEXT = "no text given"
SHOWN = ("R@5", "R@10", "R@20", "Hit@10", "MRR", "R@300w")


class Arm(Struct, frozen=True):
    """One way to retrieve.

    Attributes:
        name: What it is called.
        contexts: Whether the text about a turn is indexed with it.
        fuse: Changes to the configuration's fusion.
    """

    name: str
    contexts: bool
    fuse: dict[str, Any]


VECTORS, PLAIN = {"dense": 1.0, "smoothing": 0.0}, {"smoothing": 0.0}
ARMS = (
    Arm("embeddings", False, VECTORS),
    Arm("contextual embeddings", True, VECTORS),
    Arm("contextual embeddings + contextual BM25", True, PLAIN),
    Arm("the same + reranking", True, {}),
    Arm("without text: embeddings + BM25", False, PLAIN),
    Arm("without text: the same + reranking", False, {}),
)


def main() -> None:
    options = _arguments()
    folders = datasets.find(options.data)
    if options.notes and len(folders) > 1:
        raise SystemExit("--notes wants one data folder: a file of notes belongs to one")
    load, results = [common.load_average()], []
    for folder in folders:
        file = options.notes or folder / NOTES
        notes = contexts_of(file) if file.is_file() else {}
        results.append(measure(datasets.load(folder), notes, options.cache, options.config))
        load.append(common.load_average())
        _show(results[-1])
    common.write_json(options.json, {"machine": common.machine(), "load": load, "results": results})
    if options.plot:
        recall_plots.contextual(results, options.plot)


def contexts_of(file: Path) -> dict[str, dict[str, str]]:
    """Read what was written about turns.

    Args:
        file: In the form of ``llm_notes.jsonl.gz``.

    Returns:
        Text by turn id, by conversation.
    """
    made: dict[str, dict[str, str]] = {}
    for line in datasets.lines(file):
        made.setdefault(line["conversation_id"], {}).update(line["contexts"])
    return made


def measure(
    data: Dataset,
    notes: Mapping[str, Mapping[str, str]],
    cache: Path | None = None,
    config: Path | None = None,
) -> dict[str, Any]:
    """Run every arm that can run.

    Args:
        data: The data set.
        notes: From ``contexts_of``; without any, all conversations are asked about.
        cache: Keeps document vectors.
        config: A config.toml; None for the defaults.

    Returns:
        What the JSON says about this data set.
    """
    asked = datasets.of_conversations(data, notes) if notes else data
    contexts = {turn: text for texts in notes.values() for turn, text in texts.items()}
    arms = {}
    for arm in ARMS:
        if arm.contexts and not contexts:
            arms[arm.name] = {"reason": NO_TEXT}
        else:
            scores = _run(arm, asked, contexts if arm.contexts else {}, cache, config)
            low = scores.get(LOW, {}).get("R@10")
            missed = 1 - scores[ALL]["R@20"]
            arms[arm.name] = {**scores[ALL], "missed": missed, "low overlap R@10": low}
    return {
        "data": data.name,
        "conversations": len({question.conversation for question in asked.questions}),
        "contexts": len(contexts),
        "n": next(arm["n"] for arm in arms.values() if "n" in arm),
        "arms": arms,
    }


def _run(
    arm: Arm, data: Dataset, contexts: Mapping[str, str], cache: Path | None, file: Path | None
) -> dict[str, dict[str, float]]:
    with common.scratch() as folder:
        config = common.configuration(folder, file, fuse=arm.fuse)
        with quality.opened(config, cache) as (engine, embedder):
            run, _ = quality.answer_all(engine, data, embedder, written=written)
    return evaluate(data, run)


def _show(result: dict[str, Any]) -> None:
    rows = []
    for name, arm in result["arms"].items():
        if "reason" in arm:
            rows.append((name, arm["reason"], *[""] * (len(SHOWN) + 1)))
        else:
            low = arm["low overlap R@10"]
            low = "-" if low is None else 100 * low
            rows.append((name, 100 * arm["missed"], *(100 * arm[m] for m in SHOWN), low))
    common.table(
        f"{result['data']}: {result['n']} questions about {result['conversations']} conversations, "
        f"{result['contexts']} turns with text",
        ("arm", "1 - R@20", *SHOWN, "low overlap R@10"),
        rows,
    )


def _arguments() -> argparse.Namespace:
    parser = common.arguments(__doc__)
    quality.add_data(parser)
    parser.add_argument(
        "--notes", type=Path, help=f"texts about turns (default: {NOTES} in the data folder)"
    )
    parser.add_argument("--config", type=Path, help="a config.toml; its store's path is not used")
    return parser.parse_args()


if __name__ == "__main__":
    main()
