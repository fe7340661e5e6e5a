"""Words by which the gate decides, by language: data for `gate`.

A further language is a further table. Phrases are in lower case; "/" parts several of them.

| field | what |
|---|---|
| greetings | what comes before what is meant, and is no part of it |
| fillers | what answers, thanks, laughs or says goodbye, and asks for nothing |
| courtesy | what may stand around a command |
| please | what may stand anywhere in it |
| commands | whole utterances that tell the agent or a device what to do |
| verbs, devices, other | a command is made of these words alone: one verb, one device at least |
| time | whole utterances that ask for the time or the date |
| about_now | what makes a question one that needs the date of today: an expression |
| asking | how a question or a request to tell begins |
| memory | what makes a question one for a memory: expressions |
| advice | beginnings that ask what to do, and for no memory |
| general | what makes a question about somebody one about the world: expressions |
| named | what stands before a name that is asked about: an expression |
"""

import re
from collections.abc import Mapping

from msgspec import Struct

Phrases = Mapping[str, tuple[tuple[str, ...], ...]]


class GateWords(Struct, frozen=True, kw_only=True):
    """One language's words; see the table above.

    Attributes:
        greetings: Phrases by first word, the longest first.
        fillers: Likewise, greetings included.
        courtesy: Likewise.
        please: Words.
        commands: Each a whole utterance.
        verbs: Words.
        devices: Words.
        other: Words.
        time: Each a whole utterance.
        about_now: Searched for in a folded question.
        asking: First words.
        memory: Searched for in a folded question.
        advice: Matched at its beginning.
        general: Searched for in it.
        named: Matches, as it was written, up to a name that is asked about.
    """

    greetings: Phrases
    fillers: Phrases
    courtesy: Phrases
    please: frozenset[str]
    commands: frozenset[str]
    verbs: frozenset[str]
    devices: frozenset[str]
    other: frozenset[str]
    time: frozenset[str]
    about_now: re.Pattern[str]
    asking: frozenset[str]
    memory: re.Pattern[str]
    advice: re.Pattern[str]
    general: re.Pattern[str]
    named: re.Pattern[str]


def _listed(text: str) -> list[str]:
    return [" ".join(phrase.split()).casefold() for phrase in text.split("/") if phrase.strip()]


def _phrases(*texts: str) -> Phrases:
    made: dict[str, list[tuple[str, ...]]] = {}
    for phrase in sorted({one for text in texts for one in _listed(text)}, key=len, reverse=True):
        words = tuple(phrase.split())
        made.setdefault(words[0], []).append(words)
    return {first: tuple(many) for first, many in made.items()}


def _words(text: str) -> frozenset[str]:
    return frozenset(text.casefold().split())


def _any(*expressions: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{expression})" for expression in expressions))


_HELLO = """hello/hello there/hi/hi there/hey/hey there/hiya/howdy/good morning/good afternoon/
    good evening/good day/morning/evening/greetings/welcome back/i'm back/i am back/i'm home/
    nice to see you/good to see you/long time no see/nice to meet you"""
