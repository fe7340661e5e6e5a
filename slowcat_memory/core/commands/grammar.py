"""Recognises voice commands, without an LLM: set phrases by rules, free words by a linear model.

STT output has no punctuation or capitals, starts with "um" and "could you please", and may begin
with the agent's name. So only the words are compared: filler words are removed from both ends, and
the rest must match a command completely. A sentence that merely contains the words of a command
("remember that time we went to Lisbon") is conversation.

An utterance that is no fixed phrase is a command only if the model is sure; words that speak
against a command (a question, somebody else's words, a third person) raise the bar, and an
addressee other than the agent, or a thing that is no memory, rules it out. Where the model is only
fairly sure of one that changes the memory, the user is asked; what was said is stored anyway, so
"remember" and corrections need no question. What is to be remembered, forgotten or corrected is
found by the model of arguments.
"""

import re
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Final, NamedTuple, cast

from msgspec import Struct

from slowcat_memory.core.commands.intent_model import Intent, IntentModel, read_model
from slowcat_memory.core.language import language_of
from slowcat_memory.core.language.data import compiled
from slowcat_memory.core.language.table import CommandKind, CommandRule
from slowcat_memory.core.language.word_classes import OTHER, STOP, IntentWords

MAX_WORDS = 120  # of an utterance; a longer one is conversation
MAX_CHARS = 1200
_CHANGES = ("forget_that", "forget_about", "undo", "local", "off_record")  # not of free words
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


class Command(Struct, frozen=True, kw_only=True):
    """A voice command.

    ``argument`` is what to remember, forget or correct, in the user's spelling. ``shared`` is
    whether it is for the household memory. ``rest`` is the rest of the utterance, for the agent to
    answer. ``meant`` is what a near miss (of kind "confirm") probably asks for, to be confirmed.
    """

    kind: CommandKind
    argument: str = ""
    shared: bool = False
    rest: str = ""
    meant: "Command | None" = None


class Sentence:
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
    def words(self) -> list[str]:
        """Its words in lower case, without the agent's names."""
        return words_of(self.text, self.names)

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

    @cached_property
    def is_against(self) -> bool:
        """Whether a third person, a condition or a report speaks against a command."""
        return any(pattern.search(self.codes) for pattern in self.table.compiled)

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


class Doubts(NamedTuple):
    """What speaks against a command in an utterance.

    Attributes:
        known: It has a word about the memory.
        elsewhere: It is addressed to somebody else.
        foreign: It has a thing that is no memory; what is to be forgotten may be about one.
        against: A third person, a condition, a report.
    """

    known: bool
    elsewhere: bool
    foreign: bool
    against: bool


def find_doubts(sentence: Sentence) -> Doubts:
    codes, table = sentence.codes, sentence.table
    orders = [table.code_of[name] for name in ("forget", "erase", "store")]
    begins_with_name = codes[:1] == OTHER and codes[1:2] in orders
    return Doubts(
        known=not table.needed.isdisjoint(codes),
        elsewhere=sentence.calls_another or begins_with_name,
        foreign=table.code_of["foreign"] in codes,
        against=sentence.is_against,
    )


def words_of(text: str, names: tuple[str, ...] = ("Slowcat",)) -> list[str]:
    """Return the words of an utterance in lower case, without the agent's names."""
    line = f" {_line(text.translate(QUOTES))} "
    for name in _in_words(names):
        line = line.replace(f" {name} ", " ")
    return line.split()


def _judged(sentence: Sentence, model: IntentModel) -> Intent | None:
    """Return what the model sees in an utterance; None for conversation."""
    if len(sentence.words) not in READ:
        return None
    intent = model.judge(sentence.words, sentence.table)
    return intent if intent.asks >= LIKELY else None


def find_intended(sentence: Sentence, model: IntentModel) -> Command | None:
    """Return the command that an utterance asks for, or its near miss; None for conversation."""
    intent = _judged(sentence, model)
    if intent is None:
        return None
    doubts = find_doubts(sentence)
    shared = intent.kind == "remember_shared"
    kind = cast("CommandKind", "remember" if shared else intent.kind)
    if doubts.elsewhere or (doubts.foreign and kind not in OWN_WORDS | _NEEDS_ARGUMENT | QUESTIONS):
        return None
    if kind.startswith("forget") and _only_stores(sentence.words, sentence.table):
        return None
    certain = kind in QUESTIONS | OWN_WORDS | _NEEDS_ARGUMENT or intent.share >= _THIS_KIND
    sure = certain and intent.asks >= _bar(kind, doubts)
    likely = LIKELY if doubts.known and not doubts.against else SURE
    if not sure and (kind in QUESTIONS | OWN_WORDS or intent.asks < likely):
        return None
    span = find_argument(kind, sentence, model)
    if span is None and kind in OWN_WORDS:
        return None
    lacks = span is None and kind in _NEEDS_ARGUMENT
    argument = sentence.text[slice(*span)] if span else ""
    command = Command(kind="forget_that" if lacks else kind, argument=argument, shared=shared)
    if sure and not lacks:
        return command
    return Command(kind="confirm", argument=argument, meant=command)


def _only_stores(words: list[str], table: IntentWords) -> bool:
    """Return whether words ask to store and none to erase: "remember the thing with the fence"."""
    named = {table.name_of.get(table.code(word), "") for word in words}
    return "store" in named and named.isdisjoint(_ERASING)


def _bar(kind: str, doubts: Doubts) -> float:
    if not doubts.known or (doubts.against and kind not in OWN_WORDS):
        return _QUITE_SURE
    return SURE if kind in _ERASES else _RATHER_SURE


