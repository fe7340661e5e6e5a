"""Reduces names of people and things to their distinguishing parts, and compares given names.

Two names with the same reduced form are the same name: case, accents, punctuation, articles,
titles, legal forms and a preceding role ("my boss Linda") are removed, usual abbreviations written
out. Distinguishing parts are kept: a number, a generation ("Jr"), whose mother it is.

Kate and Katherine are forms of one name, Tom and Tim are not. Short forms are looked up (the
``nicknames`` package), spellings compared by sound and letters. The last letters distinguish Paul
from Paula however similar the rest is.
"""

import re
import unicodedata
from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct
from rapidfuzz.distance import Levenshtein

from slowcat_memory.core.language import LANGUAGES, of_any, words_of_any
from slowcat_memory.core.text.phonetics import sound

_UMLAUTS = {"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "ø": "oe", "å": "aa", "æ": "ae"}
_POSSESSIVE = re.compile(r"(?:'s|s')(?=\s)")
_APOSTROPHES = re.compile(r"['’`]")
_PARTS = re.compile(r"\d+(?:\.\d+)?|[^\W\d_]+")
_LAST_FIRST = re.compile(r"^\s*([^,]+),\s*([^,]+)$")

TITLES = words_of_any(lambda one: one.names.titles)
SUFFIXES = words_of_any(lambda one: one.names.suffixes)
ROLES = words_of_any(lambda one: one.names.roles)
PETS = words_of_any(lambda one: one.names.pets)
_ARTICLES = words_of_any(lambda one: one.names.articles)
_EMPTY = _ARTICLES | words_of_any(lambda one: one.names.fillers)
_LEGAL = words_of_any(lambda one: one.names.legal)
_ORDER = re.compile(rf"\b(?:{of_any(lambda one: '|'.join(one.names.orders))})\b", re.IGNORECASE)
_LONG = {short: long for one in LANGUAGES for short, long in one.names.abbreviations.items()}
_ORDINAL = frozenset("st nd rd th".split())


class Name(Struct, frozen=True):
    """A reduced name: its distinguishing words and numbers, in order.

    ``numbers`` include single letters of a model or flat. ``roles`` are preceding roles and titles;
    ``suffix`` is the generation: "jr", "iii"; "" for none.
    """

    words: tuple[str, ...]
    numbers: tuple[str, ...] = ()
    roles: frozenset[str] = frozenset()
    suffix: str = ""

    @property
    def joined(self) -> str:
        """Return all of it without spaces: "e-reader" is "ereader"."""
        return "".join((*self.words, *self.numbers, self.suffix))


def folded(text: str) -> tuple[str, str]:
    """Return a text without case and accents: with "ü" as "u", and with "ü" as "ue"."""
    low = unicodedata.normalize("NFC", text).casefold()
    spelt = "".join(_UMLAUTS.get(letter, letter) for letter in low)
    return _plain(low), _plain(spelt)


def _plain(text: str) -> str:
    apart = unicodedata.normalize("NFKD", text)
    return "".join(letter for letter in apart if not unicodedata.combining(letter))


def names(text: str, kind: str) -> tuple[Name, ...]:
    """Return the reduced forms of a name: one, or two if it has an umlaut.

    Args:
        kind: The entity's type: "person", "pet", "order", "product", "organisation", "place", …
    """
    if kind == "person" and (swapped := _LAST_FIRST.match(text)):
        text = f"{swapped[2]} {swapped[1]}"
    if kind == "order":
        text = _ORDER.sub(" ", text)
    read = person if kind in ("person", "pet") else thing
    return tuple(dict.fromkeys(read(one) for one in folded(text)))


def person(text: str) -> Name:
    """Reduce the folded name of a person or pet: "my boss linda"; "anna's mother" is not Anna."""
    owner = _POSSESSIVE.search(text)
    if owner:
        after = person(text[owner.end() :])
        if not after.words or set(after.words) <= ROLES | PETS:
            return Name((*_words(text[: owner.start()]), "of", *_words(text[owner.end() :])))
        return after
    words = _words(text)
    known = [word for word in words if word not in _ARTICLES]
    suffix = known[-1] if len(known) > 1 and known[-1] in SUFFIXES else ""
    roles = frozenset(word for word in known if word in TITLES | ROLES | PETS)
    bare = tuple(word for word in known if word not in roles and word != suffix)
    return Name(bare or tuple(known), roles=roles if bare else frozenset(), suffix=suffix)


def thing(text: str) -> Name:
    """Reduce the folded name of anything else: "the sony wh-1000xm5", "123 main st"."""
    words, numbers = list[str](), list[str]()
    parts = _words(text)
    for place, part in enumerate(parts):
        part = _long(part, place, parts)
        if part[0].isdigit() or (len(part) == 1 and part not in _EMPTY and place):
            numbers.append(part)
        elif part not in _EMPTY and part not in _LEGAL:
            words.append(part)
    return Name(tuple(words) if words or numbers else tuple(parts), tuple(numbers))


def _long(part: str, place: int, parts: list[str]) -> str:
    """Write out an abbreviation, unless it is the ending of an ordinal."""
    if place and part in _ORDINAL and parts[place - 1].isdigit():
        return "no"
    if part == "st":  # "St. Louis", "Main St"
        return "saint" if place + 1 < len(parts) and not place else "street"
    return _LONG.get(part, part)


def _words(text: str) -> list[str]:
    return _PARTS.findall(_APOSTROPHES.sub("", text.replace("'s ", " s ").replace(" s ", "s ")))


if TYPE_CHECKING:
    from nicknames import NickNamer

ALIKE = 0.8  # letters in common of two spellings that sound the same
SPELT = 0.87  # of two that do not: "Nicolas", "Nicholas"
_SHORT_FORM_ALIKE = 0.5  # of two long forms that share a short one: "Catherine", "Kathryn"
# Endings of women's names that men's lack or replace.
_ENDINGS = (
    ("", "a"), ("o", "a"), ("e", "a"), ("", "le"), ("s", "se"), ("", "e"), ("", "ia"), ("er", "ra"),
    ("e", "ia"), ("", "ine"), ("ew", "ea"), ("", "ne"), ("is", "es"), ("", "ina"), ("h", "hine"),
    ("ael", "elle"), ("en", "anie"), ("k", "cia"),
)  # fmt: skip
# Pairs that the package wrongly takes for forms of one name.
_APART = frozenset({("aaron", "erin"), ("anna", "hannah"), ("ann", "hannah"), ("alice", "alicia")})
_SILENT = frozenset({"ann", "sara", "carolin", "clair", "josephin", "kathrin", "zo"})


@cache
def _known() -> "NickNamer":
    from nicknames import NickNamer  # slow import (reads a table); most processes compare no names

    return NickNamer()


def same_given(one: str, other: str) -> bool:
    """Return whether two folded given names are forms of one."""
    if one == other:
        return True
    if len(one) == 1 or len(other) == 1:
        return one[0] == other[0]
    if differ_by_gender(one, other) or tuple(sorted((one, other))) in _APART:
        return False
    known = _known()
    if other in known.nicknames_of(one) or one in known.nicknames_of(other):
        return True
    alike = Levenshtein.normalized_similarity(one, other)
    heard, also = sound(one), sound(other)
    if heard is None or also is None:
        return alike >= SPELT
    if heard.spelling == also.spelling:
        return True
    sounds_same = heard.rough == also.rough
    if sounds_same and alike >= _SHORT_FORM_ALIKE and _share_short_form(one, other):
        return True
    return alike >= (ALIKE if sounds_same else SPELT)


def _share_short_form(one: str, other: str) -> bool:
    known = _known()
    return not known.nicknames_of(one).isdisjoint(known.nicknames_of(other))


def differ_by_gender(one: str, other: str) -> bool:
    """Return whether two names differ by gender: "Paul", "Paula", but not "Ann", "Anne"."""
    for short, long in ((one, other), (other, one)):
        for his, hers in _ENDINGS:
            stem = short.removesuffix(his) if his else short
            if short.endswith(his) and len(stem) > 1 and long == stem + hers:
                return not (hers == "e" and stem in _SILENT)
    return False


def same_surname(one: str, other: str) -> bool:
    """Return whether two folded surnames are spellings of one: "O'Neil", "O'Neill"."""
    if one == other or one.replace("w", "v") == other.replace("w", "v"):
        return True
    heard, also = sound(one), sound(other)
    alike = Levenshtein.normalized_similarity(one, other)
    return bool(heard and also and heard.exact == also.exact and alike >= ALIKE + 0.05)
