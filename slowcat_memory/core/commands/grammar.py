"""Recognises voice commands by rules, without an LLM.

STT output has no punctuation or capitals, starts with "um" and "could you please", and may begin
with the agent's name. So only the words are compared: filler words are removed from both ends, and
the rest must match a command completely. A sentence that merely contains the words of a command
("remember that time we went to Lisbon") is conversation.
"""

import re
from functools import cached_property, lru_cache

from msgspec import Struct

from slowcat_memory.core.commands.intent import (
    OWN_WORDS,
    QUESTIONS,
    QUOTES,
    WORD,
    Utterance,
    asks_something,
    find_intended,
)
from slowcat_memory.core.commands.intent_model import read_model
from slowcat_memory.core.language import CommandKind, language_of
from slowcat_memory.core.language.data import compiled
from slowcat_memory.core.language.table import CommandRule

MAX_WORDS = 120  # of an utterance; a longer one is conversation
MAX_CHARS = 1200
MAX_VALUE = 3  # words of a right value alone
_CHANGES = ("forget_that", "forget_about", "undo", "local", "off_record")  # not of free words


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
        self._said = Utterance(plain, self._table.intents, names)
        self._language, self._names = language, names
        self.text, self._line = text, _line(plain)

    def command(self, *, asked: bool = False) -> Command | None:
        """Return the voice command in it, or None for conversation.

        Args:
            asked: Whether the memory has asked a question that "yes" and "no" would answer.
        """
        if not self._may_command:
            return None
        found = self._phrase(asked)
        if found is None:
            found = self._intended()
            return found if found is None or found.kind in QUESTIONS or self._orders else None
        reported = found.kind in _CHANGES and self._said.find("against") is not None
        return None if reported or self._said.calls_another else found

    def asks_change(self) -> bool:
        """Return whether it asks the agent to change its memory, if it is no command."""
        model = self._model
        return self._may_command and model is not None and asks_something(self._said, model)

    @cached_property
    def _may_command(self) -> bool:
        """Whether it may be a command by its length, and quotes none."""
        long = self._line.count(" ") >= MAX_WORDS
        return bool(self._line) and not long and not self._said.is_reported

    def _phrase(self, asked: bool) -> Command | None:
        """Return the command whose fixed phrase it is."""
        rules = _rules(self._language, self._names, True) if asked else ()
        for rule, pattern in (*rules, *_rules(self._language, self._names, False)):
            found = pattern.fullmatch(self._line)
            if found:
                argument = found.groupdict().get("x") or ""
                if _fits(rule, argument):
                    return self._found(rule.kind, found, argument)
        return None

    def _found(self, kind: CommandKind, found: re.Match[str], argument: str) -> Command:
        said = _original(self._said.text, *found.span("x")) if argument else ""
        if kind == "off_record":
            return Command(kind=kind, rest=said)
        if kind == "forget_about" and argument in self._table.everything:
            return Command(kind="forget_everything")
        return Command(kind=kind, argument=said, shared=bool(found.groupdict().get("shared")))

    @cached_property
    def _orders(self) -> bool:
        """Whether it may change anything: it is no question about a state, and no reproach."""
        before = _before(self._language, self._names).pattern
        return not compiled(f"{before}(?:{self._table.no_order})").match(self._line)

    def _intended(self) -> Command | None:
        """Return the command that the model sees in free words."""
        found = find_intended(self._said, self._model) if self._model else None
        if found is None:
            return None
        argument = self._said.text[slice(*found.span)] if found.span else ""
        if found.kind in OWN_WORDS and not self._is_statement(found.kind, argument):
            return None
        command = Command(kind=found.kind, argument=argument, shared=found.shared)
        return command if found.sure else Command(kind="confirm", argument=argument, meant=command)

    def _is_statement(self, kind: CommandKind, argument: str) -> bool:
        """Return whether an argument says something whole, or is a value to correct."""
        line, first = _line(argument), argument[:1]
        is_value = kind == "correct" and line.count(" ") < MAX_VALUE
        if is_value and (first.isupper() or first.isdigit()):
            return True
        return compiled(self._table.statement).match(line) is not None


def prepare(language: str, names: tuple[str, ...] = ()) -> None:
    """Read and compile what recognition needs, so that no turn waits for it."""
    table = language_of(language).commands
    read_model(language)
    for rule, _ in (*_rules(language, names, True), *_rules(language, names, False)):
        _fits(rule, "it is")
    compiled(table.statement)
    _ = table.intents.compiled


def _line(text: str) -> str:
    """Return the words of a text in lower case, with single spaces between them."""
    return " ".join([word.lower() for word in WORD.findall(text)])


def _original(text: str, start: int, end: int) -> str:
    """Return the part of a text between two offsets of its line, where words begin and end."""
    first, last, at = 0, len(text), 0
    for found in WORD.finditer(text):
        word = found[0].lower()
        first = found.start() if at == start else first
        last = found.end() if at + len(word) == end else last
        at += len(word) + 1
    return text[first:last]


def _fits(rule: CommandRule, argument: str) -> bool:
    if not argument:
        return not rule.needs
    return (
        argument.count(" ") < rule.max_words
        and (not rule.needs or compiled(rule.needs).match(argument) is not None)
        and not (rule.never and compiled(rule.never).match(argument))
    )


@lru_cache(maxsize=16)
def _rules(
    language: str, names: tuple[str, ...], answers: bool
) -> tuple[tuple[CommandRule, re.Pattern[str]], ...]:
    words = language_of(language).commands
    before, made = _before(language, names).pattern, []
    for rule in words.answers if answers else words.rules:
        after = (*words.after, *_in_words(names))
        if "{x}" not in rule.says:
            after += words.after_plain
        says = rule.says.replace("{x}", "(?P<x>.+?)")
        for name, part in words.parts.items():
            says = says.replace(f"{{{name}}}", f"(?:{part})")
        made.append((rule, re.compile(f"{before}(?:{says}){_repeated(after, ' {}')}")))
    return tuple(made)


@lru_cache(maxsize=16)
def _before(language: str, names: tuple[str, ...]) -> re.Pattern[str]:
    before = language_of(language).commands.before
    return re.compile(_repeated((*before, *_in_words(names)), "{} "))


def _in_words(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(filter(None, (" ".join(WORD.findall(name.lower())) for name in names)))


def _repeated(words: tuple[str, ...], form: str) -> str:
    longest_first = sorted((re.escape(word) for word in words), key=len, reverse=True)
    return f"(?:{form.format('(?:' + '|'.join(longest_first) + ')')})*"
