"""Numbers in words and digits, in every way that they can be read.

"Forty-eight five" may be 48,500 or 48.5, "eight seventy-five" 875 or 8.75, "half five" 5:30 or, in
German, 4:30; "1.250" is 1,250 or 1.25. Words of all languages are read, since people mix them.
Not text2num: it gives one reading in one language, and every caller here compares all of them.

Words and digits become letters, and a regular expression over them is the grammar: 0, 1, u are units,
U those from ten; t tens, r, V and R ordinals; h hundred, k M G scales, z dozen; d digits, T a time of
day; f p q fractions ("half past" and "half to" an hour are p and q); a "a", & "and", o "oh", .
"point", > "past", < "to", m a measure, w what is a number alone; # is a number that was read.
"""

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache

from msgspec import Struct

from slowcat_memory.core.language import LANGUAGES
from slowcat_memory.core.language.data import read_words
from slowcat_memory.core.text_caches import text_cache

HALF_DAY = 720  # minutes; a time of day is known up to twelve hours
MAX_JOINED = 12  # digits of a number that is spoken in parts
MOST_PARTS = 8  # numbers in a row that may be parts of one
MOST_DIGITS = 300  # of a number; longer ones are keys and the like, and Python reads none of 4301
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
# Letters of the words of a list in order, the first one's value, and the step.
_SERIES = {
    "units": ("01" + 8 * "u" + 10 * "U", 0, 1),
    "tens": (8 * "t", 20, 10),
    "ordinals": (9 * "r" + 10 * "V", 1, 1),
    "ordinal_tens": (8 * "R", 20, 10),
    "decades": (8 * "w", 20, 10),
}
_LISTS: Mapping[str, tuple[str, Fraction | int]] = {
    "half_past": ("p", Fraction(1, 2)),
    "half_to": ("q", Fraction(1, 2)),
    "hundred": ("h", 100),
    "dozen": ("z", 12),
    "a": ("a", 1),
    "digit_zero": ("o", 0),
    "thousand": ("k", 10**3),
    "million": ("M", 10**6),
    "billion": ("G", 10**9),
    "quarter": ("f", Fraction(1, 4)),
    "one_and_a_half": ("f", Fraction(3, 2)),
    "once": ("w", 1),
    "twice": ("w", 2),
    "thrice": ("w", 3),
    "fortnight": ("w", 14),
    "and": ("&", 0),
    "point": (".", 0),
    "past": (">", 0),
    "to": ("<", 0),
    "measures": ("m", 0),
}
_ALONE = "ao><mw"  # such words are no part of a longer one
_LONGEST = 60  # letters of a number in one word


class Number(Struct, frozen=True):
    """A number of a text; within grammar also a word of one, and digits.

    Attributes:
        letter: Its kind; see above.
        values: What it may be.
        minutes: The times of day it may be, as minutes modulo ``HALF_DAY``.
        in_digits: Whether any of it is in digits.
        joined: Whether it is made of several numbers in a row, each yielded as well.
        digits: As it is written within a longer number; "" for none.
        scale: 1,000 for "seventy-five thousand", else 1.
    """

    letter: str
    start: int
    end: int
    values: frozenset[Fraction] = frozenset()
    minutes: frozenset[int] = frozenset()
    in_digits: bool = False
    joined: bool = False
    digits: str = ""
    scale: Fraction = Fraction(1)


def numbers(text: str) -> Iterator[Number]:
    """Yield every number of a text, and each that several in a row may be parts of."""
    for run in _runs(text):
        parts = list(_parts(run))
        for first, part in enumerate(parts):
            if part.letter in "#fpqw":
                yield part
            for end in range(first + 2, min(len(parts), first + MOST_PARTS) + 1):
                near = parts[first:end]
                values, minutes = _joined(near), _time_of_day(near)
                if values or minutes:
                    written = any(number.in_digits for number in near)
                    yield Number("#", part.start, near[-1].end, values, minutes, written, True)


