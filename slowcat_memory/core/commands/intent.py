"""Decides what the model of intents may do: carry out, ask back, or nothing.

An utterance that is no fixed phrase is a command only if the model is sure; words that speak
against a command (a question, somebody else's words, a third person) raise the bar, and an
addressee other than the agent, or a thing that is no memory, rules it out. Where the model is only fairly sure of one that changes
the memory, the user is asked; what was said is stored anyway, so "remember" and corrections need no
question. What is to be remembered, forgotten or corrected is found by the model of arguments.
"""

import re
from collections.abc import Sequence
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
_ERASES = frozenset(("forget_that", "forget_everything"))
QUESTIONS = frozenset(("what_known", "why", "who_sees"))
OWN_WORDS = frozenset(("remember", "correct"))  # may be about anything, and state something
_NEEDS_ARGUMENT = frozenset(("forget_about", "forget_span"))
_HAS_ARGUMENT = OWN_WORDS | _NEEDS_ARGUMENT | {"what_known", "local"}
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
        known=not table.needed.isdisjoint(codes),
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
        return _with_argument(kind, shared, said, model)
    bar = LIKELY if doubts.known and not (doubts.against or doubts.asks) else SURE
    if kind not in QUESTIONS | OWN_WORDS and intent.asks >= bar:
        found = _with_argument(kind, False, said, model)
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


def _with_argument(
    kind: CommandKind, shared: bool, said: Utterance, model: IntentModel
) -> IntendedCommand | None:
    span = find_argument(kind, said, model)
    if span is None and kind in OWN_WORDS:
        return None
    if span is None and kind in _NEEDS_ARGUMENT:
        return IntendedCommand("forget_that", sure=False)
    return IntendedCommand(kind, span, shared)


def find_argument(kind: CommandKind, said: Utterance, model: IntentModel) -> Run | None:
    """Return the offsets of a command's argument in an utterance; None for none."""
    if kind not in _HAS_ARGUMENT or model.arguments is None:
        return None
    words = [token[0].lower() for token in said.tokens]
    run = model.arguments.find(kind, words, said.codes, said.table)
    return run and (said.tokens[run[0]].start(), said.tokens[run[1]].end())
