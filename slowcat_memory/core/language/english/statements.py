"""The English grammar of facts that people state, and words on facts and names."""

from slowcat_memory.core.language.data import any_of, filled, read_classes, read_words
from slowcat_memory.core.language.english import statement_rules as rules
from slowcat_memory.core.language.facts import DATED, FactWords, StatementWords, name_words
from slowcat_memory.core.language.facts import StatementRule as Rule

_C = read_classes(__package__)
_WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day\b(?!'s)"
_MONTH = (
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december)"
)
_NTH = (
    r"(?:\d{1,2}(?:st|nd|rd|th)?|(?:twenty|thirty)[- ](?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth)|"
    r"first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth|\w+teenth|twentieth|thirtieth)"
)
_MANY = (
    r"(?:an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fourteen|\d+|a couple of|a few|several|"
    r"about an?|just over an?|less than an?)"
)
_UNIT = r"(?:day|night|week|fortnight|month|year)s?"
_PART = r"(?: (?:morning|afternoon|evening|night|lunchtime))?"
_DATE = (
    rf"(?:(?:the )?{_NTH} (?:of )?{_MONTH}|{_MONTH} (?:the )?{_NTH}|the {_NTH}|"
    rf"(?:(?:this|next|last|the following|the coming) )?{_WEEKDAY}{_PART}(?: (?:week|next week|the {_NTH}(?: of {_MONTH})?))?)"
)
_SOON = (
    rf"(?:(?:(?:on|by|for) )?{_DATE}|tomorrow{_PART}|the day after tomorrow|in {_MANY} {_UNIT}(?:' time)?|{_MANY} {_UNIT} from (?:now|today)|"
    rf"next (?:week|weekend|month|year|spring|summer|autumn|winter)|(?:at|over) (?:the weekend|easter|christmas|whitsun)|(?:this|the) (?:coming )?weekend|"
    rf"(?:in|next) {_MONTH}|later (?:this|next) (?:week|month)|(?:a week|two weeks) (?:on|from) {_WEEKDAY})"
)
_AGO = (
    rf"(?:(?:on )?{_DATE}|yesterday{_PART}|(?:the )?day before yesterday|{_MANY} {_UNIT} ago|the other day|"
    rf"last (?:week|weekend|month|year|spring|summer|autumn|winter|night)|(?:at|over) (?:the weekend|easter|christmas)|(?:in|last) {_MONTH}|"
    r"earlier (?:today|this week|this month)|this (?:morning|afternoon|evening|week|month)|today|tonight)"
)
_DETERMINER = r"(?:an?|the|my|our|his|her|their|another|some|two|three)"
_ADJ = (
    r"(?:(?!a\b|an\b|the\b|not\b|in\b|at\b|of\b|to\b|for\b|on\b|from\b|with\b|and\b)[\w'-]+ ){0,3}?"
)
_NOUN = any_of(_C["appointments"], _C["occasions"], _C["trips"]) + "s?"
_WITH = r"(?: (?:with|at|for|in|to|of|from|by) (?!the \d|every|each|most)(?:the |my |our |her |his |an? )?[\w'&-]+(?: (?!every\b|each\b)[\w'&-]+){0,3}?)?"
EVENT = rf"{_ADJ}{_NOUN}\b{_WITH}"
_BE, _HAVE = r"(?:am|is|are)", r"(?:have|has)(?: got)?"
_HOLD = (
    rf"(?:{_HAVE}|got|(?:have|has) (?:made|arranged|booked|scheduled|got)|booked|arranged|scheduled|made|"
    rf"{_BE} (?:having|going to have|hosting|holding|throwing|organising|organizing|giving|planning|celebrating|attending|taking|sitting|doing))"
)
_SERVICE = rf"(?:the|my|our) {_ADJ}{any_of(_C['services'], _C['family'], _C['friends'], _C['contacts'])}s?\b"
_COMES = r"(?:is|are) (?:being )?(?:coming|due|arriving|delivered|fitted|installed|collected|picked up|visiting|coming over|coming round|coming back)|comes|arrives|gets delivered|gets here|will be (?:here|delivered|fitted|installed)|will (?:come|arrive)"
_MOVED = (
    r"(?:(?:have|has) been|was|were|got|is being|is|has) (?:moved|rescheduled|postponed|pushed(?: back)?|put (?:back|off)|brought forward|"
    r"changed|shifted|delayed)(?: (?:back|forward))?(?: again)?(?: from [\w ]+?)? (?:to|until|till) "
)
_DONE = any_of(_C["outings"])
_DAILY, _VAGUE, _STATES = any_of(_C["daily"]), any_of(_C["vague"]), any_of(_C["states"])

