"""Single utterances: voice commands, look-alikes, what the gate looks up, names of one entity."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.unseen.lists import Row, Verdict, language, one
from benchmarks.unseen.wording import same_phrase
from slowcat_memory.core.commands.grammar import recognise
from slowcat_memory.core.extraction.mentions import Mention
from slowcat_memory.core.graph.dedup import Similarity
from slowcat_memory.core.graph.entity_index import EntityIndex
from slowcat_memory.core.language import language_of
from slowcat_memory.core.query.recall_gate import judge
from slowcat_memory.idle.jobs.options import FactsOptions
from slowcat_memory.providers import EmbedderOptions, open_query_embedder

AGENT_NAMES = ("Slowcat", "Slow Cat", "Assistant")
# What the lists call the kinds of commands that the product carries out; a kind that is not among
# them changes nothing, and asks back or tells that nothing was changed.
KINDS = {
    "remember": "remember",
    "forget_that": "forget that",
    "forget_about": "forget topic",
    "forget_topic": "forget topic",
    "forget_span": "forget span",
    "forget_everything": "forget everything",
    "off_record": "off record",
    "on_record": "on record",
    "what_known": "what do you know",
    "undo": "undo",
    "local": "local only",
    "correct": "correct",
    "why": "why",
    "who_sees": "who sees",
    "yes": "yes",
    "no": "no",
}
PRIVATE = frozenset(
    ("forget that", "forget topic", "forget span", "forget everything", "off record", "on record")
)
NEAR_MISS = "near miss"


def recognised(row: Row) -> tuple[str, str]:
    """Return the kind and argument of the command in a sentence, as the lists write them.

    Returns:
        ("", "") for conversation; ("near miss", …) for a kind that changes nothing.
    """
    found: Any = recognise(row["sentence"], language(row), names=AGENT_NAMES)
    if found is None:
        return "", ""
    kind = KINDS.get(found.kind, NEAR_MISS)
    everything = language_of(language(row)).commands.everything
    if kind == "forget topic" and found.argument.lower() in everything:
        kind = "forget everything"
    if kind == "remember" and found.shared:
        kind = "remember shared"
    return kind, found.argument


def _asked_about(row: Row) -> str:
    """Return the kind of command that a "yes" would carry out."""
    found = recognise(row["sentence"], language(row), names=AGENT_NAMES)
    meant = found and found.meant
    return KINDS.get(meant.kind, "") if meant else ""


def commands(row: Row) -> Verdict:
    """Judge spoken commands: kinds and arguments, other kinds done, and missed ones noticed."""
    kind, argument = recognised(row)
    right = kind == row["kind"]
    asked = kind == NEAR_MISS and _asked_about(row) == row["kind"]
    marks = {"right kind": one(right), "right kind, or asked whether": one(right or asked)}
    if row["argument"]:
        same = right and same_phrase(argument, row["argument"], language(row))
        marks["right argument"] = one(same)
        if right:
            marks["right argument of those done"] = one(same)
    if row["kind"] in PRIVATE:
        marks["privacy, right kind"] = one(right)
        if not right:
            marks["missed privacy noticed"] = one(kind == NEAR_MISS)
    wrong = not all(part for part, _ in marks.values())
    marks["another kind done"] = one(not right and kind not in ("", NEAR_MISS))
    came_out = f"{kind or '-'}({argument}), wanted {row['kind']}({row['argument']})"
    return Verdict(row, marks, wrong, came_out)


def lookalikes(row: Row) -> Verdict:
    """Judge sentences that are no command: carried out, or asked back about."""
    kind, argument = recognised(row)
    marks = {"taken": one(kind not in ("", NEAR_MISS)), "asked back": one(kind == NEAR_MISS)}
    return Verdict(row, marks, bool(kind), f"{kind}({argument})")


def gate(row: Row) -> Verdict:
    """Judge which utterances are looked up."""
    query = judge(row["sentence"], language(row)).query
    if row["needs"] == "yes":
        return Verdict(row, {"looked up": one(query)}, not query, "skipped")
    return Verdict(row, {"skipped": one(not query)}, bool(query), f"looked up: {query}")


def entities(rows: Sequence[Row], _: Sequence[Row] = ()) -> list[Verdict]:
    """Judge pairs of mentions as the entity job resolves them: the first one known, then the other.

    Embeds names if the model is present.
    """
    similar = cosine()
    return [_pair(row, similar) for row in rows]


def cosine() -> Similarity | None:
    """Return the cosine of two texts by the embedding model; None where there is none."""
    embedder = open_query_embedder(EmbedderOptions())[0]
    return embedder and (lambda *texts: float(np.dot(*embedder.encode(texts))))


def _pair(row: Row, similar: Similarity | None) -> Verdict:
    index = EntityIndex("unseen", (), FactsOptions())
    first, second = (
        index.find_or_add(Mention(row[name], row["type"]), similar) for name in ("first", "second")
    )
    joined = bool(first.entity) and first.entity == second.entity
    same = row["same"] == "1"
    marks = {"precision": (float(joined and same), float(joined))}
    if same:
        marks["recall"] = one(joined)
    came_out = f"{row['type']}: {row['first']} | {row['second']}: {'joined' if joined else 'apart'}"
    return Verdict(row, marks, joined != same, came_out)
