"""Single utterances: voice commands, look-alikes, what the gate looks up, names of one entity, days.

Of a time expression, found days are *exact* if they are the days meant. They are *near* if they cover these and are at
most three times as many; where several days are meant ("at the weekend"), also if they begin within
a day of the first of them. Any other days are *wrong*: a day off is wrong for an appointment. Of
several readings of one sentence the worst counts, since all of them rank memories.
"""

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

import numpy as np

from benchmarks.unseen.homes import real_embedder
from benchmarks.unseen.lists import Row, Verdict, language, one, zone_name
from benchmarks.unseen.wording import same_phrase
from slowcat_memory.core.commands.corrections import parts_of
from slowcat_memory.core.commands.grammar import Heard
from slowcat_memory.core.extraction.evidence import dated
from slowcat_memory.core.extraction.grounding import ground
from slowcat_memory.core.extraction.mentions import Mention
from slowcat_memory.core.graph.dedup import Similarity
from slowcat_memory.core.graph.entities import EntityIndex
from slowcat_memory.core.language import language_of
from slowcat_memory.core.query.recall_gate import judge
from slowcat_memory.core.query.understand import AskOptions, parse_query
from slowcat_memory.core.time.expressions import Interval, times
from slowcat_memory.idle.jobs.options import FactsOptions
from slowcat_memory.records import Turn

Days = tuple[date, date]
Outcome = Literal["exact", "near", "wrong", "none"]
WORST_FIRST: tuple[Outcome, ...] = ("wrong", "near", "exact")
NEAR_FACTOR = 3  # times as many days as meant


def time(row: Row) -> Verdict:
    """Judge the days found: an event's by what dates facts, a question's by the query's reading."""
    kind, zone = row["kind"], ZoneInfo(zone_name(row))
    said = datetime.fromisoformat(row["said"]).replace(tzinfo=zone)
    if kind == "none":
        found = [*_of_event(row, said), *_of_question(row, said)]
        return Verdict(row, {"no date": one(not found)}, bool(found), _written(found))
    readers = {"question": _of_question, "relative": _of_words}
    found = readers.get(kind, _of_event)(row, said)
    meant = date.fromisoformat(row["first"]), date.fromisoformat(row["last"])
    got = outcome(found, meant)
    sort = kind.partition(" ")[0]
    marks = {
        "exact": one(got == "exact"),
        "exact or near": one(got in ("exact", "near")),
        "wrong": one(got == "wrong"),
        f"{sort}, exact or near": one(got in ("exact", "near")),
    }
    return Verdict(row, marks, got in ("wrong", "none"), f"{_written(found)} ({got})")


def outcome(found: Sequence[Days], meant: Days) -> Outcome:
    """Compare days found with the days meant; both with their last day."""
    each = {_compared(one, meant) for one in found}
    return next((one for one in WORST_FIRST if one in each), "none")


def _compared(found: Days, meant: Days) -> Outcome:
    if found == meant:
        return "exact"
    wide = _count(found) > NEAR_FACTOR * _count(meant)
    covers = found[0] <= meant[0] and found[1] >= meant[1]
    begins = _count(meant) > 1 and abs(found[0] - meant[0]) <= timedelta(days=1)
    return "near" if (covers or begins) and not wide else "wrong"


def _count(days: Days) -> int:
    return (days[1] - days[0]).days + 1


def _of_event(row: Row, said: datetime) -> list[Days]:
    """Return the days of the sentence as a stored fact, from its quote alone."""
    turn = Turn(
        id=1, session="s", scope="user", speaker="User", role="user", text=row["sentence"], at=said
    )
    zone = ZoneInfo(zone_name(row))
    day = dated(row["sentence"], turn, "", ground((turn,), zone), zone).day
    return [_days_of(day)] if day else []


def _days_of(day: str) -> Days:
    """Return the days of a fact's date: "2026-05-12", "2026-05" or "2026"."""
    year, month, *rest = (*(int(part) for part in day.split("-")), 0)
    if rest and rest[0]:
        whole = date(year, month, rest[0])
        return whole, whole
    if month:
        following = date(year + month // 12, month % 12 + 1, 1)
        return date(year, month, 1), following - timedelta(days=1)
    return date(year, 1, 1), date(year, 12, 31)


def _of_question(row: Row, said: datetime) -> list[Days]:
    """Return the days by which memories are ranked for the sentence as a query."""
    query = judge(row["sentence"], language(row)).query
    zone = ZoneInfo(zone_name(row))
    parsed = parse_query(query, said, zone, language=language(row), options=AskOptions())
    return [_days(interval, zone) for interval in parsed.times]


def _of_words(row: Row, said: datetime) -> list[Days]:
    zone = ZoneInfo(zone_name(row))
    found = times(row["sentence"], said, zone, language(row))
    return [_days(interval, zone) for interval in found if not interval.vague]


def _days(interval: Interval, zone: ZoneInfo) -> Days:
    first = interval.start.astimezone(zone).date()
    last = (interval.end - timedelta(microseconds=1)).astimezone(zone).date()
    return first, max(first, last)


def _written(found: Sequence[Days]) -> str:
    return ", ".join(f"{first} to {last}" for first, last in found) or "no date"


# -------------------------------------------------------------------- single utterances


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
    found = Heard(row["sentence"], language(row), AGENT_NAMES).command()
    if not found:
        return "", ""
    kind = KINDS.get(found.kind, NEAR_MISS)
    if kind == "remember" and found.shared:
        kind = "remember shared"
    if kind == "correct":  # what replaces the wrong value is judged, as the list has it
        return kind, parts_of(found.argument, language_of(language(row))).right
    return kind, found.argument


def _asked_about(row: Row) -> str:
    """Return the kind of command that a "yes" would carry out."""
    found = Heard(row["sentence"], language(row), AGENT_NAMES).command()
    return KINDS.get(found.meant.kind, "") if found and found.meant else ""


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


def entities(rows: Sequence[Row]) -> list[Verdict]:
    """Judge pairs of mentions as the entity job resolves them: the first one known, then the other.

    Embeds names if the model is present.
    """
    similar = cosine()
    return [_pair(row, similar) for row in rows]


def cosine() -> Similarity | None:
    """Return the cosine of two texts by the embedding model; None where there is none."""
    embedder = real_embedder()
    return embedder and (lambda *texts: float(np.dot(*embedder.encode(texts).vectors)))


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