EVENT_RULES = (
    # It is had, or gone to.
    Rule("event", "appointment", "{s} {o}.", rf"(?P<o>{_HOLD} {_DETERMINER} {EVENT} {_SOON}.*)", "deed", inflect=True),
    # It comes to the house, or leaves.
    Rule("event", "event", "{n} {o}.", rf"(?P<n>{_SERVICE}) (?P<o>(?:{_COMES}) {_SOON}.*)", "deed", whose="me"),
    # It has moved: the old day holds no longer.
    Rule("event", "appointment", "{s}'s {o} was moved to {n}.", rf"'s (?P<o>{EVENT}) {_MOVED}(?P<n>{_SOON})", "value", ends=DATED),
    # Its own day.
    Rule("event", "event", "{s}'s {n} is {o}.", rf"'s (?P<n>{EVENT}) (?:is|takes place|will be|starts|begins|falls)(?: now)? (?P<o>{_SOON}.*)", "text"),
    Rule("event", "event", "{n} is {o}.", rf"(?P<n>the {EVENT}) (?:is|takes place|will be|starts|begins|falls)(?: now)? (?P<o>{_SOON}.*)", "text", whose="me"),
    # It happened.
    Rule("event", "event", "{s} had {o}.", rf"(?:(?:have|has) )?had (?P<o>{_DETERMINER} {EVENT} {_AGO}.*)", "text"),
    Rule("event", "event", "{s} {o}.", rf"(?P<o>(?:{_DONE})\b(?! {_DAILY}\b)(?!.* {_DAILY}\b).* {_AGO})(?=$|,| and\b)", "deed"),
    Rule("event", "event", "{s} {o}.", rf"(?P<o>(?:{_DONE})\b(?! {_DAILY}\b)(?!.* {_DAILY}\b).*)", "deed", front=rf"^{_AGO}$"),
    Rule("event", "event", "{s} had {o}.", rf"had (?P<o>{_DETERMINER} {EVENT})", "text", front=rf"^{_AGO}$"),
    # A home that changes on a day.
    Rule("person", "lives_in", "{s} is moving to {o}.", rf"{_BE} moving (?:back )?to (?=.*\b{_SOON})(?P<o>.+)", "place"),
    # It is planned, whatever it is.
    Rule("plan", "plans", "{s} is going to {o}.", rf"{_BE} (?:going|planning|about|hoping) to (?P<o>(?!{_VAGUE}\b)[a-z]+\b.* {_SOON}.*)", "text"),
    Rule("plan", "plans", "{s} {o}.", rf"(?P<o>{_BE} (?!{_STATES}\b)[a-z]+ing\b.* {_SOON}.*)", "deed", inflect=True),
    Rule("plan", "plans", "{s} {o}.", rf"(?P<o>{_BE} (?!{_STATES}\b)[a-z]+ing\b.+)", "deed", inflect=True, front=rf"^{_SOON}$"),
)  # fmt: skip


_WORDS = read_words(__package__)
_DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_SUBJECT = (
    r"(?:i|we|he|she|it|they|you|there|that|this|who|nobody|everyone)(?:'\w+)?\b"
    rf"|(?:my|our|his|her|their) (?:\w+ ){{1,3}}?(?:is|are|was|has|had|died|passed|lives?|works?|likes?|loves?|"
    rf"hates?|plays?|got|'s)\b|(?:my|our) (?:{rules.KIN}|{rules.PET})(?: \w+)?'s\b"
)

