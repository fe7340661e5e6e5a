"""English patterns: voice commands, overview questions, open threads."""

from slowcat_memory.core.language import table
from slowcat_memory.core.language.data import filled, read_toml, read_words
from slowcat_memory.core.language.word_classes import IntentWords, OrderWords

_WORDS = read_words(__package__)


_TALKED = r"(?:talk(?:ed|ing)?|spoken|speak(?:ing)?|spoke|discuss(?:ed|ing)?|chat(?:ted|ting)?)"

OVERVIEW = table.OverviewWords(
    asks=(
        # what did we talk about (last week)
        rf"\bwhat (?:have|had|did|were|was) (?:we|you and i|i) (?:all )?(?:been )?(?:ever "
        rf")?{_TALKED}"
        r"(?: about| of| over)?(?: (?:so far|lately|recently|today|yesterday|before|then|there|"
        r"together))?(?:\W|$|(?= (?:last|on|in|this|the|during|over|since|at|around)))",
        # remind me what we discussed
        r"(?:^|\b(?:remind|tell) me |\bremember )what (?:all )?(?:we|you and i) (?:have )?"
        r"(?:been )?"
        rf"{_TALKED}",
        # what topics did we discuss
        rf"\bwhat (?:topics?|things|stuff) (?:did|have) (?:we|you and i) {_TALKED}",
        r"\b(?:catch me up|bring me up to (?:date|speed))\b",
        # a summary of last week
        r"\b(?:recap|sum up|summari[sz]e|(?:recap|summary|overview) of) "
        r"(?:our|the (?:last|past|week|day|month)|last|this (?:week|month)|today|yesterday|what we|"
        r"my (?:day|week|month))\b",
        # give me a recap
        r"\b(?:give me|have) (?:a|an|the) (?:short |quick |brief )?(?:recap|overview)[.?!]*$",
        # where did we leave off
        r"\bwhere (?:did|were) we (?:leave (?:off|it|things)|left off|stop)\b",
        # what happened (in May)
        r"\bwhat(?:'s| has| is| was)? (?:been )?(?:going on|happen(?:ed|ing)|new)(?: with me| to "
        r"me| in my life)?(?:\s*[?.!]*$| (?=(?:last|on|in|this|the (?:last|past|week|day|month)|"
        r"during|over the|yesterday|today|around)\b))",
        # what did I do yesterday
        r"\bwhat did (?:i|we) do (?=(?:last|on|in|this|yesterday|today|during|over)\b)",
        # how was my week
        r"\bhow was (?:my|our|the) (?:last |past )?(?:day|week|month)\b",
    ),
    about_a_thing=(
        rf"\bwhat (?:did|have|had) (?:we|you and i|i) {_TALKED}? ?(?:say|said|decide|agree)\b",
        r"\b(?:happened|going on) (?:to|with|at) (?!me\b|us\b)\w+",
    ),
)


ORDERS = read_toml(__package__, "orders.toml", OrderWords)

# Words from the requirements; the weights are our choice and add up to less than a pin.
IMPORTANCE = (
    (r"\b(?:remember|recall|told you|mention(?:ed)?|said)\b", 0.15),
    (r"\bwhat (?:is|was|are|were) my\b|\bdo you know my\b", 0.15),
    (r"\b(?:last time|before|previously|earlier)\b", 0.10),
)

