"""German voice commands to the memory."""

from slowcat_memory.core.language.data import phrase_list, read_words, word_set
from slowcat_memory.core.language.intents import read_intent_words
from slowcat_memory.core.language.table import CommandRule, CommandWords, rules_of

_WORDS = read_words(__package__)["commands"]

_IS = (
    "ist|sind|war|waren|bin|hat|haben|hatte|habe|heißt|heiße|wohnt|wohne|wohnen|arbeitet|arbeite|"
    "mag|kann|muss|soll|will|kommt|geht|liegt|trinkt|isst|lebt|lebe|beginnt"
)
_WHO = "ich|meine?|mein|wir|unsere?|unser|er|sie|es|seine?|ihre?|der|die|das"

COMMANDS = CommandWords(
    before=phrase_list(_WORDS["before"]),
    after=phrase_list(_WORDS["after"]),
    after_plain=phrase_list(_WORDS["after_plain"]),
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
        CommandRule(
            kind="remember",
            says="(?:{keep}){polite}(?: (?P<shared>{for_all}))?{polite} dass {x}",
            may_ask=False,
        ),
        CommandRule(kind="remember", says="dir{polite} merken dass {x}"),
        CommandRule(
            kind="remember",
            says="{x} (?:merk|merke) dir das{polite}(?: (?P<shared>{for_all}))?",
            needs=f"(?:{_WHO}) \\S|(?:\\S+ ){{1,3}}(?:{_IS})\\b",
            may_ask=False,
        ),
        *rules_of(
            "forget_that",
            "(?:{forget}) (?:das|dies)(?: {polite})?{polite}(?: wieder)?",
            (
                "(?:{forget}) was (?:ich|wir)(?: dir)?(?: da| eben| gerade| grade| jetzt)* "
                "(?:gesagt|erzählt|besprochen)(?: habe| haben| hab)?"
            ),
            "das{polite}(?: wieder)? (?:vergessen|löschen)",
        ),
        CommandRule(
            kind="forget_about",
            says="(?:{forget}){polite} alles(?: was du)? über {x}?(?: weißt| gespeichert hast| "
            "gemerkt hast)?",
            never="das\\b$|es\\b$",
            max_words=5,
        ),
        CommandRule(
            kind="correct",
            says="(?:nein )*(?:{wrong}) {x}",
            needs="(?:ich|wir|er|sie|es) \\S+ \\S|(?:meine?|unsere?|seine?|ihre?|der|die|das) "
            f"(?:\\S+ ){{1,3}}(?:{_IS})\\b|\\S+ (?:ist|war|heißt|wohnt)\\b",
            may_ask=False,
        ),
        CommandRule(
            kind="correct",
            says="nein {x}",
            needs="(?:es|sie|er) (?:ist|heißt) (?:nicht (?:\\S+ ){1,3}sondern \\S+|"
            "(?:\\S+ ){1,4}nicht (?:\\S+ ?){1,4})",
            max_words=10,
            may_ask=False,
        ),
        CommandRule(
            kind="correct",
            says="(?:nein|nee) {x}",
            needs="(?:es|sie|er|das|(?:sein|ihr|mein|der) name) (?:ist|heißt) \\S+ "
            "(?:geschrieben )?mit (?:einem |'nem )?\\S+$",
            max_words=8,
            may_ask=False,
        ),
        *rules_of(
            "what_known",
            "was (?:alles )?(?:weißt|weisst) du (?:so |alles |eigentlich )*über mich",
            (
                "was (?:alles )?hast du (?:dir )?(?:so |alles )*über mich "
                "(?:gemerkt|gespeichert|notiert|gelernt|behalten)"
            ),
            (
                "(?:sag|sage|erzähl|erzähle) mir(?: alles)?(?: bitte)? was du (?:alles )?über mich "
                "weißt"
            ),
        ),
        *rules_of(
            "why",
            "(?:warum|wieso|weshalb) hast du das (?:gerade |eben )?gesagt",
            "(?:warum|wieso|weshalb) (?:sagst|erzählst) du (?:mir )?(?:das|so was)",
            "wie kommst du (?:darauf|drauf)",
            "wer hat dir das (?:gesagt|erzählt)",
            "woher (?:weißt|weisst|hast) du das",
        ),
        *rules_of(
            "off_record",
            (
                "(?:(?:das|dies) )?(?:bitte )?nicht (?:mehr )?(?:mitschreiben|aufzeichnen|"
                "mithören|protokollieren|aufnehmen)"
            ),
            "hör(?:e)?(?: bitte)? auf (?:mitzuschreiben|aufzuzeichnen)",
            ("(?:schreib|schreibe|zeichne) (?:das |jetzt )?(?:bitte )?nicht (?:mehr )?(?:mit|auf)"),
            "(?:off|of) the record",
            "(?:merk|merke) dir (?:ab jetzt |jetzt |davon )*nichts(?: mehr)?",
            "(?:mach|schalt|schalte) dein gedächtnis aus",
        ),
        *rules_of(
            "on_record",
            "wieder (?:mitschreiben|aufzeichnen|protokollieren)|back on the record",
            "(?:mach|schalt|schalte) dein gedächtnis wieder (?:an|ein)",
            "(?:merk|merke) dir (?:jetzt )?wieder alles",
            "(?:schreib|zeichne) (?:jetzt |bitte )*wieder (?:mit|auf)",
        ),
        *rules_of(
            "who_sees",
            (
                "wer (?:kann|könnte|darf) (?:das|dies|das hier)(?: alles)? "
                "(?:sehen|lesen|hören|einsehen)"
            ),
            "wer (?:sieht|liest) das(?: hier| alles)?",
            "wer hat (?:zugriff|zugang) (?:darauf|dazu)",
        ),
        *rules_of(
            "undo",
            "(?:mach|mache) das(?: bitte)? (?:wieder )?rückgängig",
            "rückgängig(?: machen)?",
            "das(?: bitte)? (?:wieder )?rückgängig machen",
            "(?:nein )+(?:bitte )?(?:behalt|behalte) (?:es|das|sie)(?: doch)?",
            "(?:behalt|behalte) (?:es|das) doch",
        ),
        *rules_of(
            "local",
            "das (?:bleibt|soll|muss) (?:{here})(?: bleiben)?",
            "(?:behalt|behalte|lass) das(?: bitte)? (?:{here})",
        ),
    ),
    intents=read_intent_words(__package__),
    statement=f"(?:{_WHO}) \\S|(?:\\S+ ){{1,6}}(?:{_IS})\\b|(?:\\S+ ){{2,}}\\S+$",
    answers=(
        CommandRule(
            kind="yes",
            says="(?:ja|klar|gerne|mach das|(?:ja )?(?:{forget}) (?:sie|es|das|alles))",
        ),
        CommandRule(
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
        r"(?:ist|heißt|heisst|war)(?: (?:am|im|um|in|der|die|das))* (?P<w>.+?),? (?:und )?"
        r"nicht(?: (?:am|im|um|in|der|die|das))* (?P<z>.+)$"
    ),
    spelt=r" (?:(?:geschrieben|geschrieben wird) )?mit (?:einem |'nem )?\w\b.*$",
    right_vague=r"(?:es|er|sie|das|dies|ihn|ihm|ihr|sein|seine|ihre)\b",
    requests=("kannst du", "könntest du", "würdest du"),
    own="ich|mein|meine|meinen|meinem|meiner|wir|unser|unsere|unseren",
    everything=word_set(_WORDS["everything"]),
    leading=word_set(_WORDS["leading"]),
)
