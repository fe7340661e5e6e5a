"""The grammar of time expressions, and what each rule means: a span on the calendar.

Each word of a text is one letter, its kind; "." is a word without one. A rule is a regular
expression over that string of letters, the same for every language. The kinds, as in
``core.language.time``:

    D day   R vague time   W weekday   P part of a day   M m v month   s season   H holiday   U unit
    w N number   O q ordinal   h half   a "a"   Y year   X whole date   L last   t this   > next
    E early, late   g ago   V "ago" or "before" in front   c since   b before   k after   u until
    B between   F from   A and   o to   i in   j J on, at (J with "the" in it)   f of   T the
    z "this time"   x shows that a month is a verb   | end of a sentence   S coming
    Z before last   Q after next   l gone   n from now   r back   I of several holidays   e every   y a year in words   G days by number
    C a decade   8 a part of an hour   K a noun behind an ordinal   p what may follow one   , a comma behind an ordinal
"""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct

from slowcat_memory.core.language.data import lazy_pattern
from slowcat_memory.core.time import calendar
from slowcat_memory.core.time.calendar import Anchor, Span

FIRST_YEAR, LAST_YEAR = 1900, 2199
_DIRECTION = {"L": -1, "t": 0, ">": 1, "S": 1}


class Piece(Struct, frozen=True):
    """The words of one expression: their kinds (one letter each) and values."""

    kinds: str
    values: Sequence[Any]

    def get(self, kinds: str, default: Any = None) -> Any:
        for kind, value in zip(self.kinds, self.values, strict=True):
            if kind in kinds:
                return value
        return default

    def which(self) -> str:
        """Return the letter of "last", "this" or "next", or ""; "this past week" is "last"."""
        if "l" in self.kinds:
            return "L"
        return next((kind for kind in "L>St" if kind in self.kinds), "")

    def quantity(self) -> tuple[float, float]:
        """Return the least and the most that the number may mean.

        "three" is (3, 3), "a few" (2, 5), "half a" (0.5, 0.5), "a … and a half" (1.5, 1.5).
        """
        low, high = self.get("Nw") or (1.0, 1.0)
        if "h" in self.kinds:
            return (low + 0.5, high + 0.5) if "A" in self.kinds else (low / 2, high / 2)
        return low, high


ToSpan = Callable[[Piece, Anchor], Span | None]


def _year_of(piece: Piece, anchor: Anchor) -> int | None:
    if "Y" in piece.kinds or "y" in piece.kinds:
        return piece.get("Yy")
    which = piece.which()
    named = which and piece.get("U") == "year"
    return anchor.now.year + _DIRECTION[which] if named else None


def _yearly(piece: Piece, anchor: Anchor, make: Callable[[int], Span | None]) -> Span | None:
    year = _year_of(piece, anchor)
    return calendar.nearest(anchor, make, piece.which()) if year is None else make(year)


def date(piece: Piece, anchor: Anchor) -> Span | None:
    """Resolve a day of a month, or two: "the 3rd of May", "between the 3rd and 5th of May"."""
    numbers = [v for k, v in zip(piece.kinds, piece.values, strict=True) if k in "NqOw"]
    low, high = (n[0] if isinstance(n, tuple) else n for n in (numbers[0], numbers[-1]))
    month = piece.get("Mmv")

    def make(year: int) -> Span | None:
        try:
            first, last = datetime(year, month, low), datetime(year, month, high)
        except ValueError:  # 29 February, 31 June
            return None
        return Span(first, last + timedelta(1)) if first <= last else None

    return _yearly(piece, anchor, make)


def named(piece: Piece, anchor: Anchor) -> Span | None:
    """Resolve a month, a season or a holiday."""
    if "H" in piece.kinds:
        return _yearly(piece, anchor, lambda year: calendar.feast(year, piece.get("H")))
    count = 3 if "s" in piece.kinds else 1
    return _yearly(piece, anchor, lambda year: calendar.month(year, piece.get("sMmv"), count))


def in_year(piece: Piece, anchor: Anchor) -> Span | None:
    return named(piece, anchor) if piece.get("U") == "year" else None


def nth_feast(piece: Piece, anchor: Anchor) -> Span | None:
    """Resolve "1. Advent": the kind's value is its first one, and the days between two."""
    first, offset, step = piece.get("I")
    later = offset + (piece.get("qO") - 1) * step
    return _yearly(piece, anchor, lambda year: calendar.feast(year, (first, later, 1)))


