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
from functools import cached_property
from itertools import islice, pairwise
from typing import NamedTuple

from msgspec import Struct

from slowcat_memory.core.language import language_of
from slowcat_memory.core.language.data import compiled
from slowcat_memory.core.language.english.vocabulary import CALENDAR, EMPTY
from slowcat_memory.core.language.gate import LAUGHTER, GateWords
from slowcat_memory.core.language.names import is_german, is_given_name, is_ordinary
from slowcat_memory.core.text.normalize import WORD, begins_sentence, content_words, fold
from slowcat_memory.core.text.numerals import counts, digits_of, is_value
from slowcat_memory.core.text.rare_words import is_name
from slowcat_memory.core.text_caches import text_cache

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


# ------------------------------------------------------------------- what is asked for
# The kind of answer that a question wants: a fact, the name of something, an amount or a time.
#
# "Where do I live?" asks for ``lives_in``. The words of such a question are often none of the
# statement's ("my flat's in Graz"). Where facts have been read from turns, the predicate leads to the
# turn that states what holds. What is ahead ("when is my dentist appointment?") is asked for by words
# and found by its day.
#
# Whatever has a name is near to "what is my landlord called?", and "how much does the stairlift cost?"
# is near to "we're getting a stairlift put in". So the names and values that a question asks for are
# read too, and the names that it mentions: where they are missing, nothing answers.
#
# Facts know which of two statements holds, where rules or an LLM have read both. Where they have not,
# a later statement about the very thing that is asked about makes the earlier one the earlier, by its
# words: one with a word of change ("the movers now come on the 20th"), or one of the same words with
# another number, day or month ("my locker is 81", "my locker is 114").

LEAST = 3  # letters of a word that names a thing
KEY = 5  # letters that two forms of a word, or a compound and its beginning, have in common
LEAST_ASKED = 0.5  # share of the asked words of the earlier statement that the later one has too
SAME = 0.75  # share of the shorter statement's words that both have, apart from the values
_ENDINGS = re.compile(r"(?<=\w{3})(?:'s|ing|ies|ed|es|en|em|er|et|st|s|e|n|t|y)$")


class Wording:
    """The words of a text as they are compared with those of others.

    Each part is read from the text when it is first asked for, and kept: a recall compares every
    hit with every other one.
    """

    def __init__(self, text: str, language: str) -> None:
        """Read nothing yet; ``language`` is as in ``language_of``."""
        self.text, self._language = text, language

    @cached_property
    def keys(self) -> set[str]:
        """The beginnings of its content words, as in ``keys``."""
        return keys(self.text, self._language)

    @cached_property
    def values(self) -> frozenset[str]:
        """The numbers, days and months that it names."""
        return frozenset(filter(is_value, WORD.findall(fold(self.text))))

    @cached_property
    def keys_but_values(self) -> set[str]:
        """The keys of what it says apart from its values."""
        others = (word for word in WORD.findall(fold(self.text)) if not is_value(word))
        return keys(" ".join(others), self._language)

    @cached_property
    def changes(self) -> bool:
        """Whether it says that something is different from before."""
        return bool(language_of(self._language).talk.change.search(self._line))

    @cached_property
    def renews(self) -> bool:
        """Whether it says so, if both statements are about the same matter."""
        return bool(language_of(self._language).talk.renewal.search(self._line))

    @cached_property
    def may_revise(self) -> bool:
        """Whether it has what may change an earlier statement."""
        return self.changes or self.renews or bool(self.values)

    @cached_property
    def asks_past(self) -> bool:
        """Whether it is a question about what happened, which no later statement changes."""
        return bool(language_of(self._language).talk.past.search(fold(self.text)))

    @cached_property
    def _line(self) -> str:
        return fold(self.text.replace("’", "'"))


def revises(newer: Wording, older: Wording, query: Wording) -> bool:
    """Return whether a later statement changes an earlier one in what a query asks about.

    A word of change needs one asked word in common; any other sign half of them.
    """
    if not newer.may_revise or query.asks_past:
        return False
    about = older.keys & query.keys
    if about.isdisjoint(newer.keys):
        return False
    if newer.changes:
        return True
    if len(newer.keys & about) < LEAST_ASKED * len(about):
        return False
    return newer.renews or _same_with_another_value(newer, older)


def keys(text: str, language: str) -> set[str]:
    """Return the beginnings of a text's content words, the same for the forms of a word."""
    function = language_of(language).extracts.function
    words = [word.casefold() for word in content_words(text) if len(word) >= LEAST]
    return {_ENDINGS.sub("", word)[:KEY] for word in words if word not in function}


def _same_with_another_value(newer: Wording, older: Wording) -> bool:
    if not newer.values - older.values or not older.values - newer.values:
        return False
    own, other = newer.keys_but_values, older.keys_but_values
    return len(own & other) >= SAME * min(len(own), len(other))


FACT_CHARS = 120  # of a question: longer ones ask for more than a fact or a value
BESIDE = 0.4  # an amount in a text without a word of the question: of something else, or reworded
STEM = 5  # letters by which the thing that is counted is the same
_POSSESSIVE = re.compile(r"['’]s?$")
_OWNED = ("'", "'s", "’", "’s")  # how what it matches ends


