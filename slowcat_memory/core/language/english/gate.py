"""English patterns of the recall gate; its lists are in ``words.toml``."""

from slowcat_memory.core.language.data import lazy_pattern, read_words
from slowcat_memory.core.language.gate import gate_words

_NUM = (
    r"(?:\d+|a half|half|(?:zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|"
    r"thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|"
    r"seventy|eighty|ninety|hundred|thousand|million|dozen|point|minus|quarters?|thirds?|eighths?|"
    r"fifths?|sevenths?|tenths?|a|an)(?: and)?)"
)
_NUMS = rf"(?>{_NUM}(?:[ -]?{_NUM})*)[ -]?"  # atomic: digits divide in one way only
_UNIT = (
    r"(?:(?:kilo|centi|milli|deci)?(?:met(?:er|re)s?|grams?|grammes?|lit(?:er|re)s?)|ounces?|oz|pounds?|"
    r"lbs?|stones?|tons?|tonnes?|inch(?:es)?|feet|foot|ft|yards?|miles?|acres?|hectares?|gallons?|"
    r"pints?|quarts?|cups?|(?:table|tea)?spoons?|seconds?|minutes?|hours?|days?|weeks?|months?|years?|"
    r"decades?|centur(?:y|ies)|celsius|fahrenheit|kelvin|degrees?|knots?|bytes?|(?:kilo|mega|giga|tera)"
    r"bytes?|kilos?|kg|cm|mm|km|ml|mph|dollars?|euros?|pounds?|yen|francs?|cents?|sides?|zeros?|legs?|"
    r"degrees (?:celsius|fahrenheit))"
)
_TONGUE = (
    r"(?:french|german|spanish|italian|portuguese|dutch|russian|polish|turkish|japanese|chinese|"
    r"mandarin|korean|arabic|hindi|greek|latin|swedish|danish|norwegian|finnish|welsh|irish|english|"
    r"hebrew|czech|hungarian|ukrainian|vietnamese|thai|swahili)"
)
_PLACE = r"(?: (?:in|for|near|around|over in) [^ ]+(?: [^ ]+){0,2})?"
_WHEN = (
    r"(?: (?:outside|out there|out|today|tomorrow|tonight|now|right now|later|at the moment|this "
    r"(?:morning|afternoon|evening|weekend|week)|on (?:mon|tues|wednes|thurs|fri|satur|sun)day|at all|"
    r"going to be|like|get|be|again|at the weekend))*"
)
_COOKING = (
    r"(?:make|cook|boil|hard boil|soft boil|bake|fry|poach|roast|steam|grill|clean|remove|tie|fold|spell|"
    r"pronounce|calculate|convert|grow|plant|peel|cut|chop|wash|iron|descale|defrost|reheat|freeze|"
    r"store|ripen|whisk|knead|proof|brew|sharpen|unblock|write|work out|count|build|knit|sew|draw|open)"
)
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
        r"^(?:oh |ok |okay |well |yes |no |great |right |ah |lovely |perfect |brilliant )*(?:thanks|thank you|"
        r"cheers|ta)\b(?: (?:for|that|that's|this|the|help|helping|your|so|very|really|much|a|lot|letting|me|know|reminding|"
        r"everything|again|anyway|indeed|million|bunch|telling|asking|you|you've|you're|been|great|lovely|kind|of|it|"
        r"appreciate|i|today|tip|info|heads|up|mate|friend|all|nice|perfect|listening|patience|chat|time|advice|being|"
        r"brilliant|fantastic|awesome|helpful|sweet|good|cool|trying|to|hear|is|was|and|bye|goodnight|good|night))*$",
        rf"^(?:(?:oh|wow|ah|ha|well|yeah|yes|cheers|ok|okay|thanks|so|no|hm+|right) )*(?:(?:that|this|it)(?:'s| is| was|"
        rf"'ll be| sounds| would be| will be)|sounds|looks|how|you're|you are|what an?|i'm) (?:(?:really|so|very|quite|"
        rf"pretty|just|too|all|not|absolutely|totally|a|an|bit|been|such|most) )*{_ADJ}\b(?: (?:of you|to hear|to know|"
        r"then|now|thanks|thank you|idea|one|news|question|point|too|again|really|indeed|job|answer|by me|for now|"
        r"work))*$",
        r"^(?:(?:yeah|yes|ok|okay|right|no|well|oh|sure|please|and|so|just) )*(?:go on|carry on|keep going|go ahead|"
        r"never mind|forget it|no worries|not at all|fair enough|fair point|good point|if you say so|you bet|of "
        r"course|no way|no kidding|you don't say|tell me about it|same here|me too|me neither|why not|good for you|"
        r"well done|good job|nice try|nice work|let's go|bring it on|that will do|that'll do|that's it|that's all|"
        r"i got it|i see|i get it|i know|i hear you|i'm listening|i'm here|i'm back|i'm off|i'm done|i'm ready|"
        r"i'm fine|i'm good|i'm off to bed|i'm going to bed|i'm heading off|i have to go|i've got to go|gotta go|"
        r"got to go|let me think|give me a (?:sec|second|minute|moment)|hang on(?: a \w+)?|one sec|two secs|bear with "
        r"me|say (?:that|it) again|come again|pardon|what was that|huh|hm+|uh huh|mm hm+|er+|um+)"
        r"(?: (?:then|please|now|thanks|mate|again|a bit|slowly))*$",
        r"^(?:(?:hello|hi|hey|good|morning|afternoon|evening|night|day|goodbye|bye|goodnight|sleep|well|tight|see|ya|"
        r"you|later|soon|then|take|care|tomorrow|have|a|an|nice|lovely|great|rest|of|the|weekend|time|sweet|dreams|"
        r"catch|talk|there|all|everyone|cheerio|speak|until|next|to|so|long|for|now|ok|okay|well|again|back|welcome|"
        r"mate|friend|old|computer|assistant|robot|slowcat) ?)+$",
        r"^(?:(?:so|and|hey|hi|well|ok|oh) )*(?:who|what|how old|where|how) are you(?: (?:doing|called|made of|from|"
        r"feeling|today|tonight|up to|then|anyway|really|this \w+|made|getting on|there))*$",
        r"^are you (?:a|an|real|human|alive|there|ok|okay|awake|listening|still there|sure|serious|kidding|"
        r"joking|ready|asleep|happy|sad|bored|tired|male|female|clever)\b(?: (?:today|now|there|yet|or something|person|robot|machine|human|computer|ai|thing|real person))?$",
    ),
    sums=lazy_pattern(
        rf"\b{_NUMS} ?(?:(?:{_UNIT}) )?(?:plus|minus|times|divided by|multiplied by|percent|per cent|squared|"
        rf"cubed|over|to the power of|modulo|take away|less|add(?:ed to)?) ?(?:of )?{_NUMS}",
        rf"\b(?:square|cube) root of {_NUMS}|\bhalf of {_NUMS}$",
        rf"\b{_NUMS} ?{_UNIT}(?: (?:and )?{_NUMS} ?{_UNIT}?)?(?: of \w+)? (?:in|to|into|is how many|equals?) "
        rf"(?:how many )?{_UNIT}",
        rf"\bhow (?:many|much) {_UNIT} is {_NUMS}",
        rf"\bhow (?:many|much) {_UNIT} (?:are |is |do |does )?(?:there )?(?:are |is )?(?:in|to|make|go into|equal)\b",
    ),
    world_begins=lazy_pattern(
        r"^(?:and )?(?:how|what) (?:tall|high|deep|long|big|far|heavy|fast|hot|old|wide|large) (?:is|are|was) (?:the|"
        r"mount|lake) (?:eiffel|moon|sun|earth|universe|nile|amazon|everest|equator|great wall|empire|tower|"
        r"statue|atlantic|pacific|milky|speed|mont|kilimanjaro|matterhorn|blue whale|colosseum|pyramids?|"
        r"sphinx|rhine|danube|thames|mississippi|ocean|constance|superior|victoria|geneva|como|garda)",
        r"^(?:and |so |er |um )?(?:who|which \w+) (?:invented|discovered|composed|painted|sculpted) ",
        r"^(?:why|how|where|when) do (?!you|we|they|i|the|these|those|his|her|their|this)(?:\w+s|fish|sheep|geese|"
        r"mice|people) [a-z]+(?: \w+){0,4}$",
        r"^(?:please |can you |could you |would you )*(?:explain|define|describe) (?!why|what|how|that|this|it|the|"
        r"his|her|their)(?:an? )?\w+(?: \w+)?(?: (?:in (?:simple|plain|easy|a few) (?:terms|words|english)|simply|"
        r"briefly|to a child|like i'm five))?$",
        r"^(?:and |so |er |um )?who (?:wrote|directed|sang|sings|founded|built|played in|starred in|played|won) "
        r"(?:the )?(?P<title>(?!my|our|that|this|it)[\w' ]+)$",
        r"^who (?:is|was) the (?:president|prime minister|king|queen|pope|chancellor|emperor|god|goddess|ruler|mayor) of\b",
        r"^how (?:does|do) (?:an? )?(?!you|we|they|i|the|these|those|his|her|their|this|it)\w+(?: \w+){0,2} (?:work|fly|"
        r"float|form|happen|taste|move|live|breathe|communicate|see|hear|sleep|grow|swim|reproduce|know|survive|"
        r"made|get)\b",
        r"^(?:please |can you |could you )*(?:play|put on) (?:me |us )?(?:some|something|any|a bit of)(?: (?!please)\w+){1,2}$",
        rf"^(?:and )?what(?:'s| is| will be) the (?:date|day|time|year){_WHEN}$",
        r"^(?:please )?(?:how do you |how is |can you |could you )?spell(?:ed)? \w+",
        r"^translate\b",
        rf"^(?:what's|what is|how's|how is) (?:the )?(?:weather|forecast|temperature){_WHEN}{_PLACE}{_WHEN}$",
        rf"^how (?:cold|hot|warm|windy|humid|wet|sunny) (?:is it|will it be|is it going to be){_WHEN}{_PLACE}{_WHEN}$",
        rf"^(?:is it|will it|is it going to|does it look like)(?: be)? (?:rain(?:ing|y)?|snow(?:ing|y)?|"
        rf"sunny|cold|hot|warm|windy|freezing|stormy|hail|cloudy|dry|foggy|frosty){_WHEN}{_PLACE}{_WHEN}$",
        rf"^(?:what's the time|what time is it|what is the time)(?: (?:now|right now|currently|at the moment))?{_PLACE}{_WHEN}$",
        r"^(?:please |can you |could you |go on |come on )*(?:tell|give|read|sing|write|recite|make up|do)(?: me| us)? "
        r"(?:a|an|another|one|some|something)(?: more| other| really| very| short| long| good| funny| silly| bad| "
        r"dad| bedtime| scary| little| quick| knock knock| christmas| fun| random| interesting)* ?(?:joke|jokes|"
        r"riddle|story|poem|song|limerick|fact|tongue twister|lullaby|fairy tale|haiku|silly|funny|impression|pun)\b"
        r"(?: (?:about|with|for) (?:an? |the )?\w+(?: \w+)?)?$",
        rf"^how (?:long|much time) does it take to \w+|^(?:how (?:do|can|would|should) (?:you|i|we)|how to|how does "
        rf"one|(?:what's|what is) the (?:best|easiest|quickest|right) way to) {_COOKING} ",
    ),
    world=lazy_pattern(
        r"\b(?:flip|toss) a coin|\broll (?:a|the|two|some) (?:dice|die)",
        r"\b(?:what's|what is|what are|which is|tell me|name|give me) the (?:\w+ )?(?:capital|population|"
        r"currency|official language|languages|flag|anthem|president|prime minister|chemical symbol|chemical "
        r"formula|boiling point|freezing point|melting point|atomic number|speed|distance|diameter|"
        r"circumference|longest|tallest|highest|largest|biggest|smallest|deepest|fastest|hottest|coldest|"
        r"oldest|nearest star|national) .*\b(?:of|in|from|for|between|river|mountain|country|planet|ocean|"
        r"animal|building|continent|city|lake|desert|bird|fish|dish)\b",
        r"\b(?:world war|moon landing|mona lisa|everest|eiffel tower|roman empire|berlin wall|revolution|titanic|"
        r"shakespeare|mozart|einstein|beethoven|bach|napoleon|goethe|newton|darwin|picasso|van gogh|da vinci|caesar|"
        r"cleopatra|dinosaurs?|planets?|solar system|universe|galaxy|milky way|ozone|photosynthesis|gravity|equator|"
        r"north pole|south pole|antarctica|speed of (?:light|sound)|periodic table|black holes?|big bang|ice age|"
        r"middle ages|renaissance|great wall|pyramids?|vikings|romans|speed limit|light year|human body|eclipse|full "
        r"moon|solstice|equinox|leap year|sunset|sunrise|sun (?:rise|set|go down|come up)s?|mother's day|father's day|"
        r"pancake day|olympics|world cup)\b",
        r"\b(?:number|letter|word) (?:between|after|before|that|beginning with|starting with)\b",
        rf"\b{_TONGUE} (?:word|words|name|term|translation|expression) (?:for|of)\b",
        r"\b(?:opposite|synonyms?|antonyms?|plural|definition|meaning|past tense|etymology|pronunciation|"
        r"abbreviation|spelling) (?:of|for)\b|\b(?:another|different|other|fancy|better) words? for\b",
        r"\b(?:rhymes? with|rhyming with)\b",
        rf"\bin {_TONGUE}$",
        r"\bwhat (?:does|do) (?!he|she|they|it|that|this|you|we|i|the)(?:the word )?[\w' ]+ (?:mean|stand for)$",
    ),
)
