"""The words of a text that a recogniser may not know: names, and words that are not everyday ones.

A name shows by a capital letter inside a sentence, or by what stands before it ("my sister …",
"called …"), which is all there is where a recogniser writes everything in lower case.
"""

import re
from collections.abc import Iterator

from msgspec import Struct

from slowcat_memory.core.text.common_words import EVERYDAY, is_common
from slowcat_memory.core.text.word_lists import EMPTY, PRONOUNS, ROLES

MOST_CHARS = 4000
MOST_LETTERS = 40  # of a word; what is longer was never spoken
FEWEST_LETTERS = 5  # of a word that is no name
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_POSSESSIVE = frozenset("my your his her our their".split())
_KIN = frozenset(
    """sister brother mother father mom mum dad son daughter wife husband partner girlfriend boyfriend friend
    cousin aunt uncle niece nephew grandma grandpa grandmother grandfather boss colleague coworker
    neighbor neighbour teacher doctor dentist therapist dog cat puppy kitten horse parrot hamster
    baby kid boy girl roommate flatmate fiance fiancee colleague manager coach""".split()
)
_NAMING = frozenset("called named nicknamed".split())
_COPULAS = frozenset("is was are were".split())
_ANNOUNCING = _KIN | _NAMING | _COPULAS
_POSSESSED = re.compile(r"['’]s?$")
_CALENDAR = frozenset(
    """monday tuesday wednesday thursday friday saturday sunday january february march april may june
    july august september october november december christmas easter english""".split()
)


class Word(Struct, frozen=True):
    """A word worth knowing.

    Attributes:
        form: As it was written, without a possessive ending.
        named: Whether it was used as a name.
    """

    form: str
    named: bool


def worth_knowing(text: str) -> Iterator[Word]:
    """Find a text's names and its words that are not everyday ones.

    Args:
        text: What was said; its first ``MOST_CHARS`` count.

    Yields:
        Words in order, repeated ones repeated.
    """
    text = text[:MOST_CHARS]
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
        if 1 < len(form) <= MOST_LETTERS and bare.isalpha():
            if named or len(form) >= FEWEST_LETTERS and not is_common(bare):
                yield Word(form, named)


def _begins(text: str, place: int) -> bool:
    """Tell whether a sentence begins here, or a quotation: a capital letter says nothing then."""
    before = text[max(0, place - 4) : place].rstrip(" \t\"'“‘(¿¡*-")
    return not before or before[-1] in ".!?…:;\n"


def _is_name(bare: str, capital: bool, announced: bool) -> bool:
    if bare in EMPTY or bare in PRONOUNS or bare in _CALENDAR or bare in ROLES:
        return False
    return capital or (announced and not is_common(bare))


def _announced(first: str, second: str) -> bool:
    """Tell whether two words announce a name: "my sister", "was called", "name is"."""
    if second in _COPULAS:
        return first in ("name", "names")
    return second in _NAMING or first in _POSSESSIVE
