"""German tenses; see ``core.language.tense``."""

from slowcat_memory.core.language.tense import TenseWords, alternatives

_PARTICIPLE = (
    r"(?!(?:gericht|geschäft|gesicht|gedicht|gebiet|gehalt|gewicht|gebot|gerät|geschlecht|gespenst|"
    r"gesellschaft|gewerkschaft|gelegenheit|gesundheit|gegend|gelten|geraden|geraten|geschwister\w*|"
    r"ersten|besten|unterricht|bericht|verlust|verdacht|verwandten|bekannten|gedanken|getränken|"
    r"erwachsenen|vereinen|verstand|unterkunft|gegen|genossen|\w*(?:ungen|heiten|keiten|schaften|stunden))"
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
_PAST = alternatives(
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
_PRESENT = alternatives(
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
    "anfängt losgeht umziehe umziehen umzieht denk ablaufen abläuft"
)

TENSE = TenseWords(
    clause=(
        r"[,;:!?…\n]|(?<!\d)\.(?=\s|$)|\s[-–—]+\s|"
        r"\b(?:und|aber|weil|denn|sondern|oder|obwohl|während|also|dass|ob|wenn|wann)\b"
    ),
    neither=r"wollte|wollten|wolltest|hätte|hätten|wäre|wären|(?:sollte|sollten)\b.{0,80}\b\w+en\b",
    ahead=(
        rf"(?:{_HAVE}|{_BE}|wurde|wurden|hatte|war)\b{_WORD}{{0,12}}?\s+(?:{_ARRANGED})|"
        rf"(?:{_ARRANGED})\s+(?:{_HAVE}|{_BE}|wurde|wurden)|"
        rf"{_BE}(?!{_WORD}{{0,14}}\s+{_MOVED}\b)(?<!worden )|"
        rf"{_HAVE}(?!{_WORD}{{0,14}}\s+{_PARTICIPLE}\b)|"
        rf"(?!{_BE}\b|{_HAVE}\b)(?:{_PRESENT})"
    ),
    back=(
        rf"{_HAVE}\b{_WORD}{{0,14}}?\s+{_PARTICIPLE}|"
        rf"{_BE}\b{_WORD}{{0,14}}?\s+{_MOVED}|"
        rf"{_PARTICIPLE}\s+(?:{_HAVE}|hatte|hatten)|{_MOVED}\s+(?:{_BE}|war|waren)|{_PAST}|"
        r"(?<=\bich )(?!möchte|sollte|könnte|hätte|wollte|müsste|dürfte)\w{2,}te|"
        r"(?<=\bwir )(?!möchten|sollten|könnten|hätten|wollten|müssten)\w{2,}ten"
    ),
    subject=r"(?:der|die|das|mein\w*|unser\w*|sein\w*|ihr\w*|dein\w*)\s+\w+\s+\w+",
    weak="ich|wir|er|sie|es|man|denk dran|vergiss nicht|erinner mich|nicht vergessen",
    arranged=r"für|für den|(?<!nacht )auf|(?<!nacht )auf den|bis|bis zum",
    moved=r"\w*(?:verschoben|verlegt|verschiebt|verlegen|verschieben|vorgezogen|geändert|umgebucht|getauscht)",
    appointments=(
        r"\w*(?:termine?|arzt|ärztin|prüfung(?:en)?|klausur|hochzeit|feier|party|fest|besprechung|konzert|"
        r"flug|zug|reise|operation|op|untersuchung|gespräch|interview|abgabe|vortrag|lieferung|"
        r"besichtigung|probe|spiel|turnier|lauf|marathon|beerdigung|abschluss|taufe|verhandlung|"
        r"besuch|abendessen|treffen|tagung|kurs|schulung|schule|dienst|schicht|urlaub|umzug|auftritt|"
        r"elternabend|einschulung|friseur|zahnarzt|tierarzt|optiker|krankengymnastik|frist|miete|"
        r"zeugnisse)"
    ),
    habit=(
        r"(?<!wie )(?:immer|meistens|meist|normalerweise|gewöhnlich|oft|manchmal|grundsätzlich|generell)|"
        r"gern|gerne|am liebsten|jede[nrsm]?|an wochenenden|liebe|liebt|lieben|hasse|hasst|"
        r"sonntags|montags|dienstags|mittwochs|donnerstags|freitags|samstags|"
        r"haben\s+die\s+(?:läden|geschäfte|supermärkte)|nie"
    ),
    spoken_of=r"liebe|liebt|mag|hasse|hasst|mögen|lieben|hassen|als|wie|lied|film|buch|über",
    as_subject=r"(?:ist|is|sind)\s+(?!der\b|die\b|das\b|mein|unser|wieder\b|dann\b)",
    named=r"heißt|heisst|heißen|hieß|namens|genannt|nennt|nennen|name ist|tauft\w*",
    naming=r"(?:ist|wäre|klingt)\s+(?:(?:ein|als|wie|so|doch|mein)\w*\s+)*(?:\w+\s+)?(?:vor)?name|(?:ist|war)\s+(?:der|die|das|mein\w*)\s+(?:best|schlimmst|liebst|lieblings|schönst|einzig|kürzest|längst)\w*",
    marks=frozenset(
        "der die das den dem ich wir ist und nicht mit ein eine einen mein meine unser habe haben hab hat "
        "am im zum zur für auf von zu war sind muss kommt wird werden dann auch noch bei nach es "
        "sie er du uns mir mich nur bloß mal halt eben ja jetzt immer wie vom beim im wegen diesmal wieder kein keine doch schon is hatte".split()
    ),
)