_FILLED = """okay/ok/k/okey/alright/all right/right/sure/sure thing/of course/certainly/exactly/
    absolutely/definitely/indeed/true/correct/that's right/that is right/that's correct/that's true/
    you're right/yes/yeah/yep/yup/ya/aye/no/nope/nah/no no/not really/not now/not today/
    no thanks/no thank you/yes please/please/please do/go ahead/go for it/do it/do that/
    ha/hah/heh/nice one/good one/sounds good/that sounds good/sounds great/that sounds great/that's fine/fine/fine by me/
    that's good/good/very good/great/that's great/perfect/that's perfect/cool/nice/very nice/
    awesome/wonderful/lovely/excellent/amazing/brilliant/super/wow/whoa/oh/oh no/oh my/oh wow/oh well/
    ah/aha/uh/um/erm/er/hm/so/well/anyway/actually/now/then/really/oh really/is that so/i see/
    i understand/understood/got it/i got it/gotcha/makes sense/that makes sense/fair enough/
    thanks/thank you/thank you so much/thank you very much/thanks a lot/many thanks/cheers/
    thanks for that/thanks for your help/thank you for your help/much appreciated/i appreciate it/
    that's all/that is all/that's it/that'll be all/nothing/nothing else/never mind/nevermind/
    no worries/no problem/don't worry/don't mention it/you're welcome/my pleasure/
    i don't know/dunno/no idea/maybe/perhaps/whatever/i guess/i guess so/i think so/i suppose so/
    let me think/let me see/one moment/one second/just a moment/just a second/just a minute/
    hold on/wait/wait a moment/wait a minute/wait a second/give me a second/give me a moment/
    sorry/oh sorry/i'm sorry/excuse me/pardon/how are you/how are you doing/how are you today/
    how are you doing today/how's it going/how is it going/what's up/how do you do/
    bye/bye bye/goodbye/good bye/good night/night/see you/see you later/see you soon/see ya/
    see you tomorrow/talk to you later/talk to you soon/talk to you tomorrow/take care/
    have a nice day/have a good day/have a good one/you too/same to you/too/
    assistant/computer/darling/dear/mate/buddy/man/my friend/again/very much/so much/a lot/
    there/testing/test/one two three/are you there/can you hear me/do you hear me"""

