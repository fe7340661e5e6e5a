"""Reduces names of people and things to their distinguishing parts, and compares given names.

Two names with the same reduced form are the same name: case, accents, punctuation, articles,
titles, legal forms and a preceding role ("my boss Linda") are removed, usual abbreviations written
out. Distinguishing parts are kept: a number, a generation ("Jr"), whose mother it is.

Titles and roles of one meaning count as one ("Dr", "Doctor"; "Auntie", "Tante"), as do the names of
one place in several languages.
"""

import re
import unicodedata
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct
from rapidfuzz.distance import Levenshtein

from slowcat_memory.core.extraction.options import SPELT
from slowcat_memory.core.language import LANGUAGES, of_any, words_of_any
from slowcat_memory.core.language.english.vocabulary import FEMALE, MALE, SAME_ROLES
from slowcat_memory.core.language.names import aliases, forms_of_one
from slowcat_memory.core.text.numerals import digits_of
from slowcat_memory.core.text.pronunciations import consonants, heard_as, sound_code

_UMLAUTS = {"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "ø": "oe", "å": "aa", "æ": "ae"}
_POSSESSIVE = re.compile(r"(?:'s|s')(?=\s)")
_OWNED = re.compile(r"^(?P<thing>.+?) (?:of|von) (?P<owner>[^\s]+)$")
_OWNER = re.compile(r"['’]s\b")
_DOTTED = re.compile(r"\b(?:[a-z]\.){2,}")  # "l.a."
_APOSTROPHES = re.compile(r"['’`]")
_PARTS = re.compile(r"\d+(?:\.\d+)?|[^\W\d_]+")

TITLES = words_of_any(lambda table: table.names.titles)
SUFFIXES = words_of_any(lambda table: table.names.suffixes)
ROLES = words_of_any(lambda table: table.names.roles)
PETS = words_of_any(lambda table: table.names.pets)
_ARTICLES = words_of_any(lambda table: table.names.articles)
_EMPTY = _ARTICLES | words_of_any(lambda table: table.names.fillers)
_LEGAL = words_of_any(lambda table: table.names.legal)
_ORDER = re.compile(rf"\b(?:{of_any(lambda table: '|'.join(table.names.orders))})\b", re.IGNORECASE)
_LONG = {
    short: long for language in LANGUAGES for short, long in language.names.abbreviations.items()
}
_ORDINAL = frozenset("st nd rd th".split())
_STROKES = str.maketrans({"ł": "l", "đ": "d", "ı": "i", "ø": "o", "æ": "ae", "œ": "oe", "þ": "th"})
_TOLD = TITLES | ROLES | PETS


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
    def gender(self) -> str:
        """Return "male" or "female" by its roles; "" for none."""
        for gender, roles in (("male", MALE), ("female", FEMALE)):
            if not roles.isdisjoint(self.roles):
                return gender
        return ""

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
    apart = unicodedata.normalize("NFKD", text.translate(_STROKES))
    return "".join(letter for letter in apart if not unicodedata.combining(letter))


def names(text: str, kind: str) -> tuple[Name, ...]:
    """Return the reduced forms of a name: one, or two if it has an umlaut.

    Args:
        kind: The entity's type: "person", "pet", "order", "product", "organisation", "place", …
    """
    if kind == "order":
        text = _ORDER.sub(" ", text)
    if kind in ("person", "pet"):
        return tuple(dict.fromkeys(person(words) for words in folded(text)))
    known_as = _aliases().get(kind, {})
    read = (thing(words) for words in folded(text))
    return tuple(dict.fromkeys(_known_name(name, known_as) for name in read))


def _known_name(name: Name, known_as: Mapping[str, Name]) -> Name:
    """Replace an alias that a name is, or begins with: "FFW Worms"."""
    if whole := known_as.get(name.joined):
        return whole
    for many in range(len(name.words) - 1, 0, -1):
        if known := known_as.get("".join(name.words[:many])):
            words = (*known.words, *name.words[many:])
            return Name(words, (*known.numbers, *name.numbers))
    return name


def person(text: str) -> Name:
    """Reduce the folded name of a person or pet: "my boss linda"; "anna's mother" is not Anna."""
    text = text.replace("’", "'")
    if (of := _OWNED.match(text)) and set(_words(of["thing"])) <= ROLES | PETS | _ARTICLES:
        text = f"{of['owner']}'s {of['thing']}"
    owner = _POSSESSIVE.search(text)
    if owner:
        after = person(text[owner.end() :])
        if not after.words or set(after.words) <= ROLES | PETS:
            relation = (_role(word) for word in _words(text[owner.end() :]))
            return Name((*_words(text[: owner.start()]), "of", *relation))
        return after
    words = _words(text)
    known = [  # a letter within a name is an initial, not an article
        word
        for place, word in enumerate(words)
        if word not in _ARTICLES or (len(word) == 1 and 0 < place < len(words) - 1)
    ]
    suffix = known[-1] if len(known) > 1 and known[-1] in SUFFIXES else ""
    told = [word for word in known if word in _TOLD]
    bare = tuple(word for word in known if word not in _TOLD and word != suffix)
    roles = frozenset(map(_role, told)) if bare else frozenset[str]()
    return Name(bare or tuple(map(_role, known)), roles=roles, suffix=_role(suffix))


def _role(word: str) -> str:
    """Return the first of the titles or roles of one meaning: "dr" for "doctor"."""
    return _SAME.get(word, word)


def thing(text: str) -> Name:
    """Reduce the folded name of anything else: "the sony wh-1000xm5", "123 main st"."""
    words, numbers = list[str](), list[str]()
    parts = _words(_OWNER.sub("", _DOTTED.sub(lambda match: match[0].replace(".", ""), text)))
    for place, part in enumerate(parts):
        part = _role(_long(part, place, parts))
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
    return _LONG.get(part) or digits_of(part)


def _words(text: str) -> list[str]:
    return _PARTS.findall(_APOSTROPHES.sub("", text.replace("'s ", " s ").replace(" s ", "s ")))


@cache
def _aliases() -> dict[str, dict[str, Name]]:
    """Return the first of each group of aliases by the joined reduced others, by entity type."""
    return {
        kind: {
            thing(spelt).joined: thing(folded(group[0])[0])
            for group in groups
            for name in group
            for spelt in folded(name)
        }
        for kind, groups in aliases().items()
    }


# The first of each group of roles by the others, as `folded` writes them.
_SAME = {spelt: group[0] for group in SAME_ROLES for word in group for spelt in folded(word)}


# ------------------------------------------------------------------- given names

# Kate and Katherine are forms of one name, Tom and Tim are not. Known given names are looked up (our
# own list, the ``nicknames`` package): two of them that are not forms of one are never one. Unknown
# ones are compared by sound and letters. The last letters distinguish Paul from Paula however
# similar the rest is.

if TYPE_CHECKING:
    from nicknames import NickNamer

_TWICE = re.compile(r"(.)\1+")
SOUNDS = 0.07  # less of two that sound the same
_SHORT_FORM_ALIKE = 0.5  # of two long forms that share a short one: "Catherine", "Kathryn"
_SILENT = frozenset({"ann", "sar", "carolin", "clair", "josephin", "kathrin", "z"})


@cache
def _known() -> "NickNamer":
    from nicknames import NickNamer  # slow import (reads a table); most processes compare no names

    return NickNamer()


def same_given(name: str, other: str, at: float = SPELT) -> bool:
    """Return whether two folded given names are forms of one.

    Args:
        at: Share of common letters from which two unknown names are spellings of one; ``SOUNDS``
            less where they sound the same.
    """
    if name == other:
        return True
    if len(name) == 1 or len(other) == 1:
        return name[0] == other[0]
    listed = forms_of_one(name, other)
    if listed is not None or differ_by_gender(name, other):
        return bool(listed)
    known = _known()
    if other in known.nicknames_of(name) or name in known.nicknames_of(other):
        return True
    alike = Levenshtein.normalized_similarity(name, other)
    heard, also = _sound(name), _sound(other)
    if heard == also:
        return bool(heard) or alike >= at
    sounds_same = consonants(heard) == consonants(also) != ""
    if sounds_same and alike >= _SHORT_FORM_ALIKE:
        if known.nicknames_of(name) & known.nicknames_of(other):
            return True
    return alike >= (at - SOUNDS if sounds_same else at)


def differ_by_gender(name: str, other: str) -> bool:
    """Return whether two names differ by gender: "Paul", "Paula", but not "Ann", "Anne"."""
    stem = name.rstrip("aeo")
    return stem == other.rstrip("aeo") and stem not in _SILENT


def same_surname(name: str, other: str, at: float = SPELT) -> bool:
    """Return whether two folded surnames are spellings of one, or one is the other's initial."""
    if 1 in (len(name), len(other)):
        return name[0] == other[0]
    if _TWICE.sub(r"\1", name.replace("w", "v")) == _TWICE.sub(r"\1", other.replace("w", "v")):
        return True
    alike = Levenshtein.normalized_similarity(name, other)
    return _sound(name) == _sound(other) != "" and alike >= at - SOUNDS / 2


def _sound(name: str) -> str:
    """Return the sound of a name as English spells it; "" without Latin letters."""
    return sound_code(heard_as(name)[0])
