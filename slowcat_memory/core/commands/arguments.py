"""Finds what a command is about where no pattern tells: the topic, the time, the statement.

A topic is the longest run of words that are no words of commands. A time is the longest run of
words of times. A statement is what follows "that" or a colon, or the clauses without words of
commands.
"""

from collections.abc import Iterator

from slowcat_memory.core.commands.utterance import Utterance
from slowcat_memory.core.language.intents import IntentWords
from slowcat_memory.core.language.table import CommandKind
from slowcat_memory.core.language.word_classes import OTHER

_STATED = ("remember", "correct")
_OF_TOPIC = ("forget_about", "what_known", "local")
_LEAST = 2  # words of a statement
_TOPIC_WORDS = 8

Run = tuple[int, int]


def find_argument(kind: CommandKind, said: Utterance) -> Run | None:
    """Return the offsets of a command's argument in an utterance; None for none."""
    codes, table = said.codes, said.table
    run: Run | None = None
    if kind in _OF_TOPIC:
        run = _patterned_topic(said) or (_topic(codes, table) if kind == "forget_about" else None)
    elif kind == "forget_span":
        run = _time(codes, table)
    elif kind in _STATED:
        run = _statement(codes, table, right=kind == "correct")
    return _trimmed(*run, said) if run else None


def _patterned_topic(said: Utterance) -> Run | None:
    found = said.find("topic")
    if found is None or (found["x"][0] == said.table.code_of["that"] and OTHER not in found["x"]):
        return None
    return found.span("x")


def _topic(codes: str, table: IntentWords) -> Run | None:
    """Return the run with the most words of no class, without prepositions around it."""
    found: Run | None = None
    most = 0
    for first, last in _runs(codes, table.phrase_codes):
        while first < last and codes[first] in table.edge_codes:
            first += 1
        while last > first and codes[last - 1] in table.edge_codes:
            last -= 1
        own = codes.count(OTHER, first, last)
        if own >= max(most, 1) and last - first <= _TOPIC_WORDS:
            found, most = (first, last), own
    return found


def _time(codes: str, table: IntentWords) -> Run | None:
    runs = [
        run
        for run in _runs(codes, table.time_codes)
        if any(table.name_of.get(code) in ("unit", "day") for code in codes[slice(*run)])
    ]
    return max(runs, key=lambda run: run[1] - run[0], default=None)


def _statement(codes: str, table: IntentWords, *, right: bool) -> Run | None:
    """Return what is stated: behind "that" or a colon, in other clauses, behind the order.

    Args:
        right: Whether it is what is right instead, which mostly has a clause of its own.
    """
    ways = [_behind_mark, _other_clauses, _behind_order]
    if right:
        ways.insert(0, _other_clauses)
    values = {OTHER, table.code_of["day"], table.code_of["unit"]}
    runs = (way(codes, table) for way in ways)
    return next((run for run in runs if run and not values.isdisjoint(codes[slice(*run)])), None)


def _behind_mark(codes: str, table: IntentWords) -> Run | None:
    """Return what follows a colon or a "that", after a word of commands."""
    ordered = False
    for at, code in enumerate(codes[:-_LEAST]):
        ordered = ordered or code in table.verb_codes
        follows = codes[at + 1] not in table.pauses and codes[at + 1] not in table.verb_codes
        if code in table.mark_codes and follows and (ordered or code in table.lone_mark_codes):
            return at + 1, len(codes)
    return None


def _other_clauses(codes: str, table: IntentWords) -> Run | None:
    """Return the longest sequence of clauses without a word of commands."""
    found: Run | None = None
    for first, last in _runs(codes, frozenset(codes) - table.verb_codes):
        while first < last and first > 0 and codes[first] not in table.pauses:
            first += 1  # the rest of a clause of the command
        while last > first and last < len(codes) and codes[last - 1] not in table.pauses:
            last -= 1
        while first < last and codes[first] in table.pauses:
            first += 1
        long = sum(
            code not in table.head_codes and code not in table.pauses for code in codes[first:last]
        )
        if long > _LEAST and (found is None or last - first > found[1] - found[0]):
            found = first, last
    return found


def _behind_order(codes: str, table: IntentWords) -> Run | None:
    """Return what follows the first word of commands and the words that belong to it."""
    at = next((at for at, code in enumerate(codes) if code in table.verb_codes), len(codes))
    while at < len(codes) and codes[at] in table.order_codes:
        at += 1
    return (at, len(codes)) if len(codes) - at > _LEAST else None


def _runs(codes: str, inside: frozenset[str]) -> Iterator[Run]:
    """Yield the runs of codes that are all inside a set."""
    first = -1
    for at, code in enumerate([*codes, ""]):
        if code in inside and first < 0:
            first = at
        elif code not in inside and first >= 0:
            yield first, at
            first = -1


def _trimmed(first: int, last: int, said: Utterance) -> tuple[int, int] | None:
    """Return the offsets of words without the courtesies around them; None for no word."""
    codes, table = said.codes, said.table
    while first < last and codes[first] in table.head_codes:
        first += 1
    pair = table.tail_pair_codes
    while last > first and (
        codes[last - 1] in table.tail_codes or (pair and codes.endswith(pair, first, last))
    ):
        last -= 1
        if codes[last - 1 : last + 1] == pair:
            last -= 1
    if first < 0 or first >= last:
        return None
    return said.tokens[first].start(), said.tokens[last - 1].end()