class AskedFact(Struct, frozen=True):
    """A fact that a question asks for.

    Attributes:
        predicates: Any of which answers.
        thing: What they are about ("dog"), "" for anything.
        words: Beginnings of words, one of which the fact has, or the words behind it; none for any.
        former: Whether what held before is asked for.
        ahead: Whether the answer is what has a day that lies ahead.
    """

    predicates: frozenset[str] = frozenset()
    thing: str = ""
    words: frozenset[str] = frozenset()
    former: bool = False
    ahead: bool = False


@text_cache(64)
def asked_fact(query: str, language: str) -> AskedFact | None:
    """Return which fact about themselves a user asks for; None for any other question.

    Takes 10 to 60 us, once for a turn.
    """
    if len(query) > FACT_CHARS:
        return None
    talk, line = language_of(language).talk, fold(query.replace("’", "'"))
    begins = talk.asking.search(line)
    if begins is None:
        return None
    line = line[begins.start() :]
    if coming := _asked_ahead(line, language):
        return coming
    for predicates, *patterns in talk.asked:
        if match := compiled("|".join(patterns)).search(line):
            thing = next(filter(None, match.groups()), "")
            names = frozenset(predicates.format(thing=thing).split())
            # A thing may be named otherwise too: a dog is a pet, a wife a partner.
            for others, things in talk.alike.items():
                names |= frozenset(others.split() if thing in things.split() else ())
            words = frozenset(keys(thing, language))
            return AskedFact(names, thing, words, bool(talk.former.search(line)))
    return None


def _asked_ahead(line: str, language: str) -> AskedFact | None:
    """Return what is asked for by a question of what is ahead, or when it is."""
    talk = language_of(language).talk
    if not talk.ahead.search(line) or talk.past.search(line):
        return None
    about = keys(talk.ahead_words.sub(" ", line), language)
    named = bool(talk.when.search(line))
    return AskedFact(words=frozenset(about), ahead=True) if about or not named else None


# ------------------------------------------------------------------- names and values


def named_thing(query: str, language: str) -> list[str]:
    """Return words for what a user asks the name of, its own first; none for another question."""
    talk = language_of(language).talk
    if not talk.asks_name.search(fold(query.replace("’", "'"))):
        return []
    asked = asked_fact(query, language)
    if asked is None or f"has_{asked.thing}" not in asked.predicates:
        return []
    words = [asked.thing]
    for names, things in talk.alike.items():
        if asked.thing in things.split() or f"has_{asked.thing}" in names.split():
            words += [*(name.partition("_")[2] for name in names.split()), *things.split()]
    return list(dict.fromkeys(words))


def lacks_value(query: str, texts: Sequence[str], language: str) -> float:
    """Return how surely a question asks for a value that no text has, 0 to 1.

    A statement of the past answers "when" by its own date, so only what is due or regular asks for a
    time.
    ``BESIDE`` where texts have one that share no word with the question. Only questions about
    somebody or something definite count ("the", "my", "wir"): others may be about the world. Takes
    a few microseconds for a question that asks for none.
    """
    if len(query) > FACT_CHARS:
        return 0.0
    talk, line = language_of(language).talk, fold(query.replace("’", "'"))
    met = talk.values.search(line)
    if met is None or not (talk.definite.search(line) or names_in(query, language)):
        return 0.0
    counted = (met["counted"] or "")[:STEM].removesuffix("s")
    having = [text for text in texts if _has(WORD.findall(fold(text)), counted, language)]
    asked = keys(query, language)
    near = any(not asked.isdisjoint(keys(text, language)) for text in having)
    return 0.0 if near else BESIDE if having else 1.0


def _has(words: Sequence[str], counted: str, language: str) -> bool:
    """Return whether a text has a value, or what is counted: "my sister Jo" counts sisters."""
    table = language_of(language)
    if len(counted) > 2 and any(word.startswith(counted) for word in words):
        return True
    known = table.talk.amounts | table.time.triggers
    return any(word[0].isdigit() or word in known or counts(word) for word in words)


def names_in(text: str, language: str = "english") -> list[str]:
    """Return the words of a query that are names, without a possessive "s".

    Where capitals mark names these are the capitalised words within a sentence, and possessives at
    its beginning. Where they do not (German nouns, STT that writes none, or nothing else), these
    are known given names, and words that are no ordinary ones where a name is expected.
    """
    table = language_of(language)
    if table.capital_nouns or text.isupper() or text.islower():
        return _uncased_names(text, table.talk.name_places)
    names = []
    for match in WORD.finditer(text):
        if not match[0][0].isupper():
            continue
        bare = _POSSESSIVE.sub("", match[0])
        if bare == match[0] and begins_sentence(text, match.start()):
            continue
        if len(bare) > 1 and bare.lower() not in EMPTY:
            names.append(bare)
    return names


def _uncased_names(text: str, places: frozenset[str]) -> list[str]:
    names, before = [], ""
    for match in WORD.findall(text):
        word = _POSSESSIVE.sub("", match) if match.endswith(_OWNED) else match
        bare, expected = word.casefold(), before in places or word != match
        # Where every noun has a capital, one says something of a known name alone.
        given = is_given_name(bare) and not is_german(bare)
        capital = given and word != bare and not text.isupper()
        if len(word) > 2 and is_name(bare, capital=capital, expected=expected):
            names.append(word)
        before = match.casefold().replace("’", "'")
    return names
