"""Numbers in words and digits, in every way that they can be read.

"Forty-eight five" may be 48,500 or 48.5, "eight seventy-five" 875 or 8.75, "half five" 5:30 or, in
German, 4:30; "1.250" is 1,250 or 1.25. Words of all languages are read, since people mix them.
Not text2num: it gives one reading in one language, and every caller here compares all of them.
"""

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Literal

from msgspec import Struct

from slowcat_memory.core.language import LANGUAGES
from slowcat_memory.core.language.data import read_words
from slowcat_memory.core.text_caches import text_cache

HALF_DAY = 720  # minutes; a time of day is known up to twelve hours
MAX_JOINED = 12  # digits of a number that is spoken in parts
MOST_PARTS = 8  # numbers in a row that may be parts of one
_SUFFIXES = {"k": 10**3, "m": 10**6, "mio": 10**6, "bn": 10**9, "mrd": 10**9, "tsd": 10**3}
_TOKEN = re.compile(
    r"(?P<hour>\d{1,2}):(?P<minute>[0-5]\d)(?![\d:])"
    r"|(?P<digits>\d{1,3}(?:[ \u00a0\u202f'’]\d{3})+(?!\d)|\d+(?:[.,]\d+)*)"
    rf"(?:(?P<suffix>{'|'.join(_SUFFIXES)})\b)?"
    r"|(?P<word>[^\W\d_]+(?:['’][^\W\d_]+)*)"
    r"|(?P<stop>[^\s\w-])",
    re.IGNORECASE,
)
_DIGITS, _NO_DIGIT = re.compile(r"\d+"), re.compile(r"\D")
_NOT_ASCII_DIGIT = re.compile(r"[^0-9]")
_GROUPED = re.compile(r"\d{1,3}(?:[., \u00a0\u202f'’]\d{3})+")
_DECIMAL = re.compile(r"(?P<whole>\d{1,3}(?:[., \u00a0\u202f'’]\d{3})+|\d+)[.,](?P<part>\d+)")
_DOTTED_TIME = re.compile(r"(\d\d?)\.([0-5]\d)")


Kind = Literal[
    "unit", "ten", "ordinal", "ordinal ten", "hundred", "scale", "dozen", "fraction", "whole", "a",
    "oh", "and", "point", "past", "to", "half past", "half to", "noon", "measure",
]  # fmt: skip
Meaning = tuple[tuple[Kind, Fraction], ...]

# Words that are read as parts of a number only if they stand alone.
_ALONE = ("a", "oh", "past", "to", "noon", "measure", "whole")
_SCALE_WORDS = {"thousand": 10**3, "million": 10**6, "billion": 10**9}
_FRACTION_WORDS = {"quarter": Fraction(1, 4), "one_and_a_half": Fraction(3, 2)}
_WHOLE_WORDS = {"once": 1, "twice": 2, "thrice": 3, "fortnight": 14}
_PLAIN: dict[str, Kind] = {"and": "and", "point": "point", "past": "past", "to": "to", "noon": "noon", "measures": "measure"}  # fmt: skip
_LONGEST = 60  # letters of a number in one word


class Number(Struct, frozen=True):
    """A number of a text.

    Attributes:
        values: What it may be.
        minutes: The times of day it may be, as minutes modulo ``HALF_DAY``.
        in_digits: Whether any of it is in digits.
        joined: Whether it is made of several numbers in a row, each yielded as well.
    """

    start: int
    end: int
    values: frozenset[Fraction] = frozenset()
    minutes: frozenset[int] = frozenset()
    in_digits: bool = False
    joined: bool = False


def numbers(text: str) -> Iterator[Number]:
    """Yield every number of a text, and each that several in a row may be parts of."""
    for run in _runs(text):
        parts = list(_parts(run))
        yield from (_number([one], one.values, one.minutes) for one in parts if one.values)
        for first in range(len(parts)):
            for end in range(first + 2, min(len(parts), first + MOST_PARTS) + 1):
                near = parts[first:end]
                values, minutes = _joined(near), _time_of_day(near)
                if values or minutes:
                    yield _number(near, values, minutes)


