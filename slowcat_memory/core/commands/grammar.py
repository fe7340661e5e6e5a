"""Recognises voice commands by rules, without an LLM.

STT output has no punctuation or capitals, starts with "um" and "could you please", and may begin
with the agent's name. So only the words are compared: filler words are removed from both ends, and
the rest must match a command completely. A sentence that merely contains the words of a command
("remember that time we went to Lisbon") is conversation.
"""

import re
from functools import cached_property, lru_cache

from msgspec import Struct

from slowcat_memory.core.commands.intent import IntendedCommand, asks_something, find_intended
from slowcat_memory.core.commands.intent_model import read_model
from slowcat_memory.core.commands.utterance import Utterance, addresses_another
from slowcat_memory.core.language import CommandKind, language_of
from slowcat_memory.core.language.data import compiled
from slowcat_memory.core.language.table import CommandRule, CommandWords

MAX_WORDS = 120  # of an utterance; a longer one is conversation
MAX_CHARS = 1200
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_GROUP_NAME = re.compile(r"\(\?P<\w+>")
MAX_VALUE = 3  # words of a right value alone
_STATEMENTS = ("remember", "correct")
_CHANGES = ("forget_that", "forget_about", "undo", "local", "off_record")  # not of free words
_QUOTES = str.maketrans({"\u2018": "'", "\u2019": "'", "\u02bc": "'"})


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


class _CompiledRule(Struct, frozen=True):
    rule: CommandRule
    pattern: re.Pattern[str]
    needs: re.Pattern[str] | None
    never: re.Pattern[str] | None
    never_ends: re.Pattern[str] | None


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
        plain = text.translate(_QUOTES) if len(text) <= MAX_CHARS else ""
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
        if command := self._phrase(asked):
            changes = command.kind in _CHANGES
            if addresses_another(self._said, reports=changes):
                return None
            return _of_everything(command, self._table)
        return self._intended()

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
        for answers in (True, False) if asked else (False,):
            if not _any_rule(self._language, self._names, answers).fullmatch(self._line):
                continue
            for one in _rules(self._language, self._names, answers):
                if command := _match(one, self._line, self._said.text, self._is_question):
                    return command
        return None

    @cached_property
    def _is_question(self) -> bool:
        asks = self.text.rstrip(" \"'”“»«").endswith("?")
        return asks and not _is_request(self._line, self._language, self._names)

    def _intended(self) -> Command | None:
        """Return the command that the model sees in free words."""
        found = find_intended(self._said, self._model) if self._model else None
        return _command(found, self._said.text, self._table) if found else None


def recognise(
    text: str,
    language: str = "english",
    *,
    names: tuple[str, ...] = (),
    asked: bool = False,
) -> Command | None:
    """Return the voice command in an utterance, or None for conversation; see ``Heard``."""
    return Heard(text, language, names).command(asked=asked)


def prepare(language: str) -> None:
    """Read what recognition needs, so that no turn waits for a disk."""
    read_model(language)
    recognise("hello there", language)


def asks_change(text: str, language: str = "english", *, names: tuple[str, ...] = ()) -> bool:
    """Return whether an utterance that is no command asks the agent to change its memory."""
    return Heard(text, language, names).asks_change()


def _of_everything(command: Command, table: CommandWords) -> Command:
    """Return "forget everything about me" as a command for everything."""
    if command.kind == "forget_about" and command.argument.lower() in table.everything:
        return Command(kind="forget_everything")
    return command


def _command(found: IntendedCommand, text: str, table: CommandWords) -> Command | None:
    """Return an intended command; None if it lacks what it needs."""
    argument = text[slice(*found.span)] if found.span else ""
    if found.kind in _STATEMENTS and not _is_statement(found.kind, argument, table):
        return None
    command = Command(kind=found.kind, argument=argument, shared=found.shared)
    return command if found.sure else Command(kind="confirm", argument=argument, meant=command)


def _is_statement(kind: CommandKind, argument: str, table: CommandWords) -> bool:
    """Return whether an argument says something whole, or is a value to correct."""
    line = _line(argument.translate(_QUOTES) if len(argument) <= MAX_CHARS else "")
    named = argument[:1].isupper() or argument[:1].isdigit()
    is_value = kind == "correct" and named and line.count(" ") < MAX_VALUE
    return is_value or compiled(table.statement).match(line) is not None


