"""The German grammar of facts that people state, and words on facts and names."""

import re

from slowcat_memory.core.language.data import any_of, filled, read_classes, read_words
from slowcat_memory.core.language.facts import FactWords, StatementWords, name_words
from slowcat_memory.core.language.german import statement_rules as rules

ASKS = re.compile(
    r"(?:und|ach|du|sag mal|sag|also|äh|hey)?,?\s*(?:"
    r"(?:wer|wem|wen|wessen|wo|wohin|woher|wann|wie|wieso|weshalb|warum|welche[rnsm]?|worüber|womit|"
    r"wovon|wofür)\b"
    r"|was (?:hab|hat|war|ist|wei|steht|gibt|gab|mach|wollt|soll|kann|weiß|mein|sag|isst|mag|wird)"
    r"|(?:hab|habe|hast|hat|hatte|hatten|haben|bin|bist|ist|sind|war|waren|weißt|kennst|kannst|"
    r"könntest|könnten|können|erinnerst|gibt|gab|wird|wollte|muss|soll)\s+(?:ich|du|er|sie|es|wir|"
    r"ihr|man|mein|meine|unser|unsere|die|der|das)\b)",
    re.IGNORECASE,
)


_WORDS = read_words(__package__)
_C = read_classes(__package__)
_MINE = r"(?:mein|unser)(?:e|en|em|er)?|unsre\w?"
# Verbs of the rules, in the forms that follow a subject.
_VERB = (
    r"bin|ist|sind|habe|hat|haben|wohne|wohnt|wohnen|lebe|lebt|leben|arbeite|arbeitet|arbeiten|jobbe|jobbt|heiße|heißt|komme|kommt|kommen|"
    r"stamme|stammt|mag|mögen|liebe|liebt|lieben|hasse|hasst|hassen|werde|wird|werden|will|wollen|fahre|fährt|fahren|fliege|fliegt|fliegen|"
    r"gehe|geht|gehen|spiele|spielt|spielen|lerne|lernt|lernen|studiere|studiert|trage|trägt|tragen|nehme|nimmt|nehmen|esse|isst|essen|trinke|"
    r"trinkt|trinken|ziehe|zieht|ziehen|heirate|heiratet|heiraten|kann|können|muss|müssen|besitze|besitzt|spare|spart|sparen|verträgt|vertrage|"
    r"wurde|telefoniere|telefoniert|treffe|trifft|treffen|singe|singt|schwimme|schwimmt|laufe|läuft|jogge|joggt|leite|leitet|leide|leidet|"
    r"reise|reist|reisen|wandere|wandern|wandert|mache|macht|machen|plane|plant|planen|braucht|brauche|koche|kocht|kochen|rauche|raucht|"
    r"fange|fängt|fangen|schlafe|schläft|kündige|trainiere|trainiert|steht|stehe|bekomme|bekommt|bekommen|erwarte|erwartet|erwarten|führt|führe|mussten|starb|zog|zogen|sammle|sammelt|interessiere|rauchen|schmeiße|gebe|kriege|kriegt|kriegen|beginne|reagiere|reagiert|nennen|verzichte|verzichtet|lese|liest|höre|hört|tanze|tanzt|backe|versuche|versucht|warte|wartet|verstehe|bleibe|jobben|begeistere|verlasse"
)
_STEMS = "|".join(verb[:-1] for verb in _VERB.split("|") if verb.endswith("e"))
_SUBJECT = rf"(?:ich|wir|er|sie|es|das|der|die|dann|du)\b|(?:{_MINE}) (?:{rules.KIN}|{rules.PET})\b"

