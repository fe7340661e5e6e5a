"""German talk that says nothing by itself. "ss" stands for "ß": sentences are folded."""

import re

from slowcat_memory.core.language.data import word_set
from slowcat_memory.core.language.talk import TalkWords

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
_NUMBER = (
    r"\d|\b\w*(?:zwei|drei|vier|fünf|sechs|sieben|acht(?!e)|neun|zehn|elf|zwölf|zwanzig|dreissig|hundert|"
    r"tausend|million)\w*\b|\b(?:null|eins|halb\w*|viertel\w*|drittel)\b"
)
_AMOUNT = re.compile(
    rf"{_NUMBER}|\b(?:ein(?:e[nmrs]?)? (?:halb\w*|stunde|tag|woche|monat|jahr|minute|euro)|einmal|doppelt|"
    r"dutzend|paar|beide\w*|kein\w*|nichts|umsonst|gratis|kostenlos|einzig\w*|mehrere|viele|pro|täglich|"
    r"wöchentlich|monatlich|jährlich|jede[nmrs]?|immer|nie|ganze\w*)\b"
)
_TIME = re.compile(
    rf"{_NUMBER}|\b(?:\w*(?:montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonnabend|sonntag)s?|"
    r"januar|februar|märz|april|mai|juni|juli|august|september|oktober|november|dezember|heute|morgens?|"
    r"übermorgen|gestern|abends?|mittags?|nachts?|nacht|vormittags?|nachmittags?|wochenende|woche|monat|"
    r"jahr|tage?n?|uhr|stunden?|minuten?|frühjahr|frühling|sommer|herbst|winter|ostern|weihnachten|"
    r"pfingsten|silvester|erst\w*|bald|später|nach|vor|bis|wenn|immer|jede[nmrs]?|jetzt|\w+ten|\w+ferien)\b"
)