ENGLISH = GateWords(
    greetings=_phrases(_HELLO),
    fillers=_phrases(_HELLO, _FILLED),
    courtesy=_phrases(
        """please/could you/could you please/can you/can you please/would you/would you please/
        will you/would you mind/i want you to/i'd like you to/i would like you to/now/again/thanks/
        thank you/for me/right now/okay/ok/hey/just/then/and/a bit/a little/a little bit/for a moment/
        for a second/for a minute/no/yes/oh/immediately/assistant/computer/once more/one more time"""
    ),
    please=_words("please just"),
    commands=frozenset(
        _listed(
            """stop/stop it/stop that/stop this/stop talking/stop speaking/stop there/stop now/halt/
            quiet/be quiet/silence/shush/shut up/enough/that's enough/mute/unmute/mute yourself/pause/
            resume/continue/go on/carry on/keep going/keep talking/proceed/start/start over/
            start again/restart/cancel/cancel that/cancel it/abort/quit/exit/undo/undo that/skip/
            skip it/skip that/skip this/skip this one/next/next one/next song/next track/
            previous song/go back/back/repeat/repeat that/repeat it/repeat please/say that/say it/
            say that again/say it again/say again/come again/pardon me/what/what was that/
            what did you say/what did you just say/i didn't hear you/i didn't catch that/
            i can't hear you/louder/speak louder/talk louder/speak up/quieter/speak quieter/softer/
            speak softer/lower/slower/slow down/speak slower/talk slower/speak more slowly/
            talk more slowly/more slowly/faster/speed up/speak faster/talk faster/
            speak more quietly/speak more loudly/speak more clearly/make it louder/
            make it quieter/turn it up/turn it down/turn it off/turn it on/turn that off/
            turn that on/turn that down/turn that up/play/play it/play that/play music/
            play some music/play something/go to sleep/wake up/listen/stop listening/
            take a photo/take a picture/take a screenshot/lock the door/unlock the door/
            close the door/open the door/answer/answer the phone/hang up/end the call/
            try again/try that again/do it/do that/keep it short/be brief/shorter/
            hold that thought/wait for me"""
        )
    ),
    verbs=_words(
        """turn switch put set start stop pause resume cancel dim brighten open close raise lower mute
        unmute play snooze silence delete increase decrease add make lock unlock on off up down shut"""
    ),
    devices=_words(
        """light lights lamp lamps lighting bulb bulbs tv television telly radio music volume sound
        speaker speakers heating heater heat radiator thermostat temperature fan fans conditioning
        conditioner ac blind blinds shutter shutters curtain curtains oven kettle dishwasher vacuum
        hoover camera microphone mic alarm alarms timer timers stopwatch screen display brightness
        lock plug plugs socket"""
    ),
    other=_words(
        """the a an another my our all both every other this that it me in on at to for by of and
        from kitchen living dining bed room bedroom bathroom bath hall hallway office study garage
        garden cellar basement attic corridor nursery toilet balcony terrace upstairs downstairs here
        outside ceiling floor desk bedside front back garage door air coffee washing machine maker
        off up down red blue green white warm cold cool bright brighter darker dark louder quieter
        percent per cent degrees degree celsius fahrenheit half full maximum minimum max low high
        level warmer cooler hotter colder
        one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
        sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety
        hundred quarter past o'clock oclock am pm noon midnight second seconds minute minutes hour
        hours today tonight tomorrow morning afternoon evening night
        monday tuesday wednesday thursday friday saturday sunday weekdays please now again"""
    ),
    time=frozenset(
        _listed(
            """what time is it/what time is it now/what's the time/what is the time/
            what's the time now/do you know what time it is/can you tell me the time/tell me the time/
            do you know the time/do you have the time/how late is it/what day is it/
            what day is it today/what day is today/what's today/which day is it/what date is it/
            what date is it today/what's the date/what is the date/what's the date today/
            what is the date today/what's today's date/what is today's date/what year is it/
            what month is it/which month is it/what weekday is it/what's the current time/
            what is the current time/and what time is it/current time/the time please"""
        )
    ),
    about_now=_any(
        r"\b(?:today|tomorrow|tonight|this (?:week|weekend|month|year|morning|afternoon|evening)|"
        r"next (?:week|weekend|month|year)|how long (?:ago|until|till|is it|has it been|since)|"
        r"how many (?:hours|days|weeks|months|years)\b.*\b(?:until|till|left|ago|since|to))\b"
    ),
    asking=_words(
        """who whom whose who's who'd what what's which where where's when when's why why's how how's
        do does did don't doesn't didn't is isn't are aren't am was wasn't were weren't has hasn't
        have haven't had hadn't can can't could couldn't will won't would wouldn't should shall
        tell remind wonder guess"""
    ),
    memory=_any(
        r"\b(?:do|did|don't|didn't|can|can't|could|would) you (?:still |even |ever )?"
        r"(?:remember|recall|know (?:my|our|what i|who i|who my|where i|where my|when i|when my"
        r"|how i|how old my|which of my|about my|anything about|me\b))",
        r"\b(?:i|we) (?:just |once |already |ever |have |had )*"
        r"(?:told|tell|mentioned|mention|said|say|talked|talk|spoke|spoken|discussed|discuss)\b",
        r"\b(?:you) (?:just |once |already |ever )*(?:told|said|say|tell|mentioned|mention"
        r"|suggested|suggest|recommended|recommend|promised|promise|meant)\b",
        r"\b(?:did i|have i) (?:ever )?(?:told|tell|mention|mentioned|said|say)\b",
        r"\b(?:is|was|are|were|what's|who's|where's|when's|how's|does|did|do|has|have|had|will|"
        r"know|about|how old is|of) (?:my|our)\b",
        r"\b(?:what|which|who|where|when|why|how|whose|did|had|have|has|was|were)\b.*"
        r"\b(?:did|was|were|have|had|had been|have been|am) (?:i|we|me)\b",
        r"^(?:did|was|were|have|had|am) (?:i|we)\b",
        r"\b(?:where|when|what|which|who|whom|how often|how many|how much)\b.* do (?:i|we)\b"
        r"(?! (?:do|need|have to|say|call|make|get|spell))",
        r"\b(?:do|did) (?:i|we) (?:still |really |usually |normally |always |ever )?"
        r"(?:like|love|hate|prefer|own|have|live|work|eat|drink|take|drive|wear|go)\b",
        r"\b(?:last time|before|earlier|previously|the other day|back then|used to|"
        r"last (?:week|month|year|night|summer|winter|spring|autumn|fall|weekend|monday|tuesday|"
        r"wednesday|thursday|friday|saturday|sunday)|yesterday|\w+ ago)\b",
        r"^(?:remind me|tell me) (?:again )?(?:what|who|where|when|which|how|about) (?:\w+ )?"
        r"(?:i|my|we|our)\b",
        r"\babout me\b|\bknow me\b|\bremember me\b|\bmy name\b|\bwho am i\b|\bi'm called\b",
    ),
    advice=_any(
        r"(?:what|how|where|which|when|who)?(?: \w+){0,2} ?\b(?:can|could|should|shall|may|must|"
        r"would|might) (?:i|we)\b",
        r"how (?:do|to)\b(?! (?:i|we) know)",
        r"(?:can|could|will|would) you (?:please |just )?(?:help|tell me a|sing|read|write|play|"
        r"explain|translate|show|find|search|make|book|order|call|give|set|turn|add|recommend|"
        r"suggest|please)\b",
    ),
    general=_any(
        r"\bhow (?:tall|high|far|big|deep|heavy|large|fast|hot|cold|wide|many people|many kilometres"
        r"|many miles)\b",
        r"\b(?:capital|population|president|prime minister|currency|weather|forecast|distance|"
        r"meaning|definition|height|area|temperature|recipe|plural|author|inventor|king|queen|"
        r"chancellor|exchange rate|square root|news) (?:of|in|for|at|to)\b",
        r"\bwho (?:wrote|invented|painted|composed|discovered|directed|sang|founded|built|won|"
        r"is the (?:president|king|queen|pope|author|inventor|chancellor))\b",
        r"\bwhat (?:does|do) .+ mean\b|\bhow do you (?:say|spell)\b|\btranslate\b",
        r"\b(?:tell|sing|read) (?:me|us) (?:a|another|some) ",
        r"\b(?:weather|the news|the forecast)\b",
    ),
    named=re.compile(
        r"(?i:\b(?:did|does|do|has|have|had|is|are|was|were|would|will|can|could|might|should|isn't|"
        r"doesn't|didn't|hasn't|where's|who's|what's)\s+)(?=[^\W\d_a-z])(?!I\b)"
        r"|(?<=\s)(?=[^\W\d_a-z][^\W\d_]+['’]s?\b)"
        r"|(?i:\b(?:[^\W_]{2,}(?:[^s\W]s|ed)|that|who|made|gave|told|met|saw|when|important to|"
        r"according to|gift to|letter to|mean to|happened to|good for|reason for|help for|shared by|"
        r"made by|written by|given by|organized by|chosen by)\s+)(?=[^\W\d_a-z])(?!I\b)"
        r"|(?<=\s)(?=[^\W\d_a-z][^\W\d_]+ (?i:and) [^\W\d_a-z])"
    ),
)

