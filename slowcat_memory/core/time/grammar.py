"""The grammar of time expressions: kinds of words to spans on the calendar.

Each word of a text is one letter, its kind; "." is a word without one. A rule is a regular
expression over that string of letters, the same for every language. The kinds, as in
``core.language.time``:

    D day   R vague time   W weekday   P part of a day   M m v month   s season   H holiday   U unit
    w N number   O q ordinal   h half   a "a"   Y year   X whole date   L last   t this   > next
    E early, late   g ago   V "ago" or "before" in front   c since   b before   k after   u until
    B between   F from   A and   o to   i in   j J on, at (J with "the" in it)   f of   T the
    z "this time"   x shows that a month is a verb   | end of a sentence   d weekdays   S coming
    Z before last   Q after next   l gone   n from now   r back   I of several holidays   e every   y a year in words   G days by number
    C a decade   8 a part of an hour   K a noun behind an ordinal   p what may follow one   , a comma behind an ordinal
"""

from slowcat_memory.core.language.data import lazy_pattern
from slowcat_memory.core.time import pieces
from slowcat_memory.core.time.pieces import ToSpan

_YEAR = "(?:f?T?[Yy]|f?T?[Lt>]U)"  # "of 2023", "last year"
_AFTER = "(?<=[iJjcbkuBE])"  # what makes a name or a verb a month: "in may", "since june"
_QUANTITY = "(?:[Nwa]|a?ha?)"  # "3", "a couple of", "a", "half a"
_PAIR = "(?<=[MmvsY][Ao])"  # the second of two: "between May and June"