def values(text: str) -> frozenset[Fraction]:
    """Return all readings of the numbers of a text."""
    return frozenset(value for number in numbers(text) for value in number.values)


# ------------------------------------------------------------------- words and digits


@text_cache(4096)
def number_of(word: str) -> tuple[int, bool] | None:
    """Return a whole number in one word, and whether it is an ordinal; None for none."""
    meaning = _meaning(word)
    parts = list(_parts([Number(letter, 0, 0, frozenset({value})) for letter, value in meaning]))
    if len(parts) != 1 or parts[0].letter != "#":
        return None
    number = max(parts[0].values)
    return (int(number), meaning[-1][0] in "rRV") if number.denominator == 1 else None


def digits_of(word: str) -> str:
    """Return the number in a word in lower case as digits; any other word as it is."""
    number = number_of(word)
    return str(number[0]) if number else word


DATED = frozenset(  # weekdays and months
    word
    for language in LANGUAGES
    for word, (kind, _) in language.time.table.items()
    if kind in ("W", "M", "m", "v")
)


def is_value(word: str) -> bool:
    """Return whether a folded word is a number, a weekday or a month."""
    return word[0].isdigit() or word.removesuffix("s") in DATED or counts(word)


def counts(word: str) -> bool:
    """Return whether a word in lower case is a number, but "one", which is a pronoun too."""
    return any(
        letter not in "a&.o><m" and (value != 1 or letter == "r")
        for letter, value in _meaning(word)
    )


@text_cache(4096)
def _meaning(word: str) -> tuple[tuple[str, Fraction], ...]:
    """Return what a word in lower case adds to a number, in order: () for any other word."""
    table = _table()
    if (known := table.get(word)) is not None:
        return (known,)
    if len(word) > _LONGEST or not _compound().fullmatch(word):
        return ()
    return tuple(table[part[0]] for part in _word_part().finditer(word))


@cache
def _table() -> Mapping[str, tuple[str, Fraction]]:
    """Return the letter and value of each word, in all languages."""
    table = {}
    for language in LANGUAGES:
        lists = read_words(f"slowcat_memory.core.language.{language.name}")["numerals"]
        for name, (letters, first, step) in _SERIES.items():
            endings = lists["ordinal_endings"] if name.startswith("ordinal") else "_"
            for n, spellings in enumerate(lists[name].split()):
                for word in spellings.split("/"):
                    for end in endings.split():
                        table[word + end.strip("_")] = letters[n], Fraction(first + step * n)
        for name, (letter, value) in _LISTS.items():
            table |= dict.fromkeys(lists.get(name, "").split(), (letter, Fraction(value)))
    return table


@cache
def _word_part() -> re.Pattern[str]:
    parts = [word for word, (letter, _) in _table().items() if letter not in _ALONE]
    longest_first = sorted((part for part in parts if len(part) > 2), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first)))


@cache
def _compound() -> re.Pattern[str]:
    return re.compile(f"(?:{_word_part().pattern})+")


def _runs(text: str) -> Iterator[list[Number]]:
    """Yield the stretches of a text that are made of numbers and the words between them alone."""
    run, tokens = list[Number](), list(_TOKEN.finditer(text))
    for place, match in enumerate(tokens):
        parts = list(_read_token(match))
        if not parts and run and match["word"] and _adds_fraction(tokens[place + 1 : place + 4]):
            parts = [Number("m", *match.span())]  # "a year and a half"
        if parts:
            run += parts
            continue
        yield run
        run = []
    yield run


def _read_token(match: re.Match[str]) -> Iterator[Number]:
    span = match.span()
    if match["hour"]:
        hour, minute = int(match["hour"]), int(match["minute"])
        value = frozenset({Fraction(100 * hour + minute, 100)})
        yield Number("T", *span, value, _clock(hour, minute), True)
    elif 0 < len(digits := match["digits"] or "") <= MOST_DIGITS:
        written = digits if digits.isdecimal() and not match["suffix"] else ""
        dotted = _DOTTED_TIME.fullmatch(digits)
        minutes = _clock(*map(int, dotted.groups())) if dotted else frozenset()
        amounts = _readings(digits, match["suffix"] or "")
        yield Number("d", *span, amounts, minutes, True, digits=written)
    elif match["word"]:
        for letter, number in _meaning(match["word"].lower()):
            yield Number(letter, *span, frozenset({number}))


