"""Compares given names and surnames of people.

Kate and Katherine are forms of one name, Tom and Tim are not. Known given names are looked up (our
own list, the ``nicknames`` package): two of them that are not forms of one are never one. Unknown
ones are compared by sound and letters. The last letters distinguish Paul from Paula however similar
the rest is.
"""

import re
from functools import cache
from typing import TYPE_CHECKING

from rapidfuzz.distance import Levenshtein

from slowcat_memory.core.graph.options import SPELT
from slowcat_memory.core.language.names import forms_of_one
from slowcat_memory.core.text.pronunciations import consonants, heard_as, sound_code

if TYPE_CHECKING:
    from nicknames import NickNamer

_TWICE = re.compile(r"(.)\1+")
SOUNDS = 0.07  # less of two that sound the same
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


def same_given(one: str, other: str, at: float = SPELT) -> bool:
    """Return whether two folded given names are forms of one.

    Args:
        at: Share of common letters from which two unknown names are spellings of one; ``SOUNDS``
            less where they sound the same.
    """
    if one == other:
        return True
    if len(one) == 1 or len(other) == 1:
        return one[0] == other[0]
    if tuple(sorted((one, other))) in _APART:
        return False
    listed = forms_of_one(one, other)
    if listed is not None or differ_by_gender(one, other):
        return bool(listed)
    known = _known()
    if other in known.nicknames_of(one) or one in known.nicknames_of(other):
        return True
    alike = Levenshtein.normalized_similarity(one, other)
    heard, also = _sound(one), _sound(other)
    if heard == also:
        return bool(heard) or alike >= at
    sounds_same = consonants(heard) == consonants(also) != ""
    if sounds_same and alike >= _SHORT_FORM_ALIKE and _share_short_form(one, other):
        return True
    return alike >= (at - SOUNDS if sounds_same else at)


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


def same_surname(one: str, other: str, at: float = SPELT) -> bool:
    """Return whether two folded surnames are spellings of one, or one is the other's initial."""
    if 1 in (len(one), len(other)):
        return one[0] == other[0]
    if _TWICE.sub(r"\1", one.replace("w", "v")) == _TWICE.sub(r"\1", other.replace("w", "v")):
        return True
    alike = Levenshtein.normalized_similarity(one, other)
    return _sound(one) == _sound(other) != "" and alike >= at - SOUNDS / 2


def _sound(name: str) -> str:
    """Return the sound of a name as English spells it; "" without Latin letters."""
    return sound_code(heard_as(name)[0])
