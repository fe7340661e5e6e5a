"""German patterns of the recall gate, and of talk that says nothing by itself.

"ss" stands for "ß": sentences are folded.
"""

import re

from slowcat_memory.core.language.data import lazy_pattern, read_words, word_set
from slowcat_memory.core.language.gate import gate_words
from slowcat_memory.core.language.table import TalkWords

_DIGIT = (
    "(?:null|ein(?:s|e|en|em|er)?|zwei|drei|vier|fünf|sechs?|sieb(?:en)?|acht|neun|zehn|elf|zwölf|"
    "zwanzig|dreissig|vierzig|fünfzig|sechzig|siebzig|achtzig|neunzig|hundert|tausend)"
)
_NUM = rf"(?:\d+|minus|komma|halbe?|{_DIGIT}(?:und|{_DIGIT})*(?:einhalb)?)"
_NUMS = rf"(?>{_NUM}(?: ?{_NUM})*) ?"  # atomic: digits divide in one way only
_UNIT = (
    "(?:(?:kilo|zenti|milli)?(?:meter[ns]?|gramm|liter[ns]?)|pfund|tonnen?|fuss|zoll|meilen?|hektar|minuten?|stunden?|"
    "tagen?|tag|wochen?|monaten?|jahren?|grad(?: celsius)?|celsius|fahrenheit|kilos?|kg|cm|mm|km|ml|euro|dollar|pfund|"
    "cent)"
)
_TONGUE = "(?:französisch|englisch|spanisch|italienisch|portugiesisch|polnisch|türkisch|deutsch)"
_WHEN = (
    "(?: (?:heute|morgen|übermorgen|jetzt|gerade|später|am wochenende|diese woche|(?:heute |morgen )?(?:früh|"
    "vormittag|mittag|nachmittag|abend|nacht)|so|da|grad))*"
)
_PLACE = r"(?: in [^ ]+(?: [^ ]+)?)?"
_ADJ = (
    r"(?:gut|toll|nett|lieb|schön|super|prima|klasse|perfekt|wunderbar|interessant|lustig|witzig|komisch|"
    r"seltsam|schade|traurig|schlimm|fein|richtig|falsch|wahr|klar|cool|spannend|hilfreich|schlau|klug|"
    r"genug|ärgerlich|verrückt|stark|süss|freundlich|herrlich|grossartig|fantastisch|besser|okay|ok|logisch)"
)