_HALLO = """hallo/hi/hey/hallöchen/guten morgen/guten tag/guten abend/moin/moin moin/servus/
    grüß dich/grüß gott/grüezi/morgen/mahlzeit/na/ich bin wieder da/ich bin zurück/ich bin zuhause/
    schön dich zu hören/hallo du/hey du"""
_GESAGT = """okay/ok/alles klar/ha/klar/na klar/gut/sehr gut/ist gut/schön/sehr schön/prima/super/toll/
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

GERMAN = GateWords(
    greetings=_phrases(_HALLO),
    fillers=_phrases(_HALLO, _GESAGT),
    courtesy=_phrases(
        """bitte/kannst du/kannst du bitte/kannst du mal/könntest du/könntest du bitte/würdest du/
        würdest du bitte/danke/jetzt/mal/doch/mal bitte/doch mal/bitte mal/sofort/nochmal/
        noch einmal/noch mal/okay/ok/hey/ja/nein/kurz/ein bisschen/etwas/ein wenig/für mich/und/
        ich möchte dass du/computer/assistent"""
    ),
    please=_words("bitte mal doch"),
    commands=frozenset(
        _listed(
            """stopp/stop/halt/hör auf/aufhören/ruhe/sei still/sei leise/leise/pst/schweig/genug/
            es reicht/pause/pausiere/weiter/mach weiter/sprich weiter/rede weiter/fahr fort/abbrechen/
            brich ab/abbruch/rückgängig/zurück/geh zurück/überspringen/überspring das/nächstes/
            nächstes lied/nächster titel/voriges lied/wiederhole/wiederhole das/wiederhol das/
            wiederholen/das wiederholen/es wiederholen/sag das/sag es/sag das noch einmal/sag das nochmal/wie bitte/was/
            was hast du gesagt/was hast du gerade gesagt/ich habe dich nicht verstanden/
            ich hab dich nicht verstanden/lauter/sprich lauter/rede lauter/leiser/sprich leiser/
            mach lauter/mach leiser/mach es lauter/mach es leiser/langsamer/sprich langsamer/
            rede langsamer/schneller/sprich schneller/sprich deutlicher/stumm/stummschalten/
            spiel musik/spiel etwas musik/spiel was/mach musik an/mach das aus/mach das an/mach es aus/
            mach es an/mach aus/mach an/schalte es aus/schalte das aus/schlaf/wach auf/hör zu/
            von vorne/fang von vorne an/noch einmal/nochmal/noch mal/versuch es noch einmal/leg auf/
            fasse dich kurz/kürzer"""
        )
    ),
    verbs=_words(
        """mach mache machen macht schalte schalt schalten stell stelle stellen dreh drehe drehen
        starte start starten stoppe stopp stoppen beende beenden lösche löschen öffne öffnen schließe
        schließ schließen dimme dimm dimmen spiel spiele spielen senke erhöhe setz setze an aus ein
        auf zu anmachen ausmachen einschalten ausschalten anschalten aufmachen zumachen hochfahren
        runterfahren hoch runter pausiere"""
    ),
    devices=_words(
        """licht lichter lampe lampen fernseher fernsehen tv radio musik lautstärke ton lautsprecher
        heizung thermostat temperatur ventilator lüfter klimaanlage rollo rollos rolladen rollläden
        jalousie jalousien vorhang vorhänge ofen backofen wasserkocher kaffeemaschine spülmaschine
        waschmaschine staubsauger kamera mikrofon wecker timer stoppuhr bildschirm helligkeit
        deckenlampe deckenlicht stehlampe nachttischlampe steckdose küchenlicht"""
    ),
    other=_words(
        """der die das den dem des ein eine einen einem einer mein meine meinen meinem alle beide
        es im in am an auf aus zu um für von und bis mir uns noch wieder küche wohnzimmer schlafzimmer
        badezimmer bad flur büro arbeitszimmer kinderzimmer keller garage garten balkon terrasse
        esszimmer oben unten hier draußen überall lauter leiser heller dunkler wärmer kälter weniger
        mehr prozent grad halb viertel nach vor uhr null eins zwei drei vier fünf sechs sieben acht
        neun zehn elf zwölf dreizehn vierzehn fünfzehn zwanzig fünfundzwanzig dreißig vierzig
        fünfundvierzig fünfzig sechzig neunzig hundert sekunde sekunden minute minuten stunde stunden
        heute morgen abend früh nachmittag nacht mittag montag dienstag mittwoch donnerstag freitag
        samstag sonntag rot blau grün weiß warm kalt hell dunkel maximal bitte jetzt"""
    ),
    time=frozenset(
        _listed(
            """wie spät ist es/wie spät ist es jetzt/wie spät haben wir/wie viel uhr ist es/
            wieviel uhr ist es/wie viel uhr haben wir/sag mir die uhrzeit/sag mir wie spät es ist/
            weißt du wie spät es ist/wie ist die uhrzeit/welcher tag ist heute/was ist heute für ein tag/
            welchen tag haben wir/welchen tag haben wir heute/welches datum ist heute/
            welches datum haben wir/welches datum haben wir heute/der wievielte ist heute/
            den wievielten haben wir heute/den wievielten haben wir/welches jahr haben wir/
            welchen monat haben wir/was für ein tag ist heute/was für einen tag haben wir heute"""
        )
    ),
    about_now=_any(
        r"\b(?:heute|morgen|übermorgen|diese[nrs]? (?:woche|wochenende|monat|jahr)|"
        r"nächste[nrs]? (?:woche|wochenende|monat|jahr)|wie lange\b.*\b(?:her|noch|seit|bis)|"
        r"wie viele (?:stunden|tage|wochen|monate|jahre)\b.*\b(?:bis|noch|her|seit))\b"
    ),
    asking=_words(
        """wer wen wem wessen was welche welcher welches welchen welchem wo wohin woher wann warum
        wieso weshalb wie womit wofür wovon worüber mit seit ob weißt erinnerst kennst hast habe hab
        haben hat hatte hatten ist bin sind war waren warst wurde wird kann kannst können soll sollte
        muss darf mag magst möchte will wollte sag erzähl erzähle gibt gab"""
    ),
    memory=_any(
        r"\b(?:erinnerst|entsinnst) du dich\b|\bkannst du dich erinnern\b|\bdich (?:noch )?erinnern\b",
        r"\bweisst du (?:noch|wie|wo|was|wer|wann|welche\w*|ob|etwas über)?\b.*"
        r"\b(?:ich|mein\w*|wir|unser\w*|mir|mich)\b",
        r"\bweisst du noch\b",
        r"\bkennst du (?:mein\w*|mich|unser\w*)\b",
        r"\b(?:habe?|hatte|haben|hatten) (?:ich|wir)\b",
        r"\b(?:ich|wir|du) .*(?:erzählt|gesagt|erwähnt|besprochen|gesprochen|empfohlen|vorgeschlagen"
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
    advice=_any(
        r"(?:wie|was|wo|wann|wen|wem|womit|welche\w*)?(?: \w+){0,2} ?\b(?:kann|könnte|soll|sollte|muss|"
        r"müsste|darf|dürfte) (?:ich|wir|man)\b(?! (?:dir|dich))",
        r"(?:kannst|könntest|würdest) du (?:mir |uns |bitte )*(?:helfen|ein\w*|etwas|sagen wie man)\b",
    ),
    general=_any(
        r"\bwie (?:hoch|weit|gross|tief|schwer|schnell|heiss|lang|viele menschen) (?:ist|sind|war)\b",
        r"\b(?:hauptstadt|einwohner|präsident\w*|kanzler\w*|könig\w*|währung|wetter|entfernung|bedeutung"
        r"|definition|höhe|fläche|mehrzahl|quadratwurzel|wechselkurs|nachrichten) "
        r"(?:von|in|der|des|zwischen|für|aus)\b",
        r"\bwer (?:hat|ist|war)\b.*\b(?:geschrieben|erfunden|gemalt|komponiert|entdeckt|gegründet|gebaut|"
        r"gewonnen|kanzler\w*|präsident\w*|könig\w*|papst)\b",
        r"\bwas (?:bedeutet|heisst)\b|\bwie sagt man\b|\bübersetz",
        r"\b(?:erzähl\w*|sing\w*|lies) (?:mir |uns )?(?:einen?|noch einen?|ein) (?:witz|märchen|geschichte|lied)",
        r"\b(?:wetter|nachrichten)\b",
    ),
    named=re.compile(
        r"(?i:\b(?:hat|hatte|ist|war|wird|wurde|will|wollte|kann|konnte|mag|heißt|wohnt|arbeitet|macht|"
        r"kommt|geht|ging|kam|sagte|isst|trinkt|findet|fand)\s+)(?=[^\W\d_a-zäöüß]\w*(?:['’]?s)?\b"
        r"(?!\s+(?:von|in|der|des)\b))"
    ),
)

GATE_WORDS: Mapping[str, GateWords] = {"english": ENGLISH, "german": GERMAN}