def values(text: str) -> frozenset[Fraction]:
    """Return all readings of the numbers of a text."""
    return frozenset(value for one in numbers(text) for value in one.values)


class _Atom(Struct, frozen=True):
    """What a word or digits add to a number."""

    kind: Kind | str
    values: frozenset[Fraction]
    start: int
    end: int
    digits: str = ""
    minutes: frozenset[int] = frozenset()

    @property
    def value(self) -> Fraction:
        return max(self.values)


class _Part(Struct, frozen=True):
    """A number as grammar reads it, or a word between two (with a ``kind``).

    Attributes:
        digits: As it is written within a longer number; "" for none.
        scale: 1,000 for "seventy-five thousand", else 1.
    """

    start: int
    end: int
    kind: str = ""
    values: frozenset[Fraction] = frozenset()
    digits: str = ""
    scale: Fraction = Fraction(1)
    minutes: frozenset[int] = frozenset()
    in_digits: bool = False


# ------------------------------------------------------------------- number words


@text_cache(4096)
def meaning(word: str) -> Meaning:
    """Return what a word in lower case adds to a number, in order: () for any other word."""
    table = _table()
    if (known := table.get(word)) is not None:
        return (known,)
    if len(word) > _LONGEST or not _compound().fullmatch(word):
        return ()
    return tuple(table[part[0]] for part in _word_part().finditer(word))


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
        for name, scale in _SCALE_WORDS.items():
            yield from ((word, "scale", scale) for word in lists.get(name, "").split())
        for name, share in _FRACTION_WORDS.items():
            yield from ((word, "fraction", share) for word in lists.get(name, "").split())
        for name, value in _WHOLE_WORDS.items():
            yield from ((word, "whole", value) for word in lists.get(name, "").split())
        for name, plain in _PLAIN.items():
            yield from ((word, plain, 0) for word in lists.get(name, "").split())


@cache
def _word_part() -> re.Pattern[str]:
    parts = [word for word, (kind, _) in _table().items() if kind not in _ALONE and len(word) > 2]
    return re.compile("|".join(map(re.escape, sorted(parts, key=len, reverse=True))))


@cache
def _compound() -> re.Pattern[str]:
    return re.compile(f"(?:{_word_part().pattern})+")


# ------------------------------------------------------------------- atoms


def _runs(text: str) -> Iterator[list[_Atom]]:
    """Yield the stretches of a text that are made of numbers and the words between them alone."""
    run, tokens = list[_Atom](), list(_TOKEN.finditer(text))
    for place, match in enumerate(tokens):
        found = list(_atoms(match))
        if not found and run and match["word"] and _adds_fraction(tokens[place + 1 : place + 4]):
            found = [_Atom("measure", frozenset(), *match.span())]  # "a year and a half"
        if found:
            run += found
            continue
        yield run
        run = []
    yield run


def _atoms(match: re.Match[str]) -> Iterator[_Atom]:
    span = match.span()
    if match["hour"]:
        hour, minute = Fraction(match["hour"]), Fraction(match["minute"])
        value = hour + minute / 100
        yield _Atom("time", frozenset({value}), *span, minutes=_clock(int(hour), int(minute)))
    elif match["digits"]:
        whole = int(match["digits"]) if match["digits"].isdecimal() else None
        written = match["digits"] if whole is not None and not match["suffix"] else ""
        dotted = _DOTTED_TIME.fullmatch(match["digits"])
        minutes = _clock(*map(int, dotted.groups())) if dotted else frozenset()
        found = _readings(match["digits"], match["suffix"] or "")
        yield _Atom("digits", found, *span, written, minutes)
    elif match["word"]:
        for kind, value in meaning(match["word"].lower()):
            yield _Atom(kind, frozenset({value}), *span)


