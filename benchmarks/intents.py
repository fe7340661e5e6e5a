"""Fits the model that recognises commands which no rule reads, and writes its weights.

The sentences are templates of ``data/intents`` (expanded with a seed), the wordings of the tests in
``tests/data/commands``, the own list ``data/commands.tsv``, and of the unseen lists the half "tuned"
alone. What is no command is learned from talk too: the tuned halves of generated lives, and of data
folders (RealMem and MADial; LoCoMo only judges, see benchmarks.commands) whole turns and their
sentences, of as many words as are judged. scikit-learn is of the extra ``[bench]``; using
the model needs NumPy alone.

    python -m benchmarks.intents --data REALMEM --data MADIAL

The lists that judge it are those of ``benchmarks.commands`` and ``benchmarks.unseen``.
"""

import io
import lzma
import random
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks import commands, common, datasets
from benchmarks.lives.generate import generate
from benchmarks.unseen import lists
from slowcat_memory.core.commands.grammar import READ, words_of
from slowcat_memory.core.commands.intent_model import FILE, NONE, ROWS, IntentModel, rows
from slowcat_memory.core.extraction.grounding import sentences
from slowcat_memory.core.language import LANGUAGES, Language

DATA = Path(__file__).parent / "data"
WORDINGS = Path(__file__).parents[1] / "tests" / "data" / "commands"
PACKAGES = Path(__file__).parents[1] / "slowcat_memory" / "core" / "language"
LIVES = range(11, 15)  # seeds
SEED, EACH = 1, 60  # EACH: sentences of a template
LEVELS = 16  # of weights, below and above 0
STRENGTH = 30.0  # the inverse of the regularisation
HAND_WRITTEN = 4.0  # the weight of a sentence of any other list than these
MADE = "templates", "talk"
KINDS = {
    "forget topic": "forget_about",
    "what do you know": "what_known",
    "local only": "local",
}


class Example(NamedTuple):
    """A sentence, its list, and its kind: ``NONE`` for conversation."""

    list: str
    sentence: str
    kind: str


def expand(template: str, words: Mapping[str, Sequence[str]], rng: random.Random) -> str:
    """Return one sentence of a template: each [a|b] and {name} is chosen."""
    text, inner = template, re.compile(r"\[([^\[\]{}]*)\]|\{(\w+)\}")
    while found := inner.search(text):
        options = words[found[2]] if found[2] else found[1].split("|")
        text = text[: found.start()] + rng.choice(options) + text[found.end() :]
    return " ".join(text.split())


def templates(language: Language) -> list[Example]:
    """Return the sentences of a language's templates; always the same ones."""
    table = tomllib.loads((DATA / "intents" / f"{language.name}.toml").read_text("utf-8"))
    rng, made = random.Random(SEED), list[Example]()
    for kind, patterns in table["intents"].items():
        for pattern in patterns:
            said = dict.fromkeys(expand(pattern, table["words"], rng) for _ in range(EACH))
            made += [Example("templates", sentence, kind) for sentence in said]
    return made


def _unseen(language: Language) -> Iterator[Example]:
    for name in ("commands", "lookalikes", "gate"):
        for row in lists.read(lists.FOLDER / f"{name}.tsv", "language sentence"):
            if row["half"] == lists.TUNED and lists.language(row) == language.name:
                said = row["kind"] if name == "commands" else NONE
                kind = KINDS.get(said, said.replace(" ", "_"))
                yield Example(name, row["sentence"], kind)


def _wordings(language: Language) -> Iterator[Example]:
    for line in (WORDINGS / f"{language.name}.tsv").read_text("utf-8").splitlines():
        kind, sentence = line.split("\t")
        yield Example("wordings", sentence, kind)
    talk = (WORDINGS / f"{language.name}-conversation.txt").read_text("utf-8")
    for sentence in talk.splitlines():
        yield Example("conversation", sentence, NONE)


def _own(language: Language) -> Iterator[Example]:
    for one in commands.sentences():
        if one.language == language.name:
            shared = "_shared" * (one.kind == "remember" and one.shared)
            yield Example("own", one.text, one.kind + shared or NONE)


def talk(language: Language, folders: Sequence[Path] = ()) -> list[Example]:
    """Return conversation: of generated lives, and for English of data folders."""
    said = list[str]()
    for seed in LIVES:
        life = generate(seed, lists.TUNED, language="de" if language.name == "german" else "en")
        said += [turn.user for session in life.sessions for turn in session.turns]
    for folder in folders if language.name == "english" else ():
        for line in datasets.lines(datasets.load(folder).conversations):
            said += [turn["text"] for one in line["sessions"] for turn in one["turns"]]
    parts = (part for text in said for part in (text, *sentences(text)))
    distinct = dict.fromkeys(parts)
    return [Example("talk", part, NONE) for part in distinct if len(words_of(part)) in READ]


def features(examples: Sequence[Example], language: Language) -> Any:
    """Return a sparse matrix of shape (n, ``ROWS``)."""
    from scipy.sparse import csr_matrix

    table, places, values, ends = language.commands.intents, list[int](), list[float](), [0]
    for example in examples:
        found = rows(words_of(example.sentence), table)
        places.extend(found)
        values += [len(found) ** -0.5] * len(found)
        ends.append(len(places))
    return csr_matrix((values, places, ends), shape=(len(examples), ROWS))


def fit(examples: Sequence[Example], language: Language) -> IntentModel:
    """Fit a multinomial logistic regression."""
    from sklearn.linear_model import LogisticRegression

    heavy = [1.0 if one.list in MADE else HAND_WRITTEN for one in examples]
    model = LogisticRegression(C=STRENGTH, max_iter=300).fit(
        features(examples, language), [one.kind for one in examples], sample_weight=heavy
    )
    return IntentModel(list(model.classes_), model.coef_.T, model.intercept_)


def write(file: Path, **arrays: np.ndarray) -> None:
    """Put arrays into a file of weights, beside those that it has."""
    stored = np.load(io.BytesIO(lzma.decompress(file.read_bytes())))
    with lzma.open(file, "w", preset=9) as packed:
        np.savez(packed, **{**stored, **arrays})


def whole(weights: np.ndarray, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Return weights as whole numbers from ``-steps`` to ``steps``, and a scale for each column.

    Fewer steps make a smaller file: a sentence has a hundred weights, whose errors cancel out.
    """
    scale = np.abs(weights).max(axis=0) / steps
    return np.round(weights / scale).astype(np.int8), scale.astype(np.float32)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = common.arguments(__doc__)
    parser.add_argument("--data", type=Path, action="append", default=[], help="folder of talk")
    options = parser.parse_args(arguments)
    for language in LANGUAGES:
        examples = [*templates(language), *talk(language, options.data), *_unseen(language)]
        examples += [*_wordings(language), *_own(language)]
        model = fit(examples, language)
        weights, scale = whole(model.weights, LEVELS)
        constant = np.array(model.constant, np.float32)
        file = PACKAGES / language.name / FILE
        write(file, kinds=np.array(model.kinds), weights=weights, scale=scale, constant=constant)
        common.console.print(f"{language.name}: fitted on {len(examples)} sentences")


if __name__ == "__main__":
    main()
