"""German patterns: voice commands, overview questions, open threads."""

from slowcat_memory.core.language import table
from slowcat_memory.core.language.data import filled, read_toml, read_words
from slowcat_memory.core.language.word_classes import IntentWords, OrderWords

_WORDS = read_words(__package__)

OVERVIEW = table.OverviewWords(
    asks=(
        # worüber haben wir gesprochen
        r"\b(?:worüber|über was|wovon) (?:haben|hatten|sprachen|redeten) wir\b",
        r"\bwas (?:haben|hatten) wir (?:[\w.]+ ){0,4}(?:besprochen|beredet)\b",
        # fass die Woche zusammen
        r"\b(?:fasse?|fass) (?:[\w.]+ ){0,6}zusammen\b",
        r"\b(?:zusammenfassung|überblick) (?:über|von|der|des) (?:die |den |der |des )?"
        r"(?:letzten?|vergangenen?|diese[rs]?|woche|tage?s?|unser\w*)\b",
        # bring mich auf den neuesten Stand
        r"\bbring(?:e)? mich auf (?:den (?:neuesten|aktuellen|letzten) )?stand\b",
        # wo sind wir stehen geblieben
        r"\bwo (?:sind|waren) wir (?:stehen ?geblieben|zuletzt)\b",
        # was war letzte Woche los
        r"\bwas (?:war|ist) (?:so )?(?:[\w.]+ ){0,3}(?:los|passiert)\b",
    ),
    about_a_thing=(
        r"\b(?:passiert|los) (?:mit|bei) (?!mir\b|uns\b)\w+",
        r"\bmit (?!mir\b|uns\b)\w+ (?:los|passiert)\b",
    ),
)

ORDERS = read_toml(__package__, "orders.toml", OrderWords)

# As in English.
IMPORTANCE = (
    (r"\b(?:erinner\w*|merk dir|gemerkt|erzählt|erwähnt|gesagt)\b", 0.15),
    (r"\b(?:was|wer|wie) (?:ist|war|sind|waren|heißt) mein\w*\b|\bkennst du mein\w*\b", 0.15),
    (r"\b(?:letztes mal|vorher|früher|damals)\b", 0.10),
)

PROACTIVE = table.ProactiveWords(
    reminds=r"erinner\w* (?:mich|uns)|(?:mich|uns)\b.{0,60}\berinnern|erinnert werden|nicht vergessen",
    off=(
        r"abgesagt|fällt aus|ausgefallen|fällt flach|geplatzt|ins wasser gefallen|gestrichen|storniert|"
        r"absagen|cancel\w*|streichen|findet nicht statt|wird nichts|doch nicht|nicht mehr|gecancelt|aufgegeben"
    ),
    moved=r"\w*(?:verschoben|verlegt|verlegen|verschieben|vorgezogen|umgebucht)|(?:ist|war) nicht\b.{1,40}, sondern|"
    r"findet erst\b.{1,60}\bstatt",
    done=(
        r"erledigt|geklärt|fertig|geschafft|abgegeben|bezahlt|verkauft|repariert|vom tisch|abgehakt|"
        r"behoben|in ordnung gebracht|abgeschlossen|abgeholt|zurückbekommen|zurückgegeben|gelöst|"
        r"bestanden|unterschrieben|vorbei|(?:geht|läuft|fährt|funktioniert|startet|klingelt|heizt) wieder|"
        r"hinter mir|durch|(?:ist|sind|wurden?|habe?|haben|hat)\b.{0,40}\b(?:gebucht|organisiert|bestellt|"
        r"verlängert|bestätigt|geliefert|gereinigt|eingebaut|ersetzt|genehmigt|eingereicht|verschickt|"
        r"abgeschickt|ausgefüllt|gepackt|gekauft|gefunden|angemeldet|überwiesen|erstattet|beantragt)"
    ),
    did=(
        r"(?:ich|wir)?\s?(?:habe?|haben|hab|bin|sind)(?:\s+\S+){0,10}?\s+(?!gedacht|gehofft|vergessen|"
        r"verpasst|versucht|gewollt|geplant|gehört|gewesen|gehabt)\w*ge\w{2,}(?:t|en)"
    ),
    still_open=(
        r"nicht|nie|noch|kein\w*|fast|beinahe|wenn|sollte|müsste|muss|müssen|will|wollen|werde|vergessen|"
        r"morgen|nächste\w*|versucht"
    ),
    arrived=(
        r"angekommen|gekommen|kam(?:en)?(?: zurück)?|(?:ist|sind) (?:jetzt |endlich |schon )*(?:da|weg|"
        r"zurück|hier)|geantwortet|zugesagt|zugestimmt|hat (?:ja|nein) gesagt|habe?n?t? jetzt|ging an"
    ),
    awaited=(
        r"warte[nt]?|erwarte\w*|bestell\w*|verlänger\w*|abhol\w*|find\w*|such\w*|verkauf\w*|ergebnis\w*|"
        r"\w*werte|antwort\w*|fragen|geben|beantrag\w*|braucht?|brauche"
    ),
    helpers=r"ist|sind|war|waren|wurden?|hab|habe|haben|hat",
    generic=(
        "anrufen angerufen ruf rufen fragen gefragt sprechen gesprochen reden geredet sagen gesagt "
        "kümmern gekümmert machen gemacht tun getan gehen gegangen kaufen gekauft bezahlen holen "
        "geholt erinnern erinnert muss müssen will soll noch endlich jetzt schon plant planen "
        "vorhat vor haben finden gefunden bringen gebracht geben gegeben schreiben geschrieben "
        "immer kaputte kaputt neue neuen neuer alte alten sich werden möchte mal"
    ),
)

