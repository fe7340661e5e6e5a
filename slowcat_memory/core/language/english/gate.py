"""English words of the recall gate: small talk, device commands, questions."""

import re

from slowcat_memory.core.language.gate import GateWords, any_of, listed, phrases, words

_GREETINGS = """hello/hello there/hi/hi there/hey/hey there/hiya/howdy/good morning/good afternoon/
    good evening/good day/morning/evening/greetings/welcome back/i'm back/i am back/i'm home/
    nice to see you/good to see you/long time no see/nice to meet you"""
_SMALL_TALK = """okay/ok/k/okey/alright/all right/right/sure/sure thing/of course/certainly/exactly/
    absolutely/definitely/indeed/true/correct/that's right/that is right/that's correct/that's true/
    you're right/yes/yeah/yep/yup/ya/aye/no/nope/nah/no no/not really/not now/not today/
    no thanks/no thank you/yes please/please/please do/go ahead/go for it/do it/do that/
    ha/hah/heh/nice one/good one/sounds good/that sounds good/sounds great/that sounds great/
    that's fine/fine/fine by me/
    that's good/good/very good/great/that's great/perfect/that's perfect/cool/nice/very nice/
    awesome/wonderful/lovely/excellent/amazing/brilliant/super/wow/whoa/oh/oh no/oh my/oh wow/
    oh well/
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

GATE = GateWords(
    greetings=phrases(_GREETINGS),
    fillers=phrases(_GREETINGS, _SMALL_TALK),
    courtesy=phrases(
        """please/could you/could you please/can you/can you please/would you/would you please/
        will you/would you mind/i want you to/i'd like you to/i would like you to/now/again/thanks/
        thank you/for me/right now/okay/ok/hey/just/then/and/a bit/a little/a little bit/
        for a moment/
        for a second/for a minute/no/yes/oh/immediately/assistant/computer/once more/
        one more time"""
    ),
    please=words("please just"),
    commands=frozenset(
        listed(
            """stop/stop it/stop that/stop this/stop talking/stop speaking/stop there/stop now/halt/
            quiet/be quiet/silence/shush/shut up/enough/that's enough/mute/unmute/mute yourself/
            pause/
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
    verbs=words(
        """turn switch put set start stop pause resume cancel dim brighten open close raise lower
            mute
        unmute play snooze silence delete increase decrease add make lock unlock on off up down
        shut"""
    ),
    devices=words(
        """light lights lamp lamps lighting bulb bulbs tv television telly radio music volume sound
        speaker speakers heating heater heat radiator thermostat temperature fan fans conditioning
        conditioner ac blind blinds shutter shutters curtain curtains oven kettle dishwasher vacuum
        hoover camera microphone mic alarm alarms timer timers stopwatch screen display brightness
        lock plug plugs socket"""
    ),
    other=words(
        """the a an another my our all both every other this that it me in on at to for by of and
        from kitchen living dining bed room bedroom bathroom bath hall hallway office study garage
        garden cellar basement attic corridor nursery toilet balcony terrace upstairs downstairs
        here
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
        listed(
            """what time is it/what time is it now/what's the time/what is the time/
            what's the time now/do you know what time it is/can you tell me the time/
            tell me the time/
            do you know the time/do you have the time/how late is it/what day is it/
            what day is it today/what day is today/what's today/which day is it/what date is it/
            what date is it today/what's the date/what is the date/what's the date today/
            what is the date today/what's today's date/what is today's date/what year is it/
            what month is it/which month is it/what weekday is it/what's the current time/
            what is the current time/and what time is it/current time/the time please"""
        )
    ),
    about_now=any_of(
        r"\b(?:today|tomorrow|tonight|this (?:week|weekend|month|year|morning|afternoon|evening)|"
        r"next (?:week|weekend|month|year)|how long (?:ago|until|till|is it|has it been|since)|"
        r"how many (?:hours|days|weeks|months|years)\b.*\b(?:until|till|left|ago|since|to))\b"
    ),
    asking=words(
        """who whom whose who's who'd what what's which where where's when when's why why's how
            how's
        do does did don't doesn't didn't is isn't are aren't am was wasn't were weren't has hasn't
        have haven't had hadn't can can't could couldn't will won't would wouldn't should shall
        tell remind wonder guess"""
    ),
    memory=any_of(
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
    advice=any_of(
        r"(?:what|how|where|which|when|who)?(?: \w+){0,2} ?\b(?:can|could|should|shall|may|must|"
        r"would|might) (?:i|we)\b",
        r"how (?:do|to)\b(?! (?:i|we) know)",
        r"(?:can|could|will|would) you (?:please |just )?(?:help|tell me a|sing|read|write|play|"
        r"explain|translate|show|find|search|make|book|order|call|give|set|turn|add|recommend|"
        r"suggest|please)\b",
    ),
    general=any_of(
        r"\bhow (?:tall|high|far|big|deep|heavy|large|fast|hot|cold|wide|many people|many "
        r"kilometres"
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
        r"(?i:\b(?:did|does|do|has|have|had|is|are|was|were|would|will|can|could|might|should|"
        r"isn't|"
        r"doesn't|didn't|hasn't|where's|who's|what's)\s+)(?=[^\W\d_a-z])(?!I\b)"
        r"|(?<=\s)(?=[^\W\d_a-z][^\W\d_]+['’]s?\b)"
        r"|(?i:\b(?:[^\W_]{2,}(?:[^s\W]s|ed)|that|who|made|gave|told|met|saw|when|important to|"
        r"according to|gift to|letter to|mean to|happened to|good for|reason for|help for|shared "
        r"by|"
        r"made by|written by|given by|organized by|chosen by)\s+)(?=[^\W\d_a-z])(?!I\b)"
        r"|(?<=\s)(?=[^\W\d_a-z][^\W\d_]+ (?i:and) [^\W\d_a-z])"
    ),
)
