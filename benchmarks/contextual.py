"""What does text that a language model wrote about a turn add? Four arms, after Anthropic's table.

Anthropic ("Introducing Contextual Retrieval", 2024) report 1 - recall@20: 5.7 % with embeddings, 3.7
with contextual embeddings, 2.9 with contextual BM25 as well, 1.9 with reranking. Here the same four
run through the product's own engine, each also without the text, so that it shows what the text adds
and what the words and the ranking add by themselves; and once more with the questions that a turn
answers as keys to it:

- *embeddings*: the vectors alone, no smoothing over neighbours;
- *+ BM25*: the lexical views as well, fused as configured, no smoothing;
- *+ reranking*: everything that the configuration asks for;
- *+ keys*: the questions too, which point back to their turn.

The text is what the idle job `contextualize` makes, by the LLM that is named (see
``benchmarks.thinking``): ``--llm recorded`` answers its prompts from the data folder, without a model.

    python -m benchmarks.contextual --data DIR --llm recorded --only-noted

``--data`` may be given several times, and may be a folder of data folders. The JSON: ``machine``,
``load``, and ``results``, one a data folder: ``data``, ``conversations``, ``n``, ``contexts`` (how many
turns have one), ``arms`` (by name: every metric over all questions and ``missed``, which is 1 - R@20).
"""

import argparse
from pathlib import Path
from typing import Any

from msgspec import Struct

from benchmarks import common, datasets, quality, thinking
from benchmarks.datasets import Dataset
from benchmarks.scoring import ALL, LOW, evaluate
from benchmarks.thinking import ThinkingChoice

SHOWN = ("R@5", "R@10", "R@20", "Hit@10", "MRR", "R@300w")


class Arm(Struct, frozen=True):
    """One way to retrieve.

    Attributes:
        name: What it is called.
        contexts: Whether the text about a turn is indexed with it.
        keys: Whether the questions that it answers are.
        fuse: Changes to the configuration's fusion.
    """

    name: str
    contexts: bool
    keys: bool
    fuse: dict[str, Any]


VECTORS, PLAIN = {"dense": 1.0, "smoothing": 0.0}, {"smoothing": 0.0}
ARMS = (
    Arm("embeddings", False, False, VECTORS),
    Arm("contextual embeddings", True, False, VECTORS),
    Arm("contextual embeddings + contextual BM25", True, False, PLAIN),
    Arm("the same + reranking", True, False, {}),
    Arm("the same + keys", True, True, {}),
    Arm("without text: embeddings + BM25", False, False, PLAIN),
    Arm("without text: the same + reranking", False, False, {}),
)


def main() -> None:
    options = _arguments()
    choice = thinking.choice_of(options)
    if not choice:
        raise SystemExit("nobody writes the texts: give --llm recorded, --llm-url or --replay")
    load, results = [common.load_average()], []
    for folder in datasets.find(options.data):
        data = datasets.load(folder)
        if options.only_noted:
            data = thinking.noted(data, folder)
        results.append(measure(data, folder, choice, options.config))
        load.append(common.load_average())
        _show(results[-1])
    common.write_json(options.json, {"machine": common.machine(), "load": load, "results": results})


def measure(
    data: Dataset,
    folder: Path,
    choice: ThinkingChoice,
    config: Path | None = None,
) -> dict[str, Any]:
    """Run every arm.

    Args:
        data: The data set.
        folder: Its folder, where recorded answers are.
        choice: Which LLM thinks.
        config: A config.toml; None for the defaults.

    Returns:
        What the JSON says about this data set.
    """
    arms: dict[str, dict[str, Any]] = {}
    contexts = 0
    for arm in ARMS:
        thinks = choice if arm.contexts else ThinkingChoice()
        scores, thought = _run(arm, data, folder, thinks, config)
        contexts = max(contexts, thought["contexts"])
        low = scores.get(LOW, {}).get("R@10")
        missed = 1 - scores[ALL]["R@20"]
        arms[arm.name] = {**scores[ALL], "missed": missed, "low overlap R@10": low}
    return {
        "data": data.name,
        "conversations": len({question.conversation for question in data.questions}),
        "contexts": contexts,
        "n": arms[ARMS[0].name]["n"],
        "arms": arms,
    }


def _run(
    arm: Arm,
    data: Dataset,
    folder: Path,
    choice: ThinkingChoice,
    file: Path | None,
) -> tuple[dict[str, dict[str, float]], dict[str, Any]]:
    keys: dict[str, Any] = {} if arm.keys else {"questions": 0}
    with common.scratch() as store:
        config = common.configuration(store, file, fuse=arm.fuse, contextualize=keys)
        with (
            thinking.thinking(choice, folder) as thinker,
            quality.opened(config, thinker.llm) as engine,
        ):
            run, _ = quality.answer_all(engine, data, thinker=thinker)
            thought = thinking.summary(engine)
    return evaluate(data, run), thought


def _show(result: dict[str, Any]) -> None:
    rows = []
    for name, arm in result["arms"].items():
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
    thinking.add_llm(parser)
    parser.add_argument("--config", type=Path, help="a config.toml; its store's path is not used")
    return parser.parse_args()


if __name__ == "__main__":
    main()
