"""Words of a text that STT may not know: names and uncommon words.

A name is recognised by a capital letter inside a sentence, or by the words before it ("my sister
…", "called …"), the only sign if the STT writes everything in lower case.
"""

import re
from collections.abc import Iterator

from msgspec import Struct

from slowcat_memory.core.language.data import word_set
from slowcat_memory.core.language.english.vocabulary import (
    CALENDAR,
    COPULAS,
    EMPTY,
    EVERYDAY,
    KIN,
    MARKERS,
    NAMING,
    POSSESSIVES,
    PRONOUNS,
    ROLES,
    SAME_ROLES,
)
from slowcat_memory.core.language.names import is_given_name
from slowcat_memory.core.language.ordinary import is_ordinary

MAX_CHARS = 4000
MAX_LETTERS = 40  # of a word; longer ones are not spoken
MIN_LETTERS = 5  # of a word that is no name
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_ANNOUNCING = KIN | NAMING | COPULAS
_POSSESSED = re.compile(r"['’]s?$")
_TITLES = frozenset(group for same in SAME_ROLES[:4] for group in same)
_NO_NAMES = EMPTY | ROLES | CALENDAR | KIN | _TITLES | frozenset({"assistant", "prof", "mrs", "mr"})
# In a text without capitals, an uncommon unknown word after one of these is a name.
_BEFORE_NAMES = (
    _ANNOUNCING
    | _TITLES
    | word_set(
        "with and from for by to at near of about saw met see meet visit ask asked called named told tell "
        "invited thanks hi hello hey dear in does did is was has are "
        "mit und von für bei zu aus in nach über frau herr heißt ist hat der die den"
    )
)


class Word(Struct, frozen=True):
    """A rare word without possessive ending, and whether it was used as a name."""

    form: str
    named: bool


def rare_words(text: str) -> Iterator[Word]:
    """Yield names and uncommon words in the first ``MAX_CHARS``, in order, with repetitions."""
    text = text[:MAX_CHARS]
    shouted = text.isupper()
    first = second = ""  # the two words before
    uncased = text.islower()
    certain = not MARKERS.isdisjoint(text.lower().split())  # a capital within a sentence is a name
    for match in _WORD.finditer(text):
        form = match[0]
        bare = form.lower()
        if "'" in bare or "’" in bare:
            form = _POSSESSED.sub("", form)
            bare = form.lower()
        begins = _begins(text, match.start())
        capital = form != bare and not shouted and (second in _TITLES or not begins)
        announced = second in _ANNOUNCING and _announced(first, second)
        placed = uncased and (second in _BEFORE_NAMES or begins)
        first, second = second, bare
        if not capital and not announced and bare in EVERYDAY:
            continue
        if not 1 < len(form) <= MAX_LETTERS or not bare.isalpha():
            continue
        written = form != bare and not shouted
        if is_name(bare, capital=written, expected=announced or placed, sure=certain and capital):
            yield Word(form, named=True)
        elif len(form) >= MIN_LETTERS and not is_common(bare):
            yield Word(form, named=False)


def _begins(text: str, place: int) -> bool:
    """Return whether a sentence or quotation begins here, where capitals mean nothing."""
    before = text[max(0, place - 4) : place].rstrip(" \t\"'“‘(¿¡*-")
    return not before or before[-1] in ".!?…:;\n"


def is_name(bare: str, *, capital: bool, expected: bool, sure: bool = False) -> bool:
    """Return whether a word is a name.

    A known given name is one; any other word has a capital or stands where names do, and is no
    everyday word in any form: "Dr", "Tuesdays" and "Congratulations" are none. This is the one
    place that decides it, for texts with capitals and without.

    Args:
        bare: The word in lower case.
        capital: It is written with a capital.
        expected: A name is expected here: "my sister …", "called …".
        sure: The capital means a name: it stands within a sentence of a language that writes no
            other noun with one.
    """
    if bare in _NO_NAMES or bare in PRONOUNS or bare.removesuffix("s") in CALENDAR:
        return False
    if is_given_name(bare):
        return capital or bare not in EVERYDAY
    return sure or ((capital or expected) and not is_common(bare))


def _announced(first: str, second: str) -> bool:
    """Return whether two words announce a name: "my sister", "was called", "name is"."""
    if second in COPULAS:
        return first in ("name", "names")
    return second in NAMING or first in POSSESSIVES


def is_common(word: str) -> bool:
    """Return whether a word is everyday English or German, in any regular form ("walked")."""
    return is_ordinary(word)