STATEMENTS = StatementWords(
    rules=rules.RULES + EVENT_RULES,
    endings=rules.ENDINGS,
    over=rules.OVER,
    expand=(
        (r"\bi'm\b", "I am"), (r"\bim\b(?= )", "I am"), (r"\bive\b", "I have"), (r"\b(we|you|they)'re\b", r"\1 are"),
        (r"\b(i|we|you|they)'ve\b", r"\1 have"), (r"\b(\w+)'ll\b", r"\1 will"),
        (r"\bwon't\b", "will not"), (r"\b(is|are|has|have|was|were)n't\b", r"\1 not"),
        (r"\bcannot\b", "can't"), (r"\b(do|does|did)n't\b", r"\1 not"),
        (r"\bthere's\b", "there is"),
        (r"\b(\w+)'s (?=(?:just |already |recently |finally |now )?(?:been|got|had|left|moved|started|gone|passed|bought|sold|"
         r"quit|turned|won|finished|given|stopped|decided|become|retired|qualified|joined|died|lost|broken|taken)\b)", r"\1 has "),
        (r"\b(he|she|it|that|who|home|place|name)'s\b", r"\1 is"),
        (r"\b(mother|father|sister|brother|son|daughter) in law\b", r"\1-in-law"),
        (rf"\b(\w+)'s (?=(?:just |really |also |now |quite |very |so |completely |severely |allergic|not\b|a\b|an\b|the\b|my\b|our\b|called|"
         rf"named|in\b|having\b|selling\b|buying\b|going\b|coming\b|starting\b|leaving\b|taking\b|seeing\b|dating\b|from\b|at\b|{rules.NUMBER}\b|pregnant|engaged|married|divorced|single|mad about|into\b|keen|crazy|obsessed|"
         rf"terrified|scared|afraid|due\b|retired|training|learning|studying|expecting|moving|getting|working|living|based|off\b|"
         rf"dead\b|{rules.CONDITION}\b|{rules.DIET}\b))", r"\1 is "),
        (r"\b(exam|birthday|wedding|party|interview|test|appointment|operation|surgery|graduation|anniversary|flight|funeral|christening|meeting|course|scan|name)'s (?=on|in|at|next|tomorrow|the|\w+day)\b", r"\1 is "),
        (r"\bgonna\b", "going to"), (r"\bwanna\b", "want to"), (r"\bgotta\b", "got to"),
    ),
    fillers=(
        r"um+|uh+|er+m?|ah+|oh|well|so|and|but|also|yeah|yes|yep|no,|no(?= (?:my|his|her|our|their)\b)|nope,|ok|okay|right|look|listen|actually|"
        r"honestly|basically|anyway|by the way|you know|you see|i mean|like|hey|hi|hello|thing is|the thing is|"
        r"guess what|to be honest|believe it or not|turns out|fun fact|oh and|plus|because|cause|cos|since|though|"
        r"although|while|then|i think i told you|as you know|just so you know|for the record|(?:some )?(?:good|bad|sad|great|terrible|awful) news|"
        r"sorry|hmm+|mm+|great|thanks|thank you|please|now|let me tell you|"
        r"too|or|that|hurray|hooray|hurrah|yay|woohoo|wow|god|gosh|finally|sadly|luckily|unfortunately|update|news|big news|remember,?|"
        r"just|in the end|from now on|these days|nowadays|at the moment|currently|by profession"
    ),
    adverbs=(
        r"just|really|now|currently|finally|recently|already|also|actually|still|absolutely|only|both|all|"
        r"even|always|usually|honestly|truly|simply|quite|totally|literally|definitely|officially|originally|"
        r"basically|probably going|mostly|nowadays|ever so|sort of|kind of|at last|gladly|happily|sadly|"
        r"deeply|badly|secretly|truly"
    ),
    breaks=(
        r"\s*(?:[;:–—]|\s-\s|\.\.\.|…)\s*"
        rf"|,?\s+(?:and then|and so|and|but|so|because|'?cause|cos|since|though|although|while|plus|then|which is why|"
        rf"that's why|as|or)\s+(?={_SUBJECT})"
        rf"|,?\s+(?:and|but) (?=(?:hate|love|like|work|live|play|moved|bought|sold|got|passed|started|quit|am|have|has|"
        r"is|lives|works|plays|speak|own|can't|don't|doesn't|likes|loves|hates|adopted)\b)"
        rf"|,\s+(?={_SUBJECT}|never (?:could|have|did|will)\b|the \w+ (?:should|would|could|might)\b)|,\s+so\s+"
        r"|(?<!\bthat)(?<!\bif)(?<!\bwhen)(?<!\bwhere)(?<!\bwhat)(?<!\bbecause)(?<!\bthink)(?<!\bthinks)(?<!\bbelieves)(?<!\bknow)(?<!\bsay)(?<!\bsaid)"
        r"(?<!\band)(?<!\bas)(?<!\bthan)(?<!\bhow)(?<!\bwho)(?<!\bsure)(?<!\bguess)(?<!\bbefore)(?<!\bafter)(?<!\bsince)"
        r"(?<!\btell)(?<!\btold)(?<!\bpretend)(?<!\bimagine)(?<!\bwish)"
        rf"\s+(?=(?:i'm|i've|we're|we've|he's|she's|they're|it's|there's)\s|(?:i|we) (?:have|must|live|work|like|love|hate|play|moved|"
        rf"bought|sold|got|don't|can't|am|are|went|was|keep|want|need|just|really|quit|stopped|gave|passed|finished|broke|won|lost|started|take|wear|eat|drink|speak|know|used|still|never|own|run|drive|teach|study|go|swim|volunteer|suffer|prefer|adore|enjoy|can|will|think|decided|signed|booked|sing|do|get|had)\b|(?:my|our) (?:{rules.KIN}|{rules.PET}) (?:\w+ )?(?:is|has|was|lives|works|likes|loves|hates|got|passed|died|turned|moved|plays)\b)"
        r"|,?\s+(?=you know what\b|i mean\b|don't i\b|can you\b|could you\b|what do you\b|what should\b|is that\b|do you\b)"
    ),
    false_turn=(
        r"(?:just|only|i'm|i am|was) (?:kidding|joking)|just a joke|\bha ?ha|\blol\b|let's pretend|let us pretend|"
        r"role ?play|i'll be the|you be the|make believe|not really,|april fool"
    ),
    false_sentence=(
        r"(?<!even )(?<!as )\bif\b|imagine|pretend|suppose|supposing|i wish|wishes|hypothetically|in theory|dream(?:ed|t) (?:that|i|we|about)|"
        r"\b(?:said|says|saying)\b(?! (?:no|yes|so|goodbye|hello|(?:it|that|this|something|the \w+) wrong)\b)|\b(?:reckons|claims|claimed|asked|shouted|sang|swears|joked)\b|told (?:me|us|her|him|them|everyone|everybody)|told you i|"
        r"\b(?:he|she|who|guy|man|woman|girl|someone|somebody|one) goes\b(?! to\b| on\b)|goes,|\bgoes (?=i'm|i've|i |he's|and i )|"
        r"\b(?:was|were|be|am|i'm) like,|apparently|supposedly|allegedly|according to|rumou?r|they say|people (?:think|say)|everyone thinks|everybody thinks|"
        r"(?:in|from) (?:the|a|this|that|my|some) (?:film|movie|book|novel|story|song|joke|show|series|play|game|poem|programme|podcast|dream|ad|advert)\b|"
        r"(?:film|movie|book|novel|story|song|joke|show|series|poem|advert|caption|sign|quote|line|lyrics?) (?:opens|goes|starts|begins|says|reads|ends)\b|"
        r"\b(?:that|this|the|an?|some) (?:\w+ )?(?:song|poem|line|lyric|verse)\b,|my character|(?:story|tale|poem|sentence|song) (?:where|about|with|in which)|so the joke|for the form|as an example|"
        r"for example|for instance|just an example|(?:on|over) the radio|on (?:tv|television|the news)|chant|would say|as they say|as the saying|"
        r"(?:how do|how would|what's the) (?:you|word|french|german)|in his dreams|in my dreams|almost|nearly (?!(?:every|all|done|finished|\d|two|three|four|five|six))|"
        r"tell anyone|(?<!thing )(?<!decision )(?<!move )i ever\b|crossword|what would you"
    ),
    false_clause=(
        r"\b(?:i|we|he|she|they|you|it)'d\b(?! (?:gone|been|got))|\bwould(?:n't)?\b(?! (?:usually |always )?prefer)|\bcould(?:n't)?\b(?! eat)|\bshould\b|\bmight\b|\bmay be\b|maybe|perhaps|possibly|probably|"
        r"not anymore|thinking (?:of|about)|thought (?:of|about)|considering|half a mind|was going to|were going to|was gonna|"
        r"unless|as though|as if|supposed to|wonder|(?<!can )hardly|barely|about to say|to the idea|in a way|so to speak|"
        r"feels? like|looks? like|sounds? like|seems?|not sure|no idea|whether"
    ),
    asks=(
        r"(?:who|whom|whose|what|which|where|when|why|how|who's|what's|where's|when's|how's|tell me|remind me)\b(?! to\b)|"
        r"(?:do|does|did|is|are|am|was|were|has|have|had|can|could|will|would|should|shall|may|isn't|aren't|don't|didn't|haven't|can't|won't|wasn't)"
        r" (?:i|you|he|she|it|we|they|this|that|there|the|my|your|our|his|her|their|a|an|anyone|anybody|someone|everyone)\b"
    ),
    request=r"^(?:\w+,? )?(?:(?:can|could|will|would) you )?(?:please )?(?P<o>(?:remind me (?:to|about|of)|call me) .+?)(?:,? please)?[?.!]*$",
    negation=r"^(?:\S+ ){0,4}(?:not|never)\b(?! only)",
    no_longer=r"\bno longer\b|(?:\bnot|'t)\b.*\b(?:any ?more|any longer|no more)\b",
    positive=(
        (r"\b(am|is|are|was|were|have|has) not\b", r"\1"), (r"\b(?:do|does) not ", ""), (r"\bcan't ", ""), (r"\bno longer ", ""),
        (r",? ?\b(?:any ?more|any longer|no more)\b", ""),
    ),
    plural=(
        r"\b(?:my|our|the|two|three|four) (?:\w+ )?(?P<kin>kids|children|sons|daughters|brothers|sisters|boys|girls|grandchildren|grandsons|granddaughters|"
        r"nieces|nephews|cousins|dogs|cats|rabbits|hamsters|horses|guinea pigs|kittens|puppies|parrots|twins)(?:,| are| are called| called| named)+ (?P<o>\S+(?:, \S+)* and \S+)"
    ),
    first=r"i|we",
    possessive=rf"my|our|the(?= (?:{rules.PET}|kids|boys|girls|twins|grandkids|grandchildren|in-laws|missus|wife|husband|baby)\b)",
    others=("he|she|they", "his|her|their"),
    men="he|his",
    women="she|her",
    male=(
        r"husband|boyfriend|fiancé|hubby|son|lad|brother|father|dad|daddy|grandfather|grandpa|grandad|"
        r"granddad|grandson|uncle|nephew|godson|godfather|stepfather|stepdad|stepson|landlord|"
        r"\w+brother(?:-in-law)?|(?:father|son|brother)-in-law"
    ),
    female=(
        r"wife|girlfriend|fiancée|missus|daughter|sister|mother|mum|mom|mam|mummy|grandmother|grandma|"
        r"gran|granny|nan|nana|granddaughter|aunt|auntie|niece|goddaughter|godmother|stepmother|"
        r"stepmum|stepmom|stepdaughter|landlady|(?:mother|daughter|sister)-in-law"
    ),
    kin=any_of(_C["partner"], _C["family"], _C["friends"], _C["contacts"], _C["pets"], _C["several"], ("family",)),
    pets=rules.PET,
    alone=any_of(_C["alone"]),
    titled=any_of(_C["titled"]),
    before_kin=(
        r"(?:(?:new|old|little|big|older|younger|elder|eldest|oldest|youngest|middle|dear|lovely|late|best|other|ex|"
        r"beloved|poor|elderly|second|first|baby|twin|great|only|good|close|own|half|new) )*"
    ),
    finite=(
        r"(?:is|has|was|are|have|live|lived|work|lives|works|likes|loves|hates|plays|turned|turns|got|moved|married|died|left|"
        r"passed|studies|comes|came|speaks|wears|takes|suffers|keeps|owns|bought|sold|quit|stopped|"
        r"does|doesn't|can't|cannot|will|won|joined|started|starts|retired|broke|graduated|decided|"
        r"enjoys|adores|prefers|drives|runs|writes|volunteers|teaches|sings|swims|goes|goes|gave|"
        r"eats|drinks|smokes|used to|wants|finished|lost|cancelled|called off|no longer|adopted|fixes|makes|sells)\b"
    ),
    third_form=r"(?:is|has|was|does|\w+[^s\W]s)\b",
    am="am",
    elided=(
        r"(?:got|had|bought|sold|broke|moved|quit|stopped|gave up|passed|finished|won|started|can't (?:stand|bear|abide|eat|have)|"
        r"born|allergic|coeliac|celiac|vegan|vegetarian|diabetic|booked|signed up|decided|working|living|just|finally|been|still (?:need|have)|called off|"
        r"handed in|retired|treated (?:myself|ourselves)|cancelled|canceled|planning|landed|joined|given up|picked up|married to|engaged to|paid off|applied|lost|ordered|adopted|live|work)\b"
    ),
    and_me=(r"(?:me and (?P<n>\S+))(?= )", r"(?P<n>\S+) and (?:i|me)\b", r"we (?=.*, (?P<n>\S+) and me\b)"),
    with_="with",
    time_word="on|in|at|from|since|this|next|last|every|the|tomorrow|today|tonight|yesterday|after|before|a|an|two|three|four",
    front=(
        r"(?:(?:the (?:day after tomorrow|day before yesterday|other day)|on|in|at|every|since|after|before|last|next|this|from|for|these|nowadays|most|once|twice|each|until|"
        r"about|two|three|during|come|with|at the)\b|\w+day\b|tomorrow|today|tonight|yesterday|lately|recently)[^,]{0,60}?"
    ),
    stops=(
        r"\s*[.;!?:()]| me\b|,? (?:but|so|because|cause|cos|since|although|though|where|who|whom|which|when|while|if|unless|that|"
        r"aber|weil|und ich|have not|has not|do not|does not|these days|right now|now|at the moment|for ages|for years|as well|either|instead|anyway|"
        r"in case|before (?=i\b|we\b|he\b|she\b)|keep|whenever|you know|i mean|if you|yeah|actually|honestly|please|always|ever since|just|really|too|especially|particularly|mainly|even|like|such as|"
        r"then|no|again|thanks|for (?:a|about|over|almost|nearly|two|three|four|five|six|seven|eight|nine|ten|some|the last|\d+) ?(?:\w+ )?(?:years?|months?|weeks?|while))\b"
        r"|,? and (?=(?:on|in|at|then|after|also|just|how|why|what|felt|went|took|said|had|did|was|were|came|ran|saw|put|met|gave|bought|sold|became|been|going|see|hope|[a-z]+ed (?:my|our|the|an?|his|her|it|to|in|at|with|for|up|out|off|from))\b)"
        r"|,? and (?=(?:i|we|he|she|it|they|you|my|our|that|there|then|so|keep|still|have|has|am|is|are|want|feel)\b)|, "
    ),
    unfinished=(
        r"\b(?:an?|the|my|our) (?:red|blue|green|yellow|black|white|brown|pink|big|small|little|tiny|new|old|nice|lovely|safe|warm|quiet|cosy|cozy|long|short|"
        r"huge|great|good|bad|young|soft|hard|bright|dark|sweet|simple|strong|\w+(?:ful|ous|ive|able|ible|less|ish))$"
    ),
    joins=r"\s*,\s*(?:and |or )?|\s+(?:and|or|&|plus)\s+",
    times=(
        rf" (?:(?:on|in|at|by|for|this|last|next|every|from|since|until|during|before|after) (?:the )?(?:{_DAY}|{_MONTH}|morning|afternoon|evening|week\w*|month|"
        rf"year|summer|winter|spring|autumn|weekend|moment|end|first|second|time|\d\w*)|yesterday|today|tomorrow|tonight|ago|last|next|this|"
        r"(?:an?|the|one|two|three|four|five|six|seven|eight|nine|ten|\d+|a couple of|a few|some) (?:other )?(?:day|night|week|fortnight|month|year)s? ago)\b"
    ),
    due=(
        r"(?:(?:in|on|at|by|this|last|next|around|at the|over the|early|late|since|during)\b|yesterday|today|tomorrow|two|three|four|five|a (?:week|month|year|few)|\d|"
        r"with (?:twins|triplets|our|my|her|a boy|a girl)|and due|again)\b.*"
    ),
    ahead=(
        rf"\b(?:(?-i:[A-Z])\w+|{_DAY}s?|{_MONTH}|tomorrow|tonight|next|week|weekend|month|year|summer|winter|spring|autumn|christmas|easter|"
        r"\d|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|\w+teenth|twentieth|noon|o'clock|jobs|school|university|uni|college)\b"
    ),
    dates=rf"\b(?:{_MONTH}|\d+|christmas|new year|first|second|third|\w+th\b)",
    not_in_object=(
        "I|me|mine|we|us|you|your|yours|it|them|they|their|him|he|she|his|her|hers|this|that|these|those|somebody|someone|something|"
        "nothing|anything|everything|nobody|ourselves|himself|herself|there|here|what|how(?! to\b)|one(?! day\b| of\b)|ones|stuff|things?|bits?(?! of)|"
    ).rstrip("|"),
    cut_short=(
        "to|for|of|with|about|in|on|at|from|by|as|the|an?|some|more|being|too|so|very|and|or|me|now|my|our|off|up"
    ),
    trailing=(
        "though", "too", "anyway", "by the way", "a lot", "very much", "as well", "so much", "to bits", "yeah", "now", "please", "actually",
        "really", "lately", "honestly", "in the end", "at last", "again", "myself", "ourselves", "me", "then", "at the moment",
    ),
    trifles=(
        r"coffees?|tea|milk|bread|lunch|dinner|breakfast|pizza|drinks?|beers?|sandwich(?:es)?|round|groceries|takeaway|snacks?|cake|"
        r"newspaper|petrol|chips|ice cream|idea|feeling|chance|lot|bit|minute|call|text|message|email|reply|taxi|bus|cold|headache|lift|"
        r"shopping|vegetables|fruit|apples?|time|point|break|job|move on|wrong|best of"
    ),
    articles=r"(?:the|an?) ",
    announcing=r"\b(?:called|named|name is) $",
    a=r"an? |a |two |three |",
    titles=r"(?:dr|doctor|mr|mrs|ms|miss|professor|prof|father|sister|sir|dame|lady|lord|st|saint)\.?",
    particles=r"of|the|von|van|de|der|del|di|la|le|al|bin|ben|and|upon|on",
    past=(
        r"\w+ed|went|was|were|had|did|saw|met|ran|swam|took|gave|made|came|got|bought|sold|told|thought|knew|found|left|felt|rode|drove|wrote|"
        r"read it|ate|drank|slept|woke|spent|lost|won|sat|stood|fell|flew|sang|spoke|began|broke|brought|caught|chose|(?!(?:sing|ring|bring|swing)\b)\w+ing|am|is|are|be|been|"
        r"used|have|has|will|can|could|would|should|must|may|might|not"
    ),
    own=(
        (rf"\b(?:my|our) (?=(?:{rules.KIN}|{rules.CONTACT}|{any_of(_C['several'])}|boss)\b(?! {any_of(_C['appointments'], _C['occasions'])}))", "§'s "),
        (r"\b(?:my|our)(?: own)? ", "the "), (r"\b(?:his|her|their) ", "the "), (r" (?:for|by) (?:myself|ourselves|himself|herself)\b", ""), (r"\b(?:myself|ourselves|himself|herself)\b", "oneself"), (r"\b(?:for|to|with) (?:me|us)\b", ""),
    ),
    third=(
        (r"^am\b", "is"), (r"^are\b", "is"), (r"^have\b", "has"), (r"^do\b", "does"), (r"^go\b", "goes"),
        (r"^(can't|cannot|never|will|would|must)\b", r"\1"),
        (r"^((?:still|always|often|usually|regularly) )?(\w*[^aeiou\W])y\b", r"\1\2ies"),
        (r"^((?:still|always|often|usually|regularly) )?(\w+(?:ch|sh|ss|x|z|o))\b", r"\1\2es"),
        (r"^(\w+(?<!s)s|\w+ed|graduated|made|got|was|won|won't)\b", r"\1"),
        (r"^((?:still|always|often|usually|regularly) )?(\w+)\b", r"\1\2s"),
    ),
    denied=(
        (r"^\{s\} is\b", "{s} is no longer"), (r"^\{s\}'s (.+?) is\b", r"{s}'s \1 is no longer"), (r"^\{s\} (?=\w|\{o\})", "{s} no longer "),
        (r"^\{o\} is\b", "{o} is no longer"),
    ),
    gender=(
        (r"\bno longer (is|are) ", r"\1 no longer "),
        (r"^(\S+(?:'s \S+)?) been (?=\w+ed\b|elected|chosen)", r"\1 was "), (r"\b((?:got|is getting) (?:married|engaged).*) with (?=\S+\.$)", r"\1 to "),
        (r"\b((?:grand)?parents|kids|children|in-laws|siblings|brothers|sisters|sons|daughters|twins|grandchildren) is\b", r"\1 are"),
        (r"\b((?:grand)?parents|kids|children|in-laws|siblings|brothers|sisters|sons|daughters|twins|grandchildren) has\b", r"\1 have"),
        (r"\b((?:grand)?parents|kids|children|in-laws|siblings|brothers|sisters|sons|daughters|twins|grandchildren) (live|work|like|love|dislike|own|play|move|come)s\b", r"\1 \2"),
    ),
    relative="{s}'s {kin}",
    called="{s}'s {kin} is called {o}.",
    has_pet="{s} has a {kin} called {o}.",
    had="{s} had a {kin} called {o}, who died{when}.",
    died="{s} died{when}.",
    plain_kin={"lad": "son", "boy": "son", "little boy": "son", "baby boy": "son", "girl": "daughter", "little girl": "daughter", "baby girl": "daughter", "gran": "grandmother", "granny": "grandmother", "nan": "grandmother", "nana": "grandmother", "grandma": "grandmother", "grandad": "grandfather", "granddad": "grandfather", "grandpa": "grandfather", "hubby": "husband", "missus": "wife", "little one": "child", "toddler": "child", "kid": "child", "mummy": "mum", "daddy": "dad", "auntie": "aunt", "gp": "GP"},
    singular={"children": "child", "kids": "child", "sons": "son", "daughters": "daughter", "brothers": "brother", "sisters": "sister", "boys": "son", "girls": "daughter", "grandchildren": "grandchild", "grandsons": "grandson", "granddaughters": "granddaughter", "nieces": "niece", "nephews": "nephew", "cousins": "cousin", "twins": "child", "dogs": "dog", "cats": "cat", "rabbits": "rabbit", "hamsters": "hamster", "horses": "horse", "guinea pigs": "guinea pig", "kittens": "kitten", "puppies": "puppy", "parrots": "parrot"},
    same_kin={"mum": "mother", "mom": "mother", "mam": "mother", "mummy": "mother", "dad": "father", "daddy": "father", "gran": "grandmother", "granny": "grandmother", "nan": "grandmother", "nana": "grandmother", "grandma": "grandmother", "grandpa": "grandfather", "grandad": "grandfather", "granddad": "grandfather", "auntie": "aunt", "lad": "son", "little one": "child", "kid": "child", "hubby": "husband", "missus": "wife", "neighbor": "neighbour", "little boy": "son", "little girl": "daughter", "baby boy": "son", "baby girl": "daughter", "boy": "son", "girl": "daughter", "best friend": "friend", "best mate": "friend", "oldest friend": "friend", "mate": "friend", "buddy": "friend", "pal": "friend", "co-worker": "colleague", "coworker": "colleague", "workmate": "colleague", "physio": "physiotherapist", "doctor": "doctor", "gp": "doctor"},
    function=frozenset(_C["function"]),
    ordinary=frozenset(word for name in (
        "ordinary", "function", "jobs", "pets", "partner", "family", "friends", "contacts", "possessions", "appointments", "parts", "illnesses",
        "conditions", "diets", "shops", "instruments", "sports", "evaluative",
    ) for word in _C[name]),
)  # fmt: skip

