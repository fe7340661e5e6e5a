"""German patterns of the recall gate; its lists are in ``words.toml``."""

from slowcat_memory.core.language.data import lazy_pattern, read_words
from slowcat_memory.core.language.gate import gate_words

_DIGIT = (
    r"(?:null|ein(?:s|e|en|em|er)?|zwei|zwo|drei|vier|fünf|sechs?|sieb(?:en)?|acht|neun|zehn|elf|zwölf|"
    r"zwanzig|dreissig|vierzig|fünfzig|sechzig|siebzig|achtzig|neunzig|hundert|tausend|million(?:en)?)"
)
_NUM = (
    rf"(?:\d+|minus|komma|anderthalb|halbe?|{_DIGIT}(?:und|{_DIGIT})*(?:einhalb)?|(?:ein|zwei|drei|\w+)"
    r"(?:viertel|drittel|achtel|fünftel|zehntel))"
)
_NUMS = rf"(?>{_NUM}(?: ?{_NUM})*) ?"  # atomic: digits divide in one way only
_UNIT = (
    r"(?:(?:kilo|zenti|milli|quadrat|kubik)?(?:meter[ns]?|gramm|liter[ns]?)|unzen?|pfund|zentner|tonnen?|zoll|"
    r"fuss|meilen?|hektar|tassen?|(?:ess|tee)löffel|sekunden?|minuten?|stunden?|tagen?|tag|wochen?|monaten?|"
    r"monat|jahren?|jahr|jahrzehnten?|jahrhunderten?|grad|grad celsius|grad fahrenheit|celsius|fahrenheit|"
    r"kelvin|knoten|bytes?|(?:kilo|mega|giga|tera)bytes?|kilos?|kg|cm|mm|km|ml|stundenkilometer|km h|"
    r"euro|dollar|franken|pfund|yen|cent|prozent|leute[n]?|personen|teile)"
)
_TONGUE = (
    r"(?:französisch|englisch|spanisch|italienisch|portugiesisch|niederländisch|holländisch|russisch|"
    r"polnisch|türkisch|japanisch|chinesisch|koreanisch|arabisch|griechisch|latein|lateinisch|schwedisch|"
    r"dänisch|norwegisch|finnisch|walisisch|irisch|deutsch|hebräisch|tschechisch|ungarisch|ukrainisch)"
)
_WHEN = (
    r"(?: (?:draussen|heute|morgen|übermorgen|jetzt|gerade|gleich|später|nachher|am wochenende|diese woche|"
    r"(?:heute |morgen )?(?:früh|vormittag|mittag|nachmittag|abend|nacht)|am (?:mon|diens|donners|frei|sams|"
    r"sonn)tag|am mittwoch|eigentlich|denn|so|noch|da|grad))*"
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
        rf"^(?:(?:oh|wow|ah|ach|na|ja|nein|hm+|okay|ok|gut|also|danke|haha) )*(?:(?:das|es)(?: ist| war| wäre| klingt| "
        rf"hört sich)|klingt|hört sich|ist|wie|du bist|sie sind) (?:(?:ja|sehr|echt|wirklich|so|aber|richtig|ganz|auch|ziemlich|"
        rf"nicht|gar|total|voll|doch|zu|mal|nur|eine?|jetzt|schon) )*{_ADJ}(?:e[rsnm]?)?\b(?: (?:von (?:dir|ihnen)|zu (?:hören|wissen)|"
        r"an|idee|so|dann|danke|nachricht|frage|antwort|sache))*$",
        r"^(?:(?:ja|nein|jo|jep|ok|okay|gut|na|so|ach|oh|also|hm+|und|nee|ah|äh+m*) )*(?:passt(?: schon| so)?|echt(?: jetzt)?|ehrlich|"
        r"im ernst|wirklich|mach weiter|weiter|erzähl weiter|red weiter|nur zu|na dann|los geht's|los|von mir aus|"
        r"meinetwegen|kein problem|keine sorge|keine ursache|gern geschehen|nichts zu danken|schon gut|schon okay|"
        r"alles gut|alles klar|macht nichts|ist egal|egal|vergiss es|lass gut sein|lass mal|genau|eben|stimmt|ach so|"
        r"ach was|aha|soso|na klar|na sowas|sag bloß|ich auch|ich auch nicht|warum nicht|gut gemacht|sehr gut|"
        r"gute idee|guter punkt|ich verstehe|verstehe|verstanden|ich weiß|weiß ich|ich höre|ich bin da|bin wieder da|"
        r"ich bin weg|ich geh ins bett|ich gehe ins bett|ich muss los|ich muss weg|muss los|moment(?: mal)?|warte(?: mal| kurz)?|"
        r"sekunde|einen moment|augenblick|wie bitte|was|noch mal bitte|sag das noch mal|hä|hm+|mhm+|äh+|ähm+)"
        r"(?: (?:dann|bitte|jetzt|danke|so|schon|mal|ja|doch))*$".replace("ß", "ss"),
        r"^(?:(?:hallo|hi|hey|guten|gute|gut|morgen|tag|abend|nacht|mahlzeit|servus|moin|grüss|dich|gott|euch|tschüss|"
        r"tschau|ciao|bis|dann|bald|später|morgen|nachher|schlaf|schlafen|träum|schön|was|schöne|schönes|schönen|wochenende|noch|"
        r"auf|wiedersehen|wiederhören|mach's|machs|na|also|so|und|einen|ein|feierabend|alle|zusammen|mein|freund|"
        r"computer|assistent|roboter|slowcat|wieder|da|willkommen|zurück|liebe|lieber|träume) ?)+$",
        r"^bist du (?:ein\w*|echt|da|noch|wach|"
        r"müde|traurig|sicher|bereit|lebendig)\b(?: (?:mensch|roboter|computer|maschine|ki|denn|eigentlich|da|noch))*$",
    ),
    sums=lazy_pattern(
        rf"\b(?:das )?(?:doppelte|dreifache|hälfte|ein (?:drittel|viertel|fünftel|zehntel)|zwei drittel|drei viertel|durchschnitt|"
        rf"mittelwert|summe|produkt|differenz) (?:von|aus|zwischen) {_NUMS}",
        rf"\b(?:plus|minus|geteilt durch|multipliziert mit|hoch) {_NUMS}",
        rf"\bwie viele? {_UNIT} (?:hat|haben|sind|ist|ergeben|ergibt|entsprechen|passen)\b",
        rf"\b{_NUMS} ?(?:(?:{_UNIT}) )?(?:plus|minus|mal|geteilt durch|durch|prozent von|hoch|weniger|und|"
        rf"multipliziert mit|dividiert durch|von) {_NUMS}(?: {_UNIT})?(?:$| sind| ist| macht| ergibt| abzieht| rechnet)",
        rf"\bprozent (?:von|auf) {_NUMS}",
        r"\b(?:quadratwurzel|wurzel|primzahl|primzahlen|bruch|dezimalzahl|römische zahl)\b",
        rf"\b{_NUMS} ?{_UNIT} (?:in|zu) {_UNIT}",
        r"\b(?:wirf|würfle|würfel) (?:mal )?(?:eine münze|einen würfel|ne münze)",
    ),
    world_begins=lazy_pattern(
        r"^(?:und )?wer (?:hat|war|ist) (?:denn )?(?:eigentlich )?(?:der|die|das|den)? ?\w+(?: \w+)? (?:erfunden|entdeckt|komponiert|"
        r"gemalt)$",
        r"^(?:warum|wieso|weshalb) (?:\w+) (?:denn )?(?:eigentlich )?(?:ein\w* )?(?!du|ich|wir|sie|er|es|der|die|das|den|dem|mein\w*|unser\w*|"
        r"dein\w*)\w+(?: \w+){0,4}$",
        r"^(?:bitte |kannst du |könntest du )*spiel\w* (?:mir |uns |mal |bitte )*(?:ein bisschen|etwas|was|irgendwas|ein wenig)(?: (?!bitte)\w+){1,2}$",
        r"^(?:und )?was (?:bedeutet|heisst|heissen) (?!das\b|er|sie)(?:das wort |eigentlich )?\w+(?: \w+)?$",
        rf"^(?:wie (?:ist|wird|bleibt)|was macht) (?:denn )?(?:eigentlich )?das wetter{_WHEN}{_PLACE}{_WHEN}$",
        rf"^wie (?:kalt|warm|heiss|windig|nass) (?:ist|wird|soll) es{_WHEN}{_PLACE}{_WHEN}(?: werden)?$",
        rf"^(?:regnet|schneit|stürmt|gewittert|hagelt|friert) es{_WHEN}{_PLACE}{_WHEN}$",
        rf"^(?:wie spät|wie viel uhr|wieviel uhr) ist es(?: (?:jetzt|gerade))?{_WHEN}{_PLACE}{_WHEN}$",
        r"^(?:bitte )?(?:lies|les|erzähl\w*|sing\w*) (?:mir |uns )?(?:bitte )?(?:mal )?(?:noch )?(?:ein\w*|was|etwas|irgendwas)\b"
        r"(?: (?:lied|märchen|geschichte|gutenachtgeschichte|gedicht|schlaflied|schönes|lustiges))?(?: (?:mit|von|über|für) "
        r"(?:ein\w* )?\w+)?(?: vor)?$",
        r"^(?:wie|womit|bei wie viel grad|bei wieviel grad|bei welcher temperatur|wann|warum|wozu)(?: \w+){0,3} man\b",
    ),
    world=lazy_pattern(
        r"\bwie (?:schreibt|buchstabiert|spricht|nennt|sagt) man\b|\bbuchstabier\w* |\breimt sich auf\b",
        r"\b(?:heisst|ist|sind|nenn\w*|sag\w*) (?:mir )?(?:denn )?(?:die|der|das) (?:\w+ )?(?:hauptstadt|einwohnerzahl|währung|"
        r"amtssprache|nationalhymne|flagge|siedepunkt|schmelzpunkt|lichtgeschwindigkeit|ordnungszahl|formel) (?:von|"
        r"in|der|des|für)\b",
        r"\b(?:\w*weltkrieg\w*|mondlandung|mona lisa|everest|eiffelturm|römische\w* reich|berliner mauer|mauerfall|revolution|"
        r"titanic|shakespeare|mozart|einstein|beethoven|bach|napoleon|goethe|schiller|newton|darwin|picasso|cäsar|"
        r"kleopatra|dinosaurier\w*|planeten?|sonnensystem\w*|universum\w*|galaxie\w*|milchstrasse|photosynthese|fotosynthese|"
        r"schwerkraft|äquator\w*|nordpol\w*|südpol\w*|antarktis|lichtgeschwindigkeit|schallgeschwindigkeit|periodensystem\w*|"
        r"schwarze\w* loch\w*|urknall\w*|eiszeit\w*|mittelalter\w*|renaissance|chinesische\w* mauer|pyramiden?|wikinger\w*|"
        r"römer\w*|lichtjahr\w*|sonnenfinsternis|mondfinsternis|vollmond|neumond|schaltjahr\w*|sonnenuntergang|"
        r"sonnenaufgang|sonne (?:auf|unter)|muttertag|vatertag|olympi\w+|weltmeisterschaft|zeitumstellung|treibhauseffekt|"
        r"klimawandel)\b",
        r"\b(?:zahl|buchstabe|wort) (?:zwischen|nach|vor|das mit|mit)\b",
        r"\b(?:gegenteil|synonym\w*|mehrzahl|plural|definition|bedeutung|einzahl|artikel|genitiv) (?:von|für|zu)\b|"
        r"\b(?:anderes|anderen|schöneres|besseres) wort für\b|\bwas reimt sich\b",
        rf"\bübersetz\w*\b|\bauf {_TONGUE}$|\bwie nennen die\b",
        r"\b(?:kennst du|hast du|erzähl\w*|sag\w*|mach\w*) (?:mir |uns )?(?:mal )?(?:bitte )?(?:noch )?(?:ein\w*|was|etwas) (?:guten? |schlechten? |kurz\w+ |"
        r"lustig\w* |neuen? |schön\w* )*(?:\w*witz\w*|rätsel|zungenbrecher|märchen|gedicht|geschichte|scherzfrage|"
        r"lustiges|reim|fakt)\b",
    ),
)
