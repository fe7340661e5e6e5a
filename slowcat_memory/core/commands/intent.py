"""Decides what the model of intents may do alone: carry out, ask back, or nothing.

The grammar comes first. What it does not read is a command only if the model is sure; words that
speak against a command (a question, somebody else's words, a third person) raise the bar, and an
addressee other than the agent or a thing that is no memory rules it out. Where the model is only
fairly sure of a command about privacy, the user is asked.
"""

import re
from typing import Final, cast

from slowcat_memory.core.commands.arguments import find_argument
from slowcat_memory.core.commands.composition import Composed, Doubts, Utterance, find_doubts
from slowcat_memory.core.commands.intent_model import Intent, IntentModel
from slowcat_memory.core.language.compose import ComposeWords
from slowcat_memory.core.language.table import CommandKind

SURE: Final = 0.6
_QUITE_SURE = 0.9  # although something speaks against it, or no word of the memory is there
LIKELY = 0.3  # enough to ask about privacy
OTHER_KIND = 0.95  # the grammar may have read another kind: this sure of one, the model wins
NEARLY = 0.4  # enough to tell the LLM that nothing was changed
DOUBTED = 0.2  # below it, the user is asked about what the grammar reads
TALK = (0.01, 0.001)  # below it, what the grammar reads is conversation; the second for privacy
MOST_WORDS = 60  # of an utterance; a longer one is conversation
ALONE = range(4, 26)  # words of what the model reads alone: shorter ones are set phrases
_PRIVATE = frozenset(
    ("forget_that", "forget_about", "forget_span", "forget_everything", "off_record", "on_record")
)
_QUESTIONS = frozenset(("what_known", "why", "who_sees"))
_OWN_WORDS = frozenset(("remember", "correct"))  # may be about anything
_NEEDS_STATEMENT = frozenset(("remember", "correct"))
_NEEDS_ARGUMENT = frozenset(("forget_about", "forget_span"))
_ERASING = frozenset("forget forgetting erase erasing erased wipes neg nothing cannot".split())
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_QUOTES = str.maketrans({"\u2018": "'", "\u2019": "'", "\u02bc": "'"})


def words_of(text: str, names: tuple[str, ...] = ("Slowcat",)) -> list[str]:
    """Return the words of an utterance in lower case, without the agent's names."""
    line = f" {' '.join(_WORD.findall(text.translate(_QUOTES).lower()))} "
    for name in names:
        line = line.replace(f" {' '.join(_WORD.findall(name.lower()))} ", " ")
    return line.split()


def candidates(said: Utterance, read: Composed | None, model: IntentModel) -> list[Composed]:
    """Return the commands that an utterance may be, the likeliest first; none for conversation.

    Args:
        read: What the grammar reads.
    """
    words = words_of(said.text, said.names)
    if not 1 < len(words) <= MOST_WORDS:
        return [read] if read else []
    if read is None and len(words) not in ALONE:
        return []
    intent = model.judge(words, said.table)
    found: list[Composed | None]
    if read is None or not read.sure:
        found = [_intended(intent, said), read]
    elif intent.asks < TALK[read.kind in _PRIVATE]:
        found = []
    elif intent.asks < DOUBTED and read.kind in _PRIVATE:
        found = [read._replace(sure=False)]
    elif intent.share >= OTHER_KIND and intent.kind != _name(read):
        found = [_intended(intent, said), read]
    else:
        found = [read]
    return [one for one in found if one is not None]


def asks_something(said: Utterance, model: IntentModel) -> bool:
    """Return whether the model rather sees a command that changes the memory than conversation."""
    words = words_of(said.text, said.names)
    if not 1 < len(words) <= MOST_WORDS:
        return False
    intent = model.judge(words, said.table)
    if intent.asks < NEARLY or intent.kind in _QUESTIONS:
        return False
    doubts = find_doubts(said)
    return doubts.known and not any(doubts[1:])


def _name(read: Composed) -> str:
    return read.kind + "_shared" * read.shared


def _intended(intent: Intent, said: Utterance) -> Composed | None:
    """Return the command that the model sees; None for conversation."""
    if intent.asks < LIKELY:
        return None
    doubts = find_doubts(said)
    shared = intent.kind == "remember_shared"
    kind = cast("CommandKind", "remember" if shared else intent.kind)
    if doubts.elsewhere or (doubts.foreign and kind not in _OWN_WORDS):
        return None
    if kind.startswith("forget") and _only_stores(words_of(said.text, said.names), said.table):
        return None
    if intent.asks >= _bar(kind, doubts):
        return _with_argument(kind, shared, said)
    bar = LIKELY if doubts.known and not (doubts.against or doubts.asks) else SURE
    if kind in _PRIVATE and intent.asks >= bar:
        found = _with_argument(kind, False, said)
        return found and found._replace(sure=False)
    return None


def _only_stores(words: list[str], table: ComposeWords) -> bool:
    """Return whether words ask to store and none to erase: "remember the thing with the fence"."""
    named = {table.name_of.get(table.code(word), "") for word in words}
    return "store" in named and named.isdisjoint(_ERASING)


def _bar(kind: str, doubts: Doubts) -> float:
    against = doubts.against and kind not in _OWN_WORDS
    doubtful = against or not doubts.known or (doubts.asks and kind not in _QUESTIONS)
    return _QUITE_SURE if doubtful else SURE


def _with_argument(kind: CommandKind, shared: bool, said: Utterance) -> Composed | None:
    span = find_argument(kind, said)
    if span is None and kind in _NEEDS_STATEMENT:
        return None
    if span is None and kind in _NEEDS_ARGUMENT:
        return Composed("forget_that", sure=False)
    return Composed(kind, span, shared)