FACTS = filled(
    FactWords,
    _WORDS["facts"],
    reported=(
        r"ask(?:ed|s) (?:\w+ )?(?:about|after|if|whether|what|how|why|who|when|where|which|(?:a|the|some) questions?)\b|wonders (?:if|whether|what|how|why|who)|wants to know|inquired|requested|"
        "greeted|thanked|said (?:hello|goodbye)|the (?:assistant|agent|bot|ai)|"
        "this (?:conversation|chat|call)|can (?:you|the assistant)|"
        "is (?:talking|speaking|chatting|asking)"
    ),
    passing=(
        r"right now|at the moment|currently (?:sitting|eating|driving|walking|waiting|cooking)|"
        r"just (?:woke|got up|ate|had)|is (?:tired|hungry|sleepy|bored|busy|late(?! in )|here(?! (?:since|for good))|back(?! (?:at|in|with|to|on|together|\w+ing)\b)|ready|"
        r"fine|ok)\b|feels? (?:tired|hungry|sleepy|bored|better)|today|tonight|this (?:morning|"
        r"afternoon|evening)"
    ),
    one_off=(
        r"(?:turn|switch)(?:ed|s)? (?:the \w+ )?(?:on|off|up|down)\b|set(?:s)? (?:an? |the )?(?:timer|alarm|volume|thermostat)|"
        r"(?:plays?|played|skipped|paused) (?:the )?(?:next )?(?:song|track|music|radio|playlist)|right now\b|"
        r"is (?:eating|having|cooking|making) (?:breakfast|lunch|dinner|tea|coffee)\b|dimmed|opened the (?:door|window|blinds)|"
        r"closed the (?:door|window|blinds)|checked the (?:weather|time)"
    ),
    denied=(
        r"\b(?:not|no|never|none|no longer|without|cannot|stopped|quit|dislikes|hates)\b|n't\b"
    ),
    corrects=(
        r"no,|no (?=(?:my|his|her|our|their|the|it's|that's|she's|he's)\b)|sorry,|actually,? (?:no|it|that|my)|i meant?\b|correction|wait,? |scratch that|"
        r"my mistake|i misspoke|i (?:said|told you|got) (?:it|that|this|his|her|the \w+) wrong"
    ),
    roles=_WORDS["related"],
    renewed=r"(?:my|our|an?) (?:brand[- ])?new (?P<kind>car|phone|mobile|laptop|computer|bike)\b",
)

NAMES = name_words(_WORDS["names"], _WORDS["abbreviations"])
