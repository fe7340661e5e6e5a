"""German words of the recall gate: small talk, device commands, questions."""

import re

from slowcat_memory.core.language.gate import GateWords, any_of, listed, phrases, words

_GREETINGS = """hallo/hi/hey/hallöchen/guten morgen/guten tag/guten abend/moin/moin moin/servus/
    grüß dich/grüß gott/grüezi/morgen/mahlzeit/na/ich bin wieder da/ich bin zurück/ich bin zuhause/
    schön dich zu hören/hallo du/hey du"""
_SMALL_TALK = """okay/ok/alles klar/ha/klar/na klar/gut/sehr gut/ist gut/schön/sehr schön/prima/
    super/toll/
    wunderbar/perfekt/genau/stimmt/richtig/das stimmt/das ist richtig/ja/jo/jep/jawohl/ja bitte/
    ja gerne/gerne/gern/sehr gerne/nein/nee/nö/nein danke/nicht nötig/bitte/bitte sehr/danke/
    danke schön/dankeschön/danke dir/vielen dank/vielen lieben dank/herzlichen dank/besten dank/
    danke für deine hilfe/ach/ach so/aha/oh/ah/äh/ähm/hm/hmm/mhm/so/also/na gut/na ja/naja/tja/wow/
    echt/wirklich/ach wirklich/ach echt/verstehe/ich verstehe/verstanden/hab verstanden/
    macht sinn/das macht sinn/das war's/das war alles/das wars/nichts/sonst nichts/egal/schon gut/
    macht nichts/kein problem/keine sorge/keine ahnung/ich weiß nicht/weiß nicht/weiß ich nicht/
    vielleicht/mal sehen/moment/einen moment/moment mal/warte/warte mal/warte kurz/eine sekunde/
    entschuldigung/sorry/tut mir leid/verzeihung/wie geht es dir/wie geht's/wie geht's dir/
    wie gehts/wie gehts dir/tschüss/tschüß/tschau/ciao/auf wiedersehen/auf wiederhören/gute nacht/
    bis dann/bis bald/bis später/bis morgen/schönen tag/schönen tag noch/schönen abend/dir auch/
    gleichfalls/ebenfalls/mach das/mach mal/leg los/mach ruhig/nur zu/von mir aus/
    klingt gut/das klingt gut/hört sich gut an/assistent/computer/mein freund/du/dir/noch/
    hörst du mich/bist du da/test"""

