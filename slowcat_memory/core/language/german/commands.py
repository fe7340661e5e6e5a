"""German."""

from slowcat_memory.core.language.commands import Phrases, Rule

_IS = (
    "ist|sind|war|waren|bin|hat|haben|hatte|habe|heißt|heiße|wohnt|wohne|wohnen|arbeitet|arbeite|"
    "mag|kann|muss|soll|will|kommt|geht|liegt|trinkt|isst|lebt|lebe|beginnt"
)
_WHO = "ich|meine?|mein|wir|unsere?|unser|er|sie|es|seine?|ihre?|der|die|das"

GERMAN = Phrases(
    before=(
        "nein", "ähm", "äh", "hm", "hey", "hallo", "ok", "okay", "also", "so", "na", "gut", "ja", "ach",
        "bitte", "oh", "nun", "jetzt", "und", "aber", "moment", "warte", "ab jetzt", "von jetzt an",
        "doch", "kannst du", "könntest du", "würdest du", "du kannst", "du darfst",
        "ich möchte dass du",
    ),
    after=("bitte", "danke", "ja", "okay", "ok", "gell", "kannst du"),
    after_plain=("jetzt", "wieder", "gleich", "mal", "kurz", "erst mal", "fürs erste", "eigentlich"),
    parts={
        "keep": "(?:merk|merke|merkt) (?:es )?dir|(?:denk|denke) (?:daran|dran)|"
        "(?:erinner|erinnere) dich(?: daran)?|(?:behalt|behalte)(?: im kopf)?|"
        "(?:notier|notiere|speicher|speichere)(?: dir)?",
        "for_all": "für (?:alle|uns alle|uns|die (?:ganze )?familie|jeden)",
        "polite": "(?: bitte| mal| doch| auch)*",
        "forget": "vergiss|lösch|lösche|streich|streiche",
        "wrong": "das (?:stimmt (?:so )?nicht|ist (?:falsch|nicht richtig|nicht wahr|verkehrt))",
        "here": "auf diesem (?:gerät|rechner|computer)|unter uns|bei uns|für dich|lokal",
    },
    rules=(
        Rule(
            kind="remember",
            says="(?:{keep}){polite}(?: (?P<shared>{for_all}))?{polite} dass {x}",
            asks=False,
        ),
        Rule(kind="remember", says="dir{polite} merken dass {x}"),
        Rule(
            kind="remember",
            says="{x} (?:merk|merke) dir das{polite}(?: (?P<shared>{for_all}))?",
            needs=f"(?:{_WHO}) \\S|(?:\\S+ ){{1,3}}(?:{_IS})\\b",
            asks=False,
        ),
        Rule(kind="forget_that", says="(?:{forget}) (?:das|dies)(?: {polite})?{polite}(?: wieder)?"),
        Rule(
            kind="forget_that",
            says="(?:{forget}) was (?:ich|wir)(?: dir)?(?: da| eben| gerade| grade| jetzt)* "
            "(?:gesagt|erzählt|besprochen)(?: habe| haben| hab)?",
        ),
        Rule(kind="forget_that", says="das{polite}(?: wieder)? (?:vergessen|löschen)"),
        Rule(
            kind="forget_about",
            says="(?:{forget}){polite} alles(?: was du)? über {x}?(?: weißt| gespeichert hast| "
            "gemerkt hast)?",
            never="das\\b$|es\\b$",
            most=5,
        ),
        Rule(
            kind="correct",
            says="(?:nein )*(?:{wrong}) {x}",
            needs="(?:ich|wir|er|sie|es) \\S+ \\S|(?:meine?|unsere?|seine?|ihre?|der|die|das) "
            f"(?:\\S+ ){{1,3}}(?:{_IS})\\b|\\S+ (?:ist|war|heißt|wohnt)\\b",
            asks=False,
        ),
        Rule(
            kind="correct",
            says="nein {x}",
            needs="(?:es|sie|er) (?:ist|heißt) (?:nicht (?:\\S+ ){1,3}sondern \\S+|"
            "(?:\\S+ ){1,4}nicht (?:\\S+ ?){1,4})",
            most=10,
            asks=False,
        ),
        Rule(
            kind="what_known",
            says="was (?:alles )?(?:weißt|weisst) du (?:so |alles |eigentlich )*über mich",
        ),
        Rule(
            kind="what_known",
            says="was (?:alles )?hast du (?:dir )?(?:so |alles )*über mich "
            "(?:gemerkt|gespeichert|notiert|gelernt|behalten)",
        ),
        Rule(
            kind="what_known",
            says="(?:sag|sage|erzähl|erzähle) mir(?: alles)?(?: bitte)? was du (?:alles )?über mich "
            "weißt",
        ),
        Rule(kind="why", says="(?:warum|wieso|weshalb) hast du das (?:gerade |eben )?gesagt"),
        Rule(kind="why", says="(?:warum|wieso|weshalb) (?:sagst|erzählst) du (?:mir )?(?:das|so was)"),
        Rule(kind="why", says="wie kommst du (?:darauf|drauf)"),
        Rule(kind="why", says="wer hat dir das (?:gesagt|erzählt)"),
        Rule(kind="why", says="woher (?:weißt|weisst|hast) du das"),
        Rule(
            kind="off_record",
            says="(?:(?:das|dies) )?(?:bitte )?nicht (?:mehr )?(?:mitschreiben|aufzeichnen|"
            "mithören|protokollieren|aufnehmen)",
        ),
        Rule(kind="off_record", says="hör(?:e)?(?: bitte)? auf (?:mitzuschreiben|aufzuzeichnen)"),
        Rule(
            kind="off_record",
            says="(?:schreib|schreibe|zeichne) (?:das |jetzt )?(?:bitte )?nicht (?:mehr )?"
            "(?:mit|auf)",
        ),
        Rule(kind="off_record", says="(?:off|of) the record"),
        Rule(kind="off_record", says="(?:merk|merke) dir (?:ab jetzt |jetzt |davon )*nichts(?: mehr)?"),
        Rule(kind="off_record", says="(?:mach|schalt|schalte) dein gedächtnis aus"),
        Rule(
            kind="on_record",
            says="wieder (?:mitschreiben|aufzeichnen|protokollieren)|back on the record",
        ),
        Rule(kind="on_record", says="(?:mach|schalt|schalte) dein gedächtnis wieder (?:an|ein)"),
        Rule(kind="on_record", says="(?:merk|merke) dir (?:jetzt )?wieder alles"),
        Rule(kind="on_record", says="(?:schreib|zeichne) (?:jetzt |bitte )*wieder (?:mit|auf)"),
        Rule(
            kind="who_sees",
            says="wer (?:kann|könnte|darf) (?:das|dies|das hier)(?: alles)? "
            "(?:sehen|lesen|hören|einsehen)",
        ),
        Rule(kind="who_sees", says="wer (?:sieht|liest) das(?: hier| alles)?"),
        Rule(kind="who_sees", says="wer hat (?:zugriff|zugang) (?:darauf|dazu)"),
        Rule(kind="undo", says="(?:mach|mache) das(?: bitte)? (?:wieder )?rückgängig"),
        Rule(kind="undo", says="rückgängig(?: machen)?"),
        Rule(kind="undo", says="das(?: bitte)? (?:wieder )?rückgängig machen"),
        Rule(kind="undo", says="(?:nein )+(?:bitte )?(?:behalt|behalte) (?:es|das|sie)(?: doch)?"),
        Rule(kind="undo", says="(?:behalt|behalte) (?:es|das) doch"),
        Rule(
            kind="local",
            says="das (?:bleibt|soll|muss) (?:{here})(?: bleiben)?",
        ),
        Rule(kind="local", says="(?:behalt|behalte|lass) das(?: bitte)? (?:{here})"),
    ),
    answers=(
        Rule(
            kind="yes",
            says="(?:ja|klar|gerne|mach das|(?:ja )?(?:{forget}) (?:sie|es|das|alles))",
        ),
        Rule(
            kind="no",
            says="(?:nein|nee|lieber nicht|abbrechen|lass es|"
            "(?:nein )*(?:behalt|behalte) (?:sie|es|das|alles))",
        ),
    ),
    requests=("kannst du", "könntest du", "würdest du"),
    own="ich|mein|meine|meinen|meinem|meiner|wir|unser|unsere|unseren",
    everything=frozenset({"mich", "uns", "alles"}),
    months=(
        "Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September",
        "Oktober", "November", "Dezember",
    ),
    says={
        "remembered": "Ich merke mir: {text}.",
        "remembered_shared": "Ich merke mir für euch alle: {text}.",
        "remembered_alone": "Ich merke mir: {text}; nur für dich, denn hier ist kein Gedächtnis "
        "geteilt.",
        "forgotten": "Das habe ich vergessen; sag innerhalb von {minutes} „mach das rückgängig“, "
        "dann ist es wieder da.",
        "forgotten_many": "Ich habe {things} vergessen; sag innerhalb von {minutes} "
        "„mach das rückgängig“, dann ist es wieder da.",
        "nothing_to_forget": "In diesem Gespräch gibt es noch nichts, was ich vergessen könnte.",
        "nothing_about": "Über {about} habe ich nichts gefunden.",
        "ask_forget": "Soll ich {things} über {about} vergessen? Sag: ja, vergiss sie.",
        "everything": "Das wäre alles; nimm dafür bitte den Befehl slowcat-memory forget.",
        "kept": "Ich behalte alles.",
        "corrected": "Danke, das habe ich berichtigt: {text}.",
        "nothing_to_correct": "Ich weiß nicht, welche Erinnerung das berichtigt, und merke es mir "
        "so, wie du es gesagt hast: {text}.",
        "about": "Zu „{old}“: Das ist falsch, {text}.",
        "undone": "Gut, das ist rückgängig gemacht.",
        "brought_back": "Gut, ich habe es wieder.",
        "nothing_to_undo": "Es gibt nichts, was ich rückgängig machen könnte.",
        "too_late": "Das ist endgültig gelöscht und kommt nicht wieder.",
        "know": "Ich weiß {things} über dich: {items}.",
        "know_more": "Ich weiß {things} über dich, vor allem: {items}, und {more} mehr.",
        "know_nothing": "Ich weiß noch nichts über dich.",
        "why": "Ich hatte dies im Sinn: {items}.",
        "why_nothing": "Dazu lag mir keine Erinnerung vor; es kam aus diesem Gespräch oder vom "
        "Modell selbst.",
        "why_item": "{when} sagte {who} „{text}“",
        "why_note": "{when} sollte ich mir merken „{text}“",
        "i": "ich",
        "who": "Was du sagst, liegt im Gedächtnis namens {scope}, nur auf diesem Gerät, und {llm}.",
        "who_local": "das Sprachmodell, das antwortet, läuft auch auf diesem Gerät",
        "who_remote": "das Sprachmodell, das antwortet, läuft auf einem anderen Gerät und sieht, "
        "was gesagt wird und was mir dazu einfällt",
        "who_unknown": "das Sprachmodell, das antwortet, sieht, was gesagt wird und was mir dazu "
        "einfällt",
        "off": "Ab jetzt behalte ich nichts.",
        "on": "Ich schreibe wieder mit.",
        "local": "Das bleibt auf diesem Gerät.",
        "local_nothing": "Es gibt noch nichts, was ich auf diesem Gerät behalten könnte.",
        "failed": "Das hat mein Gedächtnis leider nicht geschafft.",
        "late": "Mein Gedächtnis ist noch damit beschäftigt; frag gleich noch einmal.",
        "thing": "1 Sache",
        "things": "{n} Dinge",
        "minute": "einer Minute",
        "minutes": "{n} Minuten",
        "today": "heute",
        "yesterday": "gestern",
        "on_day": "am {day}. {month}",
    },
)  # fmt: skip
