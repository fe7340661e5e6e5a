"""English words for time and tense; see ``core.language.time`` for the kinds."""

from slowcat_memory.core.language import time

TIME = time.time_words(
    {
        "D": {
            "today": (0, None),
            "yesterday": (-1, None),
            "tomorrow": (1, None),
            "the day before yesterday/day before yesterday": (-2, None),
            "the day after tomorrow/day after tomorrow": (2, None),
            "tonight": (0, time.NIGHT),
            "last night/yesterday night": (-1, time.NIGHT),
            "the night before last": (-2, time.NIGHT),
        },
        "R": {
            "recently/lately/of late": (-14, 1),
            "the other day/the other night/the other evening": (-10, -1),
        },
        "W": time.places("monday tuesday wednesday thursday friday saturday sunday", 0),
        "P": {
            "morning/mornings": time.MORNING,
            "afternoon/afternoons": time.AFTERNOON,
            "evening/evenings": time.EVENING,
            "night/nights": time.NIGHT,
        },
        "M": {
            **{"january": 1, "february": 2, "july": 7},
            **time.places("september october november december", 9),
        },
        "m": {
            **{"jan": 1, "feb": 2, "mar": 3, "apr": 4, "april": 4, "june": 6, "august": 8},
            **time.places("jun jul aug sep/sept oct nov dec", 6),
        },
        "v": {"march": 3, "may": 5},
        "s": {"spring": 3, "summer/summertime": 6, "autumn/fall": 9, "winter/wintertime": 12},
        "H": {
            "christmas/xmas": (12, 24, 3),
            "christmas eve": (12, 24, 1),
            "christmas day": (12, 25, 1),
            "boxing day": (12, 26, 1),
            "new year/new years": (12, 31, 2),
            "new year eve/new years eve/hogmanay": (12, 31, 1),
            "new year day/new years day": (1, 1, 1),
            "valentine day/valentines day": (2, 14, 1),
            "halloween": (10, 31, 1),
            "bonfire night/guy fawkes night": (11, 5, 1),
            "may day": (5, 1, 1),
            "good friday": ("easter", -2, 1),
            "easter/the easter weekend/easter weekend": ("easter", -2, 4),
            "easter sunday": ("easter", 0, 1),
            "easter monday": ("easter", 1, 1),
            "whitsun/pentecost": ("easter", 49, 2),
            "thanksgiving": ("november thursday", 21, 1),
            "black friday": ("november thursday", 22, 1),
        },
        "U": {
            f"{name}/{name}s": name
            for name in "minute hour day week fortnight weekend month year decade".split()
        },
        "C": time.places("fifties sixties seventies eighties nineties", 1950, 10),
        "8": "half_past quarter_past",
        "Y": {"two thousand/two thousand and": 2000},
        "w": {
            "a couple of/couple of/a couple/couple": (2, 3),
            "a few/few/some": (2, 5),
            "several": (3, 7),
        },
        "h": "half",
        "a": {"a/an": (1, 1)},
        "L": "last past previous",
        "t": "this these current",
        ">": "next following",
        "S": "coming upcoming",
        "l": "gone just_gone",
        "n": "from_now from_today hence",
        "r": "back",
        "e": "every each any that bank_holiday",
        "E": {
            "early/the beginning of/beginning of/the start of/start of": (0, 1),
            "mid/middle of/the middle of": (1, 2),
            "late/the end of/end of/towards the end of": (2, 3),
        },
        "g": "ago",
        "c": "since",
        "b": "before",
        "k": "after",
        "u": "until till by",
        "B": "between",
        "F": "from",
        "A": "and",
        "o": "to through",
        "i": "in within in_about in_roughly in_around in_just_over in_just_under",
        "j": {"on/for": "on", "at/during/over/around/throughout": None},
        "f": "of",
        "T": "the",
        "p": (
            "is are was were am will shall would can could should must might has had did do does my "
            "your our his her their there because so but or then when while which who"
        ),
        "z": "this_time about_this_time around_this_time",
        "x": (
            "i you he she we they it be have has not also well never just only ask say know think "
            "come need want see forward"
        ),
    },
    future="will ll shall gonna going plan plans planning planned upcoming hope hoping",
    past="did was were had said told went happened",
    ordinal="st nd rd th",
)