TALK = TalkWords(
    empty=word_set(
        """
        der die das den dem des ein eine einen einem einer ist sind war waren sei bin bist wird werde
        wirst würde hat hast habe hab haben hatte es er sie ich du wir ihr mich mir dich dir uns euch
        mein meine dein deine deinen deiner sein ihre zu zum zur von vom für in im an am auf aus mit
        bei nach über wie so als und oder aber dann denn wenn dass ob ja jawohl nein nö doch okay ok ah
        oh ach aha na naja gut gute guter gutes guten klar sehr echt wirklich ganz ziemlich richtig
        wahr falsch genau eben halt mal noch nochmal schon immer nie nur auch nicht kein keine hier da
        jetzt gerade heute später bald morgen alles etwas nichts was wer wo
        schön schöne schöner schönes schönen toll tolle toller tolles prima super klasse wunderbar
        wunderbare herrlich großartig grossartig perfekt lecker spannend interessant lustig nett
        hübsch fein fantastisch ausgezeichnet hervorragend cool stark besser beste traurig schade leid
        idee wahl name frage punkt plan nachricht nachrichten glück sache ding dinge tag abend nacht
        wochenende zeit reise arbeit spaß spass erfolg besserung
        klingt klang hört anhören sieht aus scheint finde findet glaube glaub denke meine meinst weiß
        weiss verstehe verstanden sehe sag sage sagt gesagt freut freue freuen hoffe wünsche gern gerne
        mach mache macht gemacht mach's weiter erzähl merke merk notiert notiere vergiss helfen hilfe
        glückwunsch gratuliere gratulation bravo hurra wow haha danke dank vielen lieben herzlichen
        bitte entschuldigung sorry natürlich selbstverständlich absolut definitiv bestimmt sicher
        problem sorge sorgen keinesfalls kein hallo hi hey tschüss ciao servus sonst los viel
        """
    ),
    persons=word_set(
        "ich mich mir mein meine meiner wir uns unser unsere er ihn ihm sein seine ihre"
    ),
    question=re.compile(
        rf"(?:(?:und|aber|also|na|so|ok|okay|hey|sag|sag mal|bitte|ach) )*"
        rf"(?:{_ASKS} (?:(?!{_SUBJECT}\b)\w+) |{_ASKS} {_VERB}$|"
        rf"(?:welche\w*|wie viele?|was für(?: ein\w*)?|an welche\w*|in welche\w*|mit wem|von wem) (?:\w+ )"
        rf"{{0,2}}{_VERB}\b|"
        rf"{_VERB} {_SUBJECT}\b|"
        rf"(?:kannst du |könntest du |bitte )*(?:sag|erzähl)e? mir (?:nochmal |noch mal |noch einmal "
        rf"|bitte )*(?:{_ASKS}|ob|von|über)\b|(?:kannst|könntest) du mir (?:bitte |nochmal )*sagen\b)"
    ),
    tells_first=word_set("ich wir"),
    telling=re.compile(
        r"\b(?:hab|habe|hatte) ich (?:dir |euch )?(?:schon |eigentlich |schon mal )*(?:erzählt|gesagt)"
        r" dass\b|\bwusstest du (?:schon )?dass\b|\bweisst du (?:schon )?dass\b|"
        r"\bkannst du (?:dir vorstellen|glauben|mich (?:bitte )?(?:\w+ )*(?:daran )?erinnern|dir "
        r"(?:bitte )?merken|notieren|aufschreiben)\b|\berinner\w* mich (?:bitte )?(?:daran|an)\b"
    ),
    asks_name=re.compile(r"\b(?:heisst|heissen|hiess|namens?|wer)\b"),
    about_people=re.compile(
        r"\b(?:ich|mein\w*|(?<!sag )(?<!sage )(?<!erzähl )(?<!erzähle )(?<!zeig )(?<!gib )(?:mir|uns)|"
        r"mich|wir|unser\w*|hast du|hattest du)\b"
    ),
    ignorance=re.compile(
        r"\b(?:das )?weiss ich (?:leider |noch |gerade |auch )*nicht\b|\bich weiss (?:es |das )?(?:leider "
        r"|noch |auch )*nicht\b|\bich (?:habe|hab|kann|finde|kenne|erinnere) (?:\w+ ){0,4}?(?:nicht|keine"
        r"\w*|kein|nichts)\b|\bhast du (?:mir )?(?:\w+ ){0,2}?(?:nicht|nie|nichts) (?:\w+ )?(?:gesagt|"
        r"erzählt|erwähnt)\b|\b(?:dazu|darüber|davon) (?:habe|hab|weiss) ich (?:\w+ ){0,2}?(?:nichts|"
        r"keine?\w*)\b|\bdu hast (?:mir )?(?:\w+ ){0,3}?(?:nicht|nichts|nie|noch nicht) (?:\w+ )?"
        r"(?:gesagt|erzählt|erwähnt|verraten|genannt)\b|\bkeine (?:ahnung|information\w*|erinnerung|"
        r"notiz\w*|angaben)\b|\bnichts (?:gespeichert|notiert|gemerkt)\b|\bbin (?:ich )?(?:mir )?"
        r"(?:leider )?nicht sicher\b"
    ),
    no_answer=re.compile(
        r"(?:(?:sorry|hm+|äh+|oh|na|nein|ehrlich gesagt|leider|tja) )*(?:(?:das )?weiss ich|ich weiss(?: es| "
        r"das)?|ich bin mir|da bin ich mir|weiss|ich erinnere mich|keine ahnung|vergessen|hab ich "
        r"vergessen|habe ich vergessen|schwer zu sagen|wer weiss)(?: (?:nicht|leider|nicht mehr|gerade|"
        r"auch|noch|sicher|mehr|so genau|genau|das|mehr))*"
    ),
    capital_nouns=True,
    change=re.compile(
        r"\b(?:jetzt|nun|stattdessen|statt|doch|inzwischen|mittlerweile|verschoben|verlegt|umgezogen|"
        r"geändert|gewechselt|abgesagt|nicht mehr|kein\w* mehr|getauscht|ersetzt|erst (?:am|im|um)|anders|"
        r"ab (?:heute|sofort|jetzt)|neuerdings|umgestiegen|umgestellt|vorverlegt|vorgezogen)\b"
    ),
    renewal=re.compile(
        r"\b(?:nunmehr|seitdem|anstatt|sondern|ziehe?n? um|umgesetzt|versetzt|wechs(?:le|el|eln)|ändert|"
        r"ausgefallen|fällt aus|nichts mehr|nix mehr|ausgetauscht|umgetauscht|ander[es]\w*|ab (?:morgen|"
        r"montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag|nächste\w*)|neue?[nmrs]?|aufgehört|"
        r"gekündigt|verkauft|aufgegeben|getrennt|lieber|umentschieden|wird n(?:ix|ichts)|wieder zurück|"
        r"zurück zu|gestiegen|gesunken|erhöht|gesenkt|verlängert|befördert)\b"
    ),
    asked=(
        (
            r"\bwo (?:wohne|lebe|wohnen|leben) (?:ich|wir)\b|\bwo (?:bin|sind) (?:ich|wir) (?:zu hause|"
            r"zuhause|daheim)\b|\bin welche[rm] (?:stadt|ort|land|dorf|strasse) (?:wohne|lebe|wohnen|leben)"
            r"|\bwie (?:ist|lautet) meine (?:adresse|anschrift)\b|\bwo ist mein(?:e)? (?:zuhause|wohnung)\b",
            "lives_in address",
        ),
        (
            r"\b(?:wo|bei wem|für wen|bei welcher firma|in welcher firma) arbeite ich\b|\bwer ist mein "
            r"arbeitgeber\b|\bwie heisst meine firma\b",
            "works_at works_for",
        ),
        (
            r"\bwas arbeite ich\b|\bwas mache ich (?:beruflich|von beruf)\b|\bwas bin ich von beruf\b|\bmein "
            r"(?:beruf|job)\b|\bals was arbeite ich\b|\bwelchen beruf habe ich\b",
            "works_as works_at",
        ),
        (
            r"\bwas (?:esse|darf|kann) ich(?: nicht)?(?: essen)?\b|\bmeine ernährung\b|\bwie ernähre ich "
            r"mich\b",
            "diet allergic_to",
        ),
        (r"\b(?:wogegen|gegen was) bin ich allergisch\b|\bmeine allergie", "allergic_to"),
        (r"\bmein(?:e)? (?:\w+ )?ziel\b", "goal"),
        (r"\bmein(?:e)? lieblings(\w+)", "favourite_{thing} likes"),
        (
            r"\bwie heisst meine? ([\w-]+)|\bwie meine? ([\w-]+) heisst\b|\bwer ist meine? ([\w-]+)|"
            r"\bname(?:n)? (?:von )?meine[rsm] ([\w-]+)|\bwie heissen meine ([\w-]+)",
            "has_{thing}",
        ),
    ),
    values=(
        (re.compile(r"\bwie viele (?P<counted>[\w-]+)"), _AMOUNT),
        (
            re.compile(
                r"\bwie ?viel\b(?! uhr)|\bwie (?:hoch|alt|lange|weit|gross|schwer|teuer|oft|tief)\b|"
                r"\bwas kostet\b|\bwas (?:hat|haben) .*\bgekostet\b"
            ),
            _AMOUNT,
        ),
        (
            re.compile(
                r"\b(?:um|ab|bis|gegen) wie ?viel uhr\b|\bwann (?:ist|kommt|beginnt|startet|öffnet|"
                r"schliesst|fährt|fängt|macht|endet|läuft|findet|wird|soll|muss|habe?|haben)\b"
            ),
            _TIME,
        ),
    ),
    past=re.compile(
        r"\b(?:war|waren|warst|hatte|hatten|wurde|wurden|wollte|gab es|früher|damals)\b"
    ),
    value=re.compile(
        r"\b(?:\d[\d.,:/]*|\w*(?:montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag)s?|januar|"
        r"februar|märz|april|mai|juni|juli|august|september|oktober|november|dezember|\w*(?:zwei|drei|vier|"
        r"fünf|sechs|sieben|neun|zehn|zwölf|zwanzig|dreissig|hundert|tausend)\w*|acht\w*|elf\w*|"
        r"erste[nrs]?)\b"
    ),
    definite=re.compile(
        r"\b(?:der|die|das|den|dem|des|vom|beim|zum|zur|im|am|mein\w*|unser\w*|ich|wir|mir|uns|mich)\b"
    ),
    name_places=word_set(
        "der die das den dem des vom beim zum zur hat ist war wohnt kommt heißt macht geht will kann "
        "mit von für bei herr frau tante onkel und namens"
    ),
    alike={
        "has_pet": "hund katze kater hündin welpe kätzchen haustier pferd pony hase hamster kaninchen",
        "has_partner": "freund freundin frau mann partner partnerin verlobte verlobter",
        "has_husband": "mann",
        "has_wife": "frau",
        "has_boyfriend": "freund",
        "has_girlfriend": "freundin",
        "has_father": "vater papa",
        "has_mother": "mutter mama",
        "has_sister": "schwester",
        "has_brother": "bruder",
        "has_child": "sohn tochter kind",
        "has_boss": "chef chefin",
    },
    about_talk=re.compile(r"\b(?:frag\w*|gefragt|frage|fragen|wissen wollte)\b"),
)
