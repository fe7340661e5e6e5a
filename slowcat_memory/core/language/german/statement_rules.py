"""German rules of facts that people state; see the English ones.

A clause is read with its subject first, whatever stood there: "Seit April arbeite ich bei Bosch" as
"arbeite seit April bei Bosch".
"""

from slowcat_memory.core.language.data import any_of, read_classes
from slowcat_memory.core.language.facts import AHEAD, DATED, LOVE, TASTE, THINGS, WORK
from slowcat_memory.core.language.facts import StatementRule as Rule

_C = read_classes(__package__)
KIN = any_of(_C["men"], _C["women"], _C["children"])
PET = any_of(_C["pets_m"], _C["pets_f"], _C["pets_n"])
_PETS = any_of(_C["pet_plurals"])
JOB = any_of(_C["jobs"])
_ILLNESS = any_of(_C["illnesses"])
_CONDITION = any_of(_C["conditions"])
_DIET = any_of(_C["diets"])
_THING, _APPOINTMENT = any_of(_C["possessions"]), any_of(_C["appointments"])
_LANGUAGE = any_of(_C["languages"])
_PLAY = any_of(_C["instruments"], _C["sports"])
_ONES = "ein|zwei|drei|vier|fünf|sechs|sieben|acht|neun"
_TENS = "zwanzig|dreißig|vierzig|fünfzig|sechzig|siebzig|achtzig|neunzig"
NUMBER = (
    rf"(?:\d{{1,3}}|(?:(?:{_ONES})und)?(?:{_TENS})|eins|{_ONES}|zehn|elf|zwölf|dreizehn|vierzehn|fünfzehn|sechzehn|"
    r"siebzehn|achtzehn|neunzehn|hundert)"
)
_BIN, _HAB, _ANY = r"(?:bin|sind|ist)", r"(?:habe|haben|hat)", r"(?:.*? )??"
_A = r"(?:ein|eine|einen|einem|einer)"
_MY = r"(?:mein|meine|meinen|meinem|meiner|unser|unsere|unseren|unserem|unserer)"
_IN = r"(?:in|bei|nahe|unweit von|in der nähe von|außerhalb von|am rand von)"
_HOUSE = rf"(?:{_A}|im|der|dem) (?:\w+ ){{0,2}}(?:dorf|wohnung|haus|kleinstadt|stadt|vorort|wg|heim|altbau|zimmer|altenheim|pflegeheim) "
_OFTEN = (
    r"(?:jeden (?:zweiten )?(?:tag|morgen|abend|monat|montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag|sonntagabend|\w+abend|\w+morgen|\w+nachmittag)"
    r"|jede (?:woche|nacht)|jedes (?:jahr|wochenende)|(?:einmal|zweimal|dreimal|\w+ mal) (?:die woche|pro woche|in der woche|im monat|am tag|im jahr)"
    r"|(?:montags|dienstags|mittwochs|donnerstags|freitags|samstags|sonntags|täglich|wöchentlich|morgens|abends))"
)
_DAY = r"(?:(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch|sonnabend|wochenende)"
MONTH = (
    r"(?:januar|jänner|februar|märz|april|mai|juni|juli|august|september|oktober|november|dezember)"
)
_PART = r"(?: (?:früh|morgen|vormittag|mittag|nachmittag|abend|nacht)|(?:morgen|vormittag|mittag|nachmittag|abend))?"
_NTH = rf"(?:\d{{1,2}}\.(?: ?{MONTH}| ?\d{{1,2}}\.)?|\w+(?:ten|sten)(?: {MONTH})?)"
_MANY = r"(?:einer|einem|ein paar|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf|vierzehn|einigen|\d+)"
_UNIT = r"(?:tag|tage|tagen|woche|wochen|monat|monaten|jahr|jahren)"
_DATE = (
    rf"(?:(?:am|ab|bis zum|zum|vom) (?:(?:kommenden|nächsten|letzten|vergangenen|vorigen|diesen) )?(?:{_DAY}{_PART}|{_NTH}(?=\W|$))|"
    rf"(?:diesen|kommenden|nächsten|letzten|vorigen) {_DAY}{_PART}|dieses wochenende|nächstes wochenende|letztes wochenende|(?:an|zu|über) (?:ostern|weihnachten|pfingsten|silvester))"
)
SOON = (
    rf"(?:{_DATE}|(?:über)?morgen{_PART}|in {_MANY} {_UNIT}|nächste woche|nächsten monat|nächstes jahr|im (?:kommenden |nächsten )?(?:{MONTH}|sommer|herbst|winter|frühjahr|frühling|monat|jahr)|"
    rf"(?:mon|diens|donners|frei|sams|sonn)tag{_PART} (?:um|in)|heute abend|heute nachmittag|ende der woche|(?:ende|anfang|mitte) {MONTH})"
)
AGO = (
    rf"(?:{_DATE}|(?:vor)?gestern{_PART}|heute{_PART}|vor {_MANY} {_UNIT}|neulich|letzte (?:woche|nacht)|letzten (?:monat|sommer|winter|herbst)|letztes (?:jahr|wochenende)|"
    rf"im (?:letzten |vergangenen )?(?:{MONTH}|sommer|herbst|winter|frühjahr|frühling)|diese woche)"
)
# Adverbials of time, which stand between a German verb and its object.
_T = rf"(?:(?:{AGO}|seit (?:\w+ ){{1,2}}(?:jahren|monaten|wochen|jahr|monat)|endlich|jetzt|nun|gerade|wieder|doch|leider|schon) )*"
_TRAVEL = r"(?:fahre?n?|fährt|fliege?n?|fliegt|reise?n?|reist|ziehe?n?|zieht|wandere?n?|wandert|radel?n?|segel?n?|pilgere?n?|gehe?n?|geht|mache?n? urlaub)"
_LIFE = (
    r"(?:machen|kaufen|verkaufen|ziehen|umziehen|heiraten|lernen|studieren|kündigen|aufhören|anfangen|bauen|renovieren|"
    r"laufen|schreiben|werden|adoptieren|reisen|fliegen|fahren|wandern|auswandern|gründen|eröffnen|wechseln|abnehmen|"
    r"sparen|besteigen|schwimmen|bleiben|nehmen|ausziehen|zusammenziehen|bewerben|bestehen|schaffen|anschaffen|holen|gehen)"
)

