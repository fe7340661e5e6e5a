"""Fits the model that finds a command's argument in free words, and adds its weights to the file.

The sentences are the templates from which the model of kinds is fitted (``benchmarks.intents``),
where the argument is what a slot was filled with, and hand-written ones with their arguments:
``data/commands.tsv``, those of the tests, and of the unseen list the half "tuned". Slots are filled
with made-up phrases and with sentences of talk too, so that the words around an argument are
learned and not those in it.

    python -m benchmarks.arguments

``python -m benchmarks.unseen --list commands`` judges it: "right argument of those done".
"""

import random
import re
import tomllib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from benchmarks import commands, common
from benchmarks.intents import (
    DATA,
    HAND_WRITTEN,
    KINDS,
    PACKAGES,
    SEED,
    WORDINGS,
    expand,
    talk,
    whole,
    write,
)  # fmt: skip
from benchmarks.unseen import lists
from slowcat_memory.core.commands.grammar import OWN_WORDS, READ, WORD, Sentence
from slowcat_memory.core.commands.intent_model import FILE, ROWS, token_rows
from slowcat_memory.core.language import LANGUAGES, Language
from slowcat_memory.core.language.data import read_data

NAMES = ("Slowcat",)
EACH, EACH_WITHOUT = 60, 2  # sentences of a template, and of one for another kind
PENALTY, STEPS = 4.0, 120  # of squared weights; of the fit
LEVELS = 16  # of weights, below and above 0
STATED = range(3, 15)  # words of talk that fills a slot
MADE_UP = 2  # phrases for each of the templates' own
TOPICS, STATEMENTS = ("topic", "dative"), ("stmt", "sub")
SLOTS = {
    "forget_about": TOPICS,
    "what_known": TOPICS,
    "local": TOPICS,
    "forget_span": ("time",),
    "remember": STATEMENTS,
    "remember_shared": STATEMENTS,
    "correct": ("right",),
}
NEEDED = ("forget_about", "forget_span", "correct")  # a template without a slot tells nothing
_OTHERS = ("off_record", "on_record", "forget_that", "undo", "why", "who_sees")
WITHOUT = {  # kinds without an argument in sentences of others
    "remember": _OTHERS,
    "correct": _OTHERS,
    "forget_about": ("forget_that", "forget_everything"),
    "forget_span": ("forget_that", "forget_everything", "undo"),
}
MARKED = re.compile("\u27e6(.*?)\u27e7")
PAUSES = (",", ".", ":", ", so", " and", ", but")
TALK = 0.2, 0.1  # shares of sentences with talk before and after
NOISE = 0.05  # of words that are replaced
PUNCTUATION = re.compile(r"[.,:;!?]+(?= |$)")
ODD = re.compile(r"[?\[\]{}|]")  # in a statement: a question, or the signs of templates
CHUNK = 1000  # sentences whose runs are scored at once

Run = tuple[int, int]


class Marked(NamedTuple):
    """A sentence and the offsets of its argument; None for none."""

    kind: str
    text: str
    argument: Run | None
    weight: float = 1.0


# ---------------------------------------------------------------- sentences