def _clock(hour: int, minute: int) -> frozenset[int]:
    return frozenset({(60 * hour + minute) % HALF_DAY}) if hour <= 24 else frozenset()


def _adds_fraction(tokens: Sequence[re.Match[str]]) -> bool:
    letters = [letter for token in tokens for letter, _ in _meaning((token["word"] or "").lower())]
    return "".join(letters) in ("&af", "&ap", "&aq")


def _readings(digits: str, suffix: str) -> frozenset[Fraction]:
    """Return the values of digits: "1.250" is 1,250 or 1.25, "1.6m" a million or metres."""
    amounts = set[Fraction]()
    if digits.isdecimal() or _GROUPED.fullmatch(digits):
        amounts.add(Fraction(_NO_DIGIT.sub("", digits)))
    if match := _DECIMAL.fullmatch(digits):
        amounts.add(Fraction(f"{_NOT_ASCII_DIGIT.sub('', match['whole'])}.{match['part']}"))
    if not amounts:  # "12.06.2026"
        amounts = {Fraction(number) for number in _DIGITS.findall(digits)}
    scaled = {value * _SUFFIXES.get(suffix.lower(), 1) for value in amounts}
    return frozenset(scaled | amounts if suffix in ("m", "") else scaled)


# ------------------------------------------------------------------- grammar

_BELOW_HUNDRED = r"(?:[1u]&[tR]|o(?=[o01uU])|t[1ur]?|[R01urUV])"
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


def _parts(run: Sequence[Number]) -> Iterator[Number]:
    """Yield the numbers of a stretch, each as long as grammar allows, and the words between."""
    letters, place = "".join(part.letter for part in run), 0
    while place < len(run):
        match = _NUMBER.match(letters, place)
        yield _read(run, letters, match) if match else run[place]
        place = match.end() if match else place + 1


def _read(run: Sequence[Number], letters: str, match: re.Match[str]) -> Number:
    def of(group: str) -> Sequence[Number]:
        return run[match.start(group) : match.end(group)]

    words, digits, scale = run[match.start() : match.end()], "", Fraction(1)
    if match["time"]:
        amounts = words[0].values
    elif match["of"]:
        amounts = _times(of("of")[0].values, of("part"))
    else:
        amounts = _value(of("whole"))
        head = _HEAD.match(letters, match.start())
        if head and match.end("whole") - head.end() < 2 and not (match["point"] or match["share"]):
            first = run[head.start() : head.end()]
            digits = first[0].digits if head[0] == "d" else str(max(_value(first)))
            scale = _product(run[head.end() : match.end("whole")])
        if match["point"]:
            every = _DIGIT.finditer(letters, *match.span("point"))
            written = "".join(_written(run[digit.start() : digit.end()]) for digit in every)
            amounts = _plus(amounts, {Fraction(int(written or 0), 10 ** len(written))})
        if match["share"]:
            share = of("share")[-1:]
            more = match["share"] != "f"  # two and a half, but three quarters
            amounts = _plus(amounts, share[0].values) if more else _times(amounts, share)
        amounts, scale = _times(amounts, of("times")), scale * _product(of("times"))
    minutes = words[0].minutes if len(words) == 1 else frozenset()
    in_digits = any(word.in_digits for word in words)
    start, end = words[0].start, words[-1].end
    return Number("#", start, end, amounts, minutes, in_digits, digits=digits, scale=scale)


def _value(words: Sequence[Number]) -> frozenset[Fraction]:
    """Return the values of a whole number: "two thousand six hundred and ten", "48 thousand"."""
    total, group = frozenset({Fraction(0)}), frozenset[Fraction]()
    for word in words:
        if word.letter == "h":
            group = _times(group or {Fraction(1)}, [word])
        elif word.letter in "kMG":
            total, group = _plus(total, _times(group or {Fraction(1)}, [word])), frozenset()
        elif word.letter != "&":
            group = _plus(group or {Fraction(0)}, word.values)
    return _plus(total, group or {Fraction(0)})