def _line(text: str) -> str:
    """Return the words of a text in lower case, with single spaces between them."""
    return " ".join([word.lower() for word in _WORD.findall(text)])


def _original(text: str, start: int, end: int) -> str:
    """Return the part of a text between two offsets of its line, where words begin and end."""
    first, last, at = 0, len(text), 0
    for found in _WORD.finditer(text):
        word = found[0].lower()
        first = found.start() if at == start else first
        last = found.end() if at + len(word) == end else last
        at += len(word) + 1
    return text[first:last]


def _is_request(line: str, language: str, names: tuple[str, ...]) -> bool:
    """Return whether a question is a command: "could you remember that…?", "…, okay?"."""
    words = language_of(language).commands
    found = _before(language, names).match(line)
    front = found[0] if found else ""
    return any(f"{word} " in front for word in words.requests) or any(
        line.endswith(f" {word}") for word in words.after
    )


def _match(one: _CompiledRule, line: str, text: str, question: bool) -> Command | None:
    rule = one.rule
    found = one.pattern.fullmatch(line)
    if found is None or (question and not rule.may_ask):
        return None
    groups = found.groupdict()
    argument = groups.get("x") or ""
    if not _fits(one, argument):
        return None
    original = _original(text, *found.span("x")) if argument else ""
    if rule.kind == "off_record":
        return Command(kind=rule.kind, rest=original)
    return Command(kind=rule.kind, argument=original, shared=bool(groups.get("shared")))


def _fits(one: _CompiledRule, argument: str) -> bool:
    if not argument:
        return one.needs is None
    return (
        argument.count(" ") < one.rule.max_words
        and (one.needs is None or one.needs.match(argument) is not None)
        and (one.never is None or one.never.match(argument) is None)
        and (one.never_ends is None or one.never_ends.search(argument) is None)
    )


@lru_cache(maxsize=16)
def _rules(language: str, names: tuple[str, ...], answers: bool) -> tuple[_CompiledRule, ...]:
    words, called, compiled = language_of(language).commands, _in_words(names), []
    before = _before(language, names).pattern
    for rule in words.answers if answers else words.rules:
        after = (*words.after, *called)
        if "{x}" not in rule.says:
            after += words.after_plain
        pattern = f"{before}(?:{_with_parts(rule.says, words)}){_repeated(after, ' {}')}"
        compiled.append(
            _CompiledRule(
                rule,
                re.compile(pattern.replace("{x}", "(?P<x>.+?)")),
                re.compile(rule.needs) if rule.needs else None,
                re.compile(rule.never) if rule.never else None,
                re.compile(rf"(?:^| )(?:{rule.never_ends})$") if rule.never_ends else None,
            )
        )
    return tuple(compiled)


@lru_cache(maxsize=16)
def _any_rule(language: str, names: tuple[str, ...], answers: bool) -> re.Pattern[str]:
    """Return a pattern that matches every line that a rule matches, and few others.

    One search decides for most turns that no rule has to be tried.
    """
    words = language_of(language).commands
    rules = words.answers if answers else words.rules
    says = "|".join(_with_parts(rule.says, words).replace("{x}", "(?:.+?)") for rule in rules)
    after = (*words.after, *_in_words(names), *words.after_plain)
    either = _GROUP_NAME.sub("(?:", f"(?:{says}){_repeated(after, ' {}')}")
    return re.compile(_before(language, names).pattern + either)


@lru_cache(maxsize=16)
def _before(language: str, names: tuple[str, ...]) -> re.Pattern[str]:
    before = language_of(language).commands.before
    return re.compile(_repeated((*before, *_in_words(names)), "{} "))


def _in_words(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(filter(None, (" ".join(_WORD.findall(name.lower())) for name in names)))


def _repeated(words: tuple[str, ...], form: str) -> str:
    longest_first = sorted((re.escape(word) for word in words), key=len, reverse=True)
    return f"(?:{form.format('(?:' + '|'.join(longest_first) + ')')})*"


def _with_parts(pattern: str, words: CommandWords) -> str:
    for name, part in words.parts.items():
        pattern = pattern.replace(f"{{{name}}}", f"(?:{part})")
    return pattern


def compile_patterns(language: str, names: tuple[str, ...] = ()) -> None:
    """Compile every pattern of the commands, which takes about 0.3 s."""
    for answers in (True, False):
        _rules(language, names, answers)
        _any_rule(language, names, answers)
    table = language_of(language).commands
    compiled(table.statement)
    _ = table.intents.compiled
