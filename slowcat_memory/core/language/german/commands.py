"""German voice commands to the memory."""

from slowcat_memory.core.language.data import phrase_list, read_words, word_set
from slowcat_memory.core.language.table import CommandRule, CommandWords

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
        CommandRule(
            kind="forget_that", says="(?:{forget}) (?:das|dies)(?: {polite})?{polite}(?: wieder)?"
        ),
        CommandRule(
            kind="forget_that",
            says="(?:{forget}) was (?:ich|wir)(?: dir)?(?: da| eben| gerade| grade| jetzt)* "
            "(?:gesagt|erzählt|besprochen)(?: habe| haben| hab)?",
        ),
        CommandRule(kind="forget_that", says="das{polite}(?: wieder)? (?:vergessen|löschen)"),
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
            kind="what_known",
            says="was (?:alles )?(?:weißt|weisst) du (?:so |alles |eigentlich )*über mich",
        ),
        CommandRule(
            kind="what_known",
            says="was (?:alles )?hast du (?:dir )?(?:so |alles )*über mich "
            "(?:gemerkt|gespeichert|notiert|gelernt|behalten)",
        ),
        CommandRule(
            kind="what_known",
            says="(?:sag|sage|erzähl|erzähle) mir(?: alles)?(?: bitte)? was du (?:alles )?über "
            "mich "
            "weißt",
        ),
        CommandRule(
            kind="why", says="(?:warum|wieso|weshalb) hast du das (?:gerade |eben )?gesagt"
        ),
        CommandRule(
            kind="why", says="(?:warum|wieso|weshalb) (?:sagst|erzählst) du (?:mir )?(?:das|so was)"
        ),
        CommandRule(kind="why", says="wie kommst du (?:darauf|drauf)"),
        CommandRule(kind="why", says="wer hat dir das (?:gesagt|erzählt)"),
        CommandRule(kind="why", says="woher (?:weißt|weisst|hast) du das"),
        CommandRule(
            kind="off_record",
            says="(?:(?:das|dies) )?(?:bitte )?nicht (?:mehr )?(?:mitschreiben|aufzeichnen|"
            "mithören|protokollieren|aufnehmen)",
        ),
        CommandRule(
            kind="off_record", says="hör(?:e)?(?: bitte)? auf (?:mitzuschreiben|aufzuzeichnen)"
        ),
        CommandRule(
            kind="off_record",
            says="(?:schreib|schreibe|zeichne) (?:das |jetzt )?(?:bitte )?nicht (?:mehr )?"
            "(?:mit|auf)",
        ),
        CommandRule(kind="off_record", says="(?:off|of) the record"),
        CommandRule(
            kind="off_record",
            says="(?:merk|merke) dir (?:ab jetzt |jetzt |davon )*nichts(?: mehr)?",
        ),
        CommandRule(kind="off_record", says="(?:mach|schalt|schalte) dein gedächtnis aus"),
        CommandRule(
            kind="on_record",
            says="wieder (?:mitschreiben|aufzeichnen|protokollieren)|back on the record",
        ),
        CommandRule(
            kind="on_record", says="(?:mach|schalt|schalte) dein gedächtnis wieder (?:an|ein)"
        ),
        CommandRule(kind="on_record", says="(?:merk|merke) dir (?:jetzt )?wieder alles"),
        CommandRule(
            kind="on_record", says="(?:schreib|zeichne) (?:jetzt |bitte )*wieder (?:mit|auf)"
        ),
        CommandRule(
            kind="who_sees",
            says="wer (?:kann|könnte|darf) (?:das|dies|das hier)(?: alles)? "
            "(?:sehen|lesen|hören|einsehen)",
        ),
        CommandRule(kind="who_sees", says="wer (?:sieht|liest) das(?: hier| alles)?"),
        CommandRule(kind="who_sees", says="wer hat (?:zugriff|zugang) (?:darauf|dazu)"),
        CommandRule(kind="undo", says="(?:mach|mache) das(?: bitte)? (?:wieder )?rückgängig"),
        CommandRule(kind="undo", says="rückgängig(?: machen)?"),
        CommandRule(kind="undo", says="das(?: bitte)? (?:wieder )?rückgängig machen"),
        CommandRule(
            kind="undo", says="(?:nein )+(?:bitte )?(?:behalt|behalte) (?:es|das|sie)(?: doch)?"
        ),
        CommandRule(kind="undo", says="(?:behalt|behalte) (?:es|das) doch"),
        CommandRule(
            kind="local",
            says="das (?:bleibt|soll|muss) (?:{here})(?: bleiben)?",
        ),
        CommandRule(kind="local", says="(?:behalt|behalte|lass) das(?: bitte)? (?:{here})"),
    ),
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
    requests=("kannst du", "könntest du", "würdest du"),
    own="ich|mein|meine|meinen|meinem|meiner|wir|unser|unsere|unseren",
    everything=word_set(_WORDS["everything"]),
    leading=word_set(_WORDS["leading"]),
)