def _written(words: Sequence[Number]) -> str:
    return words[0].digits if words[0].letter == "d" else str(max(_value(words)))


def _plus(some: Collection[Fraction], others: Collection[Fraction]) -> frozenset[Fraction]:
    return frozenset(value + other for value in some for other in others)


def _times(some: Collection[Fraction], factors: Sequence[Number]) -> frozenset[Fraction]:
    return frozenset(value * _product(factors) for value in some)


def _product(factors: Sequence[Number]) -> Fraction:
    return math.prod((max(factor.values) for factor in factors), start=Fraction(1))


# ------------------------------------------------------------------- numbers in parts


def _joined(parts: Sequence[Number]) -> frozenset[Fraction]:
    """Return what numbers in a row mean as one: "forty-eight five", "eight pounds fifty"."""
    shape, (*most, last) = "".join(part.letter for part in parts), parts
    if shape in ("#m#", "am#"):  # "one metre eighty"
        cents = {Fraction(int(last.digits or 0), 10**n) for n in (len(last.digits), 2)}
        return _plus(parts[0].values, cents) if 0 < len(last.digits) < 3 else frozenset()
    if shape[:4] in ("#m&a", "am&a") and len(shape) == 5:  # "a year and a half"
        return _plus(parts[0].values, {value for value in last.values if 0 < value < 1})
    written = "".join(part.digits for part in parts)
    plain = all(part.digits for part in parts) and all(part.scale == 1 for part in most)
    if not plain or len(written) > MAX_JOINED:
        return frozenset()
    amounts, head = {int(written) * last.scale}, "".join(part.digits for part in most)
    if last.scale == 1 and len(last.digits) < 3:
        amounts.add(Fraction(f"{head}.{last.digits}"))
    if last.scale == 1 and len(parts) == 2 and _lacks_thousand(head, last.digits):
        amounts.add(Fraction(f"{head}{last.digits.ljust(3, '0')}"))
    return frozenset(amounts)


def _lacks_thousand(head: str, tail: str) -> bool:
    """Return whether two numbers may be a sum without its "thousand": "forty-eight five"."""
    if head[0] == "0" or tail[0] == "0" or len(head) > 3:
        return False
    return len(tail) == 1 or (len(tail) == 2 and len(head) > 1 and head not in ("19", "20"))


# ------------------------------------------------------------------- times of day

# Minutes that words before an hour add to it; of "#", the number itself, too or less.
_SHIFTS = {"p": 30, "p>": 30, "q": -30, "f": -45, "f>": 15, "f<": -15}
_COUNTED = {"#>": (1, 0), "#<": (-1, 0), "#>q": (1, -30), "#<q": (-1, -30)}


def _time_of_day(parts: Sequence[Number]) -> frozenset[int]:
    """Return the minutes of "half five", "quarter past six", "drei viertel acht", "neun Uhr zehn"."""
    first, *_, last = parts
    before = "".join(part.letter for part in parts[:-1]).removeprefix("a").replace("#m", "#")
    if last.letter != "#":
        return frozenset()
    hours, shifts = _whole(last, 25), set[int]()
    if before in _SHIFTS:
        shifts = {_SHIFTS[before]}
    elif before in _COUNTED:
        sign, more = _COUNTED[before]
        shifts = {sign * minute + more for minute in _whole(first, 60)}
    elif before == "#" and Fraction(3, 4) in first.values:
        shifts = {-15}
    elif before == "#" or (before == "##" and parts[1].digits == "0"):
        hours, shifts = _whole(first, 25), _whole(last, 60)
    return frozenset((60 * hour + shift) % HALF_DAY for hour in hours for shift in shifts)


def _whole(part: Number, most: int) -> set[int]:
    return {int(value) for value in part.values if value.denominator == 1 and value < most}
