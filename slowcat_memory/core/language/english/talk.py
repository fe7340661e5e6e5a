"""English patterns of the recall gate, and of talk that says nothing by itself."""

import re

from slowcat_memory.core.language.data import lazy_pattern, read_words, word_set
from slowcat_memory.core.language.english.vocabulary import PRONOUNS
from slowcat_memory.core.language.gate import gate_words
from slowcat_memory.core.language.table import TalkWords

_NUM = (
    r"(?:\d+|half|(?:zero|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|"
    "one|two|three|four|five|six|seven|eight|nine|ten|twenty|thirty|forty|fifty|sixty|seventy|"
    "eighty|ninety|hundred|thousand|million|point|minus|quarters?|a|an)(?: and)?)"
)
_NUMS = rf"(?>{_NUM}(?:[ -]?{_NUM})*)[ -]?"  # atomic: digits divide in one way only
_UNIT = (
    "(?:(?:kilo|centi|milli)?(?:met(?:er|re)s?|grams?|lit(?:er|re)s?)|ounces?|oz|pounds?|tons?|"
    "inch(?:es)?|feet|foot|ft|yards?|miles?|gallons?|pints?|cups?|(?:table|tea)?spoons?|seconds?|"
    "minutes?|hours?|days?|weeks?|months?|years?|celsius|fahrenheit|degrees?(?: celsius| fahrenheit)?|kilos?|kg|cm|mm|km|ml|"
    "dollars?|euros?|pounds?)"
)
_TONGUE = "(?:french|german|spanish|italian|portuguese|dutch|polish|turkish|english)"
_PLACE = "(?: in [^ ]+(?: [^ ]+){0,2})?"
_WHEN = (
    "(?: (?:outside|today|tomorrow|tonight|now|later|at the moment|this (?:morning|afternoon|evening|"
    "weekend|week)|going to be|like|be))*"
)
_COOKING = "(?:make|cook|boil|bake|fry|roast|clean|cut|wash|build)"
_ADJ = (
    r"(?:good|great|lovely|nice|kind|sweet|perfect|brilliant|awesome|amazing|fantastic|wonderful|"
    r"excellent|fine|cool|funny|hilarious|interesting|helpful|useful|sad|terrible|awful|strange|weird|"
    r"odd|crazy|enough|right|true|correct|wrong|super|clever|smart|fair|impressive|neat|grand|better|"
    r"much better|all right|alright|okay|ok|clear|annoying|cute|ridiculous|a shame|a pity|a relief|fun)"
)

