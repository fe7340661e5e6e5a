"""Recall gate: decides whether an utterance needs a memory, and whether it asks for one.

"Okay, thanks", "louder", "turn off the lights" need none: a look-up would put unrelated text before
the LLM. Only utterances that consist entirely of known words are skipped: anything else may have
content, and is looked up.

Questions about the people here ("what's my sister's name", "when did Anna move") are separated from
questions about the world ("what is the capital of France"): only for the former the LLM is informed
that no memory was found, so that it does not invent one.
"""

import re
from collections.abc import Callable, Sequence
from itertools import islice, pairwise
from typing import NamedTuple

from msgspec import Struct

from slowcat_memory.core.language import language_of
from slowcat_memory.core.language.english.vocabulary import CALENDAR
from slowcat_memory.core.language.gate import LAUGHTER, GateWords
from slowcat_memory.core.language.names import is_given_name, is_ordinary
from slowcat_memory.core.query.asked_facts import names_in
from slowcat_memory.core.text.numerals import digits_of

MOST = 12  # words of a question
_NEAR = 3  # words of the shortest question


def is_generic(forms: Sequence[str], words: Sequence[str], table: GateWords) -> bool:
    """Return whether a question is about things in general.

    Args:
        forms: Its words as they were said, without leading fillers.
        words: The same, folded.
    """
    # The first noun is an unspecified one: "does a shop", "what do people".
    unspecified = len(words) > _NEAR and not table.anything.isdisjoint(words[1:4])
    return (
        1 < len(words) <= MOST
        and words[0] in table.generic
        and words[1] not in ("you", "du")
        and table.specific.isdisjoint(words)
        and (not table.things.isdisjoint(words) or unspecified)
        and all(
            noun in table.things for word, noun in pairwise((*words, "")) if word in table.articles
        )
        and all(_is_common(place, forms, words, table) for place in range(1, len(words)))
    )


def _is_common(place: int, forms: Sequence[str], words: Sequence[str], table: GateWords) -> bool:
    """Return whether a word is no name: it is known, or preceded by "a"."""
    word = words[place]
    if word in table.things or word in table.articles or word in table.anything:
        return True
    if forms[place][0].isupper() and table.noun_case == "lower":
        return False
    return is_ordinary(word) or words[place - 1] in table.anything


MOST_WORDS = 16  # longest utterance of only fillers or a command
MOST_COURTESY = 6  # words after a command
MOST_REACTION = 9  # words of a remark without content
MOST_CHARS = 300  # of a question, that are examined
MOST_READ = 3000  # of an utterance, from its end, that are examined: questions come last
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
SENTENCE = re.compile(r"[^.!?…;。！？؟\n]+[.!?…;。！？؟]*")
_LAUGHTER = re.compile(LAUGHTER)
_DECIMAL = re.compile(r"(\d)[.,](\d)")  # "12.5" ends no sentence
_SIGNS = (
    ("%", " percent "), ("×", " times "), ("*", " times "), ("+", " plus "), ("÷", " divided by "),
    ("/", " divided by "), ("=", " "), ("€", " euro "), ("$", " dollars "), ("£", " pounds "),
    ("°", " degrees "),
)  # fmt: skip


class GateOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which turns skip recall.

    Attributes:
        enabled: Skip recall for "okay", thanks, laughter and pure commands, and remove greetings
            from queries. Off: every turn is looked up unchanged.
    """

    enabled: bool = True


class Need(Struct, frozen=True, kw_only=True):
    """What an utterance needs.

    Attributes:
        query: The text to look up; "" for nothing.
        asks: Whether it is a question, but not for advice: the LLM may have to be informed that no
            memory was found.
        asks_memory: Whether it asks about the people here, somebody by name, or an earlier
            conversation.
        asks_time: Whether it asks for the time or date, or depends on it ("how long until my
            appointment").
    """

    query: str
    asks: bool = False
    asks_memory: bool = False
    asks_time: bool = False


class _Words(NamedTuple):
    """The words of a text.

    Attributes:
        said: As they were said.
        folded: In lower case, with plain apostrophes.
        fillers: How many of them at the beginning are fillers.
    """

    said: list[str]
    folded: list[str]
    fillers: int


IsKnown = Callable[[str], bool]
"""Returns whether a word in lower case is a name in the memory."""


def nobody(_: str) -> bool:
    return False


def _read(text: str, table: GateWords) -> _Words:
    forms = _WORD.findall(text)
    folded = [word.casefold().replace("’", "'") for word in forms]
    return _Words(forms, folded, _count(table.fillers, folded))


def judge(text: str, language: str = "english", is_known: IsKnown = nobody) -> Need:
    """Decide what an utterance needs.

    Args:
        is_known: Returns whether a word in lower case is a name in the memory: it is one then,
            whatever else it means ("Biscuit").
    """
    table = language_of(language).gate
    _, words, fillers = _read(text[:MOST_CHARS], table)
    if len(words) <= MOST_WORDS and len(text) <= MOST_CHARS:
        if fillers == len(words):
            return Need(query="")
        if table.time.fullmatch(" ".join((*words, ""))):
            return Need(query="", asks_time=True)
        if _is_command(words, table):
            return Need(query="")
        sentences = SENTENCE.findall(_DECIMAL.sub(r"\1 \2", text))
        if sentences and all(_needs_none(sentence, is_known, table) for sentence in sentences):
            return Need(query="", asks_time=bool(table.about_now.search(" ".join(words))))
    start = _count(table.greetings, words)
    if 0 < start < len(words):
        text = text[next(islice(_WORD.finditer(text), start, None)).start() :]
    return _asked(text, language)


def _needs_none(sentence: str, is_known: IsKnown, table: GateWords) -> bool:
    """Return whether a sentence is chatter, a command, or a question about the world alone."""
    for sign, word in _SIGNS:
        if sign in sentence:
            sentence = sentence.replace(sign, word)
    forms, words, first = _read(sentence, table)
    if first == len(words):
        return True
    if _names_somebody(forms, words, is_known, table):
        return False
    if table.chatter.match(" ".join(words)) or _is_reaction(sentence, words, table):
        return True
    if _begins_with_command(sentence, table):
        return True
    return _is_of_world(forms[first:], words[first:], table)


def _is_of_world(forms: Sequence[str], words: Sequence[str], table: GateWords) -> bool:
    """Return whether a request can be fulfilled without knowing the people here."""
    line = " ".join(words)
    numbers = not table.numeric.isdisjoint(words) or any(
        digits_of(word).isdecimal() for word in words
    )
    personal = _names_people(table.personal, line, table)
    if personal and not numbers:
        return False
    if (numbers and table.sums.search(line)) or (not personal and _is_about_world(line, table)):
        return not _names_people(table.memory, line, table)
    return is_generic(forms, words, table)


def _names_people(pattern: re.Pattern[str], line: str, table: GateWords) -> bool:
    """Return whether a pattern matches a line, and not its asides alone."""
    return bool(pattern.search(line) and pattern.search(table.asides.sub(" ", line)))


def _is_reaction(sentence: str, words: Sequence[str], table: GateWords) -> bool:
    """Return whether a remark has no word of content: "that is really good to know"."""
    return (
        len(words) <= MOST_REACTION
        and "?" not in sentence
        and words[0] not in ("and", "und")
        and all(word in table.small or _LAUGHTER.fullmatch(word) for word in words)
    )


def _is_about_world(line: str, table: GateWords) -> bool:
    met = table.world_begins.match(line) or table.world.search(line)
    title = met and met.groupdict().get("title")
    return bool(met) and not (title and any(is_ordinary(word) for word in title.split()))


def _begins_with_command(sentence: str, table: GateWords) -> bool:
    """Return whether a sentence, or its first clause, is a command, and the rest a short remark."""
    clauses = [_read(clause, table).folded for clause in sentence.split(",")]
    every = [word for words in clauses for word in words]
    if _is_command(every, table):
        return True
    rest = len(every) - len(clauses[0])
    return (
        0 < rest <= MOST_COURTESY
        and bool(clauses[0])
        and not _asks(sentence, table)
        and _is_command(clauses[0], table)
    )


def _names_somebody(
    forms: Sequence[str], words: Sequence[str], is_known: IsKnown, table: GateWords
) -> bool:
    """Return whether a name occurs: in small letters only if it is no ordinary word too, or known."""
    for place, (form, word) in enumerate(zip(forms, words, strict=True)):
        bare = word.partition("'")[0]
        if is_known(bare):
            return True
        if bare in CALENDAR or bare in table.requests:
            continue
        if not (is_given_name(bare) or is_given_name(bare.removesuffix("s"))):
            continue
        if place and words[place - 1] in table.anything:
            continue
        if not is_ordinary(bare) or (place and form[0].isupper() and not form.isupper()):
            return True
    return False


def _asked(query: str, language: str) -> Need:
    table = language_of(language).gate
    asks = memory = time = False
    for sentence in SENTENCE.findall(query[-MOST_READ:]):
        if not _asks(sentence, table):
            continue
        line = _line(sentence, table)
        time = time or bool(table.about_now.search(line))
        if table.advice.match(line):
            continue
        asks = True
        memory = memory or bool(
            table.memory.search(line) or names_in(sentence[-MOST_CHARS:], language)
        )
    return Need(query=query, asks=asks, asks_memory=memory, asks_time=time)


def _count(phrases: re.Pattern[str], words: Sequence[str]) -> int:
    """Return the number of leading words made up of phrases."""
    match = phrases.match(" ".join(words) + " ")
    return match[0].count(" ") if match else 0


def _is_command(words: Sequence[str], table: GateWords) -> bool:
    """Return whether an utterance is a phrase, or consists of a verb, a device, and other words."""
    if len(words) > MOST_WORDS:
        return False
    line = " ".join((*words, ""))
    if table.commands.fullmatch(line):
        return True
    of_device = not (table.verbs.isdisjoint(words) or table.devices.isdisjoint(words))
    return of_device and table.orders.fullmatch(line) is not None


def _asks(sentence: str, table: GateWords) -> bool:
    if sentence.rstrip().endswith(("?", "？", "؟")):
        return True
    _, first, start = _read(sentence[:80], table)  # after fillers, "so", "oh": STT omits the comma
    start += _count(table.courtesy, first[start:])  # "and"
    if start < len(first) and first[start] in table.asking:
        return True
    pair = first[start : start + 2]
    return len(pair) == 2 and pair[0] in table.prepositions and pair[1] in table.asked_things


def _line(sentence: str, table: GateWords) -> str:
    """Return a folded sentence without its leading fillers."""
    _, words, fillers = _read(sentence[-MOST_CHARS:], table)
    return " ".join(words[fillers:] or words)
