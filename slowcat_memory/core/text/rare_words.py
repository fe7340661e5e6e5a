"""Words of a text that STT may not know: names and uncommon words.

A name is recognised by a capital letter inside a sentence, or by the words before it ("my sister
…", "called …"), the only sign if the STT writes everything in lower case.
"""

import re
from collections.abc import Iterator

from msgspec import Struct

from slowcat_memory.core.language.english.vocabulary import (
    CALENDAR,
    COPULAS,
    EMPTY,
    EVERYDAY,
    KIN,
    NAMING,
    POSSESSIVES,
    PRONOUNS,
    ROLES,
)

MAX_CHARS = 4000
MAX_LETTERS = 40  # of a word; longer ones are not spoken
MIN_LETTERS = 5  # of a word that is no name
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_ANNOUNCING = KIN | NAMING | COPULAS
_POSSESSED = re.compile(r"['’]s?$")
_ENDINGS = ("ing", "ed", "es", "er", "ly", "s", "d", "r", "y")


class Word(Struct, frozen=True):
    """A rare word without possessive ending, and whether it was used as a name."""

    form: str
    named: bool


def rare_words(text: str) -> Iterator[Word]:
    """Yield names and uncommon words in the first ``MAX_CHARS``, in order, with repetitions."""
    text = text[:MAX_CHARS]
    shouted = text.isupper()
    first = second = ""  # the two words before
    for match in _WORD.finditer(text):
        form = match[0]
        bare = form.lower()
        if "'" in bare or "’" in bare:
            form = _POSSESSED.sub("", form)
            bare = form.lower()
        capital = form != bare and not shouted and not _begins(text, match.start())
        announced = second in _ANNOUNCING and _announced(first, second)
        first, second = second, bare
        if not capital and not announced and bare in EVERYDAY:
            continue
        named = _is_name(bare, capital, announced)
        if 1 < len(form) <= MAX_LETTERS and bare.isalpha():
            if named or len(form) >= MIN_LETTERS and not is_common(bare):
                yield Word(form, named)


def _begins(text: str, place: int) -> bool:
    """Return whether a sentence or quotation begins here, where capitals mean nothing."""
    before = text[max(0, place - 4) : place].rstrip(" \t\"'“‘(¿¡*-")
    return not before or before[-1] in ".!?…:;\n"


def _is_name(bare: str, capital: bool, announced: bool) -> bool:
    if bare in EMPTY or bare in PRONOUNS or bare in CALENDAR or bare in ROLES:
        return False
    return capital or (announced and not is_common(bare))


def _announced(first: str, second: str) -> bool:
    """Return whether two words announce a name: "my sister", "was called", "name is"."""
    if second in COPULAS:
        return first in ("name", "names")
    return second in NAMING or first in POSSESSIVES


def is_common(word: str) -> bool:
    """Return whether a word is everyday English, in any regular form ("walked", "boxes")."""
    if word in EVERYDAY:
        return True
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) > 2:
            stem = word[: -len(ending)]
            if stem in EVERYDAY or f"{stem}e" in EVERYDAY:
                return True
            if stem[-1] == stem[-2] and stem[:-1] in EVERYDAY:
                return True
            if stem[-1] == "i" and f"{stem[:-1]}y" in EVERYDAY:
                return True
    return False