GATE = gate_words(
    read_words(__package__)["gate"],
    about_now=lazy_pattern(
        r"\b(?:today|tomorrow|tonight|this (?:week|weekend|month|year|morning|afternoon|evening)|"
        r"next (?:week|weekend|month|year)|how long (?:ago|until|till|is it|has it been|since)|"
        r"how many (?:hours|days|weeks|months|years)\b.*\b(?:until|till|left|ago|since|to))\b"
    ),
    memory=lazy_pattern(
        r"\b(?:my|our|mine|ours|about me|remember me)\b|\b(?:did|was|were|have|had|am) (?:i|we)\b",
        r"\bdo (?:i|we)\b(?! (?:do|need|have to|say|call|make|get|spell))|\b(?:remind|tell) me (?:\w+ ){1,2}(?:i|we)\b",
        r"\b(?:i|we) (?:\w+ )?(?:told|tell|mention\w*|said|say|talk\w*|spoken?|discuss\w*)\b",
        r"\byou (?:\w+ )?(?:told|said|say|tell|mention\w*|suggest\w*|recommend\w*|promised?|meant|"
        r"remember|recall|know (?:\w+ )*(?:i|we|me))\b",
        r"\b(?:last (?:time|night|week|weekend|month|year|summer|winter|spring|autumn|\w+day)|yesterday|"
        r"the other day|back then|earlier|previously|before|used to|\w+ ago)\b",
    ),
    advice=lazy_pattern(
        r"(?:what|how|where|which|when|who)?(?: \w+){0,2} ?\b(?:can|could|should|shall|may|must|"
        r"would|might) (?:i|we)\b",
        r"how (?:do|to)\b(?! (?:i|we) know)",
        r"(?:can|could|will|would) you (?:please |just )?(?:help|tell me a|sing|read|write|play|"
        r"explain|translate|show|find|search|make|book|order|call|give|set|turn|add|recommend|"
        r"suggest|please)\b",
    ),
    asides=lazy_pattern(
        r"\b(?:tell|give|show|read|teach|sing|explain to|play|spell|get|help|find) (?:me|us)(?: (?:with|again))?\b",
        r"\bfor (?:me|us)\b",
        r"\b(?:i'd like to know|i want to know|i wonder|i was wondering|i'm curious|do you know|can you tell)\b",
        r"(?<=\bhow do )(?:i|we)\b",
        r"\bdo (?:you|people|they) (?:say|spell|pronounce|call|write)\b",
    ),
    personal=lazy_pattern(
        r"\b(?:i|i'm|i've|i'd|i'll|my|mine|we|we're|we've|we'd|we'll|our|ours|us|me|myself|ourselves)\b",
        r"\b(?:he|she|him|her|his|hers|they|them|their|he's|she's|they're)\b",
        r"\b(?:mum|mom|dad|mummy|daddy|mama|papa|gran|granny|grandma|grandpa|grandad|nan|auntie|uncle|aunt|"
        r"boss|landlord|wife|husband|kids|neighbou?rs?|family|household|doctor|dentist|vet)(?:'s)?\b",
        r"\b(?:passwords?|pin|pass ?code|door code|combination)\b",
        r"\b(?:remember|remind|remembered|again|last time|usual|usually|favou?rite|still|already|yesterday|the "
        r"other day|earlier|before|planned|decided|agreed|promised|mentioned|said|told|appointment|birthday|"
        r"anniversary)\b",
    ),
    chatter=lazy_pattern(
        r"^(?:oh |ok |okay |well |yes |no |great |ah |lovely |perfect )*(?:thanks|thank you|cheers|ta)\b(?: (?:for|that|"
        "that's|this|the|help|your|so|very|really|much|a|letting|me|know|reminding|everything|again|million|asking|great|"
        "lovely|of|it|appreciate|i|today|tip|heads|up|nice|perfect|patience|time|advice|being|helpful|good|to|is|was|and|"
        "bye|goodnight|good|night))*$",
        "^(?:(?:oh|wow|ah|ha|well|yeah|yes|cheers|ok|okay|thanks|so|no|hm+) )*(?:(?:that|this|it)(?:'s| is| was| "
        "sounds| would be)|sounds|looks|how|you're|you are) (?:(?:really|so|very|pretty|just|not|absolutely|a|an|been) "
        rf")*{_ADJ}\b(?: (?:of you|to hear|to know|now|thanks|thank you|idea|one|news|question|point|answer|for now))*$",
        "^(?:(?:yeah|yes|ok|okay|right|no|well|oh|please|and|so) )*(?:go on|carry on|keep going|go ahead|never mind|"
        "forget it|no worries|not at all|you bet|of course|tell me about it|same here|me too|why not|well done|good "
        "job|nice work|let's go|bring it on|that'll do|that's it|that's all|i got it|i see(?: what you mean)?|i get it|i know|i hear "
        "you|i'm listening|i'm here|i'm back|i'm off|i'm done|i'm ready|i'm fine|i'm good|i have to go|gotta go|hang "
        r"on(?: a \w+)?|bear with me|uh huh)(?: (?:please|now|thanks))*$",
        "^(?:(?:hello|hi|hey|good|morning|afternoon|evening|night|day|goodbye|bye|goodnight|sleep|well|see|ya|you|"
        "later|soon|then|take|care|tomorrow|have|a|an|nice|lovely|great|of|the|weekend|time|catch|talk|there|all|"
        "everyone|speak|to|so|for|now|ok|okay|well|again|welcome) ?)+$",
        "^(?:(?:so|and|hey|hi|well|ok|oh) )*(?:who|what|where|how) are you(?: (?:from|today|tonight))*$",
        r"^are you (?:a|an|ok|okay|serious)\b(?: (?:today|now|ai))?$",
    ),
    sums=lazy_pattern(
        rf"\b{_NUMS} ?(?:(?:{_UNIT}) )?(?:plus|minus|times|divided by|multiplied by|percent|per cent|"
        f"squared|to the power of) ?(?:of )?{_NUMS}",
        rf"\b(?:square|cube) root of {_NUMS}|\bhalf of {_NUMS}$",
        rf"\b{_NUMS} ?{_UNIT}(?: (?:and )?{_NUMS} ?{_UNIT}?)?(?: of \w+)? (?:in|to|into|equals?) (?:how "
        f"many )?{_UNIT}",
        rf"\bhow (?:many|much) {_UNIT} is {_NUMS}",
        rf"\bhow (?:many|much) {_UNIT} (?:are |is |do |does )?(?:there )?(?:are |is )?(?:in|to|make)\b",
    ),
    world_begins=lazy_pattern(
        "^(?:and )?how (?:tall|high|deep|long|big|far|heavy|fast|hot|old) (?:is|are|was) (?:the|mount) "
        "(?:sun|moon|earth|ocean|sea|eiffel|everest|kilimanjaro)",
        "^(?:and |so |er |um )?who (?:invented|discovered|composed|painted) ",
        r"^(?:why|how|where|when) do (?!you|we|they|i|the|these|those|his|her|their|this)\w+s [a-z]+(?: "
        r"\w+){0,4}$",
        "^(?:please |can you |could you |would you )*(?:explain|define|describe) (?!why|what|how|that|this|it|the|"
        r"his|her|their)(?:an? )?\w+(?: \w+)?(?: in simple (?:terms|words|english))?$",
        r"^(?:and |so |er |um )?who (?:wrote|won) (?:the )?(?P<title>(?!my|our|that|this|it)[\w' ]+)$",
        r"^who (?:is|was) the (?:president|prime minister) of\b",
        r"^how (?:does|do) (?:an? )?(?!you|we|they|i|the|these|those|his|her|their|this|it)\w+(?: \w+){0,2} (?:work|"
        r"sleep)\b",
        r"^(?:please |can you |could you )*play (?:me |us )?(?:some|something|any)(?: (?!please)\w+){1,2}$",
        f"^(?:and )?what(?:'s| is) the (?:date|day|time|year){_WHEN}$",
        r"^(?:please )?(?:how do you |how is |can you |could you )?spell(?:ed)? \w+",
        r"^translate\b",
        r"^(?:do you know|tell me) any (?:good )?jokes$",
        rf"^(?:what's|what is|how's|how is) (?:the )?(?:weather|forecast|temperature){_WHEN}{_PLACE}{_WHEN}$",
        f"^how (?:cold|hot|warm|windy|wet|sunny) (?:is it|will it be|is it going to be){_WHEN}{_PLACE}{_WHEN}$",
        "^(?:is it|will it|is it going to)(?: be)? (?:rain(?:ing|y)?|snow(?:ing|y)?|sunny|cold|hot|warm|"
        f"windy|frosty){_WHEN}{_PLACE}{_WHEN}$",
        f"^(?:what's the time|what time is it|what is the time)(?: now)?{_PLACE}{_WHEN}$",
        "^(?:please |can you |could you |go on )*(?:tell|give|read|sing|make up|do)(?: me| us)? (?:a|an|another|one|some|something)(?: "
        r"short| good| funny| bedtime)* ?(?:joke|jokes|riddle|story|poem|song|lullaby|silly|funny)\b(?: about (?:an? |the )?\w+(?: "
        r"\w+)?)?$",
        rf"^how (?:long|much time) does it take to \w+|^(?:how do (?:you|i|we)|how to) {_COOKING} ",
    ),
    world=lazy_pattern(
        r"\b(?:flip|toss) a coin|\broll (?:a|the|two) (?:dice|die)",
        r"\b(?:what's|what is|what are) the (?:\w+ )?(?:capital|population|president|prime minister|speed|"
        r"distance|longest|tallest|highest|largest|biggest|deepest|fastest) .*\b(?:of|in|river|mountain|"
        r"country|planet|city)\b",
        r"\b(?:world war|mona lisa|everest|eiffel tower|berlin wall|revolution|titanic|mozart|bach|einstein|planets?|galaxy|photosynthesis|gravity|great wall|"
        r"full moon|sunset)\b",
        r"\b(?:number|word) (?:between|that)\b",
        rf"\b{_TONGUE} (?:word|words|translation) (?:for|of)\b",
        r"\b(?:opposite|synonyms?|plural|definition|meaning|abbreviation) (?:of|for)\b",
        r"\brhymes? with\b",
        rf"\bin {_TONGUE}$",
        r"\bwhat (?:does|do) (?!he|she|they|it|that|this|you|we|i|the)(?:the word )?[\w' ]+ (?:mean|stand for)$",
    ),
)