RULES = (
    Rule("event", "event", "{s} wird {o}.", r"(?:werde|werden|wird) (?P<o>(?:.* )?(?:vater|mutter|oma|opa|eltern|großeltern|tante|onkel|papa|mama))(?=$|,| und| im)", "value"),
    Rule("person", "diet", "{s} isst {o} nicht.", r"(?:esse|essen|isst|trinke|trinken|trinkt) (?P<o>(?!das\b|es\b|viel\b|so\b).+?) (?:überhaupt |gar |grundsätzlich )?nicht$", "things", denies=True),
    Rule("person", "works_at", "{s} arbeitet {n} {o}.", rf"{_BIN} {_ANY}(?P<n>bei der|beim) (?P<o>post|bahn|polizei|feuerwehr|bundeswehr|stadt|sparkasse|telekom|caritas|diakonie|müllabfuhr|awo|rundfunk|finanzamt)\b", "value"),
    Rule("person", "has_{kin}", "", r"heißt (?P<o>.+)", "people", whose="unnamed", reverse=True),
    Rule("plan", "plans", "{s} zieht {o} um.", r"(?:ziehe|ziehen|zieht) (?P<o>.+?) um$", "text"),
    # Name, age, birthday, origin
    Rule("person", "name", "{s} heißt {o}.", r"heiße (?P<o>.+)", "person", whose="speaker"),
    Rule("person", "name", "{s} heißt {o}.", r"'s (?:voller |richtiger )?name ist (?P<o>.+)", "person", whose="speaker"),
    Rule("person", "name", "{s} heißt {o}.", r"nenn(?:en sie)? mich (?:bitte |einfach )?(?P<o>.+)", "person", whose="request"),
    Rule("person", "age", "{s} ist {o} Jahre alt.", rf"(?:bin|ist) (?P<o>{NUMBER})(?: jahre?(?: alt)?| geworden|(?=$|,| und (?!{NUMBER}))| alt)", "value"),
    Rule("person", "age", "{s} wird {o}.", rf"(?:werde|wird) {_ANY}(?P<o>{NUMBER})(?=$|,| und| jahre)", "value"),
    Rule("person", "birthday", "{s} hat am {o} Geburtstag.", rf"(?:{_HAB}(?= am \S+ \S+ geburtstag)|wird|werde) am (?P<o>\S+ \S+) (?:geburtstag|{NUMBER})", "date"),
    Rule("person", "birthday", "{s} hat am {o} Geburtstag.", r"'s geburtstag ist am (?P<o>.+)", "date"),
    Rule("person", "born_in", "{s} kommt aus {o}.", rf"(?:komme|kommt|stamme|stammt) {_ANY}aus (?:der |dem )?(?!.+ (?:zu|zurück|an|nach)\b)(?P<o>.+)", "place"),
    Rule("person", "born_in", "{s} ist in {o} geboren.", rf"(?:bin|ist|wurde) (?:geboren )?{_ANY}in (?P<o>.+)(?: geboren| zur welt gekommen|(?<=geboren))", "place"),
    Rule("person", "born_in", "{s} ist in {o} geboren.", r"(?:bin|ist|wurde) geboren in (?P<o>.+)", "place"),
    Rule("person", "born_in", "{s} ist in {o} aufgewachsen.", rf"(?:bin|ist) {_ANY}in (?P<o>.+?) (?:aufgewachsen|groß geworden)", "place"),
    # Home
    Rule("person", "lives_in", "{s} wohnt in {o}.", rf"(?:wohne?n?|wohnt|lebe?n?|lebt|(?:bin|sind|ist) zuhause|(?:bin|sind|ist) zu hause) {_ANY}(?:{_HOUSE}{_IN} |(?:{_IN} |im |auf |an der )(?:{_HOUSE}{_IN} )?)(?P<o>.+)", "place"),
    Rule("person", "lives_in", "{s} ist nach {o} gezogen.", rf"{_BIN} {_ANY}nach (?P<o>.+?) (?:gezogen|umgezogen|ausgewandert|übergesiedelt)", "place"),
    Rule("person", "address", "{s} wohnt in der {o}.", r"(?:meine|unsere|die) (?:neue )?adresse ist (?:jetzt )?(?:die |der )?(?P<o>.+)", "text", whose="me"),
    # Work
    Rule("person", "works_as", "{s} arbeitet als {o}.", rf"(?:arbeite|arbeitet|jobbe|jobbt) {_ANY}als (?P<o>(?:{_A} )?\w+)", "value"),
    Rule("person", "works_as", "{s} ist {o}.", rf"{_BIN} (?:von beruf |ja |eigentlich |gelernter |gelernte |{_A} )*(?P<o>{JOB})(?=$|,| in\b| bei\b| und| an| am| im| auf| von beruf| beim| seit)(?! (?:von|und (?:er|sie)))", "value"),
    Rule("person", "works_as", "{s} macht eine Ausbildung {o}.", rf"(?:mache|macht) {_ANY}(?:{_A} )?(?:ausbildung|lehre|umschulung) (?P<o>(?:zum|zur|als) \w+)", "value"),
    Rule("person", "works_at", "{s} arbeitet {n} {o}.", rf"(?:arbeite|arbeiten|arbeitet|jobbe|jobbt|schaffe|schafft) {_ANY}(?P<n>bei der|bei|beim|für|in der|in einer|in einem|im|an der|an einer|am|auf dem|auf einem) (?P<o>.+)", "organisation"),
    Rule("person", "works_at", "{s} arbeitet {n} {o}.", rf"{_BIN} {_ANY}(?:{JOB}|angestellt|beschäftigt) (?P<n>bei der|bei|beim|für|in der|in einer|in einem|im|an der|an einer|am|auf dem|auf einem) (?P<o>.+)", "organisation"),
    Rule("person", "works_at", "{s} fängt bei {o} an.", rf"(?:fange|fängt|fang) {_ANY}(?:bei der|bei|beim|im|in der|am|an der) (?P<o>.+?) an\b", "organisation"),
    Rule("person", "works_at", "{s} hat bei {o} angefangen.", rf"{_HAB} {_ANY}(?:bei|beim) (?P<o>.+?) angefangen", "organisation"),
    Rule("person", "studies", "{s} studiert {o}.", r"(?:studiere|studiert) (?:in \w+ |jetzt |seit \w+ )?(?P<o>(?!in\b|an\b|noch\b|seit\b)\w+(?: und \w+)?)", "value"),
    Rule("person", "relationship_status", "{s} ist {o}.", rf"{_BIN} (?:seit \S+(?: \S+)? )?(?P<o>single|geschieden|verwitwet|witwe|witwer|getrennt|verlobt|verheiratet|in rente|im ruhestand|pensioniert)\b(?! mit)", "value"),
    # People and animals
    Rule("person", "has_{kin}", "", rf"'s (?:\w+ ){{0,2}}?(?P<kin>{KIN}|{PET}|{_PETS}) (?:heißt|heißen|nennt sich) (?P<o>.+)", "people"),
    Rule("person", "has_{kin}", "", rf"'s (?:\w+ ){{0,2}}?(?P<kin>{KIN}) ist (?:der |die |das )?(?P<o>(?:dr|doktor|herr|frau|professor|prof)\b\.? .+)", "person"),
    Rule("person", "has_{kin}", "", rf"'s (?:\w+ ){{0,2}}?(?P<kin>{KIN}|{PET}) ist (?:der |die )?(?P<o>[\w-]+)(?=$|,)", "people"),
    Rule("person", "has_{kin}", "", rf"{_HAB} {_A} (?:\w+ )?(?P<kin>{KIN}|{PET})(?: namens|, (?:der|die|das) heißt|,| mit (?:dem )?namen) (?P<o>.+)", "people"),
    Rule("person", "has_{kin}", "", rf"{_HAB} (?:zwei|drei|vier|fünf|\d) (?:\w+ )?(?P<kin>{_PETS}|kinder|söhne|töchter|brüder|schwestern)(?:,|:| namens|, die heißen)? (?P<o>.+)", "people"),
    Rule("person", "has_child", "{s} hat {o}.", rf"{_HAB} (?P<o>(?:zwei|drei|vier|fünf|sechs|{_A}) (?:\w+ )?(?:kinder|söhne|töchter|sohn|tochter))\b(?! namens| und (?:mein|unser)|(?: \w+)* (?:bekommen|gekriegt|verloren))", "value"),
    Rule("person", "has_sibling", "{s} hat {o}.", rf"{_HAB} (?P<o>(?:zwei|drei|vier|fünf|sechs|{_A}) (?:\w+ )?(?:brüder|schwestern|geschwister|bruder|schwester)(?: und (?:zwei|drei|vier|{_A}) (?:brüder|schwestern|bruder|schwester))?)\b(?! namens)", "value"),
    Rule("person", "name", "{s} heißt {o}.", r"bin (?:die|der) (?P<o>\S+)(?=$|,| und| aus| von)", "given", whose="speaker"),
    Rule("person", "married_to", "{s} ist mit {o} verheiratet.", rf"{_BIN} {_ANY}mit (?:der |dem )?(?P<o>.+?) verheiratet", "person"),
    Rule("person", "engaged_to", "{s} ist mit {o} verlobt.", rf"{_BIN} {_ANY}mit (?:der |dem )?(?P<o>.+?) verlobt", "person"),
    Rule("person", "has_partner", "{s} ist mit {o} zusammen.", rf"{_BIN} {_ANY}mit (?:der |dem )?(?P<o>.+?) (?:zusammen|liiert)", "person"),
    Rule("possession", "owns", "{s} hat {o}.", rf"{_HAB} (?P<o>(?:{_A}|zwei|drei|vier) (?:\w+ )?(?:{PET}|{_PETS}))(?=$| seit| und)(?! (?:namens|von gestern))", "value"),
    # Health and food
    Rule("person", "allergic_to", "{s} ist allergisch gegen {o}.", rf"{_BIN} {_ANY}(?:hoch)?allergisch (?:gegen|auf) (?P<o>.+)", "things"),
    Rule("person", "allergic_to", "{s} ist allergisch gegen {o}.", rf"{_BIN} (?:gegen|auf) (?P<o>.+?) (?:hoch)?allergisch", "things"),
    Rule("person", "allergic_to", "{s} ist allergisch gegen {o}.", rf"{_HAB} {_ANY}{_A} (?:\w+ )?(?P<o>\w+)allergie\b", "value"),
    Rule("health", "health", "{s} verträgt {o} nicht.", r"(?:vertrage?n?|verträgt) (?:leider |gar |überhaupt )*keine?n? (?P<o>.+)", "things", denies=True),
    Rule("person", "diet", "{s} isst kein {o}.", r"(?:esse|essen|isst) (?:kein|keine|keinen) (?P<o>.+)", "things", denies=True),
    Rule("person", "diet", "{s} ist {o}.", rf"{_BIN} (?:\w+ )??(?P<o>{_DIET})\b", "value"),
    Rule("health", "health", "{s} ist {o}.", rf"{_BIN} (?:\w+ )??(?P<o>{_CONDITION})\b", "value"),
    Rule("health", "health", "{s} hat {o}.", rf"(?:{_HAB}|leide|leidet) {_ANY}(?:an |unter )?(?P<o>{_ILLNESS})\b", "value"),
    Rule("event", "operation", "{s} wird {o} operiert.", r"(?:werde|wird) (?P<o>.+?) operiert", "text"),
    Rule("event", "event", "{s} ist schwanger{o}.", r"(?:bin|ist) (?:\w+ )?schwanger(?! mit)(?P<o>.*)", "due"),
    # Likes and dislikes
    Rule("preference", "favourite {kin}", "{s} hat als Lieblings{kin} {o}.", r"'s lieblings(?P<kin>\w+) (?:ist|sind) (?P<o>.+)", "thing"),
    Rule("preference", "likes", "{s} mag {o}.", r"(?:mag|mögen|liebe|lieben|liebt|(?:stehe|steht) auf(?! (?:dem|der|einem)\b)|schwärme für|schwärmt für|esse gern|trinke gern|höre gern) (?:am liebsten |total |wirklich |besonders |gern |gerne |sehr )*(?P<o>(?!es\b|das\b|dich\b|sie\b|ihn\b|wenn\b|wie\b|dass\b|mein\w*\b).+)", "things"),
    Rule("preference", "dislikes", "{s} mag {o} nicht.", r"(?:hasse|hassen|hasst|verabscheue|verabscheut) (?P<o>(?!es\b|das\b|dich\b|sie\b|ihn\b|wenn\b|wie\b|dass\b).+)", "things"),
    Rule("preference", "dislikes", "{s} mag {o} nicht.", r"(?:mag|mögen) (?:überhaupt |gar )?kein(?:e|en)? (?P<o>.+)", "things", denies=True),
    Rule("preference", "dislikes", "{s} mag {o} nicht.", r"(?:kann|können) (?P<o>.+?) nicht (?:leiden|ausstehen|riechen|ab)\b", "things", denies=True),
    # What people do
    Rule("habit", "plays", "{s} spielt {o}.", rf"(?:spiele|spielt|spielen) {_ANY}(?P<o>{_PLAY}\b(?: in (?:einer|der|meiner|unserer) (?:\w+ )?\w*(?:band|mannschaft|orchester|kapelle|gruppe))?)", "text"),
    Rule("habit", "learns", "{s} lernt {o}.", rf"(?:lerne|lernt|lernen) {_ANY}(?P<o>{_LANGUAGE}|{any_of(_C['instruments'])})\b", "value"),
    Rule("habit", "habit", "{s} {o}.", rf"(?P<o>(?!(?:bin|ist|sind|habe|haben|hat|war|will|muss|soll|kann|denke|glaube|würde)\b)\w+ (?:.*? )?{_OFTEN}.*)", "deed", inflect=True, present=True),
    # What lies ahead
    Rule("event", "appointment", "{s} hat {o}.", rf"{_HAB} (?P<o>(?=.*\b(?:{_APPOINTMENT}|\w+termin|\w+prüfung|\w+gespräch)\b)(?!.*\b(?:ge\w+[nt]|ver\w+[nt]|be\w+[nt]|abge\w+[nt])$).+)", "dated"),
    Rule("event", "event", "{s} heiratet{o}.", r"heirate[nt]?(?P<o>.*)", "due"),
    Rule("event", "event", "{s} hat geheiratet{o}.", rf"{_HAB} (?P<o>.*?) ?geheiratet", "due"),
    Rule("event", "event", "{s} hat sich verlobt{o}.", rf"{_HAB} (?:uns|mich|sich) (?P<o>.*?) ?verlobt", "due"),
    Rule("plan", "plans", "{s} {o}.", rf"(?P<o>{_TRAVEL} .*\b(?:nach|in die|in den|ans|an die|auf die) .+)", "dated", inflect=True),
    Rule("plan", "plans", "{s} will {o}.", rf"(?:will|wollen|möchte|möchten|werde|werden|wird) (?P<o>(?!.*\bgenannt\b).+ {_LIFE}\b.*)", "text"),
    # What happened
    Rule("possession", "bought", "{s} hat {o} gekauft.", rf"{_HAB} (?:mir |uns |sich )?{_T}(?P<o>(?:{_A}|das|den|die|zwei|drei|neue\w*|karten)\b.+?) (?:gekauft|bestellt|angeschafft|gegönnt|zugelegt|geholt|erworben)", "bought"),
    Rule("possession", "owns", "{s} hat {o}.", rf"{_HAB} (?P<o>(?:{_A}|zwei|drei) (?:\w+ ){{0,2}}\w*{_THING}\b(?: (?:am|in|an|auf|im) .+)?)$", "text"),
    Rule("success", "achieved", "{s} wurde {o}.", rf"{_BIN} (?P<o>.*\b(?:erster|erste|zweiter|zweite|dritter|dritte|meister|meisterin|befördert)) (?:geworden|worden)", "text"),
    # Open matters
    Rule("open_thread", "has_to", "{s} muss noch {o}.", r"(?:muss|müssen) (?:unbedingt )?(?:noch |(?=bis |vor |morgen |nächste))(?P<o>.+ \w+n)$", "text"),
    Rule("open_thread", "wants_reminder", "{s} will erinnert werden: {o}.", r"erinner(?:e|n sie)? mich (?:bitte )?(?:daran,? |an )(?P<o>.+)", "text", whose="request"),
)  # fmt: skip

