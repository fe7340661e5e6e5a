"""Recognises voice commands that are composed freely, from slots over classes of words.

"Everything from last week can go, delete it from your memory" is none of the fixed phrases of
``core.commands.grammar``. Here a sentence is a command if it asks for a change of the memory (the
*verb*), says of what (the *object*: the words just said, a topic, a time, everything), and nothing
speaks against it: somebody else's words, a question, a thing that is no memory. Commands differ
only in which slots are filled; the slots of a language are in its ``compose.toml``.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from slowcat_memory.core.language.compose import ComposeWords
from slowcat_memory.core.language.table import CommandKind
from slowcat_memory.core.language.word_classes import OTHER, STOP

_QUOTED = re.compile(r'^\W*["“„»«]|[,:]\s*["“„»«]|[.,!?]["”“«»]')  # somebody's words
_TOKEN = re.compile(r"[^\W_]+(?:['-][^\W_]+)*|[^\w\s]")
MAX_TOKENS = 60  # of an utterance; a longer one is conversation
TOPIC_WORDS = 8


class Composed(NamedTuple):
    """A composed command.

    Attributes:
        span: The argument's offsets in the text, None for none.
        sure: False for a near miss, which the user has to confirm.
    """

    kind: CommandKind
    span: tuple[int, int] | None = None
    shared: bool = False
    sure: bool = True


class _Slots:
    """The slots of one utterance, filled when they are asked for."""

    def __init__(self, codes: str, table: ComposeWords) -> None:
        self._codes, self._table = codes, table
        self._there, self._present = table.bits_in(codes), ("", *set(codes))
        self._found: dict[str, re.Match[str] | None] = {}

    def __call__(self, *names: str) -> bool:
        """Return whether any of the slots is filled."""
        return any(self.find(name) is not None for name in names)

    def find(self, name: str) -> re.Match[str] | None:
        if name not in self._found:
            self._found[name] = self._search(name)
        return self._found[name]

    def _search(self, name: str) -> re.Match[str] | None:
        slot, there = self._table.compiled[name], self._there
        possible = {
            one.place: one.pattern
            for code in self._present
            for one in slot.get(code, ())
            if not any(not there & bits for bits in one.needs)
        }
        for place in sorted(possible):
            if found := possible[place].search(self._codes):
                return found
        return None


class Utterance:
    """What somebody said, read once for all questions about commands in it.

    Attributes:
        text: The words, with plain apostrophes.
        table: The grammar of the language.
        names: The agent's names.
    """

    def __init__(self, text: str, table: ComposeWords, names: tuple[str, ...] = ()) -> None:
        self.text, self.table, self.names = text, table, names

    @cached_property
    def tokens(self) -> Sequence[re.Match[str]]:
        """Its words and punctuation marks."""
        return list(_TOKEN.finditer(self.text))

    @cached_property
    def codes(self) -> str:
        """The codes of its tokens."""
        words = [token[0].lower() for token in self.tokens]
        codes = "".join(map(self.table.code, words))
        return _with_agent(codes, words, self.table, self.names)

    @cached_property
    def slots(self) -> _Slots:
        """What the table's patterns find in it."""
        return _Slots(self.codes, self.table)

    @cached_property
    def may_command(self) -> bool:
        """Whether it has a word without which there is no command, and is short enough."""
        possible = 1 < len(self.tokens) <= MAX_TOKENS
        return possible and not self.table.needed.isdisjoint(self.codes)

    @cached_property
    def is_reported(self) -> bool:
        """Whether it holds a quotation: "Delete it", he said."""
        return _QUOTED.search(self.text) is not None

    @cached_property
    def calls_another(self) -> bool:
        """Whether somebody else is addressed: a name between two commas."""
        codes, table = self.codes, self.table
        if len(codes) < 2 or not any(pause in codes for pause in table.pauses):
            return False
        closed, kin = f"{STOP}{codes}{STOP}", table.code_of["kids"]
        return any(
            closed[at] in table.pauses
            and closed[at + 2] in table.pauses
            and (code == kin or (code == OTHER and self.tokens[at][0][0].isupper()))
            for at, code in enumerate(codes)
        )