SUMMARY = filled(
    table.SummaryWords,
    _WORDS["summary"],
    points_back="er|sie|es|das|dies",
    own="ich|mein|meine|wir|unser",
    advice=r"ich (?:würde|empfehle|rate)|(?:du|sie) (?:könntest|solltest|könnten|sollten)|versuch(?:e|s)?|am besten (?:du|machst|nimmst|fragst)",
    advice_begins="mach|nimm|frag|ruf|prüf|schreib|trink|iss|lies|achte|vermeide|denk daran|pack|buche?|plane?|gönn dir",
)

NOTED = ("der nutzer", "die nutzerin", "der benutzer", "die benutzerin", "nutzer", "benutzer")

_IS = (
    "ist|sind|war|waren|bin|hat|haben|hatte|habe|heißt|heiße|wohnt|wohne|wohnen|arbeitet|arbeite|"
    "mag|kann|muss|soll|will|kommt|geht|liegt|trinkt|isst|lebt|lebe|beginnt"
)

COMMANDS = filled(
    table.CommandWords,
    _WORDS["commands"],
    parts={
        "keep": "(?:merk|merke|merkt) (?:es )?dir|(?:denk|denke) (?:daran|dran)|"
        "(?:erinner|erinnere) dich(?: daran)?|(?:behalt|behalte)(?: im kopf)?|"
        "(?:notier|notiere|speicher|speichere)(?: dir)?",
        "for_all": "für (?:alle|uns alle|uns|die (?:ganze )?familie|jeden)",
        "polite": "(?: bitte| mal| doch| auch)*",
        "forget": "vergiss|lösch|lösche|streich|streiche",
        "wrong": "das (?:stimmt (?:so )?nicht|ist (?:falsch|nicht richtig|nicht wahr|verkehrt))",
    },
    rules=(
        table.CommandRule(
            kind="remember",
            says="(?:{keep}){polite}(?: (?P<shared>{for_all}))?{polite} dass {x}",
        ),
        table.CommandRule(
            kind="forget_that", says="(?:{forget}) (?:das|dies)(?: {polite})?{polite}(?: wieder)?"
        ),
        table.CommandRule(
            kind="forget_about",
            says="(?:{forget}){polite} alles(?: was du)? über {x}?(?: weißt| gespeichert hast| "
            "gemerkt hast)?",
            needs="(?!das$|es$|(?:mich|uns|alles)\\b)",
            max_words=5,
        ),
        table.CommandRule(
            kind="correct",
            says="(?:nein )*(?:{wrong}) {x}",
            needs="(?:ich|wir|er|sie|es) \\S+ \\S|(?:meine?|unsere?|seine?|ihre?|der|die|das) "
            f"(?:\\S+ ){{1,3}}(?:{_IS})\\b|\\S+ (?:ist|war|heißt|wohnt)\\b",
        ),
        table.CommandRule(
            kind="correct",
            says="(?:nein|nee) {x}",
            needs="(?:es|sie|er|das|(?:sein|ihr|mein|der) name) (?:ist|heißt) "
            "(?:nicht (?:\\S+ ){1,3}sondern \\S+|(?:\\S+ ){1,4}nicht (?:\\S+ ?){1,4}|"
            "\\S+ (?:geschrieben )?mit (?:einem |'nem )?\\S+$)",
            max_words=10,
        ),
        table.CommandRule(
            kind="correct",
            says="{x}",
            needs="ich (?:sagte|meinte|hab(?:e)? gesagt) (?:\\S+ ){1,3}(?:und )?nicht (?:\\S+ ?){1,3}$",
            max_words=9,
        ),
        table.CommandRule(
            kind="off_record",
            says="(?:off|of) the record|(?:{keep}) (?:das|dies)(?: jetzt| bitte)* nicht|"
            "(?:das|dies)(?: jetzt| bitte)* nicht "
            "(?:merken|speichern|notieren|behalten)",
        ),
        table.CommandRule(kind="undo", says="rückgängig(?: machen)?"),
    ),
    intents=read_toml(__package__, "intents.toml", IntentWords),
    no_order=(
        "(?:ist|sind|war|bin|bist|bleibt) (?:das|dies|wir|es|alles|du|ich)\\b|"
        "(?:hast|nimmst|schreibst|zeichnest|merkst|hörst|speicherst) du\\b(?!.* (?:bitte|mal)\\b)|"
        "(?:\\S+ ){0,3}du (?:vergisst|erinnerst dich|merkst dir) (?:\\S+ )*"
        "(?:nie|immer|auch|ja|eh|dauernd|ständig)\\b"
    ),
    answers=(
        table.CommandRule(
            kind="yes",
            says="(?:ja|klar|gerne|mach das|(?:ja )?(?:{forget}) (?:sie|es|das|alles))",
        ),
        table.CommandRule(
            kind="no",
            says="(?:nein|nee|lieber nicht|abbrechen|lass es|"
            "(?:nein )*(?:behalt|behalte) (?:sie|es|das|alles))",
        ),
    ),
    right_value=(
        r"(?:(?:es|er|sie|das) (?:ist|heißt|heisst|war)|ich meinte|ich sagte|"
        r"(?:sein|ihr|mein|der) name ist)(?: (?:am|im|um|in|an|der|die|das|ein|eine))* "
    ),
    right_and_wrong=(
        r"\bnicht(?: (?:am|im|um|in|der|die|das))* (?P<y>.+?),? sondern"
        r"(?: (?:am|im|um|in|der|die|das))* (?P<x>.+)$|"
        r"(?:ist|heißt|heisst|war|sagte|meinte)(?: (?:am|im|um|in|der|die|das))* (?P<w>.+?),? (?:und )?"
        r"nicht(?: (?:am|im|um|in|der|die|das))* (?P<z>.+)$"
    ),
    spelt=r" (?:(?:geschrieben|geschrieben wird) )?mit (?:einem |'nem )?\w\b.*$",
    right_vague=r"(?:es|er|sie|das|dies|ihn|ihm|ihr|sein|seine|ihre)\b",
    own="ich|mein|meine|meinen|meinem|meiner|wir|unser|unsere|unseren",
)