_UP = r"(?:aufgegeben|überstanden|abgebrochen|hingeschmissen|geschmissen|abgesetzt|beendet|eingestellt|an den nagel gehängt|sein lassen|sausen lassen)"

ENDINGS = (
    Rule("person", "has_partner", "{s} ist single.", rf"{_BIN} (?:jetzt |wieder |frisch |inzwischen |nun )*(?:single|solo|alleinstehend)(?P<o>)", "nothing", over=True, ends=LOVE),
    Rule("person", "works_at", "{s} hat die Stelle verloren.", r"(?!.*\b(?:krankenhaus|klinik|reha|haft|gefängnis|station|wehrdienst|bundeswehr)\b)(?:wurde|wurden|bin|ist) (?:\w+ ){0,4}?(?:entlassen|gefeuert|rausgeworfen|rausgeflogen|gekündigt)(?: worden)?$(?P<o>)", "nothing", over=True, ends=WORK),
    Rule("person", "works_at", "{s} ist arbeitslos.", rf"{_BIN} {_ANY}(?:arbeitslos|ohne (?:arbeit|job|stelle))\b(?P<o>)", "nothing", over=True, ends=WORK),
    Rule("event", "called_off", "{o} ist abgesagt.", rf"(?P<o>(?:die|der|das|{_MY}) .+?) (?:ist|wurde|wird|fällt) (?:\w+ )?(?:abgesagt|aus|gestrichen|ins wasser(?: gefallen)?|geplatzt)\b", "text", over=True, ends=AHEAD, whose="me"),
    Rule("habit", "gave_up", "{s} hat mit {o} aufgehört.", rf"{_HAB} {_ANY}mit (?:dem |der |den )?(?P<o>.+?) (?:aufgehört|schluss gemacht)", "thing", over=True, ends=("*",)),
    Rule("person", "works_at", "{s} hat bei {o} aufgehört.", rf"{_HAB} {_ANY}(?:bei|beim) (?P<o>.+?) (?:gekündigt|aufgehört)", "organisation", over=True, ends=WORK),
    Rule("person", "works_at", "{s} hat gekündigt.", rf"{_HAB} (?:meinen job |die stelle |meine stelle |gestern |heute |am \w+ )*gekündigt(?P<o>)$", "nothing", over=True, ends=WORK),
    Rule("person", "works_at", "{s} hat den Job verloren.", rf"{_HAB} {_T}(?:meinen|den|seinen|ihren|meine|die) (?:job|stelle|arbeit|arbeitsplatz) (?:\w+ )?verloren(?P<o>)", "nothing", over=True, ends=WORK),
    Rule("person", "has_partner", "{s} hat sich von {o} getrennt.", rf"{_HAB} (?:mich|uns|sich) {_T}(?:von|mit) (?P<o>.+?) (?:getrennt|scheiden lassen)", "person", over=True, ends=LOVE),
    Rule("person", "has_partner", "{s} hat sich von {o} getrennt.", rf"{_HAB} (?:uns|mich|sich) (?:\w+ )*?(?:getrennt|scheiden lassen) (?:von|mit) (?P<o>.+)", "person", over=True, ends=LOVE),
    Rule("person", "has_partner", "{s} hat sich getrennt.", rf"{_HAB} (?:uns|mich|sich) (?:\w+ ){{0,3}}(?:getrennt|scheiden lassen)(?P<o>)$", "nothing", over=True, ends=LOVE),
    Rule("person", "lives_in", "{s} ist aus {o} ausgezogen.", rf"{_BIN} {_ANY}aus (?P<o>.+?) (?:ausgezogen|weggezogen)", "thing", over=True, ends=("lives_in", "address", "lives_with")),
    Rule("person", "lives_with", "{s} ist ausgezogen.", rf"{_BIN} (?:\w+ )?ausgezogen(?P<o>)$", "nothing", over=True, ends=("lives_in", "address", "lives_with")),
    Rule("person", "died", "{s} ist gestorben.", rf"(?:{_BIN} |(?=.*\bist$))(?P<o>.*?) ?(?:gestorben|verstorben|eingeschläfert worden|von uns gegangen|tot)\b", "due", over=True, ends=("",), whose="other"),
    Rule("habit", "gave_up", "{s} hat {o} aufgegeben.", rf"{_HAB} (?:jetzt |leider |endlich |schon )*(?P<o>.+?) {_UP}", "text", over=True, ends=("*",)),
    Rule("possession", "sold", "{s} hat {o} nicht mehr.", rf"{_HAB} {_T}(?P<o>(?:das|den|die|mein\w*|unser\w*)\b.+?)(?: an .+?)? (?:verkauft|weggegeben|verschrottet|verschenkt|weggeworfen)", "text", over=True, ends=THINGS),
    Rule("plan", "called_off", "{s} hat {o} abgesagt.", rf"{_HAB} (?:jetzt |leider )*(?P<o>.+?) (?:abgesagt|storniert|gecancelt|abgeblasen|verworfen)", "text", over=True, ends=AHEAD),
    Rule("preference", "dislikes", "{s} mag {o} nicht.", r"(?:kann|können) (?P<o>.+?) nicht mehr (?:sehen|riechen|leiden|ausstehen|ab)\b", "things", ends=TASTE),
)  # fmt: skip
OVER = (
    Rule("person", "has_partner", "{s} ist mit {o} zusammen.", rf"{_BIN} zusammen mit (?P<o>.+)", "person"),
    Rule("habit", "habit", "{s} {o}.", r"(?P<o>(?!(?:bin|ist|sind|habe|haben|hat|war|will|muss|soll|kann|denke|glaube|weiß|verstehe|rede|reden|redet|spreche|sprechen|spricht|treffen)\b)\w+(?: .+)?)", "deed", inflect=True),
)  # fmt: skip

