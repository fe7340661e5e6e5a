"""Number words of all languages, and the parts of a number that a word is made of."""

import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cache
from typing import Literal

from slowcat_memory.core.language import LANGUAGES
from slowcat_memory.core.language.data import read_words
from slowcat_memory.core.text_caches import text_cache

Kind = Literal[
    "unit", "ten", "ordinal", "ordinal ten", "hundred", "scale", "dozen", "fraction", "whole", "a",
    "oh", "and", "point", "past", "to", "half past", "half to", "noon", "measure",
]  # fmt: skip
Meaning = tuple[tuple[Kind, Fraction], ...]

# Words that are read as parts of a number only if they stand alone.
_ALONE = ("a", "oh", "past", "to", "noon", "measure", "whole")
_SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9}
_FRACTIONS = {"quarter": Fraction(1, 4), "one_and_a_half": Fraction(3, 2)}
_WHOLE = {"once": 1, "twice": 2, "thrice": 3, "fortnight": 14}
_PLAIN: dict[str, Kind] = {"and": "and", "point": "point", "past": "past", "to": "to", "noon": "noon", "measures": "measure"}  # fmt: skip
_LONGEST = 60  # letters of a number in one word


@text_cache(4096)
def meaning(word: str) -> Meaning:
    """Return what a word in lower case adds to a number, in order: () for any other word."""
    table = _table()
    if (known := table.get(word)) is not None:
        return (known,)
    if len(word) > _LONGEST or not _compound().fullmatch(word):
        return ()
    return tuple(table[part[0]] for part in _part().finditer(word))


@cache
def _table() -> Mapping[str, tuple[Kind, Fraction]]:
    return {word: (kind, Fraction(value)) for word, kind, value in _entries()}


def _entries() -> Iterator[tuple[str, Kind, Fraction | int]]:
    for language in LANGUAGES:
        lists = read_words(f"slowcat_memory.core.language.{language.name}")["numerals"]
        endings = lists["ordinal_endings"].replace("_", " ").split() or [""]
        for names, kind, first, step, ends in (
            (lists["units"], "unit", 0, 1, [""]),
            (lists["tens"], "ten", 20, 10, [""]),
            (lists["ordinals"], "ordinal", 1, 1, endings),
            (lists["ordinal_tens"], "ordinal ten", 20, 10, endings),
            (lists["decades"], "whole", 20, 10, [""]),
        ):
            for n, spellings in enumerate(names.split()):
                for one in spellings.split("/"):
                    yield from ((f"{one}{end}", kind, first + step * n) for end in ends)  # type: ignore[misc]  # of the literals above
        half_hour: Kind = "half past" if lists["half_is"] == "past" else "half to"
        yield from ((word, half_hour, Fraction(1, 2)) for word in lists["half"].split())
        yield from ((word, "hundred", 100) for word in lists["hundred"].split())
        yield from ((word, "dozen", 12) for word in lists["dozen"].split())
        yield from ((word, "a", 1) for word in lists["a"].split())
        yield from ((word, "oh", 0) for word in lists.get("digit_zero", "").split())
        for name, scale in _SCALES.items():
            yield from ((word, "scale", scale) for word in lists.get(name, "").split())
        for name, share in _FRACTIONS.items():
            yield from ((word, "fraction", share) for word in lists.get(name, "").split())
        for name, value in _WHOLE.items():
            yield from ((word, "whole", value) for word in lists.get(name, "").split())
        for name, plain in _PLAIN.items():
            yield from ((word, plain, 0) for word in lists.get(name, "").split())


@cache
def _part() -> re.Pattern[str]:
    parts = [word for word, (kind, _) in _table().items() if kind not in _ALONE and len(word) > 2]
    return re.compile("|".join(map(re.escape, sorted(parts, key=len, reverse=True))))


@cache
def _compound() -> re.Pattern[str]:
    return re.compile(f"(?:{_part().pattern})+")
