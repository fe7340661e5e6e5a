"""German words for time and tense; see ``core.language.time`` for the kinds."""

from slowcat_memory.core.language import time

_WEEKDAYS = "montag dienstag mittwoch donnerstag freitag samstag sonntag".split()
_PARTS = "morgen früh vormittag mittag nachmittag abend nacht".split()

TIME = time.time_words(
    {
        "D": {
            "heute": (0, None),
            "gestern": (-1, None),
            "vorgestern": (-2, None),
            "morgen": (1, None),
            "übermorgen": (2, None),
            "heute morgen/heute früh": (0, time.MORNING),
            "gestern morgen/gestern früh": (-1, time.MORNING),
            "morgen früh": (1, time.MORNING),
            "heute nacht": (0, time.NIGHT),
            "letzte nacht": (-1, time.NIGHT),
            "heute abend": (0, time.EVENING),
            "vorgestern nacht": (-2, time.NIGHT),
            "vorletzte nacht": (-2, time.NIGHT),
        },
        "G": {"acht tagen/acht tage": 7},  # "eight days" is a week
        "R": {"kürzlich/neulich/letztens/in letzter zeit": (-14, 1)},
        "W": {
            **time.places("montag dienstag mittwoch donnerstag freitag samstag sonntag", 0),
            "sonnabend": 5,
            **{f"{day}{part}": number for number, day in enumerate(_WEEKDAYS) for part in _PARTS},
        },
        "P": {
            "vormittag/früh/in der früh": time.MORNING,
            "mittag/mittags": (11, 14),
            "nachmittag": time.AFTERNOON,
            "abend/abends/abenden": time.EVENING,
            "nacht/nachts/nächten": time.NIGHT,
        },
        "M": {
            **{"januar/jänner": 1, "februar/feber": 2, "märz": 3, "juli": 7, "september": 9},
            **time.places("oktober november dezember", 10),
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
            "tag der deutschen einheit/tag der einheit": (10, 3, 1),
            "reformationstag/halloween": (10, 31, 1),
            "allerheiligen": (11, 1, 1),
            "rosenmontag": ("easter", -48, 1),
            "gründonnerstag": ("easter", -3, 1),
            "karfreitag": ("easter", -2, 1),
            "ostern/osterwochenende/ostertage/ostertagen": ("easter", -2, 4),
            "ostersonntag": ("easter", 0, 1),
            "ostermontag": ("easter", 1, 1),
            "himmelfahrt/christi himmelfahrt/vatertag": ("easter", 39, 1),
            "pfingsten/pfingstwochenende/pfingsttage/pfingsttagen": ("easter", 49, 2),
            "pfingstsonntag": ("easter", 49, 1),
            "pfingstmontag": ("easter", 50, 1),
            "fronleichnam": ("easter", 60, 1),
            "muttertag": ("may sunday", 7, 1),
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
            "ein paar/paar": (2, 5),
            "anderthalb/eineinhalb": (1.5, 1.5),
            "zweieinhalb": (2.5, 2.5),
            "einige/einigen": (3, 7),
        },
        "C": {
            f"den {name}ern/den {name}er jahren/die {name}er/die {name}er jahre": year
            for name, year in time.places(
                "fünfzig sechzig siebzig achtzig neunzig", 1950, 10
            ).items()
        },
        "h": "halbes halben halbe halb",
        "a": {"ein/eine/einem/einer/einen": (1, 1)},
        "L": (
            "letzte letzten letzter letztes letztem vorige vorigen voriger voriges "
            "vergangene vergangenen vergangener vergangenes vergangenem"
        ),
        "t": "diese diesen dieser dieses diesem",
        ">": "nächste nächsten nächster nächstes nächstem folgenden",
        "S": "kommende kommenden kommendes kommender kommendem",
        "Z": "vorletzte vorletzten vorletzter vorletztes vorletztem",
        "Q": "übernächste übernächsten übernächster übernächstes übernächstem",
        "e": "jede jeden jeder jedes jedem jeweils alle manche manchen",
        "E": {"anfang": (0, 1), "mitte": (1, 2), "ende": (2, 3)},
        "g": "her",
        "r": "zurück",
        "V": (
            "vor vor_etwa vor_ungefähr vor_rund vor_knapp vor_gut vor_circa vor_ca vor_fast vor_über "
            "vor_mehr_als vor_so vor_genau"
        ),
        "c": "seit",
        "k": "nach danach darauf",
        "u": "bis",
        "B": "zwischen",
        "F": "von vom",
        "A": "und",
        "i": ("in innerhalb in_etwa in_ungefähr in_rund in_gut in_knapp in_circa in_genau"),
        "J": {"am/ab dem/auf den": "on", "im/zum/beim/übers/ums/fürs/ans": None},
        "j": {"ab": "on", "an/um/über/zu/auf/für": None},
        "p": (
            "ist is sind war waren hat habe hab haben hatte hatten wird werde werden wurde wurden muss "
            "müssen soll kann will ich du er sie es wir ihr man mein meine unser unsere kommt kommen "
            "gibt geht fährt fahren fliegt fliegen beginnt fängt macht ja nein bitte also dann aber "
            "oder weil da hier wieder endlich prüfung termin hochzeit feier fest operation umzug urlaub "
            "konzert klausur abgabe elternabend examen guten_morgen schnee_von_gestern"
        ),
        "K": (
            "stock versuch platz gang schritt teil band absatz punkt mal rang spieltag arbeitstag "
            "schultag urlaubstag jahrestag geburtstag hochzeitstag kind anlauf akt satz"
        ),
        "z": "um_diese_zeit um_die_zeit",
        "f": "des",
        "T": "der die das den dem",
    },
    future="werde wirst wird werden plane planen plan pläne",
    past="war waren habe hast hat haben hatte hatten sagte ging passierte",
    ordinal=".",
    pronouns="ich du er sie es wir ihr man",
)