GATE = gate_words(
    read_words(__package__)["gate"],
    about_now=lazy_pattern(
        r"\b(?:heute|morgen|übermorgen|diese[nrs]? (?:woche|wochenende|monat|jahr)|"
        r"nächste[nrs]? (?:woche|wochenende|monat|jahr)|wie lange\b.*\b(?:her|noch|seit|bis)|"
        r"wie viele (?:stunden|tage|wochen|monate|jahre)\b.*\b(?:bis|noch|her|seit))\b"
    ),
    memory=lazy_pattern(
        r"\b(?:mein|unser)\w*\b|\b(?:erinnerst|entsinnst) du dich\b|\bdich (?:noch )?erinnern\b",
        r"\b(?:habe?|hatten?|haben|war|waren|bin|mag|ging|wollten?|\w+e) (?:ich|wir)\b",
        r"\b(?:ich|wir|du) .*(?:erzählt|gesagt|erwähnt|besprochen|gesprochen|empfohlen|"
        r"vorgeschlagen|versprochen|gemeint)\b",
        r"\b(?:weisst|kennst) du .*\b(?:ich|wir|mir|mich)\b|\b(?:über|kennst du) mich\b|\bvon mir\b",
        r"\b(?:letzte\w*|früher|vorhin|neulich|gestern|vorgestern|damals|"
        r"vor \w+ (?:tag|woche|monat|jahr)\w*)\b",
    ),
    advice=lazy_pattern(
        r"(?:wie|was|wo|wann|wen|wem|womit|welche\w*)?(?: \w+){0,2} ?\b(?:kann|könnte|soll|sollte|"
        r"muss|müsste|darf|dürfte) (?:ich|wir|man)\b(?! (?:dir|dich))",
    ),
    asides=lazy_pattern(
        r"\b(?:erklär\w*|sag\w*|erzähl\w*|gib|zeig\w*|lies|les|sing\w*|nenn\w*|hilf|kannst du|könntest du|"
        r"würdest du) (?:mir|uns)\b",
    ),
    personal=lazy_pattern(
        r"\b(?:ich|wir|mir|mich|uns|mein\w*|unser\w*|unsre\w*)\b",
        r"\b(?:er|ihm|ihn|ihnen|ihr|ihre\w*|seine\w*|ihrem)\b",
        r"\b(?:mama|mami|mutti|mutter|papa|papi|vati|vater|oma|opa|tante|onkel|chef\w*|vermieter\w*|frau|mann|kinder|"
        r"nachbar\w*|familie|kleinen?|arzt|ärztin|zahnarzt)(?:s)?\b",
        r"\b\w*(?:passw[oö]rt\w*|kennwort|geheimzahl|türcode)\b",
        r"\b(?:erinner\w*|nochmal|noch mal|letztes mal|neulich|immer|lieblings\w*|gestern|vorhin|vorher|geplant|"
        r"entschieden|abgemacht|versprochen|erwähnt|gesagt|erzählt|termin\w*|geburtstag\w*|hochzeitstag|schon)\b",
    ),
    chatter=lazy_pattern(
        r"^(?:(?:oh|ok|okay|na|ja|nein|gut|super|prima|ach|ah|toll|perfekt|alles klar|also) )*(?:danke\w*|(?:vielen|"
        r"lieben|herzlichen|besten|tausend|schönen)(?: \w+)? dank|ich danke)\b(?: (?:für|das|die|den|deine|ihre|hilfe|"
        r"auskunft|info|tipp|alles|dir|ihnen|ist|war|sehr|nett|lieb|von|so|echt|wirklich|und|gute|nacht|auch|noch|mal|schön|"
        r"perfekt|super|freundlich|dafür|erinnerung|geduld|zuhören|nein|ja|reicht|mir|schon|tschüss|bis|dann|später|morgen))*$",
        "^(?:(?:oh|ah|na|ja|nein|okay|ok|gut|danke) )*(?:(?:das|es)(?: ist| war)|wie) (?:(?:ja|so|zu|eine?|jetzt) "
        rf")*{_ADJ}(?:e[rsnm]?)?\b(?: (?:an|so|danke))*$",
        r"^(?:(?:ja|nein|jo|jep|ok|okay|gut|na|so|ach|oh|also|hm+|und|nee|ah|äh+m*) )*(?:passt(?: schon| so)?|echt(?: jetzt)?|ehrlich|"
        r"im ernst|wirklich|mach weiter|weiter|erzähl weiter|red weiter|nur zu|na dann|los geht's|los|von mir aus|"
        r"meinetwegen|kein problem|keine sorge|keine ursache|gern geschehen|nichts zu danken|schon gut|schon okay|"
        r"alles gut|alles klar|macht nichts|ist egal|egal|vergiss es|lass gut sein|lass mal|genau|eben|stimmt|ach so|"
        r"ach was|aha|soso|na klar|na sowas|sag bloß|ich auch|ich auch nicht|warum nicht|gut gemacht|sehr gut|"
        r"gute idee|guter punkt|ich verstehe|verstehe|verstanden|ich weiß|weiß ich|ich höre|ich bin da|bin wieder da|"
        r"ich bin weg|ich geh ins bett|ich gehe ins bett|ich muss los|ich muss weg|muss los|moment(?: mal)?|warte(?: mal| kurz)?|"
        r"sekunde|einen moment|augenblick|wie bitte|was|noch mal bitte|sag das noch mal|hä|hm+|mhm+|äh+|ähm+)"
        r"(?: (?:dann|bitte|jetzt|danke|so|schon|mal|ja|doch))*$".replace("ß", "ss"),
        "^(?:(?:hallo|hi|hey|guten|gute|gut|morgen|tag|abend|nacht|tschüss|bis|dann|später|morgen|was|na|so|und|einen|ein|da) ?)+$",
        r"^bist du (?:noch |ein\w* )?(?:da|wach|echt|mensch|roboter|computer|maschine|ki)$",
    ),
    sums=lazy_pattern(
        rf"\b(?:doppelte|hälfte|summe) (?:von|aus) {_NUMS}",
        rf"\b(?:plus|minus|geteilt durch|hoch) {_NUMS}",
        rf"\bwie viele? {_UNIT} (?:hat|sind|passen)\b",
        rf"\b{_NUMS} ?(?:(?:{_UNIT}) )?(?:plus|minus|mal|durch|und|von) {_NUMS}(?: {_UNIT})?(?:$| abzieht)",
        rf"\bprozent von {_NUMS}",
        r"\b(?:quadratwurzel|wurzel|primzahl)\b",
        rf"\b{_NUMS} ?{_UNIT} (?:in|zu) {_UNIT}",
        r"\bwirf (?:mal )?(?:eine|ne) münze",
    ),
    world_begins=lazy_pattern(
        r"^(?:und )?wer (?:hat|war|ist) (?:denn )?(?:eigentlich )?(?:der|die|das|den)? ?\w+(?: \w+)? (?:erfunden|entdeckt|"
        "komponiert|gemalt)$",
        r"^(?:warum|wieso) \w+ (?:denn )?(?:eigentlich )?(?:ein\w* )?(?!du|ich|wir|sie|er|es|der|die|das|den|dem|mein\w*|unser\w*|"
        r"dein\w*)\w+(?: \w+){0,4}$",
        r"^(?:bitte |kannst du |könntest du )*spiel\w* (?:mir |uns |bitte )*(?:ein bisschen|etwas|was)(?: (?!bitte)\w+){1,2}$",
        r"^(?:und )?was bedeutet (?!das\b|er|sie)\w+(?: \w+)?$",
        f"^wie (?:ist|wird) (?:denn )?(?:eigentlich )?das wetter{_WHEN}{_PLACE}{_WHEN}$",
        f"^wie (?:kalt|warm|heiss|windig|nass) (?:ist|wird|soll) es{_WHEN}{_PLACE}{_WHEN}(?: werden)?$",
        f"^(?:regnet|schneit) es{_WHEN}{_PLACE}{_WHEN}$",
        f"^(?:wie spät|wie viel uhr|wieviel uhr) ist es(?: jetzt)?{_WHEN}{_PLACE}{_WHEN}$",
        r"^(?:bitte )?(?:lies|erzähl\w*|sing\w*) (?:mir |uns )?(?:bitte )?(?:mal )?(?:noch )?(?:ein\w*|was)\b(?: (?:lied|schlaflied|märchen|gutenachtgeschichte|geschichte|"
        r"gedicht))?(?: (?:mit|von|über) (?:ein\w* )?\w+)?(?: vor)?$",
        r"^(?:wie|bei wie viel grad|warum)(?: \w+){0,3} man\b",
    ),
    world=lazy_pattern(
        r"\bbuchstabier\w* ",
        r"\b(?:heisst|ist|sind|nenn\w*) (?:mir )?(?:denn )?(?:die|der|das) (?:\w+ )?(?:hauptstadt|einwohnerzahl|währung) (?:von|in|der)\b",
        r"\b(?:weltkrieg\w*|mondlandung|eiffelturm|everest|titanic|mauerfall|goethe|mozart|einstein|planeten?|sonnenuntergang|sonne (?:auf|unter))\b",
        r"\bzahl zwischen\b",
        r"\b(?:gegenteil|mehrzahl|plural|bedeutung) (?:von|zu)\b|\banderes wort für\b|\bwas reimt sich\b",
        rf"\bübersetz\w*\b|\bauf {_TONGUE}$|\bwie nennen die\b",
        r"\b(?:kennst du|erzähl\w*|sag\w*) (?:mir |uns )?(?:mal )?(?:bitte )?(?:noch )?(?:ein\w*|was) (?:guten? )*(?:\w*witz\w*|rätsel|märchen|gedicht|geschichte)\b",
    ),
)

