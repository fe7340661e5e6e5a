"""What a person orders the memory to do: recognised by rules, without a language model.

A recogniser's words come without punctuation or capitals, behind "um" and "could you please", with
the agent's name in front. So the words alone are compared: what says nothing is taken off both
ends, and what is left must be a command from its first word to its last. A sentence that only
holds the words of one ("remember that time we went to Lisbon") is conversation.
"""

import re
from functools import lru_cache

from msgspec import Struct

from slowcat_memory.core.language import Kind, Phrases, Rule, phrases

MOST_WORDS = 120  # of an utterance; a longer one is conversation
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_QUOTES = str.maketrans({"\u2018": "'", "\u2019": "'", "\u02bc": "'"})


class Command(Struct, frozen=True, kw_only=True):
    """An order to the memory.

    Attributes:
        kind: Which.
        argument: What to remember, whom or what to forget, what is right instead; as it was said.
        shared: Everybody who shares a memory is to have it.
        rest: What was said beside the order, for the agent to answer.
    """

    kind: Kind
    argument: str = ""
    shared: bool = False
    rest: str = ""


class _Words(Struct, frozen=True):
    """An utterance as the rules see it.

    Attributes:
        said: As it was said.
        line: Its words in lower case, parted by single spaces.
        starts: Where each word begins, in ``line`` and in ``said``.
        ends: Where each word ends, likewise.
    """

    said: str
    line: str
    starts: dict[int, int]
    ends: dict[int, int]


class _Compiled(Struct, frozen=True):
    """A rule made ready."""

    rule: Rule
    pattern: re.Pattern[str]
    needs: re.Pattern[str] | None
    never: re.Pattern[str] | None
    ends: re.Pattern[str] | None


def recognise(
    text: str,
    language: str = "english",
    *,
    names: tuple[str, ...] = (),
    asked: bool = False,
) -> Command | None:
    """Tell whether an utterance is an order to the memory.

    Args:
        text: What was said.
        language: Whose table to use, by its Snowball name.
        names: What the agent is called.
        asked: The memory has asked a question: "yes" and "no" are answers to it.

    Returns:
        The order; None for conversation.
    """
    words = _words(text)
    if not words.line or words.line.count(" ") >= MOST_WORDS:
        return None
    question = text.rstrip(" \"'”“»«").endswith("?") and not _requests(words.line, language, names)
    answers = _rules(language, names, True) if asked else ()
    for one in (*answers, *_rules(language, names, False)):
        if command := _matched(one, words, question):
            return command
    return None


def _words(text: str) -> _Words:
    said = text.translate(_QUOTES)
    line: list[str] = []
    starts: dict[int, int] = {}
    ends: dict[int, int] = {}
    at = 0
    for found in _WORD.finditer(said):
        word = found[0].lower()
        starts[at], ends[at + len(word)] = found.start(), found.end()
        line.append(word)
        at += len(word) + 1
    return _Words(said, " ".join(line), starts, ends)


def _requests(line: str, language: str, names: tuple[str, ...]) -> bool:
    """Tell whether a question is an order: "could you remember that…?", "remember that…, okay?"."""
    known = phrases(language)
    found = _before(language, names).match(line)
    front = found[0] if found else ""
    return any(f"{word} " in front for word in known.requests) or any(
        line.endswith(f" {word}") for word in known.after
    )


def _matched(one: _Compiled, words: _Words, question: bool) -> Command | None:
    rule = one.rule
    if question and not rule.asks:
        return None
    found = one.pattern.fullmatch(words.line)
    if found is None:
        return None
    groups = found.groupdict()
    argument = groups.get("x") or ""
    if not _fits(one, argument):
        return None
    said = ""
    if argument:
        said = words.said[words.starts[found.start("x")] : words.ends[found.end("x")]]
    if rule.kind == "off_record":
        return Command(kind=rule.kind, rest=said)
    return Command(kind=rule.kind, argument=said, shared=bool(groups.get("shared")))


def _fits(one: _Compiled, argument: str) -> bool:
    if not argument:
        return one.needs is None
    return (
        argument.count(" ") < one.rule.most
        and (one.needs is None or one.needs.match(argument) is not None)
        and (one.never is None or one.never.match(argument) is None)
        and (one.ends is None or one.ends.search(argument) is None)
    )


@lru_cache(maxsize=16)
def _rules(language: str, names: tuple[str, ...], answers: bool) -> tuple[_Compiled, ...]:
    known, called, made = phrases(language), _called(names), []
    before = _before(language, names).pattern
    for rule in known.answers if answers else known.rules:
        after = (*known.after, *called)
        if "{x}" not in rule.says:
            after += known.after_plain
        says = _filled(rule.says, known)
        pattern = f"{before}(?:{says}){_repeated(after, ' {}')}"
        made.append(
            _Compiled(
                rule,
                re.compile(pattern.replace("{x}", "(?P<x>.+?)")),
                re.compile(rule.needs) if rule.needs else None,
                re.compile(rule.never) if rule.never else None,
                re.compile(rf"(?:^| )(?:{rule.ends})$") if rule.ends else None,
            )
        )
    return tuple(made)


@lru_cache(maxsize=16)
def _before(language: str, names: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(_repeated((*phrases(language).before, *_called(names)), "{} "))


def _called(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(filter(None, (" ".join(_WORD.findall(name.lower())) for name in names)))


def _repeated(words: tuple[str, ...], form: str) -> str:
    longest_first = sorted((re.escape(word) for word in words), key=len, reverse=True)
    return f"(?:{form.format('(?:' + '|'.join(longest_first) + ')')})*"


def _filled(pattern: str, known: Phrases) -> str:
    for name, part in known.parts.items():
        pattern = pattern.replace(f"{{{name}}}", f"(?:{part})")
    return pattern