PROACTIVE = table.ProactiveWords(
    reminds=r"remind (?:me|us)|reminder|be reminded|don['’]t let me forget",
    off=(
        r"cancell?ed|called off|calling off|fell through|fallen through|falls through|not happening|"
        r"isn['’]t happening|is off|are off|['’]s off|came to nothing|scrapped|won['’]t happen|"
        r"no longer going|(?:not|n['’]t)\b.{1,60}\b(?:any ?more|after all)|gave up on|dropped the (?:idea|plan)"
    ),
    moved=(
        r"moved? (?:[\w'’]+ ){0,4}(?:to|back|forward|until|till)|(?:been|was|got|were|is|are|have|['’]s|"
        r"['’]ve) (?:now )?(?:moved|rescheduled|postponed|pushed|put back|put off|delayed|brought "
        r"forward|changed to)|(?:isn['’]t|not) .{1,40}[,;] (?:it['’]s|but)|reschedul(?:e|ed)|postponed|pushed back|had to move"
    ),
    done=(
        r"sorted|settled|all done|is done|['’]s done|got done|fixed|finished|completed|sold|paid|"
        r"resolved|repaired|dealt with|taken care of|handed in|over and done|ticked off|off my "
        r"(?:list|plate|mind)|got (?:\w+ ){1,4}back|passed|signed|returned|picked up|dropped off|"
        r"all good now|is over|(?:works|runs|drives|goes|flies|rings|heats|working|running|going) again|"
        r"out of the way|closed|wrapped up|"
        r"(?:is|are|was|were|been|['’]s|['’]re|got|gets) (?:all |now |finally |already |just |both )*"
        r"(?:booked(?! out| up| solid)|arranged|ordered|renewed|organi[sz]ed|confirmed|delivered|"
        r"collected|cleaned|mended|installed|fitted|replaced|approved|submitted|filed|posted|shipped|"
        r"sent|filled (?:in|out)|packed|printed|bought|found|registered|cleared|transferred|refunded)"
    ),
    did=(
        r"(?:i|we)(?:['’]ve| have|['’]d)? (?:just |finally |already |now |both |actually |went and )*"
        r"(?!was|were|had|have|been|thought|wanted|tried|forgot|forgotten|"
        r"missed|hoped|planned|heard|wished|need|needed|agreed|promised|felt|"
        r"knew|said|told you|saw|got to|used to|worried|decided)"
        r"(?:[a-z]+ed|took|taken|went|gone|spoke|spoken|called|rang|rung|wrote|written|sent|bought|"
        r"made|did|done|got|gave|given|met|found|told|put|brought|chose|chosen|read|drove|flew|"
        r"saw|seen|cut|left|sold|paid|caught|built|hung|rebooked)"
    ),
    still_open=(
        r"not|n['’]t|never|still|yet|nearly|almost|tried to|wish|if|might|should|must|need to|have to|"
        r"going to|will|want to|forgot|didnt|havent|hasnt|wasnt|tomorrow|next|has to|needs? to|got to|"
        r"to be|can['’]t|cannot|booked (?:out|up|solid)"
    ),
    arrived=(
        r"arrived|(?:came|come)(?: back| in| through)?|turned up|showed up|(?:is|are|['’]s|['’]re) "
        r"(?:now |finally |already )*(?:here|in|back|gone|there)|went to|answered|replied|agreed|"
        r"said|got back to (?:me|us)|(?:have|has|got|['’]ve)\b.{1,40}\bnow"
    ),
    awaited=(
        r"wait(?:s|ing|ed)?|expect\w*|order\w*|renew\w*|get|collect\w*|find\w*|sell\w*|results?|answers?|"
        r"ask|hand|give|apply|applied|request\w*|look(?:s|ing)? for|needs?"
    ),
    helpers=r"is|are|was|were|been|['’]s|['’]re|have|has|had|['’]ve|got",
    generic=(
        "call called calling ask asked asking talk talked speak spoke spoken tell told deal take took "
        "taken care book booked get got need needs remind reminded reminder sort sorted do did done "
        "make made go went gone going buy bought fix fixed pay paid ring rang contact contacted "
        "email write wrote sent send find found see saw seen still wants want wanted has have had "
        "plans plan planned whether decide decided open thing matter finally now just already back "
        "look looking bring brought give gave put new old about broken big small some up out off "
        "down over into be been being say said let keep start started try check checked user"
    ),
)

SUMMARY = filled(
    table.SummaryWords,
    _WORDS["summary"],
    points_back=(
        r"he|she|it|they|his|her|its|their|this|that|these|those|there"  # not "he is the one who"
    ),
    own="i|i'm|i've|i'll|my|we|our",
    advice=(
        r"i(?:'d|’d| would)? (?:suggest|recommend|advise)|my (?:advice|suggestion)|"
        r"(?<!so )(?<!then )(?<!if )(?<!that )you (?:could|might want to|should)(?! (?:finally|be proud|see|know|have (?:seen|told|said)))|why don['’]t you|how about|"
        r"it (?:may|might|could) help to|make sure (?:you|to)|consider \w+ing"
    ),
    advice_begins=(
        "try|prepare|practise|practice|write|bring|start|keep (?!me|it up|going)|focus|take (?!care|your time|it easy)|ask|call|check|"
        "book|pack|drink|eat|put|set|talk to|tell (?!me)|read|avoid|remember to|do not|don't (?!worry|mention)|give (?!me)|wear|rest|send|"
        "order|plan|make (?!yourself)|use|photograph|compare|measure|ring|schedule|apply|save|stretch|breathe"
    ),
)

