"""German words for time; see ``core.language.time`` for the kinds."""

from slowcat_memory.core.language.time import (
    AFTERNOON,
    EVENING,
    MORNING,
    NIGHT,
    numbers,
    places,
    time_words,
    valueless,
)

TIME = time_words(
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
            **places("montag dienstag mittwoch donnerstag freitag samstag sonntag", 0),
            "sonnabend": 5,
        },
        "P": {"vormittag": MORNING, "nachmittag": AFTERNOON, "abend": EVENING, "nacht": NIGHT},
        "M": places(
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
            **numbers("zwei drei vier fünf sechs sieben acht neun zehn elf zwölf", 2),
            **numbers("zwanzig dreißig", 20, 10),
            "ein paar/paar": (2, 5),
            "einige/einigen": (3, 7),
        },
        "O": {
            f"{stem}e/{stem}en/{stem}er": place
            for stem, place in places(
                "erst zweit dritt viert fünft sechst siebt acht neunt"
            ).items()
        },
        "h": valueless("halbes halben halbe"),
        "a": {"ein/eine/einem/einer/einen": (1, 1)},
        "L": valueless("letzte letzten letzter letztes letztem vorige vorigen voriger voriges"),
        "t": valueless("diese diesen dieser dieses diesem"),
        ">": valueless("nächste nächsten nächster nächstes kommende kommenden kommendes"),
        "E": {"anfang": (0, 1), "mitte": (1, 2), "ende": (2, 3)},
        "V": valueless("vor"),
        "c": valueless("seit"),
        "k": valueless("nach"),
        "u": valueless("bis"),
        "B": valueless("zwischen"),
        "F": valueless("von"),
        "A": valueless("und"),
        "i": valueless("in innerhalb"),
        "J": valueless("am im zum"),
        "j": valueless("an um über zu"),
        "f": valueless("des"),
        "T": valueless("der die das den dem"),
    },
    future="werde wirst wird werden plane planen plan pläne",
    past="war waren habe hast hat haben hatte hatten sagte ging passierte",
)