_PARTICIPLE = (
    r"(?!(?:gericht|geschäft|gesicht|gedicht|gebiet|gehalt|gewicht|gebot|gerät|geschlecht|gespenst|"
    r"gesellschaft|gewerkschaft|gelegenheit|gesundheit|gegend|gelten|geraden|geraten|geschwister\w*|"
    r"ersten|besten|unterricht|bericht|verlust|verdacht|verwandten|bekannten|gedanken|getränken|"
    r"erwachsenen|vereinen|verstand|unterkunft|gegen|genossen|\w*(?:ungen|heiten|keiten|schaften|stunden|arzt|amt|recht|gericht|unterricht|konzert|fahrt|markt|dienst|test|fest))"
    r"\b)(?:\w{0,10}ge\w{2,}(?:t|en)|\w{2,}iert|getan|angetan|weggetan|"
    r"(?:\w{2,4})?(?:be|ver|er|ent|zer|emp|miss|über|unter|wider)\w{2,}(?:t|en))"
)
# Participles that form the perfect with "sein"; with others "ist geplant" is a state.
_MOVED = (
    r"\w*(?:gegangen|gekommen|gefahren|geflogen|gestorben|gezogen|geworden|gewesen|geblieben|gelaufen|"
    r"gefallen|gestiegen|gesprungen|gewachsen|geschwommen|geritten|gereist|gewandert|gelandet|"
    r"gestartet|gestürzt|passiert|geschehen|erschienen|verschwunden|vergangen|entstanden|gewacht|"
    r"geschlafen|gestanden|geplatzt|gerannt|gerutscht|begegnet|gelungen|gebrochen|gebrannt|"
    r"gescheitert|gerissen|gesunken|erkrankt|verreist|gewandert|geklettert|geflohen|geraten|"
    r"verunglückt|verstorben|geboren|explodiert|eingezogen|gestolpert|gejoggt|spaziert|"
    r"umgekippt|gekippt|gerückt|gewechselt|gewechselt|eingetroffen|ertrunken|worden)"
)
_ARRANGED = (
    r"gebucht|bestellt|reserviert|vereinbart|ausgemacht|verschoben|verlegt|angesetzt|geplant|eingeplant|"
    r"eingeladen|angemeldet|vorgemerkt|abgesprochen|verabredet|angekündigt|festgelegt|terminiert|"
    r"zugesagt|abgemacht|vorgezogen|umgebucht|versprochen|beantragt|festgesetzt|eingetragen"
)
_WORD = r"(?:\s+(?:\d+\.|[^\s,.;!?]+))"
_HAVE = r"(?:habe|hab|hast|hat|haben|habt)(?:['’]?s\b)?(?!['’])"
_BE = r"(?:bin|bist|ist|is|sind|seid|isses)"
_PAST = time.alternatives(
    "war waren warst wart hatte hatten hattest hattet gab ging gingen kam kamen fuhr fuhren flog flogen "
    "blieb blieben fand fanden traf trafen sah sahen aß aßen nahm nahmen schrieb lief liefen las "
    "fiel half rief sprach starb zog zogen bekam bekamen begann begannen verlor schlief saß saßen "
    "stand standen hielt ließ wusste dachte brachte kannte machte machten sagte kaufte kauften "
    "feierte feierten arbeitete wohnte lebte spielte hörte fragte heiratete heirateten passierte "
    "geschah wurde wurden konnte konnten musste mussten durfte mochte bestand erzählte lernte "
    "kochte besuchte besuchten regnete schneite startete endete dauerte fehlte klappte merkte "
    "zeigte holte erreichte öffnete schloss gewann verkaufte suchte zerbrach wachte rannte tanzte "
    "verpasste vergaß trank unterschrieb erfuhr entschied erhielt verließ stürzte"
)
_PRESENT = time.alternatives(
    "bin bist ist is isses sind seid hat habe haben hab hast habt wird werde werden wirst werdet muss "
    "müssen musst müsst soll sollen sollst will wollen willst kann können kannst darf dürfen "
    "möchte möchten kommt kommen komme komm geht gehe gehen geh gehts fahre fahren fährt fahr "
    "fliege fliegen fliegt flieg ziehe ziehen zieht zieh beginnt beginnen fängt fange startet "
    "starte starten eröffnet öffnet schließt läuft laufe laufen endet findet finden treffe treffen "
    "trifft treff feiert feiern feiere besuche besuchen besucht mache machen macht mach gibt gibts "
    "gibt's heiratet heiraten heirate bekomme bekommt bekommen krieg kriege kriegen kriegt gelten gilt kriegen holt "
    "hole holen brauche brauchen braucht steht stehen bleibt bleibe bleiben arbeite arbeiten "
    "reist reise reisen liefern liefert wechsle wechselt wechseln tritt trete bringt "
    "bringe bringen spielt spiele spielen singt singe singen fällt fallen plane plant planen "
    "sehe sehen sieht würde würden hoffe freue sollte sollten könnte könnten ansteht stattfindet "
    "ruft rufe rufen schläft schlafe hilft helfe helfen lässt lasse liest lese schreibt schreibe "
    "zahlt zahle zahlen kauft kaufe kocht koche kochen isst esse lernt lerne putzt putze übernachtet "
    "anfängt losgeht umziehe umziehen umzieht denk ablaufen abläuft"
)