STATEMENTS = StatementWords(
    rules=rules.RULES + rules.EVENT_RULES,
    endings=rules.ENDINGS,
    over=rules.OVER,
    expand=(
        (r"\b(wohn|arbeit|leb|jobb|heiß|mag|lieb|hass|find|kauf|zieh|plan|lern|spiel|trink|sing|brauch|freu|hoff|glaub|denk)(?<!mag) (ich|wir)\b", r"\1e \2"),
        (r"\bich (wohn|arbeit|leb|jobb|lieb|hass|find|kauf|zieh|plan|sing|brauch|freu|hoff)\b", r"ich \1e"),
        (r"\b(seh|geh|steh|versteh|dreh)n\b", r"\1en"),
        (r"\b(heißt|heißen|name ist) (\w+),? (?:und )?nicht \w+$", r"\1 \2"),
        (r"\bhab\b", "habe"), (r"\bis\b", "ist"), (r"\bnich\b", "nicht"), (r"\bne\b", "eine"), (r"\bn\b", "ein"), (r"\bnen\b", "einen"),
        (r"\bnem\b", "einem"), (r"\bner\b", "einer"), (r"\bfahr\b", "fahre"), (r"\bgeh\b", "gehe"), (r"\bwohn\b", "wohne"), (r"\barbeit\b(?= (?:bei|als|in))", "arbeite"),
        (r"\bmach\b", "mache"), (r"\bkomm\b", "komme"), (r"\bspiel\b", "spiele"), (r"\blern\b", "lerne"), (r"\bess\b", "esse"), (r"\bsteh\b", "stehe"),
        (r"\btrink\b", "trinke"), (r"\bheiß\b(?= )", "heiße"), (r"\bheisse\b", "heiße"), (r"\bheisst\b", "heißt"), (r"\baufm\b", "auf dem"), (r"\bgibts\b", "gibt es"), (r"\bgabs\b", "gab es"),
        (r"\bnix\b", "nichts"), (r"\bunsre(\w?)\b", r"unsere\1"), (r"\bnehm\b", "nehme"), (r"\bhass\b", "hasse"),
        (rf"\b((?:{_MINE}) (?:\w+ )??{rules.KIN}),? (?:der|die|das) (?=[\w-]+(?:,| |$))", r"\1 "),
        (rf"\b((?:{_MINE}) (?:\w+ )??(?:{rules.KIN}|{rules.PET})) namens ", r"\1 "),
        (rf"\b({rules.KIN}|{rules.PET}),? (?:der|die|das) (\S+) heißt\b", r"\1 namens \2"), (rf"\b({rules.KIN}|{rules.PET}),? (?:der|die|das) heißt (\S+)", r"\1 namens \2"),
        (rf"^(?:der|die) (\w+) von (mein|unser)(?:em|er) ({rules.KIN}) heißt", r"\2 \3's \1 heißt"),
        (rf"\b(ich|wir) ({_STEMS})\b", r"\1 \2e"), (rf"\b({_STEMS}) (ich|wir)\b", r"\1e \2"),
    ),
    fillers=(
        r"ähm?|hm+|also|ja|nein,|nein(?= (?:mein|unser|ihr|sein)\w*\b)|ne,|nee,|doch|na|ach|oh|du|naja|na ja|tja|so|und|aber|denn|weil|seit|übrigens|eigentlich|ehrlich gesagt|weißt du|"
        r"weißt|wissen sie|hör mal|stell dir vor,? ich(?= )x|sag mal|hallo|hey|hi|danke|bitte|leider|endlich|zum glück|okay|ok|gut|genau|schau|schau mal|guck mal|"
        r"wie gesagt|nur damit du es weißt|falls du fragst|ganz ehrlich|(?:eine )?(?:gute|schlechte|traurige|schlimme|tolle) (?:nachricht|neuigkeit)(?:en)?|super|toll|ich sag dir|ich glaube,?|"
        r"hurra|juhu|juchhu|yippie|geschafft|stimmt,|jetzt|außerdem|auch|gestern abend,|kurz gesagt|im übrigen|nebenbei|ich muss dir sagen|wow|mensch|sorry|dann"
    ),
    adverbs=(
        r"jetzt|gerade|derzeit|momentan|eben|halt|ja|doch|mal|auch|schon|endlich|übrigens|eigentlich|wirklich|echt|total|sehr|leider|nun|"
        r"inzwischen|mittlerweile|ganz|einfach|neulich|kürzlich|frisch|seitdem|offiziell|ziemlich|also|so"
    ),
    breaks=(
        r"\s*(?:[;:–—]|\s-\s|\.\.\.|…)\s*"
        rf"|,?\s+(?:und dann|und|aber|denn|oder|deshalb|darum|deswegen|sondern)\s+(?={_SUBJECT})"
        rf"|,?\s+und (?=(?:{_VERB}|is|hab|fahr|geh|wohn|arbeit|spiel|mach)\b(?! ich| wir))"
        r"|(?<!\bist),\s+(?=(?:ich|wir|er|sie|es|da|dann|deshalb|darum|weil|seit|am|im|aber|wegen|nur|bis|denn|damit)\b|(?:die|der|das) (?:könnte|kann|mag|hat|ist|kommt|neue)\w*\b)"
        r"|(?<!\bdass)(?<!\bob)(?<!\bwenn)(?<!\bweil)(?<!\bwie)(?<!\bwas)(?<!\bwo)(?<!\balso)(?<!\bund)(?<!\bdie)(?<!\bden)(?<!\bdas)(?<!\baber)(?<!\bdann)(?<!\bals)(?<!\bentschieden)(?<!\bbeschlossen)(?<!\bglaube)(?<!\bob)"
        rf"\s+(?=(?:er|sie) (?:ist|hat|heißt|wohnt|arbeitet|lebt|kommt|spielt|studiert)\b|(?:ich|wir) (?:bin|habe?|wohne|arbeite|mag|liebe|hasse|mache?|fahre?|gehe?|will|sind|haben|wohnen|fahren|sag)\b)"
        r"|\s+(?=(?:der mag|die mag|der hat|die hat|weißt du|wissen sie|was meinst du|kannst du|könntest du|hast du)\b)"
        r"|\s+(?=(?:darum|deshalb|deswegen|da (?:schwillt|wird|muss|kann))\b)"
    ),
    false_turn=(
        r"nur spaß|war(?: nur| bloß)? (?:ein )?(?:spaß|witz|scherz)|kleiner scherz|ich mach(?:e)? nur spaß|\bhaha|quatsch|spinn nur|"
        r"spinne nur|rollenspiel|tu so als|tun wir so|april april"
    ),
    false_sentence=(
        r"\bwenn\b|\bfalls\b|angenommen|stell dir vor|stellen sie sich vor|^\W*(?:ach,? |ich |er |sie )?(?:hätt|wär|könnt|würd)\w*|\bsei\b|vielleicht|möglicherweise|eventuell|"
        r"\bsagte?\b|sagt,|\bsagt\b|(?<!ehrlich )(?<!gut )(?<!kurz )\bgesagt\b|\bmeinte\b|\berzählt\b|\berzählen\b|behaupte\w*|angeblich|heißt es|\bgelesen\b|geträumt|träum\w*|wünschte\w*|beinahe|"
        r"(?:im|aus dem|in der|in dem|in einem) (?:film|buch|roman|lied|spiel|serie|radio|fernsehen|witz|traum|märchen|prospekt|werbung|geschichte|hörbuch|podcast)|"
        r"\b(?:dieses|das|ein|dieser|der) (?:\w+ )?(?:lied|song|gedicht|schlager|vers)\b,|meine figur|mein charakter|geschichte (?:wo|über|in der)|zum beispiel|beispielsweise|wie sagt man|auf englisch|übersetz|kommt ein mann|"
        r"alle denken|\bleute\b|stimmt (?:aber )?nicht|das stimmt nich\w*|\bfast\b|mein name ist hase|im scherz|wie ein pferd|laut dir|so ein werbespruch|"
        r"werbespruch|gib mir|satz mit|was haltet ihr|sozusagen|\bquasi\b|erzähl(?:e)? (?:mal|mir)"
    ),
    false_clause=(
        r"\b(?:hätt|wär|könnt|würd|gäb|dürft)\w*|\bsoll(?:en|te|ten)?\b|vermutlich|wahrscheinlich|früher(?! hab\w* (?:ich|wir) .*(?:geliebt|gemocht)\b)|überleg\w*|\bwollte\b|\bwollten\b|\bnur die frau\b|wohl\b|"
        r"\bob\b|als ob|scheint|keine ahnung|nicht sicher|wie ein\w? "
    ),
    asks=(
        r"(?:wer|wen|wem|wessen|was|welche\w?|wo|wohin|woher|wann|warum|wieso|weshalb|wie|womit|wofür|wovon|gibt es|erzähle?|sag mir|gib)\b|"
        r"(?:als|mit|bei|für|von|zu|in|an|auf|seit|bis|um|über|wegen|gegen|nach|aus) (?:wem|wen|was|welche\w?|wann|wo)\b|"
        r"(?:mag|liebe|hasse|esse|trinke|arbeite|wohne|lebe|heiße|hab|habe|bin|fahre|spiele|lerne|kann|muss|darf|soll|will) ich\b|"
        r"(?:hast|habe|haben|hat|bin|bist|sind|ist|war|warst|kann|kannst|könntest|können|weißt|kennst|soll|sollen|darf|dürfen|muss|müssen|magst|mag|willst|will|"
        r"wohne|wohnt|arbeite|arbeitet|heiße|heißt|lebt|kommt)"
        r" (?:ich|du|er|sie|es|wir|ihr|das|der|die|man|mein\w*|dein\w*|unser\w*|jemand|ein\w*)\b(?=.*\?|.*\b(?:eigentlich|laut dir|denn)\b)|kommt ein mann|"
        r"(?:hast|bist|kannst|könntest|weißt|kennst|magst|willst|warst) du\b|(?:hab|habe|bin|wohne|arbeite|heiße) ich (?:laut|dir|eigentlich|schon mal|jemals|mal)\b"
    ),
    request=r"^(?:\w+,? )?(?:(?:kannst|könntest|könnten|können|würdest) (?:du|sie) )?(?:bitte )?(?P<o>(?:erinnere? mich|erinnern sie mich|nenn(?:e)? mich|nennen sie mich) .+?)(?:,? bitte)?[?.!]*$",
    negation=r"\b(?:nicht|kein\w*|nie|niemals|nichts)\b",
    no_longer=r"\bnicht (?:mehr|länger)\b|\bkein\w*\b.*\bmehr\b",
    positive=((r"\bnicht (?:mehr|länger)\b|(?<=\w) kein(?:e[nrs]?|s)? mehr$", ""), (r"\bk(?=ein\w*\b)", ""), (r"\bmehr\b", "")),
    plural=(
        r"\b(?:meine|unsere|die|zwei|drei|vier) (?:\w+ )?(?P<kin>kinder|söhne|töchter|brüder|schwestern|hunde|katzen|hasen|meerschweinchen|kaninchen|pferde|"
        r"jungs|mädels|enkel)(?:,| heißen| namens|:)* (?P<o>\S+(?:, \S+)* und \S+)"
    ),
    oblique=r"(?:mein|unser)e[mr]\b",
    no_name=r"\w+(?:t|en|te|st|nd|rn|ln)",
    first=r"ich|wir",
    possessive=rf"{_MINE}|(?:der|die|das)(?= {rules.PET} (?:heißt|ist)\b)",
    others=("er|sie|der|die", "sein|seine|ihr|ihre"),
    men="er|der|sein|seine",
    women="sie|ihr|ihre",
    male=any_of(_C["men"]),
    female=any_of(_C["women"]),
    kin=any_of(_C["men"], _C["women"], _C["children"], _C["pets_m"], _C["pets_f"], _C["pets_n"], _C["several"]),
    pets=rules.PET,
    alone=any_of(_C["alone"]),
    titled=any_of(_C["titled"]),
    before_kin=(
        r"(?:(?:neue[rn]?|alte[rn]?|kleine[rn]?|große[rn]?|jüngere[rn]?|ältere[rn]?|jüngste[rn]?|älteste[rn]?|liebe[rn]?|beste[rn]?|zweite[rn]?|"
        r"erste[rn]?|einzige[rn]?|gute[rn]?|verstorbene[rn]?|ex-) ?)*"
    ),
    finite=rf"(?:{_VERB})\b",
    third_form=r"(?:ist|wird|\w+t)\b",
    am="bin",
    elided=(
        r"(?:habe|bin|kann|mag|liebe|hasse|wohne|arbeite|war|muss noch|komme aus|gehe|spiele|esse|trinke|heiße|werde|will)\b(?! (?:ich|wir|du|sie|er|es)\b)"
    ),
    and_me=(r"(?P<n>\S+) und ich\b", r"ich und (?P<n>\S+)\b"),
    with_="mit",
    front=r"(?!x)x(?:never)",
    stops=(
        r"\s*(?:[;!?:()]|(?<!\d)\.|\.(?! \w))|,? (?:aber|weil|denn|obwohl|damit|dass|wo|wenn|falls|da|sondern|and|but|because|jetzt|gerade|übrigens|wirklich|echt|halt|eben|"
        r"ja|wissen|weißt|vor allem|besonders|und zwar|und (?=(?:am|im|in|an|dann|auch|danach|abends|morgens)\b)|seit|schon|deshalb|darum|wegen|is|ist|geht|nicht|mehr|so)\b|,? und (?=(?:ich|wir|er|sie|es|das|dann|habe|bin|ist|hat|will|muss)\b)|, "
    ),
    joins=r"\s*,\s*(?:und |oder )?(?:dann kommen )?|\s+(?:und|oder|&|sowie)\s+",
    times=rf" (?:{rules.AGO}|{rules.SOON})\b",
    due=(
        r"(?:im|am|in|um|seit|vor|an|ab|heute|gestern|morgen|vorgestern|letzte\w?|nächste\w?|diese\w?|mit (?:zwillingen|drillingen|unser\w*|mein\w*))\b.*"
    ),
    ahead=(
        r"\b(?:(?-i:[A-ZÄÖÜ])\w+|montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag|januar|februar|märz|april|mai|juni|juli|august|september|"
        r"oktober|november|dezember|morgen|übermorgen|nächste\w*|woche\w*|monat\w*|jahr\w*|sommer|winter|frühling|herbst|weihnachten|ostern|\d+|"
        r"\w+(?:ten|ter)|nach \w+)\b"
    ),
    dates=rf"\b(?:{rules.MONTH}|\d+\.?|\w+ten|silvester|heiligabend)\b",
    not_in_object="mein\\w*|dein\\w*|mich|dich|dir|du|ich|wir|es|ihn|ihm|ihnen|euch|jemand\\w*|etwas|nichts|alles|was|wie|hier|da|dort",
    cut_short="zu|für|von|mit|über|in|an|auf|aus|bei|als|der|die|das|den|dem|ein|eine|einen|einem|einer|und|oder|sehr|so|am|im|nicht",
    trailing=(
        "übrigens", "auch", "sehr", "gerne", "gern", "mehr", "mal", "halt", "eben", "jetzt", "ja", "leider", "schon", "wirklich", "total", "am liebsten",
        "überhaupt", "besonders", "alle", "dazu", "endlich",
    ),
    trifles=(
        r"kaffee|tee|milch|brot|brötchen|mittagessen|pizza|bier|zeitung|eis|kuchen|benzin|einkäufe|gemüse|obst|wasser|idee|chance|taxi|essen|gesehen"
    ),
    articles=r"(?:der|die|das|den|dem|einer|einem|einen|eine|ein) ",
    announcing=r"\b(?:heißt|heiße|namens|name ist|mit namen) $",
    a=r"(?:eine|einen|einem|ein) ",
    titles=r"(?:dr|doktor|herr|herrn|frau|professor|prof)\.?",
    particles=r"von|van|de|der|am|an|im|ob|zu|zum",
    past=r"war|waren|hatte|hatten|ging|gingen|machte|kam|ge\w+t\b|bin|ist|habe|hat|haben|kann|will|muss|soll|wurde|nicht|kein",
    own=(
        (r"\b(?:mein|unser)e\b", "die"), (r"\b(?:mein|unser)en\b", "den"), (r"\b(?:mein|unser)em\b", "dem"), (r"\b(?:mein|unser)er\b", "der"),
        (r"\b(?:mein|unser)\b", "das"), (r"\b(?:mir|uns|sich) ", ""),
    ),
    third=(
        (r"^(?:fahre|fahren)\b", "fährt"), (r"^(?:esse|essen)\b", "isst"), (r"^(?:lese|lesen)\b", "liest"), (r"^(?:nehme|nehmen)\b", "nimmt"),
        (r"^(?:schlafe|schlafen)\b", "schläft"), (r"^(?:laufe|laufen)\b", "läuft"), (r"^(?:trage|tragen)\b", "trägt"), (r"^(?:spreche|sprechen)\b", "spricht"),
        (r"^(?:helfe|helfen)\b", "hilft"), (r"^(?:gebe|geben)\b", "gibt"), (r"^(?:sehe|sehen)\b", "sieht"), (r"^(?:treffe|treffen)\b", "trifft"),
        (r"^(?:werde|werden)\b", "wird"), (r"^(?:haben|habe)\b", "hat"), (r"^(?:bin|sind)\b", "ist"), (r"^(?:wandere|wandern)\b", "wandert"),
        (r"^(?:radle|radeln)\b", "radelt"), (r"^(?:segle|segeln)\b", "segelt"), (r"^(?:mag|mögen)\b", "mag"), (r"^(\w*[^\W\d])([dt])(?:e|en)\b", r"\1\2et"),
        (r"^(\w*[szßx])(?:e|en)\b", r"\1t"), (r"^(\w+e[lr])n\b", r"\1t"), (r"^(\w+?)(?:e|en)\b", r"\1t"),
    ),
    denied=(
        (r"^\{s\} hat \{o\}\.", "{s} hat {o} nicht mehr."), (r"^(\{s\} (?:ist|hat)) ", r"\1 nicht mehr "), (r"^(\{s\} \w+)\.$", r"\1 nicht mehr."), (r"^(\{s\} \w+) ", r"\1 nicht mehr "),
        (r"^\{s\} \{o\}\.", "Nicht mehr: {s} {o}."), (r"\.$", " (nicht mehr)."),
    ),
    relative="{kin} von {s}",
    called="{s} hat eine {kin} namens {o}.",
    has_pet="{s} hat eine {kin} namens {o}.",
    had="{s} hatte eine {kin} namens {o}, gestorben{when}.",
    died="{s} ist{when} gestorben.",
    time_word=r"in|im|am|an|ab|seit|bis|vor|nach|zum|um|heute|gestern|morgen|übermorgen|vorgestern|nächste\w*|letzte\w*|kommende\w*|diese\w*|jede\w*",
    gender=(
        (r"\b((?:groß|schwieger)?eltern|geschwister|kinder|söhne|töchter|brüder|schwestern) von (\S+) (wohn|leb|komm)t\b", r"\1 von \2 \3en"),
        (r"\b((?:groß|schwieger)?eltern|geschwister|kinder|söhne|töchter|brüder|schwestern) von (\S+) ist\b", r"\1 von \2 sind"),
        (r"^Nicht mehr: (.*?) (\w+) ((?:in|im|am|an|auf|bei|beim|mit|nach|zu|zum|zur|ins|ans) .*)\.$", r"\1 \2 nicht mehr \3."),
        (r"^Nicht mehr: (.*?) (ein(?:e|en|em|er)?) (.*)\.$", r"\1 k\2 \3 mehr."),
        (r"^Nicht mehr: (.*)\.$", r"\1 nicht mehr."),
        (r"\bbei eine\b", "bei einer"), (r"\bbei die\b", "bei der"), (r"\bbei (?:ein|einen)\b", "bei einem"), (r"\bbei (?:das|den)\b(?! \w+(?:en|ern)\b)", "bei dem"),
        (rf"\beine ({any_of(_C['men'], _C['pets_m'])}) namens\b", r"einen \1 namens"),
        (r"\beinen bester Freund\b", "einen besten Freund"), (r"\beinen ((?:\w+ )?(?:Lebensgefährte|Kollege|Neffe|Junge|Hase)) namens", r"einen \1n namens"), (r"\beinen ((?:\w+ )?Nachbar) namens", r"einen \1n namens"),
        (r"\beinen ((?:\w+ )?(?:Verlobt|Bekannt))er namens", r"einen \1en namens"),
        (rf"\beine ({any_of(_C['children'], _C['pets_n'])}) namens\b", r"ein \1 namens"),
        (r"\beinen (\w+)er (\w*(?:freund|kollege|bruder|sohn|onkel|cousin|hund|kater))\b", r"einen \1en \2"),
    ),
    plain_kin={"kleiner": "sohn", "großer": "sohn", "jüngster": "sohn", "ältester": "sohn", "junge": "sohn", "kleine": "tochter", "große": "tochter", "jüngste": "tochter", "älteste": "tochter", "mädchen": "tochter"},
    singular={
        "hunde": "hund", "katzen": "katze", "pferde": "pferd", "hühner": "huhn", "schafe": "schaf", "ziegen": "ziege", "ratten": "ratte",
        "mäuse": "maus", "wellensittiche": "wellensittich", "fische": "fisch", "schildkröten": "schildkröte", "papageien": "papagei",
        "enten": "ente", "gänse": "gans", "hasen": "hase", "kinder": "kind", "söhne": "sohn", "töchter": "tochter", "brüder": "bruder",
        "schwestern": "schwester",
    },
    same_kin={
        "mann": "husband", "ehemann": "husband", "frau": "wife", "ehefrau": "wife", "freund": "boyfriend", "freundin": "girlfriend", "verlobter": "fiancé",
        "verlobte": "fiancée", "partner": "partner", "partnerin": "partner", "lebensgefährte": "partner", "lebensgefährtin": "partner", "sohn": "son",
        "tochter": "daughter", "bruder": "brother", "schwester": "sister", "mutter": "mother", "mama": "mother", "mutti": "mother", "vater": "father",
        "papa": "father", "vati": "father", "oma": "grandmother", "großmutter": "grandmother", "opa": "grandfather", "großvater": "grandfather",
        "tante": "aunt", "onkel": "uncle", "cousin": "cousin", "cousine": "cousin", "neffe": "nephew", "nichte": "niece", "enkel": "grandson",
        "enkelin": "granddaughter", "kind": "child", "schwager": "brother-in-law", "schwägerin": "sister-in-law", "schwiegervater": "father-in-law",
        "schwiegermutter": "mother-in-law", "chef": "boss", "chefin": "boss", "kollege": "colleague", "kollegin": "colleague", "nachbar": "neighbour",
        "nachbarin": "neighbour", "beste freundin": "friend", "bester freund": "friend", "kumpel": "friend", "jugendfreundin": "friend",
        "jugendfreund": "friend", "schulfreund": "friend", "schulfreundin": "friend", "hausarzt": "doctor", "hausärztin": "doctor", "arzt": "doctor",
        "ärztin": "doctor", "zahnarzt": "dentist", "zahnärztin": "dentist", "vermieter": "landlord", "vermieterin": "landlord",
    },
    verb_second=rf"{_VERB}|war|waren|hatte|hatten|(?!heute|gerne|meine|deine|wie)\w+e(?= ich\b)|\w+(?:en|ern|eln)(?= wir\b)",
    function=frozenset(_C["function"]),
    ordinary=frozenset(word for name, words in _C.items() for word in words),
)  # fmt: skip

