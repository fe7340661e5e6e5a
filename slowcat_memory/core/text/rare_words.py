"""Words of a text that STT may not know: names and uncommon words.

A name is recognised by a capital letter inside a sentence, or by the words before it ("my sister
…", "called …"), the only sign if the STT writes everything in lower case.

Where every noun has a capital, one says little. There a known given name or place is a name, and so
is what follows "Frau", or a given name at the beginning; any other word only if it stands where
nouns have an article but names have none ("in Rossaveal", "Bertil sagt"), and neither is an ordinary
word nor ends like one.
"""

import re
from collections.abc import Iterator
from functools import cache

from msgspec import Struct

from slowcat_memory.core.language import LANGUAGES, names
from slowcat_memory.core.language.data import filled, read_words, word_set
from slowcat_memory.core.language.english import vocabulary as english
from slowcat_memory.core.text.normalize import begins_sentence

MAX_CHARS = 4000
MAX_LETTERS = 40  # of a word; longer ones are not spoken
MIN_LETTERS = 5  # of a word that is no name
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_BEGUN_WORD = re.compile(r"(?P<begins>(?:^|[.!?…\"“„(*])\s*)?(?P<word>[^\W\d_]+)")
LEAST_SHARE = 0.15  # of function words in any text of a language that capitalises nouns
_LEAST_PART = 4  # letters of a word at the end of another
_ANNOUNCING = english.KIN | english.NAMING | english.COPULAS
_POSSESSED = re.compile(r"['’]s?$")
_TITLES = frozenset(group for same in english.SAME_ROLES[:4] for group in same)
_NO_NAMES = _TITLES.union(
    english.EMPTY, english.ROLES, english.CALENDAR, english.KIN, ("assistant", "prof", "mrs", "mr")
)
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
    # Whether a capital within a sentence is a name.
    certain = not english.MARKERS.isdisjoint(text.lower().split())
    for match in _WORD.finditer(text):
        form = match[0]
        bare = form.lower()
        if "'" in bare or "’" in bare:
            form = _POSSESSED.sub("", form)
            bare = form.lower()
        begins = begins_sentence(text, match.start())
        capital = form != bare and not shouted and (second in _TITLES or not begins)
        announced = second in _ANNOUNCING and _announced(first, second)
        placed = uncased and (second in _BEFORE_NAMES or begins)
        first, second = second, bare
        if not capital and not announced and bare in english.EVERYDAY:
            continue
        if not 1 < len(form) <= MAX_LETTERS or not bare.isalpha():
            continue
        written = form != bare and not shouted
        if is_name(bare, capital=written, expected=announced or placed, sure=certain and capital):
            yield Word(form, named=True)
        elif len(form) >= MIN_LETTERS and not names.is_ordinary(bare):
            yield Word(form, named=False)


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
    if bare in _NO_NAMES or bare in english.PRONOUNS or bare.removesuffix("s") in english.CALENDAR:
        return False
    if names.is_given_name(bare):
        return capital or bare not in english.EVERYDAY
    return sure or ((capital or expected) and not names.is_ordinary(bare))


def _announced(first: str, second: str) -> bool:
    """Return whether two words announce a name: "my sister", "was called", "name is"."""
    if second in english.COPULAS:
        return first in ("name", "names")
    return second in english.NAMING or first in english.POSSESSIVES


class _Capitals(Struct, frozen=True):
    """Words of a language that capitalises nouns; see ``[capitals]`` in its ``words.toml``."""

    common: frozenset[str]
    bare: frozenset[str]
    before_names: frozenset[str]
    titles: frozenset[str]
    endings: tuple[str, ...]


_CAPITALISING = tuple(
    filled(_Capitals, words["capitals"], endings=tuple(words["capitals"]["endings"].split()))
    for words in (read_words(f"slowcat_memory.core.language.{table.name}") for table in LANGUAGES)
    if "capitals" in words
)


def capitalised_names(text: str) -> Iterator[str]:
    """Yield the names of a text; none of a text in a language that capitalises names alone."""
    words = [(match["word"], match["begins"] is not None) for match in _BEGUN_WORD.finditer(text)]
    lower = [word.lower() for word, _ in words]
    least = LEAST_SHARE * len(lower)
    fits = (row for row in _CAPITALISING if sum(word in row.common for word in lower) >= least > 0)
    language = next(fits, None)
    if language is None:
        return
    before, first = "", False  # the word before, and whether it begins a sentence
    for (word, begins), bare in zip(words, lower, strict=True):
        if (
            word[0].isupper()
            and len(word) > 1
            and bare not in language.common | language.before_names
        ):
            # Any noun behind a sentence's first word may be a surname: "Sabine Fischer".
            surname = first and (_is_given(before) or before in language.titles)
            if surname or _is_noun_a_name(bare, before, begins, language):
                yield word
        before, first = bare, begins


def _is_noun_a_name(word: str, before: str, begins: bool, language: _Capitals) -> bool:
    if _is_given(word) or _is_given(word.removesuffix("s")):
        return True
    if names.is_ordinary(word) or names.is_ordinary(word.removesuffix("s")):
        return False
    if word in _places() or before in language.before_names:
        return True
    if not (begins or before in language.bare) or word.endswith(language.endings):
        return False
    return not any(names.is_german(word[cut:]) for cut in range(2, len(word) - _LEAST_PART + 1))


def _is_given(word: str) -> bool:
    return names.is_given_name(word) and not names.is_word(word)


@cache
def _places() -> frozenset[str]:
    return frozenset(name for group in names.aliases()["place"] for name in group)
