"""Words for the recall gate, by language.

Lists come from the language's ``words.toml``, patterns from its ``talk.py``.
"""

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from slowcat_memory.core.language.data import any_of, filled, lazy_pattern, phrase_list, word_set

LAUGHTER = r"(?:ha|he|hi|ho|hah|heh){2,}h?|lo+l|h+m+|m+h+m+|m{2,}|u+h+|u+m+|a+h+|o+h+|e+h+m*"


class GateWords(Struct, frozen=True, kw_only=True):
    """Words of the recall gate in one language.

    Attributes:
        greetings: Matches what precedes the actual words; this and the next two, a blank too.
        fillers: Matches answers, thanks, laughter and goodbyes, including greetings: need no recall.
        courtesy: Matches what is allowed around a device command.
        commands: Matches whole utterances that command the agent or a device.
        verbs: Other device commands have one of these, one of ``devices``, and match ``orders``.
        devices: See ``verbs``.
        orders: See ``verbs``.
        small: Words of reactions ("that is really good to know"); a remark of these alone has no
            content.
        generic: First words of questions that may be about the world alone.
        specific: Words of a question about the people here, what happens to them, or a choice.
        things: What the world is made of: nature, the body, animals, inventions, subjects.
        articles: Definite articles, which need one of ``things`` in a question about the world.
        anything: Words before something unspecified: "a" spider, what "people" do.
        numeric: Words without which there is no arithmetic.
        requests: First words of requests, which are no names there: "explain", "lies".
        noun_case: How nouns are written: "lower", or "title" as in German, where a capital is no sign of a
            name.
        time: Matches whole utterances that ask for the time or the date.
        about_now: Matches a folded question that needs today's date.
        asking: First words of a question or of a request for information.
        prepositions: Words before one of ``asked_things`` that begin a question too: "in which city".
        asked_things: Asking words that may follow one of them.
        memory: Matches a folded question for a memory.
        advice: Beginnings that ask for advice, not for a memory.
        asides: Phrases of a folded request that name the speaker without being about them: "tell
            me".
        personal: Matches a folded text about the people here, once without ``asides``.
        chatter: Matches a folded remark that needs no memory: thanks, praise, questions about the
            agent itself.
        sums: Matches folded arithmetic with numbers.
        world_begins: Like ``world``, at the beginning of a request alone.
        world: Matches a folded request that no memory can help with: sums, units, knowledge,
            meanings, weather, jokes. A group ``title`` must have no ordinary word.
    """

    greetings: re.Pattern[str]
    fillers: re.Pattern[str]
    courtesy: re.Pattern[str]
    commands: re.Pattern[str]
    verbs: frozenset[str]
    devices: frozenset[str]
    orders: re.Pattern[str]
    small: frozenset[str]
    generic: frozenset[str]
    specific: frozenset[str]
    things: frozenset[str]
    articles: frozenset[str]
    anything: frozenset[str]
    numeric: frozenset[str]
    requests: frozenset[str]
    noun_case: str
    time: re.Pattern[str]
    about_now: re.Pattern[str]
    asking: frozenset[str]
    prepositions: frozenset[str]
    asked_things: frozenset[str]
    memory: re.Pattern[str]
    advice: re.Pattern[str]
    asides: re.Pattern[str]
    personal: re.Pattern[str]
    chatter: re.Pattern[str]
    sums: re.Pattern[str]
    world_begins: re.Pattern[str]
    world: re.Pattern[str]


def gate_words(lists: Mapping[str, str], **patterns: Any) -> GateWords:
    phrases = {name: phrase_list(text) for name, text in lists.items()}
    greeting, courtesy = any_of(phrases["greetings"]), f"(?:{any_of(phrases['courtesy'])} )*"
    words = "|".join(" ".join(lists[name] for name in ("verbs", "devices", "other")).split())
    before = f"(?:(?:{greeting}|{LAUGHTER}) )*{courtesy}"
    return filled(
        GateWords,
        lists,
        greetings=lazy_pattern(f"(?:{greeting} )*"),
        fillers=lazy_pattern(
            f"(?:(?:{any_of(phrases['greetings'], phrases['small_talk'])}|{LAUGHTER}) )*"
        ),
        courtesy=lazy_pattern(courtesy),
        commands=lazy_pattern(f"{before}{any_of(phrases['commands'])} {courtesy}"),
        orders=lazy_pattern(rf"{before}(?:(?:{words}|\d+) )+{courtesy}"),
        time=lazy_pattern(f"{before}{any_of(phrases['time'])} {courtesy}"),
        noun_case=lists["noun_case"],
        small=_inflected(word_set(lists["small"]), lists["noun_case"]),
        **patterns,
    )


def _inflected(words: frozenset[str], noun_case: str) -> frozenset[str]:
    """Return words with the endings of adjectives, in a language that has them."""
    endings = ("", "e", "er", "es", "en", "em") if noun_case == "title" else ("",)
    return frozenset(word + ending for word in words for ending in endings)
