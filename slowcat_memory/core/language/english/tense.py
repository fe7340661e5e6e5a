"""English tenses; see ``core.language.tense``."""

from slowcat_memory.core.language.tense import TenseWords, alternatives

_PAST = alternatives(
    "was wasn['’]t wasnt were weren['’]t werent did didn['’]t didnt had hadn['’]t hadnt went came saw "
    "took gave told said thought found left felt knew kept heard met ran brought began held wrote "
    "stood lost paid sat spoke grew won taught bought caught drove flew broke chose ate fell slept "
    "sent built spent understood woke wore rode rang sang swam drank threw drew blew froze hid lent "
    "meant dealt forgot forgave became bent dug fed fought hung oversaw overslept sank sold shook "
    "shot slid sought spun sprang stuck stole stung struck swore swept swung tore wept withdrew "
    "burnt learnt spelt spoilt dreamt leapt quit hit hurt put got made led shut used passed gone "
    "been done taken given seen eaten written spoken driven flown broken chosen fallen forgotten "
    "known grown thrown worn stolen become bitten hidden ridden risen sung sunk swum woken born "
    "died read beat cost cut split spread snuck"
)
_REGULAR = (
    r"(?!(?:need|feed|speed|indeed|hundred|breed|bleed|weed|greed|exceed|proceed|succeed|shed|sled|"
    r"excited|tired|worried|scared|bored|interested|married|retired|stressed|thrilled|pleased|"
    r"delighted|relieved|annoyed|prepared|supposed|"
    r"bed|red|wed|kindred|sacred|naked|rugged|wicked|unified|embed)\b)[a-z]{2,}ed"
)
_PARTICIPLE = rf"(?:{_PAST}|{_REGULAR})"
_ADVERBS = (
    r"(?:\s+(?:not|just|already|finally|also|all|both|only|never|ever|always|still|now|so|really|"
    r"actually|probably|definitely|[a-z]+ly)){0,3}"
)
_ARRANGED = (
    "booked|arranged|scheduled|rescheduled|planned|organised|organized|reserved|postponed|moved|"
    "pushed|brought forward|put back|put off|delayed|invited|asked|enrolled|signed up|registered|"
    "agreed|promised|entered|ordered|shifted|changed|confirmed|offered|due|set|pencilled in|"
    "penciled in|earmarked|called in|summoned|picked"
)
_SUBJECT_DAY = r"(?:is|are)\s+(?!the\b|my\b|our\b|when\b|good\b|fine\b|ok\b)"
_BE = r"(?:am|is|are|isn['’]t|isnt|aren['’]t|arent|i['’]m|im|(?:you|we|they)['’]re|youre|theyre|(?:it|he|she|that|there|what|who|here)['’]s|hes|shes|its|thats|theres)"
_HAVE = r"(?:have|has|haven['’]t|hasn['’]t|havent|hasnt|(?:i|you|we|they)['’]ve|ive|weve|youve|theyve|(?:it|he|she|that)['’]s)"
_ON_A_DAY = alternatives(
    "start begin open close run end finish arrive leave come return go fly move meet deliver land "
    "depart expire lapse retire marry turn visit host travel sail drive collect renew resume get "
    "take see happen fall need want bring throw celebrate join hope plan intend expect pick look "
    "play sing do"
)
_SCHEDULED = (
    r"(?:start|begin|open|close|run|end|arrive|leave|come|return|fall|move|meet|deliver|land|depart|"
    r"expire|lapse|retire|turn|visit|host|travel|sail|drive|collect|renew|resume|get|take|see|happen|"
    r"need|want|bring|throw|celebrate|join|hope|plan|intend|expect|look|pick|kick|play)s|"
    r"goes|flies|marries|finishes|"
    rf"(?:(?<=\bi )|(?<=\bwe )|(?<=\byou )|(?<=\bthey ))(?:{_ON_A_DAY})"
)