FACTS = filled(
    FactWords,
    _WORDS["facts"],
    reported=r"fragte? (?:\w+ )?(?:nach|ob|was|wie|warum|wer|wann|wo|welche\w*)\b|bedankte|begrüßte|der assistent",
    passing="gerade|im moment|heute",
    one_off=(
        r"(?:licht|lampe|heizung|fernseher|musik|radio) \w*(?:ein|aus|an)(?:geschaltet|gemacht)?|timer (?:gestellt|gesetzt)|wecker gestellt|"
        r"isst gerade|kocht gerade|(?:macht|hat) (?:das|die) (?:licht|heizung|tür|fenster) \w*"
    ),
    denied=r"\b(?:nicht|kein\w*|nie)\b",
    corrects=(
        r"nein,|nein (?=(?:mein|unser|ihr|sein|der|die|das|es)\w*\b)|ich meinte|moment,|korrektur|quatsch|halt,|entschuldigung,|"
        r"ich hab(?:e|['’]?s)? (?:mich |es |das )?(?:falsch|versprochen|vertan)|das war falsch"
    ),
    roles=_WORDS["related"],
    renewed=r"(?:mein|unser|ein)\w* (?:nagel)?neue\w* (?P<kind>auto|wagen|handy|telefon|smartphone|laptop|computer|fahrrad)\b",
)

NAMES = name_words(_WORDS["names"])
