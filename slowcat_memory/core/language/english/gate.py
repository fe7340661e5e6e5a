"""English patterns of the recall gate; its lists are in ``words.toml``."""

from slowcat_memory.core.language.data import lazy_pattern, read_words
from slowcat_memory.core.language.gate import gate_words

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
