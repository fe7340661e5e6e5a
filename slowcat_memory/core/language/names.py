"""Words that are names: given names, other names of places and organisations; and ordinary words.

A formal name and its short form may name one person ("Gabriele", "Gabi"); two formal names of one
line name one only if they are spellings of each other: "Stephen" and "Steven", but not "Juan" and
"John".

Each language lists its frequent words, which are no names, in its ``ordinary.txt``; regular forms and
German compounds are derived. The English list comes from the vocabulary of the default embedding
model (Apache 2.0), without what is written with a capital in running text.
"""

import re
from collections import defaultdict
from functools import cache

from slowcat_memory.core.language.data import phrase_list, read_data, read_toml, rewriter
from slowcat_memory.core.language.english.vocabulary import EVERYDAY
from slowcat_memory.core.text_caches import text_cache

_spelling = text_cache(4096)(
    rewriter(  # usual spellings of one sound in a name
        (r"ph", "f"),
        (r"ck|c(?![eiyh])|ch(?=[ro])|kh|qu?", "k"),
        (r"g(?=e)", "j"),
        (r"eo(?=ff)", "e"),
        (r"dsch|dj|dzh", "j"),
        (r"sch|sh|sz", "s"),
        (r"th", "t"),
        (r"[yj](?=[aeiou])", "i"),
        (r"ie$|y|ij|iy|ee|ii", "i"),
        (r"ou|oo", "u"),
        (r"w", "v"),
        (r"z", "s"),
        (r"(?<=[aeiou])h$|(?<=[dgkrt])h", ""),
        (r"(.)\1+", r"\1"),
    )
)

Aliases = tuple[tuple[str, ...], ...]
"""Groups of names of one thing: "Munich" and "München", "VW" and "Volkswagen"."""


@cache
def _names() -> tuple[dict[str, frozenset[int]], frozenset[str]]:
    """Return the lines that hold each name, and the formal names."""
    read = read_toml(__package__, "given_names.toml", dict[str, str])
    lines: dict[str, set[int]] = defaultdict(set)
    rows = [line.split() for line in read["forms"].strip().splitlines()]
    for number, line in enumerate(rows):
        for name in line:
            lines[name].add(number)
    others = read["others"].split()
    for name in others:
        lines.setdefault(name, set())
    formal = frozenset((*others, *(line[0] for line in rows)))
    return {name: frozenset(forms) for name, forms in lines.items()}, formal


def is_given_name(word: str) -> bool:
    """Return whether a word in lower case is a known given name, in full or short."""
    return word in _names()[0]


def forms_of_one(name: str, other: str) -> bool | None:
    """Return whether two given names in lower case are forms of one; None if one is unknown."""
    lines, formal = _names()
    first, second = lines.get(name), lines.get(other)
    if first is None or second is None:
        return None
    if spelt_alike(name, other):
        return True
    return not first.isdisjoint(second) and not {name, other} <= formal


def spelt_alike(name: str, other: str) -> bool:
    """Return whether two names in lower case differ in spelling alone: "Oscar", "Oskar"."""
    return _spelling(name) == _spelling(other)


@cache
def aliases() -> dict[str, Aliases]:
    """Return the groups of names of one thing by entity type: "place", "organisation"."""
    return {
        kind.removesuffix("s"): tuple(
            tuple(name.strip() for name in group.split("=")) for group in phrase_list(text)
        )
        for kind, text in read_toml(__package__, "aliases.toml", dict[str, str]).items()
    }


# ------------------------------------------------------------------- ordinary words

_ENDINGS = ("ing", "ed", "es", "er", "ly", "s", "d", "r", "y")
_GERMAN_ENDINGS = (
    "e", "en", "er", "es", "em", "ern", "n", "s", "st", "t", "te", "ten", "test", "tet", "et", "est",
    "ete", "eten", "ung", "ungen", "lich", "liche", "lichen", "licher", "liches", "isch", "ische",
    "in", "innen", "chen", "lein", "los", "bar", "heit", "keit", "ig", "ige", "igen", "iger", "end",
    "ende", "enden",
)  # fmt: skip
_GERMAN_PREFIXES = (
    "ge", "be", "ver", "er", "ent", "zer", "auf", "ab", "an", "aus", "ein", "zu", "vor", "mit", "um",
    "uber", "unter", "nach", "weg", "her", "hin", "los", "bei", "dar", "durch", "fest", "frei",
    "heim", "raus", "rein", "rum", "zuruck", "zusammen", "un", "ur", "miss", "wieder", "weiter",
)  # fmt: skip
_PLAIN = str.maketrans({"ä": "a", "ö": "o", "ü": "u", "ß": "ss"})
_DIGRAPHS = re.compile(r"([ao]|(?<![aeq])u)e")  # "gaertner"
_SHORTEST = 3  # letters of a part of a German compound
_COMPOUND = 8  # letters of a German compound, at least
_JOINTS = ("s", "n", "en", "es", "e", "er")


@cache
def _english() -> frozenset[str]:
    return EVERYDAY | frozenset(_list("english"))


@cache
def _german() -> frozenset[str]:
    return frozenset(map(_plain, _list("german")))


def _list(language: str) -> list[str]:
    return read_data(f"{__package__}.{language}", "ordinary.txt").decode().split()


def _plain(word: str) -> str:
    return _DIGRAPHS.sub(r"\1", word.translate(_PLAIN))


@text_cache(8192)
def is_ordinary(word: str) -> bool:
    """Return whether a word in lower case is everyday English or German, in any regular form."""
    if word in EVERYDAY:
        return True
    if is_given_name(word):
        return False
    return _is_english(word) or is_german(word)


def is_word(word: str) -> bool:
    """Return whether a word in lower case is listed as everyday, though it may be a name too."""
    return word in _english() or _plain(word) in _german()


def _is_english(word: str) -> bool:
    known = _english()
    return word in known or any(
        stem in known
        or f"{stem}e" in known
        or (stem[-1] == stem[-2] and stem[:-1] in known)
        or (stem[-1] == "i" and f"{stem[:-1]}y" in known)
        for ending in _ENDINGS
        if word.endswith(ending) and len(stem := word[: -len(ending)]) > 2
    )


def is_german(word: str) -> bool:
    """Return whether a word in lower case is everyday German, in any regular form."""
    word = _plain(word)
    return (
        _is_german_form(word)
        or any(
            word.startswith(prefix) and _is_german_form(word[len(prefix) :])
            for prefix in _GERMAN_PREFIXES
            if len(word) > len(prefix) + 2
        )
        or _is_compound(word)
    )


@text_cache(8192)
def _is_german_form(word: str) -> bool:
    known = _german()
    return word in known or any(
        stem in known or f"{stem}en" in known or f"{stem}e" in known
        for ending in ("", *_GERMAN_ENDINGS)
        if word.endswith(ending) and len(stem := word[: len(word) - len(ending)]) > 2
    )


def _is_compound(word: str) -> bool:
    """Return whether two German words make up a longer one, joined by "s", "n" or nothing."""
    return len(word) >= _COMPOUND and any(
        _is_german_form(word[cut:]) and _begins_compound(word[:cut])
        for cut in range(_SHORTEST, len(word) - _SHORTEST + 1)
    )


def _begins_compound(part: str) -> bool:
    known = _german()
    return _is_german_form(part) or any(
        part.endswith(joint) and part[: -len(joint)] in known
        for joint in _JOINTS
        if len(part) - len(joint) >= _SHORTEST
    )
