"""Is it said that nothing is remembered, when nothing is, and only then?

*Fit* (free data only): each question of the data sets where it belongs, and once more of the next
conversation's memory, where nothing answers; the latter also of its first one to eight sessions (see
benchmarks.related). A logistic regression of ``AnswerEvidence`` tells the two apart: TOKENS of how near the
nearest tokens come and how strange the names are, WORDS of what is held of the words in place of the
former. Each data set is also judged by what the others teach.

*Judge*: LoCoMo, which is never fitted, on the product's own way: the gate, whether a question asks for
a memory, and the threshold ``recall.unknown_below``.

- *own*: the answer is there, and saying that nothing is remembered is wrong;
- *unrelated*: asked of the next conversation, where it never is;
- *renamed*: the same, and the people it names are called like those of the conversation that is asked:
  without that sign, which is the strongest;
- *adversarial*: the data's own, about what was said of somebody else, or nearly said.

A question that is not told so is counted by its cause: the gate looked nothing up ("skipped"), it
asks for no memory ("asks none"), or something is near enough ("known").

    python -m benchmarks.unknown --data DIR

With LoCoMo alone, nothing is fitted and the package's coefficients are judged; with ``--llm recorded
--only-noted``, where what an LLM wrote is part of the memory.

The JSON: ``machine``, ``load``, ``fits`` (``tokens`` and ``words``: ``coefficients`` and ``used`` by name, ``n``,
``auc``; empty when nothing was fitted), ``fitted_on``, ``left_out`` (AUC by the data set left out), and
``judged``, null without the data: ``data``, ``below``, ``kinds`` (by kind: ``n`` and the share of each outcome),
``auc`` by kind, ``thresholds`` (``below``, and the share that is told by kind).
"""

import argparse
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import asdict, replace

from benchmarks import calibration, common, datasets, logistic, quality, related, thinking
from benchmarks.calibration import JUDGE
from benchmarks.datasets import Dataset
from benchmarks.related import Asked
from slowcat_memory import transfer
from slowcat_memory.core.query.recall_gate import judge
from slowcat_memory.core.ranking import offering
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.runtime.recall.query import RecallOptions, abstain

KINDS = ("own", "unrelated", "renamed", "adversarial")
OUTCOMES = ("told", "skipped", "asks none", "known")
THRESHOLDS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6)
DEFAULT = RecallOptions().unknown_below


def main() -> None:
    options = _arguments()
    load = [common.load_average()]
    folders = {folder.name: folder for folder in datasets.find(options.data)}
    every = [datasets.load(folder) for folder in folders.values()]
    free = [data for data in every if data.name != JUDGE]
    chats = [data for data in every if data.name == JUDGE]
    written: dict[str, Any] = {"fits": {}, "fitted_on": [], "left_out": {}, "judged": None}
    if free:
        written |= fits(calibration.ask_all(free, options))
        written["fitted_on"] = [data.name for data in free]
        _show_fits(written)
    if chats:
        chat, source = chats[0], folders[chats[0].name]
        if options.only_noted:
            chat = thinking.noted(chat, source)
        written["judged"] = examine(chat, options, source)
        _show_judged(written["judged"])
    written |= {"machine": common.machine(), "load": [*load, common.load_average()]}
    common.write_json(options.json, written)


# -------------------------------------------------------------------- fitting


def fits(asked: Sequence[Asked]) -> dict[str, Any]:
    """Fit coefficients on questions that were asked.

    Args:
        asked: The questions; adversarial ones are left out.

    Returns:
        ``fits`` and ``left_out``.
    """
    pairs = [(one, one.found.evidence) for one in asked if one.kind != "adversarial"]
    rows = [(one, evidence) for one, evidence in pairs if evidence is not None]
    own = np.array([one.kind == "own" for one, _ in rows], float)
    tokens = np.array([(evidence.max_similarity, evidence.unseen_names) for _, evidence in rows])
    words = np.array([(evidence.coverage, evidence.unseen_names) for _, evidence in rows])
    sets = np.array([one.id.partition("/")[0].partition("-")[0] for one, _ in rows])
    return {
        "fits": {
            "tokens": _fit(tokens, own, offering.BY_TOKENS),
            "words": _fit(words, own, offering.BY_WORDS),
        },
        "left_out": {
            name: _carried(words if np.isnan(tokens).any() else tokens, own, sets == name)
            for name in (sorted(set(sets.tolist())) if len(set(sets.tolist())) > 1 else ())
        },
    }


def _carried(measured: np.ndarray, own: np.ndarray, out: np.ndarray) -> float:
    """Judge what was left out by what the others teach."""
    predicted = logistic.predict(logistic.fit(measured[~out], own[~out]), measured[out])
    return logistic.auc(predicted[own[out] == 1], predicted[own[out] == 0])


def _fit(measured: np.ndarray, own: np.ndarray, used: offering.Fit) -> dict[str, Any]:
    usable = ~np.isnan(measured).any(axis=1)
    found = logistic.fit(measured[usable], own[usable])
    predicted = logistic.predict(found, measured[usable])
    yes = own[usable] == 1
    return {
        "coefficients": dict(zip(asdict(used), map(float, found), strict=True)),
        "used": asdict(used),
        "n": int(usable.sum()),
        "auc": logistic.auc(predicted[yes], predicted[~yes]),
    }


# -------------------------------------------------------------------- judging


