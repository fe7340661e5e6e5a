"""Decides what the model of intents may do: carry out, ask back, or nothing; and finds arguments.

An utterance that is no fixed phrase is a command only if the model is sure; words that speak
against a command (a question, somebody else's words, a third person) raise the bar, and an
addressee other than the agent, or a thing that is no memory, rules it out. Where the model is only fairly sure of one that changes
the memory, the user is asked; what was said is stored anyway, so "remember" and corrections need no
question.

A topic is the longest run of words that are no words of commands. A time is the longest run of
words of times. A statement is what follows "that" or a colon, or the clauses without words of
commands.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final, NamedTuple, cast

from slowcat_memory.core.commands.intent_model import IntentModel
from slowcat_memory.core.language.table import CommandKind
from slowcat_memory.core.language.word_classes import OTHER, STOP, IntentWords

SURE: Final = 0.6
_RATHER_SURE = 0.5  # of what takes nothing away, or not before a "yes"
_QUITE_SURE = 0.9  # although something speaks against it, or no word of the memory is there
_THIS_KIND: Final = 0.5  # that it is this change and no other, which no preview shows
LIKELY = 0.25  # enough to ask about a change, and to tell the LLM that nothing was changed
READ = range(3, 26)  # words of what is judged: shorter utterances are set phrases
_LEAST = 2  # words of a statement
_TOPIC_WORDS = 8
_ERASES = frozenset(("forget_that", "forget_everything"))
QUESTIONS = frozenset(("what_known", "why", "who_sees"))
OWN_WORDS = frozenset(("remember", "correct"))  # may be about anything, and state something
_OF_TOPIC = frozenset(("forget_about", "what_known", "local"))
_NEEDS_ARGUMENT = frozenset(("forget_about", "forget_span"))
_ERASING = frozenset("forget forgetting erase erasing erased wipes neg nothing cannot".split())
_QUOTED = re.compile(r'^\W*["“„»«]|[,:]\s*["“„»«]|[.,!?]["”“«»]')  # somebody's words
_TOKEN = re.compile(r"[^\W_]+(?:['-][^\W_]+)*|[^\w\s]")
WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
QUOTES = str.maketrans({"\u2018": "'", "\u2019": "'", "\u02bc": "'"})

Run = tuple[int, int]


class Utterance:
    """What somebody said, read once for all questions about commands in it.

    Attributes:
        text: The words, with plain apostrophes.
        table: The classes of words of the language.
        names: The agent's names.
    """

    def __init__(self, text: str, table: IntentWords, names: tuple[str, ...] = ()) -> None:
        self.text, self.table, self.names = text, table, names

    @cached_property
    def tokens(self) -> Sequence[re.Match[str]]:
        """Its words and punctuation marks."""
        return list(_TOKEN.finditer(self.text))

    @cached_property
    def codes(self) -> str:
        """The codes of its tokens; the agent's names, which may have several words, are one class."""
        words = [token[0].lower() for token in self.tokens]
        codes = "".join(map(self.table.code, words))
        for parts in (name.lower().split() for name in self.names):
            for at in range(len(words) - len(parts) + 1) if parts and parts[0] in words else ():
                if words[at : at + len(parts)] == parts:
                    agent = self.table.code_of["agent"] * len(parts)
                    codes = codes[:at] + agent + codes[at + len(parts) :]
        return codes

    def find(self, slot: str) -> re.Match[str] | None:
        """Return the first match of a slot's patterns, in their order."""
        tried = (one.search(self.codes) for one in self.table.compiled[slot])
        return next(filter(None, tried), None)

    @cached_property
    def is_reported(self) -> bool:
        """Whether it holds a quotation: "Delete it", he said."""
        return _QUOTED.search(self.text) is not None

    @cached_property
    def calls_another(self) -> bool:
        """Whether somebody else is addressed: "Remember, kids, …"."""
        codes, table = self.codes, self.table
        closed, kin = f"{STOP}{codes}{STOP}", table.code_of["kids"]
        return len(codes) > 1 and any(
            closed[at] in table.pauses
            and closed[at + 2] in table.pauses
            and (code == kin or (code == OTHER and self.tokens[at][0][0].isupper()))
            for at, code in enumerate(codes)
        )


class IntendedCommand(NamedTuple):
    """A command that an utterance asks for.

    Attributes:
        span: The argument's offsets in the text, None for none.
        sure: False for one that the user has to confirm.
    """

    kind: CommandKind
    span: Run | None = None
    shared: bool = False
    sure: bool = True


class Doubts(NamedTuple):
    """What speaks against a command in an utterance.

    Attributes:
        known: It has a word about the memory.
        elsewhere: It is addressed to somebody else, or holds a quotation.
        foreign: It has a thing that is no memory; what is to be forgotten may be about one.
        against: A third person, a condition, a report.
        asks: It is a question.
    """

    known: bool
    elsewhere: bool
    foreign: bool
    against: bool
    asks: bool


def find_doubts(said: Utterance) -> Doubts:
    codes, table = said.codes, said.table
    orders = [table.code_of[name] for name in ("forget", "erase", "store")]
    begins_with_name = codes[:1] == OTHER and codes[1:2] in orders
    return Doubts(
        known=not table.codes_in["content"].isdisjoint(codes),
        elsewhere=said.is_reported or said.calls_another or begins_with_name,
        foreign=table.code_of["foreign"] in codes,
        against=said.find("against") is not None,
        asks=said.find("question") is not None,
    )


def words_of(text: str, names: tuple[str, ...] = ("Slowcat",)) -> list[str]:
    """Return the words of an utterance in lower case, without the agent's names."""
    line = f" {' '.join(WORD.findall(text.translate(QUOTES).lower()))} "
    for name in names:
        line = line.replace(f" {' '.join(WORD.findall(name.lower()))} ", " ")
    return line.split()