# ------------------------------------------------------------------- talk

_ASKS = (
    r"(?:was|wer|wen|wem|wessen|welche[rsnm]?|wo|wohin|woher|wann|warum|wieso|weshalb|wie|womit|wofür|"
    r"worüber|woran|wozu)"
)
_SUBJECT = (
    r"(?:ich|du|er|sie|es|wir|ihr|man|der|die|das|den|dem|ein\w*|mein\w*|dein\w*|unser\w*|sein\w*|"
    r"ihre?\w*|dies\w*)"
)
_VERB = (
    r"(?:bin|bist|ist|sind|seid|war|warst|waren|hab|habe|hast|hat|haben|hatte|hattest|hatten|wird|"
    r"werde|wirst|werden|würde|würdest|kann|kannst|können|könnte|könntest|soll|sollte|sollst|muss|"
    r"musst|müssen|darf|darfst|will|willst|wollen|mag|magst|weisst|kennst|erinnerst|gibt|geht|heisst|"
    r"heisse|wohnt|wohne|wohnst|arbeite|arbeitest|arbeitet|mache|machst|macht)"
)
_AGE = (
    r"(?:(?:beste|bester|besten|neue|neuer|neuen|ältere|älterer|jüngere|jüngerer|kleine|kleiner|große|"
    r"grosse|grosser|jetzige|jetziger|aktuelle|aktueller|eigene|eigener|liebe|lieber|engste|engster|engstes|guter|gute) )*"
)
_MY = r"(?:mein|meine|meiner|meinem|meinen|meines|unser|unsere|unserer|unserem|unseren)"