def find_argument(kind: CommandKind, sentence: Sentence, model: IntentModel) -> Run | None:
    """Return the offsets of a command's argument in an utterance; None for none."""
    if kind not in _HAS_ARGUMENT or model.arguments is None:
        return None
    words = [token[0].lower() for token in sentence.tokens]
    run = model.arguments.find(kind, words, sentence.codes, sentence.table)
    return run and (sentence.tokens[run[0]].start(), sentence.tokens[run[1]].end())


class Heard:
    """An utterance, read for what it asks of the memory; each part once, when it is needed.

    Attributes:
        text: As it was said or typed.
    """

    def __init__(self, text: str, language: str = "english", names: tuple[str, ...] = ()) -> None:
        """Read the words.

        Args:
            text: As it was said or typed; a longer one than ``MAX_CHARS`` is conversation.
            language: As in ``language_of``.
            names: The agent's names.
        """
        plain = text.translate(QUOTES) if len(text) <= MAX_CHARS else ""
        self._table, self._model = language_of(language).commands, read_model(language)
        self._said = Sentence(plain, self._table.intents, names)
        self._language, self._names = language, names
        self.text, self._line = text, _line(plain)

    def command(self, *, asked: bool = False) -> Command | None:
        """Return the voice command in it, or None for conversation.

        Args:
            asked: Whether the memory has asked a question that "yes" and "no" would answer.
        """
        if not self._may_command:
            return None
        phrase = self._phrase(asked)
        if phrase is None:
            return self._intended()
        reported = phrase.kind in _CHANGES and self._said.is_against
        return None if reported or self._said.calls_another else phrase

    def asks_change(self) -> bool:
        """Return whether it asks the agent to change its memory, if it is no command."""
        if not self._may_command or self._model is None:
            return False
        intent = _judged(self._said, self._model)
        if intent is None or intent.kind in QUESTIONS:
            return False
        doubts = find_doubts(self._said)
        return doubts.known and not any(doubts[1:])

    @cached_property
    def _may_command(self) -> bool:
        """Whether it may be a command by its length, and quotes none."""
        long = self._line.count(" ") >= MAX_WORDS
        return bool(self._line) and not long and not self._said.is_reported

    def _phrase(self, asked: bool) -> Command | None:
        """Return the command whose fixed phrase it is."""
        rules = _rules(self._language, self._names, True) if asked else ()
        for rule, pattern in (*rules, *_rules(self._language, self._names, False)):
            if match := pattern.fullmatch(self._line):
                argument = match.groupdict().get("x") or ""
                if _fits(rule, argument):
                    return self._found(rule.kind, match, argument)
        return None

    def _found(self, kind: CommandKind, match: re.Match[str], argument: str) -> Command:
        original = self._original(*match.span("x")) if argument else ""
        if kind == "off_record":
            return Command(kind=kind, rest=original)
        return Command(kind=kind, argument=original, shared=bool(match.groupdict().get("shared")))

    def _original(self, start: int, end: int) -> str:
        """Return the words between two offsets of the line, as they were said."""
        words = list(WORD.finditer(self._said.text))
        first, last = (self._line[:offset].count(" ") for offset in (start, end))
        return self._said.text[words[first].start() : words[last].end()]

    @cached_property
    def _orders(self) -> bool:
        """Whether it may change anything: it is no question about a state, and no reproach."""
        before = _before(self._language, self._names).pattern
        return not compiled(f"{before}(?:{self._table.no_order})").match(self._line)

    def _intended(self) -> Command | None:
        """Return the command that the model sees in free words."""
        command = find_intended(self._said, self._model) if self._model else None
        if command is None or command.kind in QUESTIONS:
            return command
        return command if self._orders else None


def prepare(language: str, names: tuple[str, ...] = ()) -> None:
    """Read and compile what recognition needs, so that no turn waits for it."""
    table = language_of(language).commands
    read_model(language)
    for rule, _ in (*_rules(language, names, True), *_rules(language, names, False)):
        _fits(rule, "it is")
    _ = table.intents.compiled


def _line(text: str) -> str:
    """Return the words of a text in lower case, with single spaces between them."""
    return " ".join([word.lower() for word in WORD.findall(text)])


def _fits(rule: CommandRule, argument: str) -> bool:
    if not argument:
        return not rule.needs
    return argument.count(" ") < rule.max_words and (
        not rule.needs or compiled(rule.needs).match(argument) is not None
    )


@lru_cache(maxsize=16)
def _rules(
    language: str, names: tuple[str, ...], answers: bool
) -> tuple[tuple[CommandRule, re.Pattern[str]], ...]:
    words = language_of(language).commands
    before, rules = _before(language, names).pattern, []
    for rule in words.answers if answers else words.rules:
        after = (*words.after, *_in_words(names))
        if "{x}" not in rule.says:
            after += words.after_plain
        says = rule.says.replace("{x}", "(?P<x>.+?)")
        for name, part in words.parts.items():
            says = says.replace(f"{{{name}}}", f"(?:{part})")
        rules.append((rule, re.compile(f"{before}(?:{says}){_repeated(after, ' {}')}")))
    return tuple(rules)


@lru_cache(maxsize=16)
def _before(language: str, names: tuple[str, ...]) -> re.Pattern[str]:
    before = language_of(language).commands.before
    return re.compile(_repeated((*before, *_in_words(names)), "{} "))


def _in_words(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(filter(None, map(_line, names)))


def _repeated(words: tuple[str, ...], form: str) -> str:
    longest_first = sorted((re.escape(word) for word in words), key=len, reverse=True)
    return f"(?:{form.format('(?:' + '|'.join(longest_first) + ')')})*"