def find_intended(said: Utterance, model: IntentModel) -> IntendedCommand | None:
    """Return the command that an utterance asks for; None for conversation."""
    words = words_of(said.text, said.names)
    if len(words) not in READ:
        return None
    intent = model.judge(words, said.table)
    if intent.asks < LIKELY:
        return None
    doubts = find_doubts(said)
    shared = intent.kind == "remember_shared"
    kind = cast("CommandKind", "remember" if shared else intent.kind)
    if doubts.elsewhere or (doubts.foreign and kind not in OWN_WORDS | _NEEDS_ARGUMENT | QUESTIONS):
        return None
    if kind.startswith("forget") and _only_stores(words, said.table):
        return None
    certain = kind in QUESTIONS | OWN_WORDS | _NEEDS_ARGUMENT or intent.share >= _THIS_KIND
    if certain and intent.asks >= _bar(kind, doubts):
        return _with_argument(kind, shared, said)
    bar = LIKELY if doubts.known and not (doubts.against or doubts.asks) else SURE
    if kind not in QUESTIONS | OWN_WORDS and intent.asks >= bar:
        found = _with_argument(kind, False, said)
        return found and found._replace(sure=False)
    return None


def asks_something(said: Utterance, model: IntentModel) -> bool:
    """Return whether the model rather sees a command that changes the memory than conversation."""
    words = words_of(said.text, said.names)
    if len(words) not in READ:
        return False
    intent = model.judge(words, said.table)
    if intent.asks < LIKELY or intent.kind in QUESTIONS:
        return False
    doubts = find_doubts(said)
    return doubts.known and not any(doubts[1:])


def _only_stores(words: list[str], table: IntentWords) -> bool:
    """Return whether words ask to store and none to erase: "remember the thing with the fence"."""
    named = {table.name_of.get(table.code(word), "") for word in words}
    return "store" in named and named.isdisjoint(_ERASING)


def _bar(kind: str, doubts: Doubts) -> float:
    against = doubts.against and kind not in OWN_WORDS
    if against or not doubts.known or (doubts.asks and kind not in QUESTIONS):
        return _QUITE_SURE
    return SURE if kind in _ERASES else _RATHER_SURE


def _with_argument(kind: CommandKind, shared: bool, said: Utterance) -> IntendedCommand | None:
    span = find_argument(kind, said)
    if span is None and kind in OWN_WORDS:
        return None
    if span is None and kind in _NEEDS_ARGUMENT:
        return IntendedCommand("forget_that", sure=False)
    return IntendedCommand(kind, span, shared)


# ---------------------------------------------------------------- arguments


def find_argument(kind: CommandKind, said: Utterance) -> Run | None:
    """Return the offsets of a command's argument in an utterance; None for none."""
    codes, table = said.codes, said.table
    run: Run | None = None
    if kind in _OF_TOPIC:
        run = _patterned_topic(said) or (_topic(codes, table) if kind == "forget_about" else None)
    elif kind == "forget_span":
        run = _time(codes, table)
    elif kind in OWN_WORDS:
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
    most, edges = 0, table.codes_in["edges"]
    for first, last in _runs(codes, table.codes_in["phrase"] | {OTHER}):
        while first < last and codes[first] in edges:
            first += 1
        while last > first and codes[last - 1] in edges:
            last -= 1
        own = codes.count(OTHER, first, last)
        if own >= max(most, 1) and last - first <= _TOPIC_WORDS:
            found, most = (first, last), own
    return found


def _time(codes: str, table: IntentWords) -> Run | None:
    runs = [
        run
        for run in _runs(codes, table.codes_in["times"])
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
    verbs, ordered = table.codes_in["verbs"], False
    lone = table.codes_in.get("lone_marks", frozenset())
    for at, code in enumerate(codes[:-_LEAST]):
        ordered = ordered or code in verbs
        follows = codes[at + 1] not in table.pauses and codes[at + 1] not in verbs
        if code in table.codes_in["marks"] and follows and (ordered or code in lone):
            return at + 1, len(codes)
    return None


def _other_clauses(codes: str, table: IntentWords) -> Run | None:
    """Return the longest sequence of clauses without a word of commands."""
    found: Run | None = None
    pauses, head = table.pauses, table.codes_in["head"]
    for first, last in _runs(codes, frozenset(codes) - table.codes_in["verbs"]):
        while first < last and first > 0 and codes[first] not in pauses:
            first += 1  # the rest of a clause of the command
        while last > first and last < len(codes) and codes[last - 1] not in pauses:
            last -= 1
        while first < last and codes[first] in pauses:
            first += 1
        long = sum(code not in head and code not in pauses for code in codes[first:last])
        if long > _LEAST and (found is None or last - first > found[1] - found[0]):
            found = first, last
    return found


def _behind_order(codes: str, table: IntentWords) -> Run | None:
    """Return what follows the first word of commands and the words that belong to it."""
    verbs = table.codes_in["verbs"]
    at = next((at for at, code in enumerate(codes) if code in verbs), len(codes))
    while at < len(codes) and codes[at] in verbs | table.codes_in["orders"]:
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


def _trimmed(first: int, last: int, said: Utterance) -> Run | None:
    """Return the offsets of words without the courtesies around them; None for no word."""
    codes, sets, pair = said.codes, said.table.codes_in, said.table.tail_pair_codes
    while first < last and codes[first] in sets["head"]:
        first += 1
    while last > first:
        if pair and codes.endswith(pair, first, last):
            last -= len(pair)
        elif codes[last - 1] in sets["tail"] or codes[last - 1] == STOP:
            last -= 1
        else:
            return said.tokens[first].start(), said.tokens[last - 1].end()
    return None