NOTED = ("the user", "user")

_BE = (
    "is|are|was|were|am|isn't|aren't|wasn't|weren't|has|have|had|hasn't|haven't|can|can't|cannot|"
    "will|won't|would|should|shouldn't|must|may|does|doesn't|do|don't|did|didn't|likes?|loves?|"
    "hates?|wants?|needs?|prefers?|lives?|works?|goes|go|comes?|gets?|takes?|ends?|starts?|"
    "begins?|sticks?|eats?|drinks?|plays?|moved|means?|costs?|closes?|opens?|leaves?|arrives?|"
    "visits?|speaks?|knows?|owns?|keeps?|turns?|became|becomes?|runs?|ran|hurts?|smells?|looks?|"
    "feels?|hangs?|stands?|sits?|sleeps?|reads?|rings?|died|dies|sounds?|fits?|expires?|finishes|"
    "changed|changes|belongs?|stays?|stops?|uses|calls|pays|sells|sold|bought|breaks?|broke|"
    "married|lost|won|grew|quit|stopped|started|finished|opened|closed|left|never|always"
)
# Precedes a noun after "that": "remember that time we went".
_THING = (
    "time|times|day|days|night|evening|morning|weekend|week|month|year|years|summer|winter|spring|"
    "autumn|guy|man|woman|girl|boy|kid|person|couple|lady|bloke|dude|friend|film|movie|show|song|"
    "book|game|story|joke|place|restaurant|bar|cafe|hotel|house|party|trip|holiday|one|thing|"
    "moment|feeling|smell|word|name|dog|cat|teacher|band|concert|match|scene|episode|far|well|"
    "right|part|bit|old|little|crazy|funny"
)
_STARTS = (
    "i|i'm|im|i've|ive|i'll|i'd|my|mine|we|we're|we've|we'll|our|ours|he|he's|she|she's|they|"
    "they're|they've|his|her|their|it|it's|its|the|a|an|this|these|those|there|there's|theres|"
    "every|each|all|both|some|no|nobody|everyone|everybody|today|tomorrow|tonight|on|in|at|next|"
    "from|when|if|after|before|your"
)
COMMANDS = filled(
    table.CommandWords,
    _WORDS["commands"],
    parts={
        "keep": "remember|keep in mind|bear in mind|make a note|note|note down|don't forget|"
        "do not forget|store|save|memorize|memorise",
        "for_all": "for (?:all of us|us all|us|both of us|everyone|everybody|"
        "the (?:whole )?(?:family|house|household))",
        "that": "that|dat|the fact that",
        "forget": "forget|for get|delete|erase",
        "memory": "your memory|the memory|memory",
        "off_record": "(?:(?:this|that) is |strictly )?(?:off|of) the record|"
        "(?:don't|do not) (?:remember|keep|store|save|note|record) this",
        "wrong": "(?:that's|thats|that is|that was|this is|you got that|you've got that|you have "
        "got that|you are|you're) (?:all )?(?:wrong|not right|not true|not correct|not "
        "quite right|incorrect|false|mistaken|a mistake(?= it))|(?:that|this) isn't (?:right|true|correct|"
        "quite right)|you misheard(?: me| that)?",
    },
    rules=(
        table.CommandRule(
            kind="remember",
            says="(?:{keep}) (?:(?P<shared>{for_all})(?: (?:{that}))?|{that}) {x}",
            needs=f"(?:{_STARTS}) \\S|you (?:should|must|can|can't|may|need|have to)\\b|"
            f"(?!(?:{_THING}|you)\\b)(?:\\S+ ){{1,3}}(?:{_BE})\\b",
        ),
        table.CommandRule(
            kind="forget_that",
            says="(?:{forget}) (?:about |all )?(?:that|this)(?: last (?:bit|thing|part|one|"
            "sentence))?(?: from (?:{memory}))?",
        ),
        table.CommandRule(
            kind="forget_about",
            says="(?:{forget}|remove|wipe) (?:everything|all|anything|what|whatever)(?: that)?"
            "(?: (?:you|i|we|you've|i've|we've)(?: have)?(?: ever)? "
            "(?:know|remember|stored|learned|learnt|said|told you|mentioned|talked))? about {x}",
            needs="(?!(?:me|us|everything|it|this|that|him|her|them|what|how|the fact)\\b|"
            f"(?:\\S+ )+(?:{_BE})\\b)",
            max_words=5,
        ),
        table.CommandRule(
            kind="correct",
            says="(?:(?:no|nope|nah) )*(?:{wrong}) {x}",
            needs="(?!.*\\bshould(?:'ve| have)\\b)(?:it's|its|it|i|i'm|im|he's|she's|they're|we're|my|our|"
            "his|her|their|the|we|he|she|they) \\S",
        ),
        table.CommandRule(
            kind="correct",
            says="(?:no|nope|nah|actually) {x}",
            needs="(?:it's|its|it is|(?:he|she)'s called|(?:his|her|my|the) name is|i said|i meant) "
            "(?:not (?:\\S+ ){1,3}(?:it's|its|it is) \\S+|(?:\\S+ ){1,4}not (?:\\S+ ?){1,4}|"
            "\\S+ (?:(?:spelt|spelled|written) )?with (?:an? )?\\S+$)",
            max_words=10,
        ),
        table.CommandRule(
            kind="correct",
            says="{x}",
            needs="i (?:said|meant) (?:\\S+ ){1,3}not (?:\\S+ ?){1,3}$",
            max_words=9,
        ),
        table.CommandRule(kind="off_record", says="{off_record}"),
        table.CommandRule(
            kind="off_record",
            says="{off_record} {x}",
            needs="(?:i|i'm|i've|i'll|my|we|we're|our|can|could|what|how|do|let's|between) \\S",
        ),
        table.CommandRule(
            kind="undo",
            says="(?:undo|undue|un do|revert|reverse)(?: (?:that|this|it|what you just did|the last "
            "(?:thing|one|command|change|order)))?",
        ),
    ),
    intents=read_toml(__package__, "intents.toml", IntentWords),
    no_order=(
        "(?:is|are|am|was|were|did|have|has) (?:this|that|it|we|you|i|my|the memory|everything|all)\\b"
        "(?!.* (?:able|possible|allowed|to|please|can|could|would)\\b)|"
        "(?:\\S+ ){0,3}you (?:\\S+ )?(?:always|never|don't|can't|keep|just|constantly) "
        "(?:even |ever |really )?(?:remember|forget|forgetting|listen|learn)\\b"
    ),
    answers=(
        table.CommandRule(
            kind="yes",
            says="(?:yes|yeah|yep|yup|sure|ok|okay|do it|go ahead|yes do it|do that|"
            "(?:(?:yes|yeah|sure) )?(?:please )?(?:{forget}) (?:them|it|that|everything)"
            "(?: all)?|all of (?:them|it))",
        ),
        table.CommandRule(
            kind="no",
            says="(?:no|nope|nah|no thanks|cancel|never mind|stop|don't|do not|rather not|"
            "(?:no )*(?:please )?(?:don't (?:forget )?|keep )(?:them|it|that)?(?: all)?)",
        ),
    ),
    right_value=(
        r"(?:it['’]?s|it is|it was|it should(?: be)?|i meant|i said|(?:s?he|they)(?:['’]s|['’]re"
        r"| is| are) called|(?:his|her|my|our|their|its|the) name(?:['’]s| is|s))"
        r"(?: (?:called|on|in|at|the|a|an))* "
    ),
    right_and_wrong=(
        r"\bnot (?P<y>.+?),? (?:it['’]?s|it is|but)(?: (?:on|in|at|the|a|an))* (?P<x>.+)$|"
        r"(?:it['’]?s|it is|it was|i said|i meant|name is|called)(?: (?:on|in|at|the|a|an))* "
        r"(?P<w>.+?),? (?:and )?not(?: (?:on|in|at|the|a|an))* (?P<z>.+)$"
    ),
    spelt=r" (?:(?:spelt|spelled|written) )?with (?:an? )?\w\b.*$",
    right_vague=r"(?:it|its|that|this|he|she|they|him|her|his|their|to)\b(?!['’]?s? name)",
    own="i|i'm|im|i've|my|mine|we|we're|our",
)