# ------------------------------------------------------------------- talk

_BE = r"(?:is|are|was|were|am|isn't|aren't|wasn't|weren't)"
_DO = (
    r"(?:do|does|did|don't|doesn't|didn't|have|has|had|haven't|hasn't|can|can't|could|couldn't|"
    r"will|won't|would|wouldn't|should|shouldn't|may|might|must|shall)"
)
_ASKS = r"(?:what|who|whom|whose|which|where|when|why|how)"
_SOMEBODY = r"(?:i|you|he|she|it|we|they|there|this|that|these|those|my|our|your|his|her|their|the)"
_I = r"(?:i|we)(?:'m|'re|'ve|'d)?"
_AGE = (
    r"(?:(?:best|new|older|younger|little|big|elder|eldest|oldest|youngest|twin|current|own|closest|"
    r"old|dear|lovely|first|only|latest) )*"
)


def _doing(verbs: str) -> str:
    """Return a pattern of a question for what the user does: "which city am I living in"."""
    return rf"\b{_I} (?:\w+ ){{0,3}}?(?:{verbs})\b"


def _own(nouns: str) -> str:
    """Return a pattern of a question for what is the user's: "what's my current job"."""
    of = rf"\b(?:my|our) (?:\w+ ){{0,2}}?(?:{nouns})\b(?!'s| is on| on )"
    had = rf"\b(?:what|which|any|whose) (?:\w+ ){{0,2}}?(?:{nouns})\b.*\b{_I}\b"
    return rf"{of}|{had}"


