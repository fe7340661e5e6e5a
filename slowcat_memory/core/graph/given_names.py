"""Whether two given names are forms of one name: Kate and Katherine are, Tom and Tim are not.

Short forms are looked up (the ``nicknames`` package), spellings compared by sound and letters. A
name's last letters tell Paul from Paula however much alike the rest is.
"""

from functools import cache
from typing import TYPE_CHECKING

from rapidfuzz.distance import Levenshtein

from slowcat_memory.core.text.phonetics import sound

if TYPE_CHECKING:
    from nicknames import NickNamer

ALIKE = 0.8  # letters in common of two spellings that sound the same
SPELT = 0.87  # of two that do not: "Nicolas", "Nicholas"
_SHORT_FORM_ALIKE = 0.5  # of two long forms that share a short one: "Catherine", "Kathryn"
# What a woman's name has at its end and a man's has not, or has instead.
_ENDINGS = (
    ("", "a"), ("o", "a"), ("e", "a"), ("", "le"), ("s", "se"), ("", "e"), ("", "ia"), ("er", "ra"),
    ("e", "ia"), ("", "ine"), ("ew", "ea"), ("", "ne"), ("is", "es"), ("", "ina"), ("h", "hine"),
    ("ael", "elle"), ("en", "anie"), ("k", "cia"),
)  # fmt: skip
# What the package takes for forms of one name, and people do not.
_APART = frozenset({("aaron", "erin"), ("anna", "hannah"), ("ann", "hannah"), ("alice", "alicia")})
_SILENT = frozenset({"ann", "sara", "carolin", "clair", "josephin", "kathrin", "zo"})


@cache
def _known() -> "NickNamer":
    from nicknames import NickNamer  # reads a table of names; most processes compare none

    return NickNamer()


def same_given(one: str, other: str) -> bool:
    """Tell whether two given names are forms of one.

    Args:
        one: Folded.
        other: Folded.

    Returns:
        Whether.
    """
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
    """Tell whether two names differ by an ending that makes a woman's name of a man's.

    Args:
        one: Folded.
        other: Folded.

    Returns:
        Whether: "Paul" and "Paula", "Mario" and "Maria"; not "Ann" and "Anne".
    """
    for short, long in ((one, other), (other, one)):
        for his, hers in _ENDINGS:
            stem = short.removesuffix(his) if his else short
            if short.endswith(his) and len(stem) > 1 and long == stem + hers:
                return not (hers == "e" and stem in _SILENT)
    return False


def same_surname(one: str, other: str) -> bool:
    """Tell whether two surnames are spellings of one.

    Args:
        one: Folded.
        other: Folded.

    Returns:
        Whether: "O'Neil" and "O'Neill", "Petrov" and "Petrow".
    """
    if one == other or one.replace("w", "v") == other.replace("w", "v"):
        return True
    heard, also = sound(one), sound(other)
    alike = Levenshtein.normalized_similarity(one, other)
    return bool(heard and also and heard.exact == also.exact and alike >= ALIKE + 0.05)
