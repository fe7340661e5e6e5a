"""Words that speak about time, by language: data for `when`.

A table maps a word, or a few words, to a *kind* (one letter) and a value. The grammar in
`when_rules` knows kinds only, so that a further language is a further table. Words are in lower
case; a possessive 's is taken off before the look-up ("last year's").

| kind | what | value |
|---|---|---|
| D | a day | days from today, and the part of the day or None |
| R | a vague while | days from today, from and to |
| W | weekday | Monday is 0 |
| P | part of a day | hours from and to, counted from its midnight |
| M m v | month: certain; also a name or an abbreviation; also a verb | 1 to 12 |
| s | season | its first month in the north |
| H | feast | month, day, days |
| U | unit | its name |
| w O h a | number; ordinal; half; "a" | least and most; place; None; 1, 1 |
| L t > | last; this; next | None |
| E | early, middle, late | thirds from and to |
| g V | "ago" behind; "ago" or "before" in front | None |
| c b k u | since; before; after; until | None |
| B F A o | between; from; and; to | None |
| i j J f T | "in"; other prepositions; one with "the" in it; "of"; "the" | None |
| z | "this time" | None |
| x | what shows that a month's name before it is a verb | None |

N (a number in digits), q (7th), Y (a year), X (a whole date) and | (the end of a sentence) need no
table.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

CENTRES = frozenset("DRWPMmvsHU")  # without one of these, a text says no time but by a number

MORNING, AFTERNOON, EVENING, NIGHT = (5, 12), (12, 18), (17, 24), (18, 30)


class Words(Struct, frozen=True):
    """One language's words for time.

    Attributes:
        table: Word or words to kind and value.
        phrases: The entries of several words by their first word, the longest first.
        triggers: Words without one of which a text says no time.
        future: Words of plans: with one, "on Monday" is the coming Monday.
        past: Words that outweigh them.
        ordinal: What may follow the digits of an ordinal ("7th").
    """

    table: Mapping[str, tuple[str, Any]]
    phrases: Mapping[str, tuple[tuple[str, ...], ...]]
    triggers: frozenset[str]
    future: frozenset[str]
    past: frozenset[str]
    ordinal: frozenset[str]


def words(
    entries: Mapping[str, Mapping[str, Any]], *, future: str, past: str, ordinal: str = ""
) -> Words:
    """Make a table.

    Args:
        entries: By kind, words to values; "/" parts spellings of the same.
        future: Words of plans.
        past: Words of what was.
        ordinal: Endings of ordinals in digits.

    Returns:
        The table.
    """
    table = {
        spelling: (kind, value)
        for kind, group in entries.items()
        for spellings, value in group.items()
        for spelling in spellings.split("/")
    }
    phrases: dict[str, list[tuple[str, ...]]] = {}
    triggers = {word for word, (kind, _) in table.items() if kind in CENTRES and " " not in word}
    for phrase in sorted(table, key=len, reverse=True):
        first, *rest = phrase.split()
        if rest:
            phrases.setdefault(first, []).append((first, *rest))
            if table[phrase][0] in CENTRES and triggers.isdisjoint((first, *rest)):
                triggers.add(rest[-1])
    return Words(
        table=table,
        phrases={first: tuple(many) for first, many in phrases.items()},
        triggers=frozenset(triggers),
        future=frozenset(future.split()),
        past=frozenset(past.split()),
        ordinal=frozenset(ordinal.split()),
    )


def _numbers(names: str, first: int = 1, step: int = 1) -> dict[str, tuple[int, int]]:
    values = range(first, first + step * len(names.split()), step)
    return {name: (n, n) for name, n in zip(names.split(), values, strict=True)}


def _places(names: str, first: int = 1) -> dict[str, int]:
    return {name: place for place, name in enumerate(names.split(), first)}


def _bare(names: str) -> dict[str, None]:
    return dict.fromkeys(name.replace("_", " ") for name in names.split())


ENGLISH = words(
    {
        "D": {
            "today": (0, None),
            "yesterday": (-1, None),
            "tomorrow": (1, None),
            "the day before yesterday/day before yesterday": (-2, None),
            "the day after tomorrow/day after tomorrow": (2, None),
            "tonight": (0, NIGHT),
            "last night/yesterday night": (-1, NIGHT),
            "the night before last": (-2, NIGHT),
        },
        "R": {
            "recently/lately/of late": (-14, 1),
            "the other day/the other night/the other evening": (-10, -1),
            "the other week": (-21, -6),
        },
        "W": _places("monday tuesday wednesday thursday friday saturday sunday", 0),
        "P": {"morning": MORNING, "afternoon": AFTERNOON, "evening": EVENING, "night": NIGHT},
        "M": {
            "january": 1,
            "february": 2,
            "july": 7,
            "september": 9,
            "october": 10,
            "november": 11,
            "december": 12,
        },
        "m": {
            "april": 4,
            "june": 6,
            "august": 8,
            "jan": 1,
            "feb": 2,
            "apr": 4,
            "jun": 6,
            "jul": 7,
            "aug": 8,
            "sep/sept": 9,
            "oct": 10,
            "nov": 11,
            "dec": 12,
        },
        "v": {"march": 3, "may": 5},
        "s": {"spring": 3, "summer/summertime": 6, "autumn/fall": 9, "winter/wintertime": 12},
        "H": {
            "christmas/xmas": (12, 24, 3),
            "christmas eve": (12, 24, 1),
            "christmas day": (12, 25, 1),
            "boxing day": (12, 26, 1),
            "new year/new years": (12, 31, 2),
            "new year eve/new years eve": (12, 31, 1),
            "new year day/new years day": (1, 1, 1),
            "valentine day/valentines day": (2, 14, 1),
            "halloween": (10, 31, 1),
        },
        "U": {
            "minute/minutes": "minute",
            "hour/hours": "hour",
            "day/days": "day",
            "week/weeks": "week",
            "weekend/weekends": "weekend",
            "month/months": "month",
            "year/years": "year",
            "decade/decades": "decade",
        },
        "w": {
            **_numbers("one two three four five six seven eight nine ten eleven twelve thirteen"),
            **_numbers("fourteen fifteen sixteen seventeen eighteen nineteen", 14),
            **_numbers("twenty thirty forty fifty sixty seventy eighty ninety", 20, 10),
            "a couple of/couple of/a couple/couple": (2, 3),
            "a few/few/some": (2, 5),
            "several": (3, 7),
        },
        "O": {
            **_places("first second third fourth fifth sixth seventh eighth ninth tenth"),
            **_places("eleventh twelfth thirteenth fourteenth fifteenth sixteenth", 11),
            **_places("seventeenth eighteenth nineteenth twentieth", 17),
            "thirtieth": 30,
        },
        "h": _bare("half"),
        "a": {"a/an": (1, 1)},
        "L": _bare("last past previous"),
        "t": _bare("this these current"),
        ">": _bare("next coming upcoming following"),
        "E": {
            "early/the beginning of/beginning of/the start of/start of": (0, 1),
            "mid/middle of/the middle of": (1, 2),
            "late/the end of/end of/towards the end of": (2, 3),
        },
        "g": _bare("ago"),
        "c": _bare("since"),
        "b": _bare("before"),
        "k": _bare("after"),
        "u": _bare("until till by"),
        "B": _bare("between"),
        "F": _bare("from"),
        "A": _bare("and"),
        "o": _bare("to through"),
        "i": _bare("in within"),
        "j": _bare("on at during over around throughout"),
        "f": _bare("of"),
        "T": _bare("the"),
        "z": _bare("this_time"),
        "x": _bare(
            "i you he she we they it be have has not also well never just only ask say know think "
            "come need want see forward"
        ),
    },
    future="will ll shall gonna going plan plans planning planned upcoming hope hoping",
    past="did was were had said told went happened",
    ordinal="st nd rd th",
)


GERMAN = words(
    {
        "D": {
            "heute": (0, None),
            "gestern": (-1, None),
            "vorgestern": (-2, None),
            "morgen": (1, None),
            "übermorgen": (2, None),
            "heute morgen/heute früh": (0, MORNING),
            "gestern morgen/gestern früh": (-1, MORNING),
            "morgen früh": (1, MORNING),
            "heute nacht": (0, NIGHT),
            "letzte nacht": (-1, NIGHT),
        },
        "R": {"kürzlich/neulich/letztens/in letzter zeit": (-14, 1)},
        "W": {
            **_places("montag dienstag mittwoch donnerstag freitag samstag sonntag", 0),
            "sonnabend": 5,
        },
        "P": {"vormittag": MORNING, "nachmittag": AFTERNOON, "abend": EVENING, "nacht": NIGHT},
        "M": _places(
            "januar februar märz april mai juni juli august september oktober november dezember"
        ),
        "s": {"frühling/frühjahr": 3, "sommer": 6, "herbst": 9, "winter": 12},
        "H": {
            "weihnachten": (12, 24, 3),
            "heiligabend/heiligen abend": (12, 24, 1),
            "silvester": (12, 31, 1),
            "neujahr": (1, 1, 1),
        },
        "U": {
            "minute/minuten": "minute",
            "stunde/stunden": "hour",
            "tag/tage/tagen": "day",
            "woche/wochen": "week",
            "wochenende/wochenenden": "weekend",
            "monat/monate/monaten/monats": "month",
            "jahr/jahre/jahren/jahres": "year",
            "jahrzehnt/jahrzehnte/jahrzehnten": "decade",
        },
        "w": {
            **_numbers("zwei drei vier fünf sechs sieben acht neun zehn elf zwölf", 2),
            **_numbers("zwanzig dreißig", 20, 10),
            "ein paar/paar": (2, 5),
            "einige/einigen": (3, 7),
        },
        "O": {
            f"{stem}e/{stem}en/{stem}er": place
            for stem, place in _places(
                "erst zweit dritt viert fünft sechst siebt acht neunt"
            ).items()
        },
        "h": _bare("halbes halben halbe"),
        "a": {"ein/eine/einem/einer/einen": (1, 1)},
        "L": _bare("letzte letzten letzter letztes letztem vorige vorigen voriger voriges"),
        "t": _bare("diese diesen dieser dieses diesem"),
        ">": _bare("nächste nächsten nächster nächstes kommende kommenden kommendes"),
        "E": {"anfang": (0, 1), "mitte": (1, 2), "ende": (2, 3)},
        "V": _bare("vor"),
        "c": _bare("seit"),
        "k": _bare("nach"),
        "u": _bare("bis"),
        "B": _bare("zwischen"),
        "F": _bare("von"),
        "A": _bare("und"),
        "i": _bare("in innerhalb"),
        "J": _bare("am im zum"),
        "j": _bare("an um über zu"),
        "f": _bare("des"),
        "T": _bare("der die das den dem"),
    },
    future="werde wirst wird werden plane planen plan pläne",
    past="war waren habe hast hat haben hatte hatten sagte ging passierte",
)

LANGUAGES: Mapping[str, Words] = {"english": ENGLISH, "german": GERMAN}
