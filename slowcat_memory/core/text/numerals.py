"""Numbers in words and digits, in every way that they can be read.

"Forty-eight five" may be 48,500 or 48.5, "eight seventy-five" 875 or 8.75, "half five" 5:30 or, in
German, 4:30; "1.250" is 1,250 or 1.25. Words of all languages are read, since people mix them.
Not text2num: it gives one reading in one language, and every caller here compares all of them.
"""

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction

from msgspec import Struct

from slowcat_memory.core.text.numeral_words import Kind, meaning

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


def _parts(run: Sequence[_Atom]) -> Iterator[_Part]:
    """Yield the numbers of a stretch, each as long as grammar allows, and the words between."""
    place = 0
    while place < len(run):
        reader = _Reader(run, place)
        if part := reader.read():
            yield part
            place = reader.place
        else:
            atom = run[place]
            whole = atom.values if _is_fraction(atom.kind) or atom.kind == "whole" else frozenset()
            yield _Part(atom.start, atom.end, atom.kind, whole)
            place += 1


def _is_fraction(kind: str) -> bool:
    return kind in ("fraction", "half past", "half to")


class _Reader:
    """Reads one number from atoms."""

    def __init__(self, run: Sequence[_Atom], place: int) -> None:
        self._run, self.place, self._first = run, place, place
        self._digits, self._scale = "", Fraction(1)
        self._minutes = run[place].minutes

    def read(self) -> _Part | None:
        if self._kind() == "time":
            atom = self._next()
            return _Part(atom.start, atom.end, "", atom.values, "", Fraction(1), atom.minutes, True)
        found = self._share_of() or self._whole()
        if not found:
            return None
        found = self._with_fraction(self._with_point(found))
        while self._kind() in ("scale", "dozen"):
            self._scale *= self._run[self.place].value
            found = self._times(found, self._next().value)
        atoms = self._run[self._first : self.place]
        written = any(one.kind == "digits" for one in atoms)
        minutes = self._minutes if len(atoms) == 1 else frozenset()
        return _Part(atoms[0].start, atoms[-1].end, "", found, self._digits, self._scale, minutes, written)  # fmt: skip

    def _kind(self, ahead: int = 0) -> str:
        place = self.place + ahead
        return self._run[place].kind if place < len(self._run) else ""

    def _next(self) -> _Atom:
        self.place += 1
        return self._run[self.place - 1]

    def _times(self, found: frozenset[Fraction], factor: Fraction) -> frozenset[Fraction]:
        return frozenset(value * factor for value in found)

    def _share_of(self) -> frozenset[Fraction]:
        """Read "half a million", "eine halbe Million", "a quarter of"."""
        skipped = 1 if self._kind() == "a" else 0
        if not _is_fraction(self._kind(skipped)):
            return frozenset()
        between = 1 if self._kind(skipped + 1) == "a" else 0
        if self._kind(skipped + 1 + between) not in ("hundred", "scale", "dozen"):
            return frozenset()
        share = self._run[self.place + skipped].value
        self.place += skipped + 1 + between
        return frozenset({share * self._next().value})

    def _whole(self) -> frozenset[Fraction]:
        """Read a whole number: "two thousand six hundred and ten", "fünfundzwanzig", "48"."""
        if self._kind() == "digits":
            atom = self._next()
            self._digits = atom.digits
            if self._kind() != "hundred":
                return self._with_thousands(atom.values)
            return self._times(atom.values, self._next().value)
        below = self._below_thousand()
        if below is None and self._kind() == "scale":
            below = Fraction(1)
        return frozenset() if below is None else self._with_thousands(frozenset({below}))

    def _with_thousands(self, found: frozenset[Fraction]) -> frozenset[Fraction]:
        """Read the rest of "two thousand six hundred", with the head of which ``found`` is read."""
        smallest = Fraction(10**12)
        while self._kind() == "scale" and self._run[self.place].value < smallest:
            smallest = self._next().value
            whole = self._times(found, smallest) if self.place - self._first < 2 else None
            found = whole or self._scaled(found, smallest)
            self._scale, before = smallest, self.place
            self.place += self._kind() == "and"
            rest = self._below_thousand(cardinal=True)
            if rest is None or (
                self._kind() == "scale" and self._run[self.place].value >= smallest
            ):
                self.place = before
                break
            if self._kind() == "scale":
                rest *= self._next().value
            found, self._digits = frozenset(value + rest for value in found), ""
            self._scale = Fraction(1)
        return found

    def _scaled(self, found: frozenset[Fraction], scale: Fraction) -> frozenset[Fraction]:
        """Scale what is not scaled yet: of "two million three thousand" the three."""
        return frozenset(value * scale for value in found)

    def _below_thousand(self, cardinal: bool = False) -> Fraction | None:
        first = self.place
        value = self._below_hundred(cardinal)
        if value is None and self._kind() == "a" and self._kind(1) in ("hundred", "scale", "dozen"):
            self.place += 1
            value = Fraction(1)
        if self._kind() != "hundred":
            if value is None:
                self.place = first
            else:
                self._digits = self._digits or str(value)
            return value
        value = (value or Fraction(1)) * self._next().value
        before = self.place
        self.place += self._kind() == "and"
        rest = self._below_hundred(cardinal)
        if rest is None:
            self.place = before
        value += rest or 0
        self._digits = str(value)
        return value

    def _below_hundred(self, cardinal: bool) -> Fraction | None:
        kinds = ("unit",) if cardinal else ("unit", "ordinal")
        if (
            self._kind() == "unit"
            and self._kind(1) == "and"
            and self._kind(2) in ("ten", "ordinal ten")
        ):
            unit = self._next().value
            self.place += 1
            return unit + self._next().value
        if self._kind() == "oh" and self._kind(1) in ("unit", "oh"):
            self.place += 1
            self._digits = "0"
            return Fraction(0)
        if self._kind() in ("ten", "ordinal ten"):
            tens = self._next()
            if (
                tens.kind == "ten"
                and self._kind() in kinds
                and 0 < self._run[self.place].value < 10
            ):
                return tens.value + self._next().value
            return tens.value
        return self._next().value if self._kind() in kinds else None

    def _with_point(self, found: frozenset[Fraction]) -> frozenset[Fraction]:
        """Read "point six", "Komma zwei fünf"."""
        if self._kind() != "point" or self._kind(1) not in ("unit", "oh", "ten", "digits"):
            return found
        self.place += 1
        digits = ""
        while self._kind() in ("unit", "oh", "ten", "digits") and len(digits) < MAX_JOINED:
            if self._kind() == "digits":
                digits += self._next().digits
            else:
                digits += str(self._below_hundred(cardinal=True) or 0)
        self._digits = ""
        return frozenset(value + Fraction(int(digits or 0), 10 ** len(digits)) for value in found)

    def _with_fraction(self, found: frozenset[Fraction]) -> frozenset[Fraction]:
        """Read "and a half", "three quarters", "zweieinhalb"."""
        skipped = 1 if self._kind() == "and" else 0
        one = self._kind(skipped)
        a = one == "a" or (one == "unit" and self._run[self.place + skipped].value == 1)
        if not _is_fraction(self._kind(skipped + a)) or (skipped and not a):
            return found
        if self._kind(skipped + a) != "fraction" and not a:  # "at five half of them"
            return found
        self.place += skipped + a
        share = self._next().value
        self._digits = ""
        return frozenset(value + share if a else value * share for value in found)


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