GATE = GateWords(
    greetings=phrases(_GREETINGS),
    fillers=phrases(_GREETINGS, _SMALL_TALK),
    courtesy=phrases(
        """bitte/kannst du/kannst du bitte/kannst du mal/könntest du/könntest du bitte/würdest du/
        würdest du bitte/danke/jetzt/mal/doch/mal bitte/doch mal/bitte mal/sofort/nochmal/
        noch einmal/noch mal/okay/ok/hey/ja/nein/kurz/ein bisschen/etwas/ein wenig/für mich/und/
        ich möchte dass du/computer/assistent"""
    ),
    please=words("bitte mal doch"),
    commands=frozenset(
        listed(
            """stopp/stop/halt/hör auf/aufhören/ruhe/sei still/sei leise/leise/pst/schweig/genug/
            es reicht/pause/pausiere/weiter/mach weiter/sprich weiter/rede weiter/fahr fort/
            abbrechen/
            brich ab/abbruch/rückgängig/zurück/geh zurück/überspringen/überspring das/nächstes/
            nächstes lied/nächster titel/voriges lied/wiederhole/wiederhole das/wiederhol das/
            wiederholen/das wiederholen/es wiederholen/sag das/sag es/sag das noch einmal/
            sag das nochmal/wie bitte/was/
            was hast du gesagt/was hast du gerade gesagt/ich habe dich nicht verstanden/
            ich hab dich nicht verstanden/lauter/sprich lauter/rede lauter/leiser/sprich leiser/
            mach lauter/mach leiser/mach es lauter/mach es leiser/langsamer/sprich langsamer/
            rede langsamer/schneller/sprich schneller/sprich deutlicher/stumm/stummschalten/
            spiel musik/spiel etwas musik/spiel was/mach musik an/mach das aus/mach das an/
            mach es aus/
            mach es an/mach aus/mach an/schalte es aus/schalte das aus/schlaf/wach auf/hör zu/
            von vorne/fang von vorne an/noch einmal/nochmal/noch mal/versuch es noch einmal/leg auf/
            fasse dich kurz/kürzer"""
        )
    ),
    verbs=words(
        """mach mache machen macht schalte schalt schalten stell stelle stellen dreh drehe drehen
        starte start starten stoppe stopp stoppen beende beenden lösche löschen öffne öffnen
        schließe
        schließ schließen dimme dimm dimmen spiel spiele spielen senke erhöhe setz setze an aus ein
        auf zu anmachen ausmachen einschalten ausschalten anschalten aufmachen zumachen hochfahren
        runterfahren hoch runter pausiere"""
    ),
    devices=words(
        """licht lichter lampe lampen fernseher fernsehen tv radio musik lautstärke ton lautsprecher
        heizung thermostat temperatur ventilator lüfter klimaanlage rollo rollos rolladen rollläden
        jalousie jalousien vorhang vorhänge ofen backofen wasserkocher kaffeemaschine spülmaschine
        waschmaschine staubsauger kamera mikrofon wecker timer stoppuhr bildschirm helligkeit
        deckenlampe deckenlicht stehlampe nachttischlampe steckdose küchenlicht"""
    ),
    other=words(
        """der die das den dem des ein eine einen einem einer mein meine meinen meinem alle beide
        es im in am an auf aus zu um für von und bis mir uns noch wieder küche wohnzimmer
        schlafzimmer
        badezimmer bad flur büro arbeitszimmer kinderzimmer keller garage garten balkon terrasse
        esszimmer oben unten hier draußen überall lauter leiser heller dunkler wärmer kälter weniger
        mehr prozent grad halb viertel nach vor uhr null eins zwei drei vier fünf sechs sieben acht
        neun zehn elf zwölf dreizehn vierzehn fünfzehn zwanzig fünfundzwanzig dreißig vierzig
        fünfundvierzig fünfzig sechzig neunzig hundert sekunde sekunden minute minuten stunde
        stunden
        heute morgen abend früh nachmittag nacht mittag montag dienstag mittwoch donnerstag freitag
        samstag sonntag rot blau grün weiß warm kalt hell dunkel maximal bitte jetzt"""
    ),
    time=frozenset(
        listed(
            """wie spät ist es/wie spät ist es jetzt/wie spät haben wir/wie viel uhr ist es/
            wieviel uhr ist es/wie viel uhr haben wir/sag mir die uhrzeit/sag mir wie spät es ist/
            weißt du wie spät es ist/wie ist die uhrzeit/welcher tag ist heute/
            was ist heute für ein tag/
            welchen tag haben wir/welchen tag haben wir heute/welches datum ist heute/
            welches datum haben wir/welches datum haben wir heute/der wievielte ist heute/
            den wievielten haben wir heute/den wievielten haben wir/welches jahr haben wir/
            welchen monat haben wir/was für ein tag ist heute/was für einen tag haben wir heute"""
        )
    ),
    about_now=any_of(
        r"\b(?:heute|morgen|übermorgen|diese[nrs]? (?:woche|wochenende|monat|jahr)|"
        r"nächste[nrs]? (?:woche|wochenende|monat|jahr)|wie lange\b.*\b(?:her|noch|seit|bis)|"
        r"wie viele (?:stunden|tage|wochen|monate|jahre)\b.*\b(?:bis|noch|her|seit))\b"
    ),
    asking=words(
        """wer wen wem wessen was welche welcher welches welchen welchem wo wohin woher wann warum
        wieso weshalb wie womit wofür wovon worüber mit seit ob weißt erinnerst kennst hast habe hab
        haben hat hatte hatten ist bin sind war waren warst wurde wird kann kannst können soll
        sollte
        muss darf mag magst möchte will wollte sag erzähl erzähle gibt gab"""
    ),
    memory=any_of(
        r"\b(?:erinnerst|entsinnst) du dich\b|\bkannst du dich erinnern\b|\bdich (?:noch "
        r")?erinnern\b",
        r"\bweisst du (?:noch|wie|wo|was|wer|wann|welche\w*|ob|etwas über)?\b.*"
        r"\b(?:ich|mein\w*|wir|unser\w*|mir|mich)\b",
        r"\bweisst du noch\b",
        r"\bkennst du (?:mein\w*|mich|unser\w*)\b",
        r"\b(?:habe?|hatte|haben|hatten) (?:ich|wir)\b",
        r"\b(?:ich|wir|du) .*(?:erzählt|gesagt|erwähnt|besprochen|gesprochen|empfohlen|"
        r"vorgeschlagen"
        r"|versprochen|gemeint)\b",
        r"\bhast du .*(?:gesagt|erzählt|erwähnt|empfohlen|vorgeschlagen|versprochen|gemeint)\b",
        r"\b(?:war|waren|bin|wollte|wollten|sollte|ging|fuhr|mag|esse|trinke|wohne|arbeite|heisse"
        r"|nehme) (?:ich|wir)\b",
        r"\b(?:ist|war|sind|waren|heisst|heissen|hat|hatte|wohnt|arbeitet|mag|kommt|wird|heute"
        r"|von|mit|über) (?:mein|unser)(?:e|er|em|en|es|s)?\b",
        r"\b(?:letztes mal|beim letzten mal|letzte\w* (?:woche|mal|monat|jahr|nacht|sommer|winter|"
        r"wochenende|montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag)|früher|vorhin|"
        r"neulich|gestern|vorgestern|damals|vor \w+ (?:tag\w*|woche\w*|monat\w*|jahr\w*))\b",
        r"\büber mich\b|\bvon mir\b|\bwer bin ich\b|\bmein name\b",
    ),
    advice=any_of(
        r"(?:wie|was|wo|wann|wen|wem|womit|welche\w*)?(?: \w+){0,2} ?\b(?:kann|könnte|soll|"
        r"sollte|muss|"
        r"müsste|darf|dürfte) (?:ich|wir|man)\b(?! (?:dir|dich))",
        r"(?:kannst|könntest|würdest) du (?:mir |uns |bitte )*(?:helfen|ein\w*|etwas|sagen wie "
        r"man)\b",
    ),
    general=any_of(
        r"\bwie (?:hoch|weit|gross|tief|schwer|schnell|heiss|lang|viele menschen) (?:ist|sind|"
        r"war)\b",
        r"\b(?:hauptstadt|einwohner|präsident\w*|kanzler\w*|könig\w*|währung|wetter|entfernung|"
        r"bedeutung"
        r"|definition|höhe|fläche|mehrzahl|quadratwurzel|wechselkurs|nachrichten) "
        r"(?:von|in|der|des|zwischen|für|aus)\b",
        r"\bwer (?:hat|ist|war)\b.*\b(?:geschrieben|erfunden|gemalt|komponiert|entdeckt|"
        r"gegründet|gebaut|"
        r"gewonnen|kanzler\w*|präsident\w*|könig\w*|papst)\b",
        r"\bwas (?:bedeutet|heisst)\b|\bwie sagt man\b|\bübersetz",
        r"\b(?:erzähl\w*|sing\w*|lies) (?:mir |uns )?(?:einen?|noch einen?|ein) (?:witz|märchen|"
        r"geschichte|lied)",
        r"\b(?:wetter|nachrichten)\b",
    ),
    named=re.compile(
        r"(?i:\b(?:hat|hatte|ist|war|wird|wurde|will|wollte|kann|konnte|mag|heißt|wohnt|arbeitet|"
        r"macht|"
        r"kommt|geht|ging|kam|sagte|isst|trinkt|findet|fand)\s+)(?=[^\W\d_a-zäöüß]\w*(?:['’]?s)?\b"
        r"(?!\s+(?:von|in|der|des)\b))"
    ),
)
