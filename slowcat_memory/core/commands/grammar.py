"""Recognises voice commands by rules, without an LLM.

STT output has no punctuation or capitals, starts with "um" and "could you please", and may begin
with the agent's name. So only the words are compared: filler words are removed from both ends, and
the rest must match a command completely. A sentence that merely contains the words of a command
("remember that time we went to Lisbon") is conversation.
"""

import re
from functools import lru_cache

from msgspec import Struct

from slowcat_memory.core.commands.composition import (
    Composed,
    addresses_another,
    compose,
    is_order,
    is_reported,
)
from slowcat_memory.core.commands.intent import asks_something, candidates
from slowcat_memory.core.commands.intent_model import read_model
from slowcat_memory.core.language import CommandKind, language_of
from slowcat_memory.core.language.table import CommandRule, CommandWords

MAX_WORDS = 120  # of an utterance; a longer one is conversation
MAX_CHARS = 1200
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
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


class _Words(Struct, frozen=True):
    """An utterance in lower case (``line``), with offsets in ``text`` by offset in ``line``."""

    text: str
    line: str
    starts: dict[int, int]
    ends: dict[int, int]


class _CompiledRule(Struct, frozen=True):
    rule: CommandRule
    pattern: re.Pattern[str]
    needs: re.Pattern[str] | None
    never: re.Pattern[str] | None
    never_ends: re.Pattern[str] | None


def recognise(
    text: str,
    language: str = "english",
    *,
    names: tuple[str, ...] = (),
    asked: bool = False,
) -> Command | None:
    """Return the voice command in an utterance, or None for conversation.

    Args:
        names: The agent's names.
        asked: Whether the memory has asked a question that "yes" and "no" would answer.
    """
    words = _words(text)
    if not words.line or words.line.count(" ") >= MAX_WORDS or is_reported(text):
        return None
    question = text.rstrip(" \"'”“»«").endswith("?") and not _is_request(
        words.line, language, names
    )
    answers = _rules(language, names, True) if asked else ()
    for one in (*answers, *_rules(language, names, False)):
        if command := _match(one, words, question):
            table = language_of(language).commands.composed
            changes = command.kind in _CHANGES
            if addresses_another(words.text, table, names, reports=changes):
                return None
            return _of_everything(command, language)
    return _composed(words.text, language, names)


def prepare(language: str) -> None:
    """Read what recognition needs, so that no turn waits for a disk."""
    read_model(language)
    recognise("hello there", language)


def asks_change(text: str, language: str = "english", *, names: tuple[str, ...] = ()) -> bool:
    """Return whether an utterance that is no command asks the agent to change its memory."""
    words = _words(text)
    if not words.line or words.line.count(" ") >= MAX_WORDS or is_reported(text):
        return False
    table, model = language_of(language).commands.composed, read_model(language)
    return is_order(words.text, table, names) or (
        model is not None and asks_something(words.text, table, model, names)
    )


def _of_everything(command: Command, language: str) -> Command:
    """Return "forget everything about me" as a command for everything."""
    everything = language_of(language).commands.everything
    if command.kind == "forget_about" and command.argument.lower() in everything:
        return Command(kind="forget_everything")
    return command


def _composed(text: str, language: str, names: tuple[str, ...]) -> Command | None:
    """Return the command that the grammar reads, or else the one that the model sees."""
    table, model = language_of(language).commands.composed, read_model(language)
    read = compose(text, table, names)
    possible = candidates(text, read, table, model, names) if model else [read] if read else []
    found = (_command(one, text, language) for one in possible)
    return next(filter(None, found), None)


def _command(found: Composed, text: str, language: str) -> Command | None:
    """Return a composed command; None if it lacks what it needs."""
    argument = text[slice(*found.span)] if found.span else ""
    words = language_of(language).commands
    if found.kind in _STATEMENTS and not _is_statement(found.kind, argument, words):
        return None
    command = Command(kind=found.kind, argument=argument, shared=found.shared)
    return command if found.sure else Command(kind="confirm", argument=argument, meant=command)


def _is_statement(kind: CommandKind, argument: str, table: CommandWords) -> bool:
    """Return whether an argument says something whole, or is a value to correct."""
    line = _words(argument).line
    named = argument[:1].isupper() or argument[:1].isdigit()
    is_value = kind == "correct" and named and line.count(" ") < MAX_VALUE
    return is_value or re.match(table.statement, line) is not None


def _words(text: str) -> _Words:
    plain = text.translate(_QUOTES) if len(text) <= MAX_CHARS else ""
    line: list[str] = []
    starts: dict[int, int] = {}
    ends: dict[int, int] = {}
    at = 0
    for found in _WORD.finditer(plain):
        word = found[0].lower()
        starts[at], ends[at + len(word)] = found.start(), found.end()
        line.append(word)
        at += len(word) + 1
    return _Words(plain, " ".join(line), starts, ends)


def _is_request(line: str, language: str, names: tuple[str, ...]) -> bool:
    """Return whether a question is a command: "could you remember that…?", "…, okay?"."""
    words = language_of(language).commands
    found = _before(language, names).match(line)
    front = found[0] if found else ""
    return any(f"{word} " in front for word in words.requests) or any(
        line.endswith(f" {word}") for word in words.after
    )


def _match(one: _CompiledRule, words: _Words, question: bool) -> Command | None:
    rule = one.rule
    if question and not rule.may_ask:
        return None
    found = one.pattern.fullmatch(words.line)
    if found is None:
        return None
    groups = found.groupdict()
    argument = groups.get("x") or ""
    if not _fits(one, argument):
        return None
    original = ""
    if argument:
        original = words.text[words.starts[found.start("x")] : words.ends[found.end("x")]]
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
    for slot in language_of(language).commands.composed.compiled.values():
        for patterns in slot.values():
            for one in patterns:
                one.pattern.compile()
