"""German words for time; see ``core.language.time`` for the kinds."""

from slowcat_memory.core.language.time import (
    AFTERNOON,
    EVENING,
    MORNING,
    NIGHT,
    places,
    time_words,
    valueless,
)

_WEEKDAYS = "montag dienstag mittwoch donnerstag freitag samstag sonntag".split()
_PARTS = "morgen früh vormittag mittag nachmittag abend nacht".split()
_ONES = "ein zwei drei vier fünf sechs sieben acht neun".split()
_TEENS = "zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn".split()
_TENS = "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig".split()
_FIRST = "erst zweit dritt viert fünft sechst siebt acht neunt".split()


def _cardinal(n: int) -> str:
    if n < 10:
        return _ONES[n - 1]
    if n < 20:
        return _TEENS[n - 10]
    ones, tens = n % 10, _TENS[n // 10 - 2]
    return f"{_ONES[ones - 1]}und{tens}" if ones else tens


CARDINALS = {n: _cardinal(n) for n in range(2, 100)}
ORDINALS = {
    n: _FIRST[n - 1] if n < 10 else f"{_cardinal(n)}{'t' if n < 20 else 'st'}" for n in range(1, 32)
}
YEARS = {
    **{1900 + n: f"neunzehnhundert{_cardinal(n)}" for n in range(10, 100)},
    **{2000 + n: f"zweitausend{_cardinal(n)}" for n in range(1, 100)},
}

TIME = time_words(
    {
        "D": {
            "heute": (0, None),
            "gestern": (-1, None),
            "vorgestern": (-2, None),
            "morgen": (1, None),
            "übermorgen": (2, None),
            "vorvorgestern": (-3, None),
            "heute morgen/heute früh": (0, MORNING),
            "gestern morgen/gestern früh": (-1, MORNING),
            "morgen früh": (1, MORNING),
            "heute nacht": (0, NIGHT),
            "letzte nacht": (-1, NIGHT),
            "heute abend": (0, EVENING),
            "vorgestern nacht": (-2, NIGHT),
            "vorletzte nacht": (-2, NIGHT),
        },
        "G": {"acht tagen/acht tage": 7},  # "eight days" is a week
        "R": {"kürzlich/neulich/letztens/in letzter zeit": (-14, 1)},
        "d": places("montagen dienstagen mittwochen donnerstagen freitagen samstagen sonntagen", 0),
        "W": {
            **places("montag dienstag mittwoch donnerstag freitag samstag sonntag", 0),
            "sonnabend": 5,
            **{f"{day}{part}": number for number, day in enumerate(_WEEKDAYS) for part in _PARTS},
        },
        "P": {
            "vormittag/früh/in der früh": MORNING,
            "mittag/mittags": (11, 14),
            "nachmittag": AFTERNOON,
            "abend/abends/abenden": EVENING,
            "nacht/nachts/nächten": NIGHT,
        },
        "M": {
            **{"januar/jänner": 1, "februar/feber": 2, "märz": 3, "juli": 7, "september": 9},
            **places("oktober november dezember", 10),
        },
        "m": {"april": 4, "mai": 5, "juni": 6, "august": 8},
        "s": {"frühling/frühjahr": 3, "sommer": 6, "herbst": 9, "winter": 12},
        "H": {
            "weihnachten": (12, 24, 3),
            "heiligabend/heiligen abend": (12, 24, 1),
            "silvester": (12, 31, 1),
            "zwischen den jahren": (12, 27, 5),
            "neujahr/neujahrstag": (1, 1, 1),
            "erster weihnachtstag/ersten weihnachtstag": (12, 25, 1),
            "erster weihnachtsfeiertag/ersten weihnachtsfeiertag": (12, 25, 1),
            "zweiter weihnachtstag/zweiten weihnachtstag": (12, 26, 1),
            "zweiter weihnachtsfeiertag/zweiten weihnachtsfeiertag": (12, 26, 1),
            "weihnachtstage/weihnachtstagen/weihnachtsfeiertage/weihnachtsfeiertagen": (12, 24, 3),
            "nikolaus/nikolaustag": (12, 6, 1),
            "heilige drei könige/dreikönigstag": (1, 6, 1),
            "valentinstag": (2, 14, 1),
            "tag der arbeit": (5, 1, 1),
            "tag der deutschen einheit": (10, 3, 1),
            "reformationstag": (10, 31, 1),
            "allerheiligen": (11, 1, 1),
            "martinstag": (11, 11, 1),
            "rosenmontag": ("easter", -48, 1),
            "faschingsdienstag": ("easter", -47, 1),
            "aschermittwoch": ("easter", -46, 1),
            "palmsonntag": ("easter", -7, 1),
            "gründonnerstag": ("easter", -3, 1),
            "karfreitag": ("easter", -2, 1),
            "karsamstag": ("easter", -1, 1),
            "ostern/osterwochenende/ostertage/ostertagen": ("easter", -2, 4),
            "weiberfastnacht": ("easter", -52, 1),
            "mariä himmelfahrt": (8, 15, 1),
            "tag der einheit": (10, 3, 1),
            "halloween": (10, 31, 1),
            "ostersonntag": ("easter", 0, 1),
            "ostermontag": ("easter", 1, 1),
            "himmelfahrt/christi himmelfahrt/vatertag": ("easter", 39, 1),
            "pfingsten/pfingstwochenende/pfingsttage/pfingsttagen": ("easter", 49, 2),
            "pfingstsonntag": ("easter", 49, 1),
            "pfingstmontag": ("easter", 50, 1),
            "fronleichnam": ("easter", 60, 1),
            "muttertag": ("may sunday", 7, 1),
            "erster advent/ersten advent": ("advent", 0, 1),
            "zweiter advent/zweiten advent": ("advent", 7, 1),
            "dritter advent/dritten advent": ("advent", 14, 1),
            "vierter advent/vierten advent": ("advent", 21, 1),
            "totensonntag": ("advent", -7, 1),
        },
        "I": {
            "advent": ("advent", 0, 7),
            "weihnachtstag/weihnachtsfeiertag": (12, 25, 1),
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
            **{word: (n, n) for n, word in CARDINALS.items()},
            "ein paar/paar": (2, 5),
            "anderthalb/eineinhalb": (1.5, 1.5),
            "zweieinhalb": (2.5, 2.5),
            "einige/einigen": (3, 7),
        },
        "O": {f"{stem}e/{stem}en/{stem}er": place for place, stem in ORDINALS.items()},
        "C": {
            f"den {name}ern/den {name}er jahren/die {name}er/die {name}er jahre": 1900 + 10 * place
            for name, place in places("fünfzig sechzig siebzig achtzig neunzig", 5).items()
        },
        "y": {word: year for year, word in YEARS.items()},
        "h": valueless("halbes halben halbe halb"),
        "a": {"ein/eine/einem/einer/einen": (1, 1)},
        "L": valueless(
            "letzte letzten letzter letztes letztem vorige vorigen voriger voriges "
            "vergangene vergangenen vergangener vergangenes vergangenem"
        ),
        "t": valueless("diese diesen dieser dieses diesem"),
        ">": valueless("nächste nächsten nächster nächstes nächstem folgenden"),
        "S": valueless("kommende kommenden kommendes kommender kommendem"),
        "Z": valueless("vorletzte vorletzten vorletzter vorletztes vorletztem"),
        "Q": valueless("übernächste übernächsten übernächster übernächstes übernächstem"),
        "e": valueless("jede jeden jeder jedes jedem jeweils alle manche manchen"),
        "E": {"anfang": (0, 1), "mitte": (1, 2), "ende": (2, 3)},
        "g": valueless("her"),
        "r": valueless("zurück"),
        "V": valueless(
            "vor vor_etwa vor_ungefähr vor_rund vor_knapp vor_gut vor_circa vor_ca vor_fast vor_über "
            "vor_mehr_als vor_so vor_genau"
        ),
        "c": valueless("seit"),
        "k": valueless("nach danach darauf"),
        "u": valueless("bis"),
        "B": valueless("zwischen"),
        "F": valueless("von vom"),
        "A": valueless("und"),
        "i": valueless(
            "in innerhalb in_etwa in_ungefähr in_rund in_gut in_knapp in_circa in_genau"
        ),
        "J": {
            "am": "on",
            "ab dem": "on",
            "auf den": "on",
            **valueless("im zum beim übers ums fürs ans"),
        },
        "j": {"ab": "on", **valueless("an um über zu auf für")},
        "p": valueless(
            "ist is sind war waren hat habe hab haben hatte hatten wird werde werden wurde wurden muss "
            "müssen soll kann will ich du er sie es wir ihr man mein meine unser unsere kommt kommen "
            "gibt geht fährt fahren fliegt fliegen beginnt fängt macht ja nein bitte also dann aber "
            "oder weil da hier wieder endlich prüfung termin hochzeit feier fest operation umzug urlaub "
            "konzert klausur abgabe elternabend examen"
        ),
        "K": valueless(
            "stock versuch platz gang schritt teil band absatz punkt mal rang spieltag arbeitstag "
            "schultag urlaubstag jahrestag geburtstag hochzeitstag kind anlauf akt satz"
        ),
        "z": valueless("um_diese_zeit um_die_zeit"),
        "f": valueless("des"),
        "T": valueless("der die das den dem"),
    },
    future="werde wirst wird werden plane planen plan pläne",
    past="war waren habe hast hat haben hatte hatten sagte ging passierte",
    ordinal=".",
    capitalised=True,
    pronouns="ich du er sie es wir ihr man",
)
