"""The words of a text that a recogniser may not know: names, and words that are not everyday ones.

A name shows by a capital letter inside a sentence, or by what stands before it ("my sister …",
"called …"), which is all there is where a recogniser writes everything in lower case.
"""

import re
from collections.abc import Iterator

from msgspec import Struct

from slowcat_memory.core.common_words import is_common
from slowcat_memory.core.names import ROLES
from slowcat_memory.core.queries import EMPTY, PRONOUNS

MOST_LETTERS = 40  # of a word; what is longer was never spoken
FEWEST_LETTERS = 5  # of a word that is no name
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_BEGINS = re.compile(r"(?:^|[.!?…:;]|\n)[\s\"'“‘(¿¡*-]*$")
_POSSESSIVE = frozenset("my your his her our their".split())
_KIN = frozenset(
    """sister brother mother father mom mum dad son daughter wife husband partner girlfriend boyfriend friend
    cousin aunt uncle niece nephew grandma grandpa grandmother grandfather boss colleague coworker
    neighbor neighbour teacher doctor dentist therapist dog cat puppy kitten horse parrot hamster
    baby kid boy girl roommate flatmate fiance fiancee colleague manager coach""".split()
)
_NAMING = frozenset("called named nicknamed".split())
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
        text: What was said.

    Yields:
        Words in order, repeated ones repeated.
    """
    shouted = text.isupper()
    before: tuple[str, str] = ("", "")
    for match in _WORD.finditer(text):
        form = re.sub(r"['’]s?$", "", match[0])
        bare = form.lower().replace("’", "'")
        capital = form[0].isupper() and not shouted and not _BEGINS.search(text, 0, match.start())
        named = _is_name(bare, capital, before)
        before = (before[1], bare)
        if 1 < len(form) <= MOST_LETTERS and "'" not in bare:
            if named or len(form) >= FEWEST_LETTERS and not is_common(bare):
                yield Word(form, named)


def _is_name(bare: str, capital: bool, before: tuple[str, str]) -> bool:
    if bare in EMPTY or bare in PRONOUNS or bare in _CALENDAR or bare in ROLES:
        return False
    if capital:
        return True
    return _introduced(before) and not is_common(bare)


def _introduced(before: tuple[str, str]) -> bool:
    """Tell whether two words announce a name: "my sister", "was called", "name is"."""
    first, second = before
    if second in _NAMING or (first in ("name", "names") and second in ("is", "was", "are")):
        return True
    return second == "name's" or (first in _POSSESSIVE and second in _KIN)