TALK = TalkWords(
    empty=GATE.small | word_set(read_words(__package__)["extracts"]["function"] + " remember"),
    persons=word_set(
        "i i'm i've i'd i'll me my we we're we've our us he she they him his her their"
    ),
    question=lazy_pattern(
        rf"(?:(?:so|and|but|or|then|now|well|hey|ok|okay|please|also|by the way) )*"
        rf"(?:{_ASKS}(?:'s|'re| {_BE}\b| {_DO}\b)|"
        rf"(?:what|which|whose|how) (?:\w+ ){{1,3}}(?:{_BE}|{_DO})\b (?:{_SOMEBODY})\b|"
        rf"(?:{_BE}|{_DO}) {_SOMEBODY}\b|"
        rf"(?:can you |could you |please |would you )*(?:tell|remind) me (?:again |once more |please )*"
        rf"(?:{_ASKS}|if|whether|about|my|our)\b|"
        rf"(?:do|did|can) you (?:still )?(?:know|remember|recall)\b)"
    ),
    tells_first=word_set("i we i'm we're i've we've i'll we'll"),
    telling=lazy_pattern(
        r"\b(?:(?:did|have) (?:i|we) (?:ever |already )?(?:tell|told|mention|mentioned)(?: to)?(?: you)?"
        r"|did you (?:know|hear|notice)|have you heard|do you know) (?:that\b|(?:i|we) \w+|(?:my|our) "
        r"[\w' ]*?\b(?:is|was|has|had|got|will|are|were|just|broke|left|died|moved)\b)|"
        r"\b(?:can|could|would) you (?:believe|imagine)\b|\bguess what\b|"
        r"\b(?:can|could|would|will) you (?:please )?(?:remind me to|note|write down|remember that|"
        r"keep in mind)\b|\bremind me to\b"
    ),
    asks_name=lazy_pattern(r"\b(?:called|named?|names|who|who's)\b"),
    about_people=lazy_pattern(
        r"\b(?:i|my|mine|(?<!tell )(?<!give )(?<!show )me|we|our|(?<!tell )(?<!give )(?<!show )us|"
        r"you (?:told|said|say|mention\w*|recommend\w*|suggest\w*))\b"
    ),
    ignorance=lazy_pattern(
        r"\b(?:i|we) (?:really |still |just |also |actually |honestly |currently )*(?:(?:don't|do not|"
        r"can't|cannot|couldn't|could not|didn't|did not|haven't|have not|am not|wasn't) (?:\w+ ){0,3}?"
        r"(?:know|remember|recall|find|have|see|tell|access|check|look|sure|aware|heard|got|hear|"
        r"catch|understand|able)|have no|had no|lack)\b|\bi'm (?:really |still )?(?:not (?:\w+ )?"
        r"(?:sure|certain|aware|able)|afraid|unable|unsure)\b|\bi am (?:unable|unsure|afraid)\b|"
        r"\byou (?:still |just )?(?:haven't|have not|didn't|did not|never|hadn't) (?:yet |actually |"
        r"ever )?(?:told|tell|mention|mentioned|said|say|share|shared|given|give)\b|"
        r"\b(?:no|any) (?:idea|clue|memory|memories|record|records|information|details|note|notes) "
        r"(?:of|about|on|for|that|what|who|where|when)\b|\bnothing (?:is |was )?(?:stored|noted|saved|"
        r"remembered|recorded|in my memory|about that)\b|\b(?:wasn't|was not|isn't|is not) "
        r"(?:mentioned|stored|in my (?:memory|notes))\b"
    ),
    no_answer=lazy_pattern(
        r"(?:(?:sorry|well|hm+|um+|uh+|oh|no|honestly|actually|but|and) )*(?:i (?:really |still |just )*"
        r"(?:don't|do not|can't|cannot) (?:know|remember|recall|say|tell)|i'm not (?:really )?sure|"
        r"i am not sure|not sure|no idea|no clue|i have no (?:idea|clue)|i forgot|i forget|"
        r"i've forgotten|hard to say|who knows)"
        r"(?: (?:that|it|either|yet|right now|now|anymore|any more|sorry|really|exactly|again|though))*"
    ),
    change=lazy_pattern(
        r"\b(?:now|instead|actually|after all|turns out|correction|(?:no|not any) (?:longer|more)|"
        r"any ?more|moved|postponed|rescheduled|changed|switched|swapped|replaced|cancelled|canceled|"
        r"called off|push(?:ed)? (?:\w+ ){0,3}?(?:back|to|forward)|brought forward|delayed)\b"
    ),
    renewal=lazy_pattern(
        r"\b(?:nowadays|these days|turned out|scratch that|moving|chang(?:e|ing)|switch(?:ing)?|swap|"
        r"(?:moved|put) (?:\w+ ){0,3}?forward|put (?:\w+ ){0,3}?(?:off|back)|pushed|shifted|new|"
        r"from now on|as of|since then|went back|gone back|back|quit|left|sold|gave up|given up|"
        r"got rid of|traded|upgraded|downgraded|transferred|promoted|gone up|gone down|went up|went "
        r"down|raised|lowered|ended up|decided against|rather than|changed (?:my|our) minds?|split up|"
        r"broke up|is off|fell through|fallen through|extended|another|different)\b"
    ),
    asked=(
        (
            "lives_in address",
            _doing("live|lives|(?<!a )living|lived|reside|residing|based|settled|staying"),
            r"\bwhere(?:'s| is) (?:home|my (?:home|flat|house|place|apartment))\b",
            _own("home ?town|address|city|town|home city|place of residence|new home"),
            r"\b(?:which|what) (?:city|town|country|place|street|area|part of town) .*\b(?:i|we|my|our)\b"
            r"(?! (?:go|went|visit\w*|travel\w*|fly|flew|see|saw|been))",
        ),
        (
            "works_at works_for",
            r"\b(?:where|who|which (?:company|firm|place|employer)|what (?:company|firm)).*\bi(?:'m)? "
            r"(?:\w+ ){0,2}?(?:work|works|working|worked|employed)\b|\bwho (?:employs|pays) me\b",
            _own("employer|company|firm|workplace"),
        ),
        (
            "works_as works_at",
            r"\bwhat do i do(?:\?|$| for (?:a living|work)| at work| professionally| all day| job)|"
            r"\bwhat do i work as\b|\bhow do i (?:earn|make) (?:a|my) (?:living|money)\b",
            _own(
                "role at work|day job|job|profession|occupation|trade|career|position|line of work"
            ),
        ),
        (
            "has_partner married_to has_husband has_wife has_spouse has_boyfriend has_girlfriend "
            "engaged_to dating relationship_status",
            _doing("dating|seeing|together with|going out|married to|engaged to|in a relationship"),
            r"\bam i (?:still )?(?:single|married|engaged|taken|seeing anyone)\b",
            _own("partner|other half|better half|significant other|love life|relationship"),
        ),
        (
            "diet allergic_to",
            r"\b(?:am i|if i'm|whether i'm) (?:still |a |on a )*(?:vegan|vegetarian|gluten|veggie|pescatarian"
            r"|diet)\b|\bwhat.*\bi (?:\w+ )?eat\b|\b(?:what|anything|foods?).*\b(?:i (?:can't|cannot|don't|shouldn't|should avoid|may not|avoid) "
            r"?(?:eat\w*|have|touch)?|off limits|agree with me)\b",
            _own("diet|dietary|eating habits|food rules|food|nutrition|intolerances?"),
        ),
        (
            "allergic_to",
            r"\ballerg(?:ic|y|ies).*\b(?:i|my|me)\b|\b(?:i|my)\b.*\ballerg|\b(?:am i|i'm) intolerant|"
            r"\bwhat (?:can't|shouldn't|must|should|do) i (?:not )?(?:eat|touch|have|avoid)\b|\bagree with me\b",
        ),
        ("favourite_{thing}", r"\bmy favou?rite (\w+)"),
        (
            "has_{thing}",
            r"^(?!.*\b(?:did|were|had)\b)(?:.*\b(?:i|we|my|our)\b (?:\w+ ){0,3}?(dog|cat|pet)s?\b(?!'s (?!name))|"
            r".*\b(?:which|what|any) (?:\w+ ){0,2}?(dog|cat|pet)s?\b.*\b(?:i|we|me|us|mine)\b)",
        ),
        (
            "has_{thing}",
            rf"\b(?:what(?:'s| is| was| are| were)|who(?:'s| is| was| are)|do you know|tell me|remember|remind me|know|how is) "
            rf"(?:again )?(?:what |who )?(?:the name of )?(?:my|our) {_AGE}([\w-]+)(?:'s name| is called| called"
            rf"| again| named|\??$)|\bnames? of (?:my|our) {_AGE}([\w-]+)|\b(?:my|our) {_AGE}([\w-]+)'s? name"
            rf"|\b(?:call|called|name) (?:my|our) {_AGE}([\w-]+)\??$|\b(?:do|have) (?:i|we) (?:have|got|own|keep) (?:a|an|any) "
            rf"([\w-]+)\??$|\bmy ([\w-]+)'s "
            rf"called\b|\b(?:what|which|how many|any) ([\w-]+) (?:do|have) (?:i|we)\b",
        ),
    ),
    asking=lazy_pattern(
        r"\b(?:who|who's|whom|whose|what|what's|which|where|where's|when|when's|how|how's|do|does|did|have|"
        r"has|had|am|are|is|was|any|anything|if|whether|names? of|remind me|tell me|remember|know)\b"
    ),
    former=lazy_pattern(
        r"\b(?:before|used to|previous\w*|former\w*|earlier|prior|old (?:job|home|flat|employer|company|"
        r"address|city|town|car|phone|boss)|last (?:job|home|flat|employer|company))\b"
    ),
    ahead=lazy_pattern(
        r"\bwhen(?:'s| is| are| am| do| does| will|'m)\b|\b(?:what|which) (?:day|date|time|week)\b|"
        r"\bhow (?:long|many \w+) (?:until|till|to)\b|\b(?:do|have) (?:i|we) (?:\w+ ){0,3}?(?:planned|plans?|"
        r"appointments?|on|coming up|lined up|ahead|scheduled)\b|\b(?:what's|what is|what have (?:i|we)|"
        r"what do (?:i|we) have|anything|what are|what|what'll) (?:\w+ ){0,3}?(?:coming up|next|planned|plans|ahead|"
        r"lined up|scheduled|on my (?:calendar|agenda|schedule)|on (?:this|next|tomorrow|today|the))\b|"
        r"\bmy (?:next|upcoming) \w+|\banything (?:\w+ )?(?:planned|on|coming up)\b|\bremind me (?:\w+ )?when\b"
    ),
    when=lazy_pattern(r"\b(?:when|(?:what|which) (?:day|date|time|week)|how (?:long|many))\b"),
    ahead_words=lazy_pattern(
        r"\b(?:when|when's|day|days|date|time|week|weeks|weekend|month|next|upcoming|coming|up|planned|"
        r"plans?|ahead|lined|scheduled|schedule|calendar|agenda|appointments?|anything|remind|until|till|"
        r"again|going|take|place|happening|happen|due|booked|today|tomorrow|soon|start|tonight)\b"
    ),
    values=lazy_pattern(
        r"\bhow many (?P<counted>[\w-]+)",
        r"\bhow (?:much|old|tall|big|long|far|heavy|high|large|often)\b|\bwhat(?:'s| is| was|"
        r" does| did)\b.*\b(?:price|cost|rent|salary|fee|phone number|pin|door code|code)\b",
        r"\b(?:(?:at|from|until|till|by) )?what time\b|\bwhen(?:'s| is| does| will)\b",
    ),
    amounts=word_set(
        "few several lots loads free nothing none no every always never now soon later noon midday "
        "midnight daily"
    ),
    past=lazy_pattern(r"\b(?:did|was|were|had|used to|have (?:i|we|you) been|has \w+ been)\b"),
    definite=lazy_pattern(r"\b(?:the|my|our|i|we|me|us)\b"),
    name_places=word_set(
        "did does do has have had is was are were will would can could should isn't didn't doesn't "
        "hasn't when's where's who's what's how's with from for about and to at than called named by "
        "aunt uncle cousin sister brother friend doctor dr mr mrs ms"
    ),
    alike={
        "has_pet": "pet pets animal animals dog cat puppy kitten horse pony rabbit hamster budgie parrot tortoise",
        "has_partner has_spouse married_to has_wife has_husband has_girlfriend has_boyfriend": (
            "wife husband girlfriend boyfriend spouse fiancé fiancée fiance fiancee partner"
        ),
        "has_mother": "mum mom mam",
        "has_father": "dad",
        "has_child has_son has_daughter": "son sons daughter daughters kid child kids children",
        "has_sister has_brother": "sister sisters brother brothers sibling siblings",
    },
    joins=lazy_pattern(
        r"(?:so |okay |ok |oh |hm+ |yes |no )?(?:and|or|but|what about|how about|why not|which one|"
        r"what else|who else|where else|anything else|tell me more|more about)\b",
        flags=re.IGNORECASE,
    ),
    refers=PRONOUNS,
    own=word_set("i my me"),
    about_talk=lazy_pattern(
        r"\b(?:ask(?:ed|ing)?|question|questions|wonder(?:ed|ing)?|want(?:ed)? to know"
        r"|did you (?:tell|say|suggest|recommend|advise))\b"
    ),
)