def _clock(hour: int, minute: int) -> frozenset[int]:
    return frozenset({(60 * hour + minute) % HALF_DAY}) if hour <= 24 else frozenset()


def _adds_fraction(tokens: Sequence[re.Match[str]]) -> bool:
    kinds = [kind for one in tokens for kind, _ in meaning((one["word"] or "").lower())]
    return kinds[:2] == ["and", "a"] and len(kinds) == 3 and _is_fraction(kinds[2])


def _readings(digits: str, suffix: str) -> frozenset[Fraction]:
    """Return the values of digits: "1.250" is 1,250 or 1.25, "1.6m" a million or metres."""
    found = set[Fraction]()
    if digits.isdecimal() or _GROUPED.fullmatch(digits):
        found.add(Fraction(_NO_DIGIT.sub("", digits)))
    if match := _DECIMAL.fullmatch(digits):
        found.add(Fraction(f"{_NOT_ASCII_DIGIT.sub('', match['whole'])}.{match['part']}"))
    if not found:  # "12.06.2026"
        found = {Fraction(one) for one in _DIGITS.findall(digits)}
    scaled = {value * _SUFFIXES.get(suffix.lower(), 1) for value in found}
    return frozenset(scaled | found if suffix in ("m", "") else scaled)


# ------------------------------------------------------------------- grammar
# A regular expression over the kinds of atoms, a letter each: 0, 1, u are units, U those from ten;
# t tens, r and R ordinals; h hundred, k M G scales, z dozen; d digits, T a time of day; f p q
# fractions, & "and", o "oh"; what no number has is "-".

_LETTERS = {
    "ten": "t", "ordinal ten": "R", "hundred": "h", "dozen": "z", "digits": "d", "time": "T",
    "fraction": "f", "half past": "p", "half to": "q", "a": "a", "oh": "o", "and": "&", "point": ".",
}  # fmt: skip
_SCALES = {10**3: "k", 10**6: "M", 10**9: "G"}
_BELOW_HUNDRED = r"(?:[1u]&[tR]|o(?=[o01uU])|t[1ur]?|[R01urU])"
_BELOW_THOUSAND = (
    rf"(?:(?:{_BELOW_HUNDRED}|a)?h(?:&?{_BELOW_HUNDRED})?|{_BELOW_HUNDRED}|a(?=[kMGz]))"
)
_REST = rf"(?:&?(?>{_BELOW_THOUSAND})(?![kMG]))?"
_THOUSANDS = rf"(?:&?{_BELOW_THOUSAND}k)?"
_FIRST = rf"(?:dh?|{_BELOW_THOUSAND})"
_WHOLE = (
    rf"{_FIRST}?(?:G(?:&?{_BELOW_THOUSAND}M)?{_THOUSANDS}{_REST}|M{_THOUSANDS}{_REST}|k{_REST})"
    rf"|{_FIRST}"
)
_NUMBER = re.compile(
    rf"(?P<time>T)|a?(?P<part>[fpq])a?(?P<of>[hkMGz])"  # half a million
    rf"|(?P<whole>{_WHOLE})(?:\.(?P<point>(?:d|{_BELOW_HUNDRED}|o){{1,12}}))?"
    r"(?P<share>&?[a1][fpq]|f)?(?P<times>[kMGz]*)"
)
_HEAD, _DIGIT = re.compile(_FIRST), re.compile(rf"d|{_BELOW_HUNDRED}|o")


def _parts(run: Sequence[_Atom]) -> Iterator[_Part]:
    """Yield the numbers of a stretch, each as long as grammar allows, and the words between."""
    letters, place = "".join(map(_letter, run)), 0
    while place < len(run):
        atom = run[place]
        if match := _NUMBER.match(letters, place):
            yield _read(run, letters, match)
            place = match.end()
        else:
            alone = _is_fraction(atom.kind) or atom.kind == "whole"
            yield _Part(atom.start, atom.end, atom.kind, atom.values if alone else frozenset())
            place += 1


