"""What does text that a language model wrote about a turn add? After Anthropic's table, and one more arm.

Anthropic ("Introducing Contextual Retrieval", 2024) report 1 - recall@20: 5.7 % with embeddings, 3.7
with contextual embeddings, 2.9 with contextual BM25 as well, 1.9 with reranking. Here the same four
run through the product's own engine, each arm also without the text, so that it shows what the text
adds and what the words and the ranking add by themselves:

- *embeddings*: the vectors alone, no smoothing over neighbours;
- *+ BM25*: the lexical views as well, fused as configured, no smoothing;
- *+ reranking*: everything that the configuration asks for;
- *+ keys*: questions or notes as well, each a short text that points back to its turn.

The text is one description a turn (``Context``), embedded and indexed together with the turn.
It comes from a file, see ``benchmarks.written``. Only the conversations in that file are asked about.
Without such a file the arms that need it say so. No model runs here.

    python -m benchmarks.contextual --data DIR --cache CACHE

``--data`` may be given several times, and may be a folder of data folders. The JSON: ``machine``,
``load``, and ``results``, one a data folder: ``data``, ``conversations``, ``n``, ``contexts`` (how many
turns have one), ``arms`` (by name: every metric over all questions and ``missed``, which is 1 - R@20;
or ``reason`` when the arm could not run).
"""

import argparse
from pathlib import Path
from typing import Any

from msgspec import Struct

from benchmarks import common, datasets, quality, recall_plots, written
from benchmarks.datasets import Dataset
from benchmarks.scoring import ALL, LOW, evaluate
from benchmarks.written import Written

NOTES = written.NOTES
MULTI = "multi-hop"
NO_TEXT = "no text given"
SHOWN = ("R@5", "R@10", "R@20", "Hit@10", "MRR", "R@300w")


class Arm(Struct, frozen=True):
    """One way to retrieve.

    Attributes:
        name: What it is called.
        contexts: Whether the text about a turn is indexed with it.
        keys: Whether keys to a turn are indexed.
        fuse: Changes to the configuration's fusion.
    """

    name: str
    contexts: bool
    fuse: dict[str, Any]
    keys: bool = False


VECTORS, PLAIN = {"dense": 1.0, "smoothing": 0.0}, {"smoothing": 0.0}
ARMS = (
    Arm("embeddings", False, VECTORS),
    Arm("contextual embeddings", True, VECTORS),
    Arm("contextual embeddings + contextual BM25", True, PLAIN),
    Arm("the same + reranking", True, {}),
    Arm("the same + keys", True, {}, keys=True),
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
        notes = written.read(options.notes) if options.notes else written.find(folder)
        results.append(measure(datasets.load(folder), notes, options.cache, options.config))
        load.append(common.load_average())
        _show(results[-1])
    common.write_json(options.json, {"machine": common.machine(), "load": load, "results": results})
    if options.plot:
        recall_plots.contextual(results, options.plot)


def measure(
    data: Dataset,
    notes: Written,
    cache: Path | None = None,
    config: Path | None = None,
) -> dict[str, Any]:
    """Run every arm that can run.

    Args:
        data: The data set.
        notes: What was written; without any, all conversations are asked about.
        cache: Keeps document vectors.
        config: A config.toml; None for the defaults.

    Returns:
        What the JSON says about this data set.
    """
    about = notes.conversations
    asked = datasets.of_conversations(data, about) if about else data
    arms = {}
    for arm in ARMS:
        if (arm.keys and not notes.keys) or (arm.contexts and not arm.keys and not notes.contexts):
            arms[arm.name] = {"reason": NO_TEXT}
        else:
            told = Written(
                about, notes.contexts if arm.contexts else {}, notes.keys if arm.keys else {}
            )
            scores = _run(arm, asked, told, cache, config)
            of_groups = {
                f"{group} R@10": scores.get(group, {}).get("R@10") for group in (LOW, MULTI)
            }
            arms[arm.name] = {**scores[ALL], "missed": 1 - scores[ALL]["R@20"], **of_groups}
    return {
        "data": data.name,
        "conversations": len({question.conversation for question in asked.questions}),
        "contexts": len(notes.contexts),
        "keys": sum(map(len, notes.keys.values())),
        "n": next(arm["n"] for arm in arms.values() if "n" in arm),
        "arms": arms,
    }


def _run(
    arm: Arm, data: Dataset, written: Written, cache: Path | None, file: Path | None
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
            rows.append((name, arm["reason"], *[""] * (len(SHOWN) + 2)))
        else:
            groups = [arm[f"{group} R@10"] for group in (LOW, MULTI)]
            shown = ["-" if value is None else 100 * value for value in groups]
            rows.append((name, 100 * arm["missed"], *(100 * arm[m] for m in SHOWN), *shown))
    common.table(
        f"{result['data']}: {result['n']} questions about {result['conversations']} conversations, "
        f"{result['contexts']} turns with text",
        ("arm", "1 - R@20", *SHOWN, f"{LOW} R@10", f"{MULTI} R@10"),
        rows,
    )


def _arguments() -> argparse.Namespace:
    parser = common.arguments(__doc__)
    quality.add_data(parser)
    parser.add_argument(
        "--notes",
        type=Path,
        help=f"texts about turns (default: {written.NOTES}, or {written.OUTPUTS}, in the data folder)",
    )
    parser.add_argument("--config", type=Path, help="a config.toml; its store's path is not used")
    return parser.parse_args()


if __name__ == "__main__":
    main()