TENSE = time.tense_words(
    verbs={
        "neither": r"wollte|wollten|wolltest|hätte|hätten|wäre|wären|(?:sollte|sollten)\b.{0,80}\b\w+en\b",
        "ahead": (
            rf"(?:{_HAVE}|{_BE}|wurde|wurden|hatte|war)\b{_WORD}{{0,12}}?\s+(?:{_ARRANGED})|"
            rf"(?:{_ARRANGED})\s+(?:{_HAVE}|{_BE}|wurde|wurden)|"
            rf"{_BE}(?!{_WORD}{{0,14}}\s+{_MOVED}\b)(?<!worden )|"
            rf"{_HAVE}(?!{_WORD}{{0,14}}\s+{_PARTICIPLE}\b)|"
            rf"(?!{_BE}\b|{_HAVE}\b)(?:{_PRESENT})"
        ),
        "back": (
            rf"{_HAVE}\b{_WORD}{{0,14}}?\s+{_PARTICIPLE}|"
            rf"{_BE}\b{_WORD}{{0,14}}?\s+{_MOVED}|"
            rf"{_PARTICIPLE}\s+(?:{_HAVE}|hatte|hatten)|{_MOVED}\s+(?:{_BE}|war|waren)|{_PAST}|"
            r"(?<=\bich )(?!möchte|sollte|könnte|hätte|wollte|müsste|dürfte)\w{2,}te|"
            r"(?<=\bwir )(?!möchten|sollten|könnten|hätten|wollten|müssten)\w{2,}ten"
        ),
        "weak": "ich|wir|er|sie|es|man|denk dran|vergiss nicht|erinner mich|nicht vergessen",
    },
    clauses=(
        r"[,;:!?…\n]|(?<!\d)\.(?=\s|$)|\s[-–—]+\s|"
        r"\b(?:und|aber|weil|denn|sondern|oder|obwohl|während|also|dass|ob|wenn|wann)\b"
    ),
    begins=r"(?:der|die|das|mein\w*|unser\w*|sein\w*|ihr\w*|dein\w*)\s+\w+\s+\w+",
    before=r"für|für den|(?<!nacht )auf|(?<!nacht )auf den|bis|bis zum",
    moves=r"\w*(?:verschoben|verlegt|verschiebt|verlegen|verschieben|vorgezogen|geändert|umgebucht|getauscht)",
    arranges=(
        r"\w*(?:termine?|arzt|ärztin|prüfung(?:en)?|klausur|hochzeit|feier|party|fest|besprechung|konzert|"
        r"flug|zug|reise|operation|op|untersuchung|gespräch|interview|abgabe|vortrag|lieferung|"
        r"besichtigung|probe|spiel|turnier|lauf|marathon|beerdigung|abschluss|taufe|verhandlung|"
        r"besuch|abendessen|treffen|tagung|kurs|schulung|schule|dienst|schicht|urlaub|umzug|auftritt|"
        r"elternabend|einschulung|friseur|zahnarzt|tierarzt|optiker|krankengymnastik|frist|miete|"
        r"zeugnisse)"
    ),
    returns=(
        r"(?<!wie )(?:immer|meistens|meist|normalerweise|gewöhnlich|oft|manchmal|grundsätzlich|generell)|"
        r"gern|gerne|am liebsten|jede[nrsm]?|an wochenenden|liebe|liebt|lieben|hasse|hasst|"
        r"sonntags|montags|dienstags|mittwochs|donnerstags|freitags|samstags|"
        r"haben\s+die\s+(?:läden|geschäfte|supermärkte)|nie"
    ),
    as_such=r"liebe|liebt|mag|hasse|hasst|mögen|lieben|hassen|als|wie|lied|film|buch|über",
    in_general=r"(?:ist|is|sind)\s+(?!der\b|die\b|das\b|mein|unser|wieder\b|dann\b)",
    names=r"heißt|heisst|heißen|hieß|namens|genannt|nennt|nennen|name ist|tauft\w*",
    marks=(
        "der die das den dem ich wir ist und nicht mit ein eine einen mein meine unser habe haben hab hat "
        "am im zum zur für auf von zu war sind muss kommt wird werden dann auch noch bei nach es "
        "sie er du uns mir mich nur bloß mal halt eben ja jetzt immer wie vom beim im wegen diesmal wieder kein keine doch schon is hatte"
    ),
)