# What has a day: appointments, occasions, trips, outings. A clause is read with its subject and its
# verb first ("gehe am Montag zum Zahnarzt"), so an expression of time stands anywhere behind the verb.
_NOUN = rf"\w*{any_of(_C['appointments'], _C['occasions'], _C['trips'])}\b"
EVENT = rf"(?:[\w-]+ ){{0,2}}?{_NOUN}(?: (?:mit|bei|beim|in|für|zum|zur|von|im) (?:\w+ )?\w+)?"
_GOAL = (
    rf"(?:zum|zur|zu (?:einem|einer|der|dem|den|mein\w*|unser\w*)|ins|in (?:die|den|das)|auf (?:die|den|das|ein\w*)|beim|bei (?:der|dem|den)|im|in der|auf der|auf dem|an die) "
    rf"(?:[\w-]+ )?(?:\w*{any_of(_C['occasions'], _C['appointments'], _C['trips'], _C['visited'])})\b"
)
_GO = r"(?:gehe?n?|geht|fahre?n?|fährt|fliege?n?|fliegt|muss|müssen|soll|sollen|darf|dürfen|will|wollen|werde|werden|wird|möchte|möchten|komme?n?|kommt)"
_HABEN = r"(?:habe|haben|hat|hab)"
_FIRST, _THEN = rf"(?=.*\b{SOON}(?:\W|$))", rf"(?=.*\b{AGO}(?:\W|$))"
_AUX_END = r"(?=$|,| und\b)"
_NO_DAILY = rf"(?!.*\b{any_of(_C['daily'])}\b)"
_ITS = r"(?:der|die|das)"