def templates(language: Language) -> Iterator[Marked]:
    """Yield the sentences of the templates, half of them as recognisers write."""
    table = tomllib.loads((DATA / "intents" / f"{language.name}.toml").read_text("utf-8"))
    rng, words = random.Random(SEED), {**table["words"], **_common(language)}
    words |= {name: own for name, own in table["fillers"].items() if name not in words}
    marked = dict[str, list[str]]()
    for slot in {slot for slots in SLOTS.values() for slot in slots} & words.keys():
        own, made_up = words[slot], table["fillers"][slot]
        options = [*own, *made_up * (MADE_UP * len(own) // len(made_up) + 1)]
        marked[slot] = [f"\u27e6{option}\u27e7" for option in options]
    for kind, slots in SLOTS.items():
        for pattern in table["intents"][kind]:
            if kind in NEEDED and not any(f"{{{slot}}}" in pattern for slot in slots):
                continue
            for topic in table["fillers"]["named"]:
                pattern = pattern.replace(topic, "{topic}")
            for _ in range(EACH):
                text = expand(pattern, {**words, **marked}, rng)
                if kind not in OWN_WORDS:
                    text = _with_talk(text, words["statement"], rng)
                yield _read(kind, _as_said(_with_noise(text, words["word"], rng), rng))
    for kind, others in WITHOUT.items():
        for pattern in (pattern for other in others for pattern in table["intents"][other]):
            for _ in range(EACH_WITHOUT):
                yield Marked(kind, _as_said(expand(pattern, words, rng), rng), None)


def _common(language: Language) -> dict[str, list[str]]:
    """Return words that no command is told by, and statements."""
    package = f"slowcat_memory.core.language.{language.name}"
    ordinary = read_data(package, "ordinary.txt").decode().split()
    words = [word for word in ordinary if word not in language.commands.intents.codes]
    stated = [one.sentence.strip(" .!") for one in talk(language)]
    for row in lists.read(lists.FOLDER / "facts.tsv", "language sentence"):
        if row["half"] == lists.TUNED and lists.language(row) == language.name:
            stated.append(row["sentence"].strip(" .!"))
    return {
        "word": words,
        "noun": [word.capitalize() for word in words],
        "statement": [one for one in stated if not ODD.search(one) and len(one.split()) in STATED],
    }


def _with_talk(text: str, talk: Sequence[str], rng: random.Random) -> str:
    before, after = (rng.random() < share for share in TALK)
    text = f"{rng.choice(talk)}{rng.choice(PAUSES)} {text}" if before else text
    return f"{text}{rng.choice(PAUSES)} {rng.choice(talk)}" if after else text


def _with_noise(text: str, words: Sequence[str], rng: random.Random) -> str:
    """Replace some of the words around the argument."""
    parts = re.split("(\u27e6.*\u27e7)", text)
    for at in range(0, len(parts), 2):
        parts[at] = WORD.sub(
            lambda word: rng.choice(words) if rng.random() < NOISE else word[0], parts[at]
        )
    return "".join(parts)


def _as_said(text: str, rng: random.Random) -> str:
    return text if rng.random() < 0.5 else PUNCTUATION.sub("", text).lower()


def _read(kind: str, text: str) -> Marked:
    """Read a sentence in which the argument is marked; of several the first."""
    found = MARKED.search(text)
    if found is None:
        return Marked(kind, text, None)
    plain = MARKED.sub(r"\1", text)
    return Marked(kind, plain, (found.start(), found.start() + len(found[1])))


def hand_written(language: Language) -> Iterator[Marked]:
    """Yield the other sentences; of the unseen list the half "tuned" alone."""
    for row in lists.read(lists.FOLDER / "commands.tsv", "language sentence"):
        kind = KINDS.get(row["kind"], row["kind"].replace(" ", "_"))
        own = row["half"] == lists.TUNED and lists.language(row) == language.name
        if own and kind != "correct":  # where the list has the right value alone
            yield from _found(kind, row["sentence"], row["argument"])
    for line in (WORDINGS / "arguments.tsv").read_text("utf-8").splitlines():
        name, kind, sentence, argument = line.split("\t")
        if name == language.name:
            yield from _found(kind, sentence, argument)
    for one in commands.sentences():
        if one.language == language.name:
            yield from _found(one.kind, one.text, one.argument)


def _found(kind: str, text: str, argument: str) -> Iterator[Marked]:
    words = r"\W+".join(map(re.escape, WORD.findall(argument)))
    place = re.search(rf"(?<!\w){words}(?!\w)", text.replace("’", "'"), re.IGNORECASE)
    if kind in SLOTS and (place or not argument):
        yield Marked(
            kind, text.replace("’", "'"), place and argument and place.span() or None, HAND_WRITTEN
        )


# ---------------------------------------------------------------- the fit


class TokenRows(NamedTuple):
    """What is fitted: the features of all tokens, and of each sentence its tokens and argument.

    Attributes:
        rows: A sparse matrix, (tokens, ``ROWS``).
        sentences: First token, number of tokens, and the argument's first and last token, counted
            from the sentence's first one; -1 for none. Shape (sentences, 4), the short ones first.
        words: Whether a token is a word, by token.
        weights: By sentence.
    """

    rows: Any
    sentences: np.ndarray
    words: np.ndarray
    weights: np.ndarray


def tokens(examples: Sequence[Marked], language: Language) -> TokenRows:
    from scipy.sparse import csr_matrix

    table, read = language.commands.intents, list[tuple[int, Sentence, Marked]]()
    for one in examples:
        said = Sentence(one.text, table, NAMES)
        if len(WORD.findall(one.text)) in READ:
            read.append((len(said.tokens), said, one))
    read.sort(key=lambda one: one[0])
    places, sentences, words, at = list[np.ndarray](), list[tuple[int, ...]](), list[bool](), 0
    for length, said, one in read:
        kind = one.kind.removesuffix("_shared")
        spoken = [token[0].lower() for token in said.tokens]
        places.append(token_rows(kind, spoken, said.codes, table).T)
        inside = [
            n
            for n, token in enumerate(said.tokens)
            if one.argument and token.end() > one.argument[0] and token.start() < one.argument[1]
        ]
        words += [code not in table.pauses for code in said.codes]
        sentences.append((at, length, *((inside[0], inside[-1]) if inside else (-1, -1))))
        at += length
    rows = np.concatenate(places)
    ends = np.arange(0, rows.size + 1, rows.shape[1])
    matrix = csr_matrix((np.ones(rows.size, np.float32), rows.ravel(), ends), (at, ROWS))
    weights = np.array([one.weight for _, _, one in read], np.float32)
    return TokenRows(matrix, np.array(sentences), np.array(words), weights)


def fit(examples: Sequence[Marked], language: Language, penalty: float = PENALTY) -> np.ndarray:
    """Return weights, shape (``ROWS``, 4), under which the arguments are the likeliest runs."""
    from scipy.optimize import minimize

    data = tokens(examples, language)
    transposed = data.rows.T.tocsr()

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        weights = flat.reshape(ROWS, 4).astype(np.float32)
        scores = data.rows @ weights
        total, slopes = 0.0, np.zeros_like(scores)
        for at in range(0, len(data.sentences), CHUNK):
            total += _chunk(data, slice(at, at + CHUNK), scores, slopes)
        slope = (transposed @ slopes).astype(np.float64).ravel() + penalty * flat
        return total + 0.5 * penalty * float(flat @ flat), slope

    start = np.zeros(ROWS * 4)
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": STEPS})
    return found.x.reshape(ROWS, 4)


def _chunk(data: TokenRows, part: slice, scores: np.ndarray, slopes: np.ndarray) -> float:
    """Add the slopes of some sentences, and return their loss: -log of the right run's share."""
    first, length, begin, end = data.sentences[part].T
    heavy = data.weights[part]
    within = np.arange(length.max()) < length[:, None]
    at = np.where(within, first[:, None] + np.arange(length.max()), 0)
    begins, ends, inside, none = np.where(within, scores[at].transpose(2, 0, 1), 0.0)
    possible = within & data.words[at]
    through = inside.cumsum(axis=1)
    runs = (begins + inside - through)[:, :, None] + (ends + through)[:, None, :]
    allowed = possible[:, :, None] & possible[:, None, :] & ~np.tri(length.max(), k=-1, dtype=bool)
    runs = np.where(allowed, runs, -np.inf)
    nothing = none.sum(axis=1)
    most = np.maximum(runs.max(axis=(1, 2)), nothing)
    odds, idle = np.exp(runs - most[:, None, None]), np.exp(nothing - most)
    whole = odds.sum(axis=(1, 2)) + idle
    shares = odds / whole[:, None, None]
    given, each = begin >= 0, np.arange(len(begin))
    right = np.where(given, runs[each, begin, end], nothing)
    shares[each[given], begin[given], end[given]] -= 1.0
    of_begin, of_end = shares.sum(axis=2), shares.sum(axis=1)
    of_inside = of_begin.cumsum(axis=1) - of_end.cumsum(axis=1) + of_end
    of_none = np.broadcast_to((idle / whole - ~given)[:, None], within.shape)
    slope = np.stack([of_begin, of_end, of_inside, of_none], axis=-1) * heavy[:, None, None]
    slopes[at[within]] = slope[within]
    return float(((most + np.log(whole) - right) * heavy).sum())


def main() -> None:
    common.arguments(__doc__).parse_args()
    for language in LANGUAGES:
        examples = [*templates(language), *hand_written(language)]
        weights, scale = whole(fit(examples, language), LEVELS)
        write(PACKAGES / language.name / FILE, arguments=weights, arguments_scale=scale)
        common.console.print(f"{language.name}: fitted on {len(examples)} sentences")


if __name__ == "__main__":
    main()