def nth(piece: Piece, anchor: Anchor) -> Span | None:
    """Resolve "the first week of June", "the last Friday of last month" and the like."""
    place = next(n for n, kind in enumerate(piece.kinds) if kind in "fiJ")
    head = Piece(piece.kinds[:place], piece.values[:place])
    tail = Piece(piece.kinds[place + 1 :], piece.values[place + 1 :])
    whole = _whole(tail, anchor)
    if whole is None:
        return None
    n = -1 if "L" in head.kinds else head.get("Oq") - 1
    size, phase = 1, 0
    if "W" in head.kinds:
        size, phase = 7, (head.get("W") - whole.start.weekday()) % 7
    elif head.get("U") == "weekend":
        size, phase = 7, (5 - whole.start.weekday()) % 7
    elif head.get("U") == "week":
        size = 7
    elif head.get("U") != "day":
        return None
    length = {"week": 7, "weekend": 2}.get(head.get("U"), 1)
    if n < 0:
        n = ((whole.end - whole.start).days - phase - length) // size
        if head.get("U") == "week":
            return Span(whole.end - timedelta(7), whole.end)
    start = whole.start + timedelta(phase + n * size)
    return Span(start, start + timedelta(length)) if start < whole.end else None


def _whole(piece: Piece, anchor: Anchor) -> Span | None:
    if any(kind in piece.kinds for kind in "Mmv"):
        return named(piece, anchor)
    return year(piece, anchor) if "Y" in piece.kinds else calendar_unit(piece, anchor)


def ago(piece: Piece, anchor: Anchor) -> Span | None:
    low, high = piece.quantity()
    name = piece.get("U")
    if low < 1 and name not in ("year", "decade", "hour"):
        return None
    if "D" in piece.kinds and name != "weekend":  # "a year ago today"
        day = calendar.rolling(anchor, name, -low).start
        return calendar.days(Anchor(day).day + timedelta(piece.get("D")[0]))
    return calendar.shifted(anchor, name, -high, -low)


def ahead(piece: Piece, anchor: Anchor) -> Span | None:
    low, high = piece.quantity()
    return calendar.shifted(anchor, piece.get("U"), low, high)


def few(piece: Piece, anchor: Anchor) -> Span | None:
    count = piece.quantity()[1]
    return calendar.rolling(anchor, piece.get("U"), -count if "L" in piece.kinds else count)


def same_time(piece: Piece, anchor: Anchor) -> Span | None:
    name = piece.get("U")
    if name not in ("year", "month", "week"):
        return None
    count = piece.quantity()[0] * (1 if piece.which() in (">", "S") else -1)
    span = calendar.rolling(anchor, name, count)
    then = Anchor(span.end - timedelta(1) if count > 0 else span.start)
    return calendar.shifted(then, {"year": "month", "month": "week", "week": "day"}[name], 0, 0)


def weekday(piece: Piece, anchor: Anchor) -> Span | None:
    which = piece.which()
    if which and piece.get("U") == "week":
        monday = calendar.unit(anchor, "week", _DIRECTION[which]).start
        return calendar.days(monday + timedelta(piece.get("W")))
    day = calendar.weekday(anchor, piece.get("W"), which)
    return _part(day, piece.get("P"), day.floating)


def _part(day: Span, hours: tuple[int, int] | None, floating: bool = False) -> Span:
    if hours is None:
        return day
    start, end = (day.start + timedelta(hours=hour) for hour in hours)
    return Span(start, end, floating)


def day(piece: Piece, anchor: Anchor) -> Span | None:
    offset, hours = piece.get("D")
    return _part(calendar.days(anchor.day + timedelta(offset)), piece.get("P", hours))


def part_of_day(piece: Piece, anchor: Anchor) -> Span | None:
    return _part(
        calendar.days(anchor.day - timedelta(1 if piece.which() == "L" else 0)), piece.get("P")
    )


def shifted_day(piece: Piece, anchor: Anchor) -> Span | None:
    """Resolve "saturday week", "a fortnight tomorrow", "heute in 14 Tagen", "a week last Friday"."""
    name = piece.get("U", "day")
    if name not in calendar.DAYS or (name == "day" and "i" not in piece.kinds):
        return None
    if piece.kinds[0] == "U" and name != "fortnight":
        return None
    step = piece.get("G") or int(piece.quantity()[0]) * calendar.DAYS[name]
    if "W" in piece.kinds:
        back = "L" in piece.kinds
        return calendar.weekday(anchor, piece.get("W"), "L" if back else "S").moved(
            -step if back else step
        )
    offset = piece.get("D")[0]
    return calendar.days(anchor.day + timedelta(offset - step if offset < 0 else offset + step))


def in_days(piece: Piece, anchor: Anchor) -> Span | None:
    """Resolve "in acht Tagen", "vor acht Tagen": a week, whatever the number says."""
    return calendar.days(anchor.day + timedelta(piece.get("G") * (-1 if "V" in piece.kinds else 1)))