def addresses_another(said: Utterance, *, reports: bool = False) -> bool:
    """Return whether somebody else than the agent is addressed: "Remember, kids, …".

    Args:
        reports: Whether also what somebody said or did counts: "…, he said".
    """
    return said.calls_another or (reports and said.slots("veto"))


def is_order(said: Utterance) -> bool:
    """Return whether a memory verb is addressed to the agent, whatever it is about."""
    if not said.may_command or said.calls_another:
        return False
    return said.slots("orders") and not said.slots("foreign", "question")


class Doubts(NamedTuple):
    """What speaks against a command in an utterance.

    Attributes:
        known: It has a word about the memory.
        elsewhere: It is addressed to somebody else, or holds a quotation.
        foreign: It has a thing that is no memory.
        against: A third person, a condition, a report.
        asks: It is a question.
    """

    known: bool
    elsewhere: bool
    foreign: bool
    against: bool
    asks: bool


def find_doubts(said: Utterance) -> Doubts:
    """Return what speaks against a command in an utterance."""
    slots, table = said.slots, said.table
    return Doubts(
        known=not table.needed.isdisjoint(said.codes),
        elsewhere=said.is_reported or said.calls_another or _begins_with_name(said.codes, table),
        foreign=slots("foreign") and not slots("memory", "said", "known"),
        against=slots("veto", "third"),
        asks=slots("question"),
    )


def compose(said: Utterance) -> Composed | None:
    """Return the command in an utterance, or None for conversation."""
    return _decide(said) if said.may_command and not said.calls_another else None


def _decide(said: Utterance) -> Composed | None:
    slots = said.slots
    asks = slots("asks") and not slots("erases", "corrects")
    kind: CommandKind | None = "what_known" if asks else None
    if not asks and not slots("addressed", "corrects"):
        return None
    kind = kind or _kind(slots)
    if kind is None and not slots("near"):
        return None
    if slots("veto") or (not asks and slots("question")):
        return None
    if kind is None:
        return _near_miss(said)
    if kind not in _OWN_WORDS and _is_of_others(slots, kind):
        return None
    span = patterned_argument(kind, said)
    if kind in _NEEDS_ARGUMENT and span is None:
        return None
    return Composed(kind, span, kind == "remember" and slots("for_all"))


def _is_of_others(slots: _Slots, kind: CommandKind) -> bool:
    """Return whether a thing is meant, or somebody else, and not the memory or what was said."""
    if slots("memory", "said", "known") or (kind in _OF_TOPICS and slots("total")):
        return False
    if slots("foreign"):
        return True
    proof = {"local": "digital", "undo": "undoes"}.get(kind)
    return slots("third") and not (proof and slots(proof))


def _near_miss(said: Utterance) -> Composed | None:
    """Return the likeliest command about privacy, to be confirmed, in what was not understood."""
    slots = said.slots
    if slots("foreign"):
        return None
    kind: CommandKind = "forget_that"
    if slots("unstored") or (slots("future") and not slots("topic")):
        kind = "off_record"
    elif slots("topic") and not _is_general(slots):
        kind = "forget_about"
    elif slots("span"):
        kind = "forget_span"
    span = patterned_argument(kind, said)
    if span is None and kind in _NEEDS_ARGUMENT:
        kind = "forget_that"
    return Composed(kind, span, sure=False)


_OF_TOPICS = ("forget_about", "local")
_OWN_WORDS = ("remember", "correct")  # may be about anything
_NEEDS_ARGUMENT = ("remember", "correct", "forget_about", "forget_span")


def _kind(slots: _Slots) -> CommandKind | None:
    for kind, alternatives in _FIXED:
        if any(all(map(slots, wanted)) for wanted in alternatives):
            return kind
    if slots("for_all") and slots("stores_before", "stores_after"):
        return "remember"
    if slots("erases"):
        return _forgotten(slots)
    if slots("unstored"):
        return _unstored(slots)
    return "remember" if slots("stores_before", "stores_after") else None