def _is_fraction(kind: str) -> bool:
    return kind in ("fraction", "half past", "half to")


def _letter(atom: _Atom) -> str:
    if atom.kind == "scale":
        return _SCALES[int(atom.value)]
    if atom.kind in ("unit", "ordinal"):
        small = "r" if atom.kind == "ordinal" else "01u"[min(int(atom.value), 2)]
        return small if atom.value < 10 else "U"
    return _LETTERS.get(atom.kind, "-")


def _read(run: Sequence[_Atom], letters: str, match: re.Match[str]) -> _Part:
    def of(group: str) -> Sequence[_Atom]:
        return run[match.start(group) : match.end(group)]

    atoms, digits, scale = run[match.start() : match.end()], "", Fraction(1)
    if match["time"]:
        found = atoms[0].values
    elif match["of"]:
        found = _times(of("of")[0].values, of("part"))
    else:
        found = _value(of("whole"))
        head = _HEAD.match(letters, match.start())
        if head and match.end("whole") - head.end() < 2 and not (match["point"] or match["share"]):
            first = run[head.start() : head.end()]
            digits = first[0].digits if head[0] == "d" else str(max(_value(first)))
            scale = _product(run[head.end() : match.end("whole")])
        if match["point"]:
            every = _DIGIT.finditer(letters, *match.span("point"))
            written = "".join(_written(run[one.start() : one.end()]) for one in every)
            found = frozenset(
                value + Fraction(int(written or 0), 10 ** len(written)) for value in found
            )
        if match["share"]:
            share = of("share")[-1:]
            more = match["share"] != "f"  # two and a half, but three quarters
            found = _plus(found, share[0].values) if more else _times(found, share)
        found, scale = _times(found, of("times")), scale * _product(of("times"))
    minutes = atoms[0].minutes if len(atoms) == 1 else frozenset()
    in_digits = any(one.kind in ("digits", "time") for one in atoms)
    return _Part(atoms[0].start, atoms[-1].end, "", found, digits, scale, minutes, in_digits)


def _value(atoms: Sequence[_Atom]) -> frozenset[Fraction]:
    """Return the values of a whole number: "two thousand six hundred and ten", "48 thousand"."""
    total, group = frozenset({Fraction(0)}), frozenset[Fraction]()
    for atom in atoms:
        if atom.kind == "hundred":
            group = _times(group or {Fraction(1)}, [atom])
        elif atom.kind == "scale":
            total, group = _plus(total, _times(group or {Fraction(1)}, [atom])), frozenset()
        elif atom.kind != "and":
            group = _plus(group or {Fraction(0)}, atom.values)
    return _plus(total, group or {Fraction(0)})


def _written(atoms: Sequence[_Atom]) -> str:
    return atoms[0].digits if atoms[0].kind == "digits" else str(max(_value(atoms)))


def _plus(some: Collection[Fraction], others: Collection[Fraction]) -> frozenset[Fraction]:
    return frozenset(one + other for one in some for other in others)


def _times(some: Collection[Fraction], factors: Sequence[_Atom]) -> frozenset[Fraction]:
    return frozenset(one * _product(factors) for one in some)


def _product(factors: Sequence[_Atom]) -> Fraction:
    return math.prod((one.value for one in factors), start=Fraction(1))


# ------------------------------------------------------------------- numbers in parts


def _number(parts: Sequence[_Part], found: frozenset[Fraction], minutes: frozenset[int]) -> Number:
    written = any(one.in_digits for one in parts)
    return Number(parts[0].start, parts[-1].end, found, minutes, written, len(parts) > 1)


