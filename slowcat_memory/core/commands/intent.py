"""Decides what the model of intents may do: carry out, ask back, or nothing.

An utterance that is no fixed phrase is a command only if the model is sure; words that speak
against a command (a question, somebody else's words, a third person) raise the bar, and an
addressee other than the agent or a thing that is no memory rules it out. Where the model is only
fairly sure of one that changes the memory, the user is asked; what was said is stored anyway, so
"remember" and corrections need no question.
"""

import re
from typing import Final, NamedTuple, cast

from slowcat_memory.core.commands.arguments import find_argument
from slowcat_memory.core.commands.intent_model import IntentModel
from slowcat_memory.core.commands.utterance import Doubts, Utterance, find_doubts
from slowcat_memory.core.language.intents import IntentWords
from slowcat_memory.core.language.table import CommandKind

SURE: Final = 0.6
_RATHER_SURE = 0.5  # of what takes nothing away, or not before a "yes"
_QUITE_SURE = 0.9  # although something speaks against it, or no word of the memory is there
LIKELY = 0.25  # enough to ask about a change, and to tell the LLM that nothing was changed
READ = range(3, 26)  # words of what is judged: shorter utterances are set phrases
_ERASES = frozenset(("forget_that", "forget_everything"))
_QUESTIONS = frozenset(("what_known", "why", "who_sees"))
_OWN_WORDS = frozenset(("remember", "correct"))  # may be about anything
_NEEDS_STATEMENT = frozenset(("remember", "correct"))
_NEEDS_ARGUMENT = frozenset(("forget_about", "forget_span"))
_ERASING = frozenset("forget forgetting erase erasing erased wipes neg nothing cannot".split())
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_QUOTES = str.maketrans({"\u2018": "'", "\u2019": "'", "\u02bc": "'"})


class IntendedCommand(NamedTuple):
    """A command that an utterance asks for.

    Attributes:
        span: The argument's offsets in the text, None for none.
        sure: False for one that the user has to confirm.
    """

    kind: CommandKind
    span: tuple[int, int] | None = None
    shared: bool = False
    sure: bool = True


def words_of(text: str, names: tuple[str, ...] = ("Slowcat",)) -> list[str]:
    """Return the words of an utterance in lower case, without the agent's names."""
    line = f" {' '.join(_WORD.findall(text.translate(_QUOTES).lower()))} "
    for name in names:
        line = line.replace(f" {' '.join(_WORD.findall(name.lower()))} ", " ")
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
    if doubts.elsewhere or (doubts.foreign and kind not in _OWN_WORDS):
        return None
    if kind.startswith("forget") and _only_stores(words, said.table):
        return None
    if intent.asks >= _bar(kind, doubts):
        return _with_argument(kind, shared, said)
    bar = LIKELY if doubts.known and not (doubts.against or doubts.asks) else SURE
    if kind not in _QUESTIONS | _OWN_WORDS and intent.asks >= bar:
        found = _with_argument(kind, False, said)
        return found and found._replace(sure=False)
    return None


def asks_something(said: Utterance, model: IntentModel) -> bool:
    """Return whether the model rather sees a command that changes the memory than conversation."""
    words = words_of(said.text, said.names)
    if len(words) not in READ:
        return False
    intent = model.judge(words, said.table)
    if intent.asks < LIKELY or intent.kind in _QUESTIONS:
        return False
    doubts = find_doubts(said)
    return doubts.known and not any(doubts[1:])


def _only_stores(words: list[str], table: IntentWords) -> bool:
    """Return whether words ask to store and none to erase: "remember the thing with the fence"."""
    named = {table.name_of.get(table.code(word), "") for word in words}
    return "store" in named and named.isdisjoint(_ERASING)


def _bar(kind: str, doubts: Doubts) -> float:
    against = doubts.against and kind not in _OWN_WORDS
    if against or not doubts.known or (doubts.asks and kind not in _QUESTIONS):
        return _QUITE_SURE
    return SURE if kind in _ERASES else _RATHER_SURE


def _with_argument(kind: CommandKind, shared: bool, said: Utterance) -> IntendedCommand | None:
    span = find_argument(kind, said)
    if span is None and kind in _NEEDS_STATEMENT:
        return None
    if span is None and kind in _NEEDS_ARGUMENT:
        return IntendedCommand("forget_that", sure=False)
    return IntendedCommand(kind, span, shared)