def examine(data: Dataset, options: argparse.Namespace, source: Path) -> dict[str, Any]:
    """Judge what the package has on a data set that it never saw.

    Args:
        data: The data set.
        options: From the command line.
        source: The data folder, where recorded answers are.

    Returns:
        ``judged`` of the JSON.
    """
    with common.scratch() as folder:
        config = common.configuration(folder, options.config)
        with (
            thinking.thinking(thinking.choice_of(options), source) as thinker,
            quality.opened(config, thinker.llm) as engine,
        ):
            asked = related.ask(engine, [data], options.limit, thinker=thinker)
            others = renamed(engine, data, asked)
    texts = {question.id: question.text for question in data.questions}
    told: list[tuple[str, Asked, str]] = [(one.kind, one, texts[one.id]) for one in asked]
    told += [("renamed", one, text) for one, text in others]
    return {"data": data.name, "below": DEFAULT, **judged(told)}


def judged(told: Sequence[tuple[str, Asked, str]]) -> dict[str, Any]:
    """Judge questions that were asked.

    Args:
        told: Each one's kind, the question as it was asked, and its words.

    Returns:
        ``kinds``, ``auc``, ``thresholds``.
    """
    by_kind = {kind: [one[1:] for one in told if one[0] == kind] for kind in KINDS}
    by_kind = {kind: some for kind, some in by_kind.items() if some}
    sure = {
        kind: np.array(
            [
                offering.answer_probability(one.found.evidence)
                for one, _ in some
                if one.found.evidence
            ]
        )
        for kind, some in by_kind.items()
    }
    return {
        "kinds": {kind: _shares(some, DEFAULT) for kind, some in by_kind.items()},
        "auc": {kind: logistic.auc(sure["own"], sure[kind]) for kind in by_kind},
        "thresholds": [
            {
                "below": below,
                **{kind: _shares(some, below)["told"] for kind, some in by_kind.items()},
            }
            for below in THRESHOLDS
        ],
    }


def _shares(some: Sequence[tuple[Asked, str]], below: float) -> dict[str, Any]:
    counts = Counter(outcome(one, text, below) for one, text in some)
    return {"n": len(some), **{name: counts[name] / len(some) for name in OUTCOMES}}


def outcome(one: Asked, text: str, below: float) -> str:
    """Decide as a turn would.

    Args:
        one: A question, as it was asked.
        text: Its words.
        below: The threshold.

    Returns:
        One of ``OUTCOMES``.
    """
    need = judge(text)
    if not need.query:
        return "skipped"
    if abstain(one.found, need, below).unknown:
        return "told"
    return "known" if abstain(one.found, need, 1.01).unknown else "asks none"


def renamed(engine: MemoryEngine, data: Dataset, asked: Sequence[Asked]) -> list[tuple[Asked, str]]:
    """Ask the next conversation about its own people, in the words of a question about others.

    Args:
        engine: Which was told the data set.
        data: The data set.
        asked: What ``related.ask`` returned.

    Returns:
        The questions that name somebody, and their words.
    """
    speakers = {
        t.conversation: _speakers(t) for t in transfer.read(data.conversations, lambda *_: None)
    }
    names = [name for name in speakers if any(one.conversation == name for one in asked)]
    following = dict(zip(names, names[1:] + names[:1], strict=True))
    texts = {question.id: question.text for question in data.questions}
    made = []
    for one in asked:
        if one.kind != "unrelated":
            continue
        other = following[one.conversation]
        text = _with_names(texts[one.id], speakers[one.conversation], speakers[other])
        if text != texts[one.id]:
            found = engine.search(text, datasets.scope_of(other), related.DEPTH, now=one.at)
            made.append((replace(one, found=found), text))
    return made


def _with_names(text: str, old: Sequence[str], new: Sequence[str]) -> str:
    """Put new names in the place of old ones."""
    names = dict(zip(old, new, strict=False))
    return re.sub(r"[^\W_]+", lambda word: names.get(word[0], word[0]), text)


def _speakers(transcript: transfer.Transcript) -> list[str]:
    said = (each.speaker for session in transcript.sessions for each in session.utterances)
    return list(dict.fromkeys(said))


# -------------------------------------------------------------------- output


def _show_fits(written: dict[str, Any]) -> None:
    for name, fitted in written["fits"].items():
        values = ", ".join(f"{key}={value:.2f}" for key, value in fitted["coefficients"].items())
        moved = calibration.moved(fitted)
        common.console.print(
            f"{name.upper()} = Fit({values})  # {fitted['n']} questions, "
            f"AUC {fitted['auc']:.3f}; {'the package has others' if moved else 'as in the package'}"
        )
    for name, auc in written["left_out"].items():
        common.console.print(f"{name} by the others: AUC {auc:.3f}")


def _show_judged(found: dict[str, Any]) -> None:
    rows = [
        (kind, *(100 * shares[name] for name in OUTCOMES), found["auc"][kind], shares["n"])
        for kind, shares in found["kinds"].items()
    ]
    title = f"{found['data']}, below {found['below']}"
    common.table(title, ("question", *(f"{name} %" for name in OUTCOMES), "AUC", "n"), rows)
    kinds = list(found["kinds"])
    cells = [(row["below"], *(100 * row[kind] for kind in kinds)) for row in found["thresholds"]]
    common.table("told, %", ("below", *kinds), cells)


def _arguments() -> argparse.Namespace:
    parser = common.arguments(__doc__)
    quality.add_data(parser)
    thinking.add_llm(parser)
    parser.add_argument("--config", type=Path, help="a config.toml; its store's path is not used")
    parser.add_argument("--limit", type=int, default=0, help="only the first N conversations")
    return parser.parse_args()


if __name__ == "__main__":
    main()