def parts_ago(piece: Piece, anchor: Anchor) -> Span | None:
    """Resolve "two nights ago"."""
    low, high = piece.quantity()
    if low != high or low < 1:
        return None
    return _part(calendar.days(anchor.day - timedelta(int(low))), piece.get("P"))


def second(piece: Piece, anchor: Anchor) -> Span | None:
    """Resolve "the Tuesday before last", "the week after next", "vorletzte Woche"."""
    ahead = any(kind in piece.kinds for kind in "Q>k")
    if "W" in piece.kinds:
        which = (">" if "Q" in piece.kinds else "S") if ahead else "L"  # ">": the week after next
        return calendar.weekday(anchor, piece.get("W"), which).moved(7 if ahead else -7)
    name, step = piece.get("U"), 1 if ahead else -1
    if name in ("minute", "hour", "fortnight"):
        return None
    return calendar.unit(Anchor(calendar.unit(anchor, name, step).start), name, step)


def day_of_month(piece: Piece, anchor: Anchor) -> Span | None:
    """Resolve "on the 5th": the latest one, or the next one for plans."""
    if piece.get("jJ", "on") != "on":
        return None
    for step in range(4):  # of the months, one in two at worst is too short
        first = calendar.add_months(anchor.day.replace(day=1), step if anchor.ahead else -step)
        try:
            day = calendar.days(first.replace(day=piece.get("qO")))
        except ValueError:
            continue
        if (day.end > anchor.now) if anchor.ahead else (day.start <= anchor.now):
            return day
    return None


def vague(piece: Piece, anchor: Anchor) -> Span | None:
    low, high = piece.get("R")
    return Span(anchor.day + timedelta(low), anchor.day + timedelta(high))


def calendar_unit(piece: Piece, anchor: Anchor) -> Span | None:
    name = piece.get("U")
    rolled = "T" in piece.kinds and "L" in piece.kinds  # "the last week" ends now
    if name in ("minute", "day") and not rolled:  # "last-minute", "next day"
        return None
    if rolled and name != "weekend":
        return calendar.rolling(anchor, name, -1)
    if name == "weekend" and piece.which() == "t" and anchor.ahead:
        return the_weekend(piece, anchor)
    return calendar.unit(anchor, name, _DIRECTION.get(piece.which(), 0))


def the_weekend(piece: Piece, anchor: Anchor) -> Span | None:
    if piece.get("U") != "weekend":
        return None
    span = calendar.unit(anchor, "weekend", 0)
    if anchor.ahead:
        return span.moved(7 if span.end <= anchor.now else 0)
    return calendar.unit(anchor, "weekend", -1) if span.start > anchor.now else span


def year(piece: Piece, anchor: Anchor) -> Span | None:
    return calendar.month(piece.get("Yy"), 1, 12)


def clock(_: Piece, anchor: Anchor) -> Span | None:
    """Resolve a time of the clock alone, which is today's."""
    return calendar.days(anchor.day)


def decade(piece: Piece, anchor: Anchor) -> Span | None:
    return calendar.month(piece.get("C"), 1, 120)


def iso(piece: Piece, anchor: Anchor) -> Span | None:
    year, month, day = piece.get("X")
    if not year:  # 12.6.
        return _yearly(piece, anchor, lambda year: calendar.days(datetime(year, month, day)))
    if not FIRST_YEAR <= year <= LAST_YEAR:
        return None
    return calendar.days(datetime(year, month, day)) if day else calendar.month(year, month)


# ------------------------------------------------------------------- rules

_YEAR = "(?:f?T?[Yy]|f?T?[Lt>]U)"  # "of 2023", "last year"
_AFTER = "(?<=[iJjcbkuBE])"  # what makes a name or a verb a month: "in may", "since june"
_QUANTITY = "(?:[Nwa]|a?ha?)"  # "3", "a couple of", "a", "half a"
_PAIR = "(?<=[MmvsY][Ao])"  # the second of two: "between May and June"