_PAST = time.alternatives(
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
    "penciled in|earmarked|called in|summoned|picked|decided|made up (?:my|our|his|her|their) minds?"
)
_NO_INFINITIVE = "".join(rf"(?<!\b{w} )" for w in ("to", "will", "ll", "can", "must", "should"))
_SUBJECT_DAY = r"(?:is|are)\s+(?!the\b|my\b|our\b|when\b|good\b|fine\b|ok\b)"
_BE = r"(?:am|is|are|isn['’]t|isnt|aren['’]t|arent|i['’]m|im|(?:you|we|they)['’]re|youre|theyre|(?:it|he|she|that|there|what|who|here)['’]s|hes|shes|its|thats|theres)"
_HAVE = r"(?:have|has|haven['’]t|hasn['’]t|havent|hasnt|(?:i|you|we|they)['’]ve|ive|weve|youve|theyve|(?:it|he|she|that)['’]s)"
_ON_A_DAY = time.alternatives(
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

TENSE = time.tense_words(
    verbs={
        "neither": (
            r"(?:was|were|wasn['’]t|weren['’]t)\s+(?:\w+\s+)?(?:going|supposed|meant|due|planning|hoping|"
            r"scheduled|to)\s+(?:to|for)|"
            r"(?:would|could|should|might)(?:['’]ve|\s+(?:not\s+)?have|n['’]t\s+have)(?:\s+been)?(?:\s+\w+)?|"
            r"used\s+to|(?:i|you|he|she|it|we|they)['’]d(?!\s+(?:like|better))|(?:would|could)(?!\s+(?:you|like))"
        ),
        "ahead": (
            r"(?:^|(?<=and )|(?<=but )|(?<=so )|(?<=cos )|(?<=because ))were\s+(?:\w+ing|off)|"
            rf"{_HAVE}{_ADVERBS}\s+(?:been\s+)?(?:{_ARRANGED})|"
            r"got\s+(?:an?|the|my)\s+(?:[\w'’-]+\s+){0,2}(?:appointment|interview|meeting|exam|dentist|doctor|vet|"
            r"viewing|wedding|party|training|class|lesson|shift)|"
            rf"{_HAVE}{_ADVERBS}\s+got|{_HAVE}\s+to|"
            r"invited\s+(?:\w+\s+){1,3}to|signed\s+up|registered|enrolled|asked\s+\w+\s+to|"
            r"(?:made|bought|fixed)\s+(?:[\w'’-]+\s+){0,4}(?:appointment|tickets?|reservation)|"
            r"(?:agreed|promised|decided|arranged|offered|planned|volunteered|hoped|asked me)\s+to|"
            rf"{_BE}{_ADVERBS}\s+(?:(?:having|getting)\s+(?:[\w'’-]+\s+){{1,4}}|(?:being\s+)?(?!(?:gone|back|born|used)\b)){_PARTICIPLE}|"
            r"(?:gets?|be)\s+[a-z]+(?:ed|en)|"
            r"will|won['’]t|wont|(?:i|you|he|she|it|we|they|that|there)['’]ll|shall|gonna|gotta|must|should|"
            r"ought|can|can['’]t|cannot|let['’]s|lets|off\s+to|due|wanna|"
            r"(?<!\w)(?:i|we|you|they|he|she|it)\s+(?:may|might)(?!\s+(?:not\s+)?have)|(?:could|can|would|will)\s+you|would\s+like|(?:i|we|you|he|she|they)['’]d\s+(?:like|better)|"
            rf"{_BE}|do|does|don['’]t|doesn['’]t|dont|doesnt|{_HAVE}(?!{_ADVERBS}\s+{_PARTICIPLE})|"
            rf"(?<!\bthe )(?<!\ba )(?<!\ban )(?<!my )(?<!our )(?<!to )(?<!this )(?:{_SCHEDULED})"
        ),
        "back": rf"(?:did|would|could)n['’]?t(?:\s+[a-z]+ly)?\s+\w+|did\s+not\s+\w+|"
        rf"(?:made|helped|saw|let|heard|watched)\s+(?:(?:my|the|our|his|her)\s+)?\w+\s+(?:{_ON_A_DAY})|"
        rf"(?:would|could)n['’]?t|couldn?t?\s+(?:barely|hardly|only)|{_HAVE}{_ADVERBS}\s+{_PARTICIPLE}|{_NO_INFINITIVE}(?<!to be )(?<!been )(?:{_PAST})|{_REGULAR}",
        "weak": (
            rf"(?<!\bto )(?:{_ON_A_DAY})|"
            r"\w+['’]s|(?:coming|going|having|getting|leaving|starting|visiting|moving|flying|seeing|"
            r"meeting|doing|taking|driving)|i|we|they|remember|reminder|remind|don['’]t forget|wish|"
            r"tomorrow|upcoming|all set|ready|looking forward"
        ),
    },
    clauses=(
        r"[,;:!?…\n]|(?<!\d)\.(?=\s|$)|\s[-–—]+\s|"
        r"\b(?:and|but|so|because|cause|cos|or|then|although|though|while|whereas|which|who)\b"
    ),
    before=r"for|for the|(?:to|till|until)(?: the)?",
    moves=(
        r"mov(?:e|es|ed|ing)|chang(?:e|es|ed|ing)|shift(?:s|ed)?|reschedul(?:e|ed)|postponed?|"
        r"push(?:ed)?|brought|put|switch(?:ed)?|swap(?:ped)?|delayed|bumped"
    ),
    arranges=time.alternatives(
        "appointments? interviews? exams? tests? wedding party meetings? concert flight train trip "
        "dentist doctor['’]?s? vet hospital surgery operation scan check-?up physio optician "
        "hairdresser['’]?s? haircut barber deadline presentation delivery viewing rehearsal audition "
        "match game race marathon ceremony funeral graduation christening hearing court inspection "
        "visit dinner lunch conference course class lesson training school shift holiday festival "
        "gig show performance recital open\\s+day parents['’]?\\s+evening move moving reunion "
        "barbecue bbq picnic date launch kick-?off review results? mot service payday rent bill"
    ),
    begins=r"(?:the|my|our|his|her|their|this)\s+\w+(?:\s+\w+){1,3}",
    returns=(
        r"(?<!as )(?:always|usually|normally|generally|often|sometimes|typically|rarely|never)|"
        r"every|each|most|weekly|once a week|twice a week|weekends|[a-z]+day\s+(?:mornings|evenings|nights|afternoons)|"
        r"in general|as a rule|tends? to|"
        r"(?<!['’]d )(?<!would )(?:loves?|likes?|hates?|adores?|enjoys?|can['’]t stand)(?!\s+to\b)"
    ),
    as_such=(
        r"(?:love|loves|like|likes|hate|hates|prefer|prefers|adore|adores|enjoy|enjoys|dislike|"
        r"dislikes|can['’]t stand|miss|misses|about|of|than|as|song|film|movie|book)(?:\s+(?:a|the))?"
    ),
    compound=time.alternatives(
        "best school blues feeling job papers? league roasts? driver supplement service market "
        "prayers? matinee special club girls? people lunches dinners night[s] times? "
    ).strip("|"),
    in_general=_SUBJECT_DAY,
    names=r"called|named|name is|name's|names are|nicknamed|is called",
    may_follow=time.alternatives(
        "i you he she we they it i['’]m im we['’]re is was are were will has had have did do does at in "
        "on with to from by for of and or but so because when while this last next if the my our "
        "his her their your there then again day eve break holidays? time"
    ),
    marks=(
        "the i i'm my we is was to a and of it for on with have has had got he she they you our at "
        "that this what are be been not but from will going im ive his her there's it's"
    ),
)