# Name, pattern over kinds, function to a span; the first that matches counts.
RULES: tuple[tuple[str, str, ToSpan], ...] = (
    # 2024-05-31
    ("iso", "X", pieces.iso),
    # between the 3rd and 5th of May
    (
        "two",
        rf"[BF]?T?[NqO](?:[Ao]T?|uJ?T?)[NqO]f?[Mmv]{_YEAR}?|[BF][Mmv]T?[NqO][Ao]T?[NqO]{_YEAR}?",
        pieces.two_days,
    ),
    # the first week of June
    ("nth", rf"(?:O|q|L)[UWh][fiJ]T?(?:[Mmv]{_YEAR}?|[Lt>S]U|U?Y|U)", pieces.nth),
    # the 3rd of May 2023
    ("date", rf"(?:[Nq]f?[Mmv](?!x)|Of?[Mm]|Ofv|w[Mm]){_YEAR}?", pieces.date),
    # May 3rd; in March 3
    (
        "day",
        rf"(?:[Mm]T?[NqO](?!U)|v(?:T?[qO](?!U)|N(?=Y))|{_AFTER}vN(?!U)|[Mm]w(?=Y)){_YEAR}?",
        pieces.date,
    ),
    # last year in May; nächstes Jahr an Ostern
    ("in_year", r"[Lt>S]U[ijJ]?T?(?:[HMs]|[mv](?!x))", pieces.in_year),
    # May 2023
    ("year_month", rf"[Mm]{_YEAR}|v(?:f?Y)|{_AFTER}v{_YEAR}", pieces.month),
    # in May; last May
    (
        "month",
        rf"[L>S][Mmv](?!x)|t[Mm]|M|{_AFTER}(?:m|v(?!x))|{_PAIR}[mv](?!x)|(?<=F)[mv](?=[ou])",
        pieces.month,
    ),
    # last summer
    ("season", rf"s{_YEAR}|[Lt>S]s|(?:{_AFTER}|(?<=[iJjcbkuBE]T)|{_PAIR})s", pieces.season),
    # Christmas 2022
    ("feast", rf"[Lt>S]?H(?!b[L]){_YEAR}?", pieces.feast),
    # 2. Weihnachtstag, 1. Advent
    ("nth_feast", rf"[qO]I{_YEAR}?", pieces.nth_feast),
    # this time last year
    (
        "same",
        rf"z(?:[L>]U|{_QUANTITY}Ug|V{_QUANTITY}U)|[L>]Uz|V{_QUANTITY}Uz|{_QUANTITY}Ugz",
        pieces.same_time,
    ),
    # saturday week; a week on Tuesday; a fortnight tomorrow; heute in 14 Tagen; a week last Friday
    (
        "plus",
        rf"[DW]U(?![gf])|U(?:jT?|F)[DW]|[DW]i(?:{_QUANTITY}U|G)|{_QUANTITY}U(?:jT?|F)?[>S]?[DW]|{_QUANTITY}ULW",
        pieces.shifted_day,
    ),
    ("in_days", r"[iV]G", pieces.in_days),
    # two weeks ago on Tuesday; two nights ago; two Fridays ago
    ("ago_on", rf"{_QUANTITY}UgjT?W|V{_QUANTITY}UJ?W|WV{_QUANTITY}U|W{_QUANTITY}Ug", pieces.ago_on),
    ("parts_ago", rf"{_QUANTITY}Pg|V{_QUANTITY}P", pieces.parts_ago),
    ("weekdays_ago", rf"{_QUANTITY}dg|V{_QUANTITY}d", pieces.weekdays_ago),
    # Tuesday of the week after next; übernächste Woche Dienstag
    ("second_week", r"[ZQ]U[jJ]?W|Wf?T?(?:[ZQ]U|U(?:k>|bL))|U(?:k>|bL)j?T?W", pieces.second_week),
    # the week before last; the Tuesday after next; vorletzten Dienstag; not this Friday, the Friday after
    ("second", r"[UWMmvsH](?:bL|k>)(?!U)|[ZQ][UWMmvsH]|tWTWk|>UTUk", pieces.second),
    # two weeks ago; vor zwei Wochen
    ("ago", rf"D?V{_QUANTITY}U|{_QUANTITY}UgD?|[aw]UAahg|{_QUANTITY}Ur(?![ijJFo])", pieces.ago),
    # the last three days
    ("last_few", rf"L{_QUANTITY}U", pieces.last_few),
    # the next few weeks
    ("next_few", rf">{_QUANTITY}U", pieces.next_few),
    # in two weeks
    ("ahead", rf"i{_QUANTITY}U(?!g)|{_QUANTITY}Un", pieces.ahead),
    # last Monday evening
    ("weekday", r"Wf?T?[Lt>S]U|[Lt>S]U[jJ]?W|t?WP?l|W[LS](?!U)|t?[Lt>S]?WP?", pieces.weekday),
    # this morning
    ("hours", r"[Lt]P", pieces.part_of_day),
    # tomorrow evening
    ("today", r"DP?", pieces.day),
    # recently
    ("while", r"R", pieces.vague),
    # the fifth of next month
    ("of_month", r"[qO]f?[Lt>S]U|[qO]fTU", pieces.day_of),
    # last week; this year
    ("unit", r"TLU(?!f)|t?[L>S]U(?!f)|tU|(?<=E)[Tf]?U(?!f)", pieces.calendar_unit),
    # at the weekend
    ("weekend", r"(?:[ij]T|J)U(?![fbk])", pieces.the_weekend),
    # on the 5th
    (
        "nth_day",
        r"(?:jT|(?<=[uckbF])T|(?<=W)T)[qO](?![^,|pxAjJiTukbFcgtLSh])|(?<=o)Tq(?![^,|pxA])"
        r"|(?:J|j|(?<=[uckbF])J?T?)[qO](?![fMmvUWOPshK])",
        pieces.day_of_month,
    ),
    # the eighties, but not "in his eighties"
    ("decade", r"(?<!p)C", pieces.decade),
    # at half seven; at quarter past three
    ("clock", r"(?:8|(?<=j)h)[Nw](?!U)", pieces.clock),
    # in 2022; the year 2022
    ("year", rf"y|{_AFTER}Y|{_PAIR}Y|(?<=F)Y(?=[ou])|UY", pieces.year),
)
EXPRESSION = lazy_pattern("|".join(f"(?P<{name}>{rule})" for name, rule, _ in RULES))
TO_SPAN: dict[str, ToSpan] = {name: to_span for name, _, to_span in RULES}