# Name, pattern over kinds, function to a span; the first that matches counts.
RULES: tuple[tuple[str, str, ToSpan], ...] = (
    # 2024-05-31
    ("iso", "X", iso),
    # between the 3rd and 5th of May
    (
        "two",
        rf"[BF]?T?[NqO](?:[Ao]T?|uJ?T?)[NqO]f?[Mmv]{_YEAR}?|[BF][Mmv]T?[NqO][Ao]T?[NqO]{_YEAR}?",
        date,
    ),
    # the first week of June
    ("nth", rf"(?:O|q|L)[UW][fiJ]T?(?:[Mmv]{_YEAR}?|[Lt>S]U|U?Y|U)", nth),
    # the 3rd of May 2023
    ("date", rf"(?:[Nq]f?[Mmv](?!x)|Of?[Mm]|Ofv|w[Mm]){_YEAR}?", date),
    # May 3rd; in March 3
    (
        "day",
        rf"(?:[Mm]T?[NqO](?!U)|v(?:T?[qO](?!U)|N(?=Y))|{_AFTER}vN(?!U)|[Mm]w(?=Y)){_YEAR}?",
        date,
    ),
    # last year in May; nächstes Jahr an Ostern
    ("in_year", r"[Lt>S]U[ijJ]?T?(?:[HMs]|[mv](?!x))", in_year),
    # May 2023
    ("year_month", rf"[Mm]{_YEAR}|v(?:f?Y)|{_AFTER}v{_YEAR}", named),
    # in May; last May
    (
        "month",
        rf"[L>S][Mmv](?!x)|t[Mm]|M|{_AFTER}(?:m|v(?!x))|{_PAIR}[mv](?!x)|(?<=F)[mv](?=[ou])",
        named,
    ),
    # last summer
    ("season", rf"s{_YEAR}|[Lt>S]s|(?:{_AFTER}|(?<=[iJjcbkuBE]T)|{_PAIR})s", named),
    # Christmas 2022
    ("feast", rf"[Lt>S]?H(?!b[L]){_YEAR}?", named),
    # 2. Weihnachtstag, 1. Advent
    ("nth_feast", rf"[qO]I{_YEAR}?", nth_feast),
    # this time last year
    (
        "same",
        rf"z(?:[L>]U|{_QUANTITY}Ug|V{_QUANTITY}U)|[L>]Uz|V{_QUANTITY}Uz|{_QUANTITY}Ugz",
        same_time,
    ),
    # saturday week; a week on Tuesday; a fortnight tomorrow; heute in 14 Tagen; a week last Friday
    (
        "plus",
        rf"[DW]U(?![gf])|U(?:jT?|F)[DW]|[DW]i(?:{_QUANTITY}U|G)|{_QUANTITY}U(?:jT?|F)?[>S]?[DW]|{_QUANTITY}ULW",
        shifted_day,
    ),
    ("in_days", r"[iV]G", in_days),
    # two nights ago
    ("parts_ago", rf"{_QUANTITY}Pg|V{_QUANTITY}P", parts_ago),
    # the week before last; the Tuesday after next; vorletzten Dienstag; not this Friday, the Friday after
    ("second", r"[UW](?:bL|k>)(?!U)|[ZQ][UW]|tWTWk|>UTUk", second),
    # two weeks ago; vor zwei Wochen
    ("ago", rf"D?V{_QUANTITY}U|{_QUANTITY}UgD?|[aw]UAahg|{_QUANTITY}Ur(?![ijJFo])", ago),
    # the last three days; the next few weeks
    ("few", rf"[L>]{_QUANTITY}U", few),
    # in two weeks
    ("ahead", rf"i{_QUANTITY}U(?!g)|{_QUANTITY}Un", ahead),
    # last Monday evening
    ("weekday", r"Wf?T?[Lt>S]U|[Lt>S]U[jJ]?W|t?WP?l|W[LS](?!U)|t?[Lt>S]?WP?", weekday),
    # this morning
    ("hours", r"[Lt]P", part_of_day),
    # tomorrow evening
    ("today", r"DP?", day),
    # recently
    ("while", r"R", vague),
    # last week; this year
    ("unit", r"TLU(?!f)|t?[L>S]U(?!f)|tU|(?<=E)[Tf]?U(?!f)", calendar_unit),
    # at the weekend
    ("weekend", r"(?:[ij]T|J)U(?![fbk])", the_weekend),
    # on the 5th
    (
        "nth_day",
        r"(?:jT|(?<=[uckbF])T|(?<=W)T)[qO](?![^,|pxAjJiTukbFcgtLSh])|(?<=o)Tq(?![^,|pxA])"
        r"|(?:J|j|(?<=[uckbF])J?T?)[qO](?![fMmvUWOPshKI])",
        day_of_month,
    ),
    # the eighties, but not "in his eighties"
    ("decade", r"(?<!p)C", decade),
    # at half seven; at quarter past three
    ("clock", r"(?:8|(?<=j)h)[Nw](?!U)", clock),
    # in 2022; the year 2022
    ("year", rf"y|{_AFTER}Y|{_PAIR}Y|(?<=F)Y(?=[ou])|UY", year),
)
EXPRESSION = lazy_pattern("|".join(f"(?P<{name}>{rule})" for name, rule, _ in RULES))
TO_SPAN: dict[str, ToSpan] = {name: to_span for name, _, to_span in RULES}
