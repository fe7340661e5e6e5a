"""German patterns of the recall gate; its lists are in ``words.toml``."""

from slowcat_memory.core.language.data import lazy_pattern, read_words
from slowcat_memory.core.language.gate import gate_words

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
