"""Names that are known: given names of many languages, and other names of places and organisations.

A formal name and its short form may name one person ("Gabriele", "Gabi"); two formal names of one
line name one only if they are spellings of each other: "Stephen" and "Steven", but not "Juan" and
"John".
"""

import re
from collections import defaultdict
from functools import cache

from msgspec import Struct

from slowcat_memory.core.language.data import phrase_list, read_toml
from slowcat_memory.core.text_caches import text_cache

_SPELLINGS = tuple(  # usual spellings of one sound in a name
    (re.compile(pattern), letter)
    for pattern, letter in (
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


class _Names(Struct, frozen=True):
    lines: dict[str, frozenset[int]]  # names by the lines that hold them
    formal: frozenset[str]


@cache
def _names() -> _Names:
    read = read_toml(__package__, "given_names.toml", dict[str, str])
    lines: dict[str, set[int]] = defaultdict(set)
    rows = [line.split() for line in read["forms"].strip().splitlines()]
    for number, line in enumerate(rows):
        for name in line:
            lines[name].add(number)
    others = read["others"].split()
    for name in others:
        lines.setdefault(name, set())
    return _Names(
        {name: frozenset(found) for name, found in lines.items()},
        frozenset((*others, *(line[0] for line in rows))),
    )


def is_given_name(word: str) -> bool:
    """Return whether a word in lower case is a known given name, in full or short."""
    return word in _names().lines


def forms_of_one(one: str, other: str) -> bool | None:
    """Return whether two given names in lower case are forms of one; None if one is unknown."""
    known = _names()
    first, second = known.lines.get(one), known.lines.get(other)
    if first is None or second is None:
        return None
    if spelt_alike(one, other):
        return True
    return not first.isdisjoint(second) and not are_formal(one, other)


def are_formal(one: str, other: str) -> bool:
    """Return whether two given names in lower case are both formal names, no short forms."""
    return {one, other} <= _names().formal


def spelt_alike(one: str, other: str) -> bool:
    """Return whether two names in lower case differ in spelling alone: "Oscar", "Oskar"."""
    return _spelling(one) == _spelling(other)


@text_cache(4096)
def _spelling(name: str) -> str:
    for pattern, letter in _SPELLINGS:
        name = pattern.sub(letter, name)
    return name


@cache
def aliases() -> dict[str, Aliases]:
    """Return the groups of names of one thing by entity type: "place", "organisation"."""
    return {
        kind.removesuffix("s"): tuple(
            tuple(name.strip() for name in group.split("=")) for group in phrase_list(text)
        )
        for kind, text in read_toml(__package__, "aliases.toml", dict[str, str]).items()
    }