def _doing(verbs: str) -> str:
    """Return a pattern of a question for what the user does: "in welcher Stadt wohne ich"."""
    return (
        rf"\b(?:{verbs}) (?:\w+ ){{0,2}}?(?:ich|wir)\b|"
        rf"\b(?:ich|wir) (?:\w+ ){{0,4}}?(?:{verbs})\b"
    )


def _own(nouns: str) -> str:
    """Return a pattern of a question for what is the user's: "was ist mein aktueller Beruf"."""
    of = rf"\b{_MY} (?:\w+ ){{0,2}}?(?:{nouns})\b(?! (?:von|meine|deine|seine|ihre)\b)"
    had = rf"\b(?:was für|welche\w*|wessen) (?:\w+ ){{0,2}}?(?:{nouns})\b.*\b(?:ich|wir)\b"
    return rf"{of}|{had}"


TALK = TalkWords(
    empty=GATE.small | word_set(read_words(__package__)["extracts"]["function"]),
    persons=word_set(
        "ich mich mir mein meine meiner wir uns unser unsere er ihn ihm sein seine ihre"
    ),
    question=lazy_pattern(
        rf"(?:(?:und|aber|also|na|so|ok|okay|hey|sag|sag mal|bitte|ach) )*"
        rf"(?:{_ASKS} (?:(?!{_SUBJECT}\b)\w+) |{_ASKS} {_VERB}$|"
        rf"(?:welche\w*|wie viele?|was für(?: ein\w*)?|an welche\w*|in welche\w*|mit wem|von wem) (?:\w+ )"
        rf"{{0,2}}{_VERB}\b|"
        rf"{_VERB} {_SUBJECT}\b|"
        rf"(?:kannst du |könntest du |bitte )*(?:sag|erzähl)e? mir (?:nochmal |noch mal |noch einmal "
        rf"|bitte )*(?:{_ASKS}|ob|von|über)\b|(?:kannst|könntest) du mir (?:bitte |nochmal )*sagen\b)"
    ),
    tells_first=word_set("ich wir"),
    telling=lazy_pattern(
        r"\b(?:hab|habe|hatte) ich (?:dir |euch )?(?:schon |eigentlich |schon mal )*(?:erzählt|gesagt)"
        r" dass\b|\bwusstest du (?:schon )?dass\b|\bweisst du (?:schon )?dass\b|"
        r"\bkannst du (?:dir vorstellen|glauben|mich (?:bitte )?(?:\w+ )*(?:daran )?erinnern|dir "
        r"(?:bitte )?merken|notieren|aufschreiben)\b|\berinner\w* mich (?:bitte )?(?:daran|an)\b"
    ),
    asks_name=lazy_pattern(r"\b(?:heisst|heissen|hiess|namens?|wer)\b"),
    about_people=lazy_pattern(
        r"\b(?:ich|mein\w*|(?<!sag )(?<!sage )(?<!erzähl )(?<!erzähle )(?<!zeig )(?<!gib )(?:mir|uns)|"
        r"mich|wir|unser\w*|hast du|hattest du)\b"
    ),
    ignorance=lazy_pattern(
        r"\b(?:das )?weiss ich (?:leider |noch |gerade |auch )*nicht\b|\bich weiss (?:es |das )?(?:leider "
        r"|noch |auch )*nicht\b|\bich (?:habe|hab|kann|finde|kenne|erinnere) (?:\w+ ){0,4}?(?:nicht|keine"
        r"\w*|kein|nichts)\b|\bhast du (?:mir )?(?:\w+ ){0,2}?(?:nicht|nie|nichts) (?:\w+ )?(?:gesagt|"
        r"erzählt|erwähnt)\b|\b(?:dazu|darüber|davon) (?:habe|hab|weiss) ich (?:\w+ ){0,2}?(?:nichts|"
        r"keine?\w*)\b|\bdu hast (?:mir )?(?:\w+ ){0,3}?(?:nicht|nichts|nie|noch nicht) (?:\w+ )?"
        r"(?:gesagt|erzählt|erwähnt|verraten|genannt)\b|\bkeine (?:ahnung|information\w*|erinnerung|"
        r"notiz\w*|angaben)\b|\bnichts (?:gespeichert|notiert|gemerkt)\b|\bbin (?:ich )?(?:mir )?"
        r"(?:leider )?nicht sicher\b"
    ),
    no_answer=lazy_pattern(
        r"(?:(?:sorry|hm+|äh+|oh|na|nein|ehrlich gesagt|leider|tja) )*(?:(?:das )?weiss ich|ich weiss(?: es| "
        r"das)?|ich bin mir|da bin ich mir|weiss|ich erinnere mich|keine ahnung|vergessen|hab ich "
        r"vergessen|habe ich vergessen|schwer zu sagen|wer weiss)(?: (?:nicht|leider|nicht mehr|gerade|"
        r"auch|noch|sicher|mehr|so genau|genau|das|mehr))*"
    ),
    change=lazy_pattern(
        r"\b(?:jetzt|nun|stattdessen|statt|doch|inzwischen|mittlerweile|verschoben|verlegt|umgezogen|"
        r"geändert|gewechselt|abgesagt|nicht mehr|kein\w* mehr|getauscht|ersetzt|erst (?:am|im|um)|anders|"
        r"ab (?:heute|sofort|jetzt)|neuerdings|umgestiegen|umgestellt|vorverlegt|vorgezogen)\b"
    ),
    renewal=lazy_pattern(
        r"\b(?:nunmehr|seitdem|anstatt|sondern|ziehe?n? um|umgesetzt|versetzt|wechs(?:le|el|eln)|ändert|"
        r"ausgefallen|fällt aus|nichts mehr|nix mehr|ausgetauscht|umgetauscht|ander[es]\w*|ab (?:morgen|"
        r"montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag|nächste\w*)|neue?[nmrs]?|aufgehört|"
        r"gekündigt|verkauft|aufgegeben|getrennt|lieber|umentschieden|wird n(?:ix|ichts)|wieder zurück|"
        r"zurück zu|gestiegen|gesunken|erhöht|gesenkt|verlängert|befördert)\b"
    ),
    asked=(
        (
            "lives_in address",
            _doing(
                "wohne?|wohn'|leb|lebe|wohnen|leben|gewohnt|gelebt|wohnte|lebte|hause|zuhause|daheim|gezogen|hingezogen|"
                "umgezogen|gemeldet|untergekommen|ansässig|sesshaft|residiere"
            ),
            rf"\bwo (?:ist|liegt|steht) {_MY} (?:haus|bleibe)\b",
            _own("wohnsitz|wohnung|adresse|anschrift|wohnort|heimatstadt|heimat|zuhause|stadt"),
        ),
        (
            "works_at works_for",
            r"\b(?:wo|bei wem|für wen|für welche\w*|bei welche\w*|in welche\w*|welche firma|wer).*\b(?:arbeite"
            r"|gearbeitet|angestellt|beschäftigt|beschäftigt mich|bezahlt mich)\b(?! (?!ich|mich)\w)",
            _own("unternehmen|arbeitgeber|arbeitgeberin|firma|arbeitsplatz|arbeitsstelle|betrieb"),
        ),
        (
            "works_as works_at",
            r"\bwas arbeite ich\b|\bwas mache? ich (?:\w+ )?(?:beruflich|von beruf|arbeitsmässig|arbeit)\b|"
            r"\bwas (?:bin|war) ich (?:\w+ )?(?:von beruf|beruflich)\b|\bwas mach(?:e)? ich (?:\w+ )?für (?:eine )?arbeit\b|\bals was (?:arbeite|bin) ich\b|\bwomit "
            r"verdiene ich\b|\bwas ich (?:\w+ )?(?:arbeite|mache|von beruf|beruflich)\b",
            _own("beruf|job|tätigkeit|arbeit|position|stelle"),
        ),
        (
            "has_partner married_to has_husband has_wife has_spouse has_boyfriend has_girlfriend "
            "engaged_to dating relationship_status",
            r"\bmit wem .*\bich\b.*\b(?:zusammen|liiert|verheiratet|verlobt)\b|\ban meiner seite\b|\b(?:in wen|mit wem) .*\bich\b.*\b(?:verliebt|beziehung)|\bich .*(?:single|vergeben|liiert)\b|"
            r"\bmit wem (?:bin|lebe|gehe|führe|teile|wohne) ich\b|"
            r"\b(?:bin|habe) ich (?:\w+ )?(?:in einer beziehung|jemanden|vergeben|verheiratet|liiert|single)",
            _own(
                "bessere hälfte|liebesleben|beziehungsstatus|schatz|liebste|liebster|fester freund|feste freundin|partner|partnerin|beziehung|lebensgefährt\\w+"
            ),
        ),
        (
            "diet allergic_to",
            r"\b(?:bin|esse|lebe) ich (?:\w+ )?(?:vegan|vegetarisch|vegetarier\w*|veganer\w*|glutenfrei|"
            r"laktosefrei)|\bwas (?:\w+ )?(?:esse|ess) ich\b",
        ),
        (
            "allergic_to diet",
            r"\ballergi.*\b(?:ich|mein\w*|mir)\b|\b(?:ich|mein\w*)\b.*allergi",
            r"(?=.*\b(?:ich|mir|mich|mein\w*)\b).*(?:\bunverträglich|\büberempfindlich|\breagiere\b|\bnicht gut\b|"
            r"\bvertrag|\bvertrage|\bbekommt mir|\bmeiden\b|\baufpassen\b|\bvorsicht|\bgefährlich)",
        ),
        ("favourite_{thing} likes", rf"\b{_MY} lieblings(\w+)"),
        (
            "has_{thing}",
            r"^(?!.*\b(?:war|hatte|gestern)\b)(?:.*\b(?:ich|wir|mein\w*|unser\w*|mir|uns)\b.*\b(hund|katze|kater|haustier|tier)e?\b|"
            r".*\b(hund|katze|kater|haustier|tier)e?\b.*\b(?:ich|wir|mir|uns)\b)",
        ),
        (
            "has_{thing}",
            rf"\b(?:was für ein\w*|welche[rsn]?|wie viele) ([\w-]+) (?:hab|habe|haben) (?:ich|wir)\b|\b(?:erzähl|weisst|"
            rf"sag).*\büber {_MY} ([\w-]+)\??$|"
            rf"\b(?:heisst|hiess|heissen|nenne ich|nennen wir) (?:nochmal |noch mal |noch |denn |eigentlich )*"
            rf"{_MY} {_AGE}([\w-]+)|\bwie {_MY} {_AGE}([\w-]+) (?:heisst|heissen|hiess)\b|\bwer (?:ist|war) "
            rf"(?:nochmal |noch mal |noch |denn |eigentlich )*{_MY} {_AGE}([\w-]+)|\bnamen? (?:von )?{_MY} {_AGE}"
            rf"([\w-]+)|\b(?:hab|habe|haben) (?:ich|wir) (?:eine?n? |"
            rf"irgendeine?n? )?(?:\w+ )?([\w-]+)\??$",
        ),
    ),
    asking=lazy_pattern(
        r"(?:\b(?:bei|mit|in|an|auf|von|aus|zu) )?\b(?:wer|wen|wem|was|welche\w*|wo|wohin|wann|wie|womit|wogegen|worauf|woran|für wen|hab|habe|haben|bin|sind|"
        r"weisst|kennst|ob|sag|nenne?|erinnerst|erzähl|erzähle|gibt|gibts|heisst|hiess|namen?|leide|vertrage)\b|"
        r"^(?:schmeckt|ernähre|mag|liebe|hasse|trinke|esse|fahre|fahr|lebe|wohne|wohn|"
        r"arbeite) (?:ich|mir)\b"
    ),
    former=lazy_pattern(
        r"\b(?:früher\w*|vorher|davor|zuvor|ehemalig\w*|vorige\w*|alte[rns]? (?:job|wohnung|adresse|firma|"
        r"arbeitgeber|stadt|auto|handy|chef)|letzte[rns]? (?:job|wohnung|firma|arbeitgeber|stelle))\b"
    ),
    ahead=lazy_pattern(
        r"\bwann\b|\b(?:an|auf|zu) welche[mnr] (?:tag|datum|termin)\b|\bwelche[rns]? (?:tag|datum)\b|\bwie "
        r"(?:lange|viele \w+) (?:\w+ )?bis\b|\bsteht (?:\w+ ){0,4}?(?:an|bevor)\b|\bansteht\b|\bwas (?:hab|habe|"
        r"haben) (?:ich|wir) (?:\w+ ){0,4}?(?:vor|geplant|termine)\b|\bwas (?:kommt|liegt) (?:\w+ ){0,3}?"
        r"(?:an|als nächstes|dran)\b|\bwas (?:ist|kommt) (?:\w+ )?als nächstes\b|\b(?:mein|meine|meinen) nächste[rsn]? \w+|\b(?:hab|habe) ich (?:\w+ ){0,4}?"
        r"(?:\w*termine?|vor|geplant|pläne)\b|\bwas ist (?:\w+ ){0,3}?geplant\b|\bwelche termine\b"
    ),
    when=lazy_pattern(
        r"\b(?:wann|welche\w* (?:tag|datum|termin)|um wie ?viel|wie lange|wie viele)\b"
    ),
    ahead_words=lazy_pattern(
        r"\b(?:wann|tag|tage|tagen|datum|uhr|zeit|woche|wochen|wochenende|monat|nächste\w*|kommende\w*|steht|"
        r"ansteht|geplant|vor|an|bevor|als|termin|termine|pläne|welche\w*|bis|heute|morgen|hab|habe|noch|"
        r"nochmal|eigentlich|liegt|kommt|diese\\w*|beim|geht|gibt|ausgemacht|dran|ist|demnächst|fahre|fahren|gehe|gehen|muss|soll|findet|statt|bald)\b"
    ),
    values=lazy_pattern(
        r"\bwie viele (?P<counted>[\w-]+)",
        r"\bwie ?viel\b(?! uhr)|\bwie (?:hoch|alt|lange|weit|gross|schwer|teuer|oft|tief)\b|"
        r"\bwas kostet\b|\bwas (?:hat|haben) .*\bgekostet\b",
        r"\b(?:um|ab|bis|gegen) wie ?viel uhr\b|\bwann (?:ist|kommt|beginnt|startet|öffnet|"
        r"schliesst|fährt|fängt|macht|endet|läuft|findet|wird|soll|muss|habe?|haben)\b",
    ),
    amounts=word_set(
        "mehrere viele kein keine keinen nichts umsonst kostenlos jeden jede jedes immer nie jetzt "
        "bald später täglich wöchentlich monatlich jährlich"
    ),
    past=lazy_pattern(
        r"\b(?:war|waren|warst|hatte|hatten|wurde|wurden|wollte|gab es|früher|damals)\b"
    ),
    definite=lazy_pattern(
        r"\b(?:der|die|das|den|dem|des|vom|beim|zum|zur|im|am|mein\w*|unser\w*|ich|wir|mir|uns|mich)\b"
    ),
    name_places=word_set(
        "der die das den dem des vom beim zum zur hat ist war wohnt kommt heißt macht geht will kann "
        "mit von für bei herr frau tante onkel und namens"
    ),
    alike={
        "has_pet": "haustiere tier tiere hund katze kater hündin welpe kätzchen haustier pferd pony hase hamster kaninchen",
        "has_partner has_husband has_wife has_boyfriend has_girlfriend": (
            "freund freundin frau mann partner partnerin verlobte verlobter"
        ),
        "has_father": "vater papa",
        "has_mother": "mutter mama",
        "has_sister has_brother": "schwester schwestern bruder brüder geschwister",
        "has_child has_son has_daughter": "sohn söhne tochter töchter kind kinder",
        "has_boss": "chef chefin",
    },
    joins=lazy_pattern(
        r"(?:also |okay |ok |ach |hm+ |ja |nein |na )?(?:und|oder|aber|was ist mit|wie (?:ist|war) es mit|"
        r"warum nicht|was noch|wer noch|wo noch|sonst noch|erzähl mehr|mehr (?:über|von))\b",
        flags=re.IGNORECASE,
    ),
    # Not "es" and "das", which stand for nothing in most questions.
    refers=word_set(
        "er ihn ihm sie ihr ihnen sein seine seinen seinem seiner ihre ihren ihrem ihrer dort davon "
        "damit daran darüber dafür dazu dabei dieser diese dieses diesen diesem"
    ),
    own=word_set("ich mich mir mein meine meinen meinem meiner"),
    about_talk=lazy_pattern(
        r"\b(?:frag\w*|gefragt|frage|fragen|wissen wollte|(?:hast|hattest) du mir)\b"
    ),
)