def _joined(parts: Sequence[_Part]) -> frozenset[Fraction]:
    """Return what numbers in a row mean as one: "forty-eight five", "eight pounds fifty"."""
    if len(parts) == 3 and parts[1].kind == "measure":
        return _of_units(parts[0], parts[2])
    if len(parts) == 5 and parts[1].kind == "measure" and parts[2].kind == "and":
        return _with_share(parts[0], parts[4])
    *most, last = parts
    written = "".join(one.digits for one in parts)
    if not all(one.digits for one in parts) or any(one.scale != 1 for one in most):
        return frozenset()
    if len(written) > MAX_JOINED:
        return frozenset()
    found, head = {int(written) * last.scale}, "".join(one.digits for one in most)
    if last.scale == 1 and len(last.digits) < 3:
        found.add(Fraction(f"{head}.{last.digits}"))
    if last.scale == 1 and len(parts) == 2 and _lacks_thousand(head, last.digits):
        found.add(Fraction(f"{head}{last.digits.ljust(3, '0')}"))
    return frozenset(found)


def _lacks_thousand(head: str, tail: str) -> bool:
    """Return whether two numbers may be a sum without its "thousand": "forty-eight five"."""
    if head[0] == "0" or tail[0] == "0" or len(head) > 3:
        return False
    return len(tail) == 1 or (len(tail) == 2 and len(head) > 1 and head not in ("19", "20"))


def _of_units(one: _Part, other: _Part) -> frozenset[Fraction]:
    """Return a value in units and hundredths: "one metre eighty"."""
    if one.kind not in ("", "a") or not 0 < len(other.digits) < 3:
        return frozenset()
    cents = Fraction(int(other.digits), 100)
    tenths = Fraction(int(other.digits), 10 ** len(other.digits))
    whole = one.values or {Fraction(1)}
    return frozenset(value + part for value in whole for part in (cents, tenths))


def _with_share(one: _Part, share: _Part) -> frozenset[Fraction]:
    """Return "a year and a half" as one and a half."""
    first = one.values or ({Fraction(1)} if one.kind == "a" else set())
    return frozenset(value + part for value in first for part in share.values if part < 1)


# ------------------------------------------------------------------- times of day


def _time_of_day(parts: Sequence[_Part]) -> frozenset[int]:
    """Return the minutes of "half five", "quarter past six", "drei viertel acht", "neun Uhr zehn"."""
    kinds = tuple(one.kind or "#" for one in parts)
    hours = {int(value) for value in parts[-1].values if value.denominator == 1 and value <= 24}
    if parts[-1].kind:
        hours = set()
    match kinds:
        case ("half past", "#") | ("half past", "past", "#"):
            shifts = {30}
        case ("half to", "#"):
            shifts = {-30}
        case ("fraction", "#"):
            shifts = {-45}
        case ("fraction", "past", "#") | ("a", "fraction", "past", "#"):
            shifts = {15}
        case ("fraction", "to", "#") | ("a", "fraction", "to", "#"):
            shifts = {-15}
        case ("#", "past", "#") | ("#", "measure", "past", "#"):
            shifts = _minutes(parts[0])
        case ("#", "to", "#") | ("#", "measure", "to", "#"):
            shifts = {-one for one in _minutes(parts[0])}
        case ("#", "past", "half to", "#"):
            shifts = {one - 30 for one in _minutes(parts[0])}
        case ("#", "to", "half to", "#"):
            shifts = {-one - 30 for one in _minutes(parts[0])}
        case ("#", "#") | ("#", "measure", "#") | ("#", "#", "#"):
            if len(kinds) == 3 and parts[1].digits != "0" and not parts[1].kind:
                return frozenset()
            hours = {int(v) for v in parts[0].values if v.denominator == 1 and v <= 24}
            shifts = _minutes(parts[-1])
        case _:
            return frozenset()
    quarters = {Fraction(3, 4)} <= parts[0].values and kinds == ("#", "#")  # "drei viertel acht"
    if quarters:
        hours = {int(v) for v in parts[1].values if v.denominator == 1 and v <= 24}
        shifts = {-15}
    return frozenset((60 * hour + shift) % HALF_DAY for hour in hours for shift in shifts)


def _minutes(part: _Part) -> set[int]:
    return {int(value) for value in part.values if value.denominator == 1 and value < 60}