_FIXED: tuple[tuple[CommandKind, tuple[tuple[str, ...], ...]], ...] = (
    ("forget_everything", (("resets",),)),
    ("on_record", (("resumes",),)),
    ("forget_that", (("unsays",),)),
    ("undo", (("undone",), ("restores",), ("gives_back", "undoes"))),
    ("off_record", (("stops",),)),
    ("local", (("stays",),)),
    ("correct", (("corrects",),)),
)


def _forgotten(slots: _Slots) -> CommandKind | None:
    """Return what is to be forgotten, most particular first."""
    if slots("coming"):
        return "off_record"
    held = slots("memory", "said", "known")
    if slots("ever") and held:
        return "forget_everything"
    if slots("just") and (held or slots("forgets")):
        return "forget_that"
    if (held or slots("total")) and slots("topic") and not _is_general(slots):
        return "forget_about"
    if slots("span") and (held or slots("span_held")):
        return "forget_span"
    if slots("whole") and (held or slots("forgets")):
        return "forget_everything"
    return "forget_that" if slots("pointed") and (held or slots("wants_forgotten")) else None


def _unstored(slots: _Slots) -> CommandKind | None:
    """Return what must not be stored: what was said, what is about to be said, or a topic."""
    if slots("just") and not slots("coming"):
        return "forget_that"
    if slots("future"):
        return "off_record"
    if slots("span") and slots("said"):
        return "forget_span"
    if slots("just"):
        return "forget_that"
    if slots("no_longer"):
        return "forget_about"
    if slots("any"):
        return "off_record"
    return "forget_that" if slots("pointed") else None


def _is_general(slots: _Slots) -> bool:
    """Return whether the topic is a time, or the user: "everything from last week"."""
    topic, span = slots.find("topic"), slots.find("span")
    starts = (
        topic is not None and span is not None and span.start() - topic.start("x") in (-1, 0, 1)
    )
    return starts or slots("general")


_ARGUMENT: Mapping[str, tuple[str, ...]] = {
    "forget_about": ("topic", "no_longer"),
    "forget_span": ("span",),
    "what_known": ("topic",),
    "local": ("stays",),
}


def patterned_argument(kind: CommandKind, said: Utterance) -> tuple[int, int] | None:
    """Return the offsets of the argument that a pattern of the kind finds."""
    slots, codes, table = said.slots, said.codes, said.table
    first, last = -1, -1
    for name in _ARGUMENT.get(kind, ()):
        if (found := slots.find(name)) and "x" in found.re.groupindex and found["x"]:
            if found["x"][0] != table.code_of["that"] or OTHER in found["x"]:
                first, last = found.span("x")
                break
    if kind == "forget_span" and first < 0 and (found := slots.find("span")):
        first, last = found.span()
    if kind == "correct" and (found := slots.find("corrects")):
        first, last = found.span("x") if "x" in found.re.groupindex else (found.end(), len(codes))
    if kind == "remember":
        if after := slots.find("stores_after"):
            first, last = after.end(), len(codes)
        elif before := slots.find("stores_before"):
            first, last = 0, before.start()
    return trimmed(first, last, said)


def trimmed(first: int, last: int, said: Utterance) -> tuple[int, int] | None:
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


def _with_agent(
    codes: str, words: Sequence[str], table: ComposeWords, names: tuple[str, ...]
) -> str:
    """Mark the agent's names, which may have several words."""
    agent = table.code_of["agent"]
    for name in names:
        parts = name.lower().split()
        for at in range(len(words) - len(parts) + 1) if parts and parts[0] in words else ():
            if words[at : at + len(parts)] == parts:
                codes = codes[:at] + agent * len(parts) + codes[at + len(parts) :]
    return codes


def _begins_with_name(codes: str, table: ComposeWords) -> bool:
    """Return whether an imperative follows one unknown word: "robbie forget that"."""
    orders = [table.code_of[name] for name in ("forget", "erase", "store")]
    return codes[:1] == OTHER and codes[1:2] in orders