EVENT_RULES = (
    Rule("event", "appointment", "{s} {o}.", rf"{_FIRST}{_NO_DAILY}(?P<o>{_GO} (?:.* )?{_GOAL}.*)", "deed", inflect=True),
    Rule("event", "appointment", "{s} {o}.", rf"{_FIRST}(?P<o>(?:mache?n?|macht|feiere?n?|feiert|gebe?n?|gibt|veranstalten?|veranstaltet|plane?n?|plant|besuche?n?|besucht|treffe?n?|trifft) .+)", "deed", inflect=True),
    Rule("event", "appointment", "{o} von {s} ist jetzt am {n}.", rf"'s (?P<o>{EVENT}) (?:wurde|ist|wird) auf (?:den )?(?P<n>{SOON}|{_NTH}|{_DAY}{_PART}) (?:verschoben|verlegt|vorverlegt)", "value", ends=DATED),
    Rule("event", "appointment", "{s} hat {o}.", rf"{_FIRST}{_HABEN} (?P<o>{SOON}(?: um \w+(?: uhr)?)? \w*{any_of(_C['visited'], _C['occasions'], _C['appointments'], _C['trips'])}\b.*)", "text"),
    Rule("event", "event", "{n} ist {o}.", rf"(?P<o>{SOON}) (?:ist|findet|steht) (?:(?:der|die|das|ein\w*|unser\w*|mein\w*) )?(?P<n>\w*{any_of(_C['occasions'], _C['appointments'], _C['trips'])}\b)(?!.*\bvon\b)", "text", whose="me"),
    Rule("event", "event", "{n} von {s} ist {o}.", rf"'s (?P<n>{EVENT}) (?:ist|findet|beginnt|fängt) (?:jetzt |nun |erst )*(?P<o>{SOON}.*?)(?: statt| an)?$", "text"),
    Rule("event", "event", "{n} ist {o}.", rf"(?P<n>{_ITS} {EVENT}) (?:ist|findet|beginnt|fängt) (?:jetzt |nun |erst )*(?P<o>{SOON}.*?)(?: statt| an)?$", "text", whose="me"),
    Rule("event", "event", "{s} {o}.", rf"{_THEN}{_NO_DAILY}(?P<o>(?:war|waren) (?:.* )?{_GOAL}.*)", "deed"),
    Rule("event", "event", "{s} hat {o}.", rf"{_THEN}{_NO_DAILY}{_HABEN} (?P<o>.+ {any_of(_C['outings_had'])}){_AUX_END}", "deed"),
    Rule("person", "lives_in", "{s} zieht nach {o}.", rf"{_FIRST}(?:ziehe?n?|zieht) (?:.*? )??nach (?P<o>.+)", "place"),
)  # fmt: skip