TENSE = TenseWords(
    clause=(
        r"[,;:!?…\n]|(?<!\d)\.(?=\s|$)|\s[-–—]+\s|"
        r"\b(?:and|but|so|because|cause|cos|or|then|although|though|while|whereas|which|who)\b"
    ),
    neither=(
        r"(?:was|were|wasn['’]t|weren['’]t)\s+(?:\w+\s+)?(?:going|supposed|meant|due|planning|hoping|"
        r"scheduled|to)\s+(?:to|for)|"
        r"(?:would|could|should|might)(?:['’]ve|\s+(?:not\s+)?have|n['’]t\s+have)(?:\s+been)?(?:\s+\w+)?|"
        r"used\s+to|(?:i|you|he|she|it|we|they)['’]d(?!\s+(?:like|better))|(?:would|could)(?!\s+(?:you|like))"
    ),
    ahead=(
        r"(?:^|(?<=and )|(?<=but )|(?<=so )|(?<=cos )|(?<=because ))were\s+(?:\w+ing|off)|"
        rf"{_HAVE}{_ADVERBS}\s+(?:been\s+)?(?:{_ARRANGED})|"
        r"got\s+(?:an?|the|my)\s+(?:[\w'’-]+\s+){0,2}(?:appointment|interview|meeting|exam|dentist|doctor|vet|"
        r"viewing|wedding|party|training|class|lesson|shift)|"
        rf"{_HAVE}{_ADVERBS}\s+got|{_HAVE}\s+to|"
        r"invited\s+(?:\w+\s+){1,3}to|signed\s+up|registered|enrolled|asked\s+\w+\s+to|"
        r"(?:made|bought|fixed)\s+(?:[\w'’-]+\s+){0,4}(?:appointment|tickets?|reservation)|"
        r"(?:agreed|promised|decided|arranged|offered|planned|volunteered|hoped|asked me)\s+to|"
        rf"{_BE}{_ADVERBS}\s+(?:being\s+)?(?!(?:gone|back|born|used)\b){_PARTICIPLE}|"
        r"(?:gets?|be)\s+[a-z]+(?:ed|en)|"
        r"will|won['’]t|wont|(?:i|you|he|she|it|we|they|that|there)['’]ll|shall|gonna|gotta|must|should|"
        r"ought|can|can['’]t|cannot|let['’]s|lets|off\s+to|due|wanna|"
        r"(?<!\w)(?:i|we|you|they|he|she|it)\s+(?:may|might)(?!\s+(?:not\s+)?have)|(?:could|can|would|will)\s+you|would\s+like|(?:i|we|you|he|she|they)['’]d\s+(?:like|better)|"
        rf"{_BE}|do|does|don['’]t|doesn['’]t|dont|doesnt|{_HAVE}(?!{_ADVERBS}\s+{_PARTICIPLE})|"
        rf"(?<!\bthe )(?<!\ba )(?<!\ban )(?<!my )(?<!our )(?<!to )(?<!this )(?:{_SCHEDULED})"
    ),
    back=rf"(?:did|would|could)n['’]?t(?:\s+[a-z]+ly)?\s+\w+|did\s+not\s+\w+|"
    rf"(?:made|helped|saw|let|heard|watched)\s+(?:(?:my|the|our|his|her)\s+)?\w+\s+(?:{_ON_A_DAY})|"
    rf"(?:would|could)n['’]?t|couldn?t?\s+(?:barely|hardly|only)|{_HAVE}{_ADVERBS}\s+{_PARTICIPLE}|(?<!to be )(?<!been )(?:{_PAST})|{_REGULAR}",
    weak=(
        rf"(?<!\bto )(?:{_ON_A_DAY})|"
        r"\w+['’]s|(?:coming|going|having|getting|leaving|starting|visiting|moving|flying|seeing|"
        r"meeting|doing|taking|driving)|i|we|they|remember|reminder|remind|don['’]t forget|wish|"
        r"tomorrow|upcoming|all set|ready|looking forward"
    ),
    arranged=r"for|for the|(?:to|till|until)(?: the)?",
    moved=(
        r"mov(?:e|es|ed|ing)|chang(?:e|es|ed|ing)|shift(?:s|ed)?|reschedul(?:e|ed)|postponed?|"
        r"push(?:ed)?|brought|put|switch(?:ed)?|swap(?:ped)?|delayed|bumped"
    ),
    appointments=alternatives(
        "appointments? interviews? exams? tests? wedding party meetings? concert flight train trip "
        "dentist doctor['’]?s? vet hospital surgery operation scan check-?up physio optician "
        "hairdresser['’]?s? haircut barber deadline presentation delivery viewing rehearsal audition "
        "match game race marathon ceremony funeral graduation christening hearing court inspection "
        "visit dinner lunch conference course class lesson training school shift holiday festival "
        "gig show performance recital open\\s+day parents['’]?\\s+evening move moving reunion "
        "barbecue bbq picnic date launch kick-?off review results? mot service payday rent bill"
    ),
    subject=r"(?:the|my|our|his|her|their|this)\s+\w+(?:\s+\w+){1,3}",
    habit=(
        r"(?<!as )(?:always|usually|normally|generally|often|sometimes|typically|rarely|never)|"
        r"every|each|most|weekly|once a week|twice a week|weekends|[a-z]+day\s+(?:mornings|evenings|nights|afternoons)|"
        r"in general|as a rule|tends? to|"
        r"(?<!['’]d )(?<!would )(?:loves?|likes?|hates?|adores?|enjoys?|can['’]t stand)(?!\s+to\b)"
    ),
    spoken_of=(
        r"(?:love|loves|like|likes|hate|hates|prefer|prefers|adore|adores|enjoy|enjoys|dislike|"
        r"dislikes|can['’]t stand|miss|misses|about|of|than|as|song|film|movie|book)(?:\s+(?:a|the))?"
    ),
    compounds=alternatives(
        "best school blues feeling job papers? league roasts? driver supplement service market "
        "prayers? matinee special club girls? people lunches dinners night[s] times? "
    ).strip("|"),
    as_subject=_SUBJECT_DAY,
    named=r"called|named|name is|name's|names are|nicknamed|is called",
    naming=r"(?:is|was|would be|sounds)\s+(?:like\s+)?(?:a|an|such a|my)?\s*(?:\w+\s+)?name|(?:is|are|was)\s+(?:the|my|our)\s+(?:\w+\s+)?(?:best|worst|favou?rite|longest|"
    r"shortest|busiest|quietest|only|first|last)",
    follows=alternatives(
        "i you he she we they it i['’]m im we['’]re is was are were will has had have did do does at in "
        "on with to from by for of and or but so because when while this last next if the my our "
        "his her their your there then again day eve break holidays? time"
    ),
    marks=frozenset(
        "the i i'm my we is was to a and of it for on with have has had got he she they you our at "
        "that this what are be been not but from will going im ive his her there's it's".split()
    ),
)
