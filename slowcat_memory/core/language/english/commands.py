"""English voice commands to the memory."""

from slowcat_memory.core.language.data import phrase_list, read_words, word_set
from slowcat_memory.core.language.intents import read_intent_words
from slowcat_memory.core.language.table import CommandRule, CommandWords, rules_of

_WORDS = read_words(__package__)["commands"]

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
_MEMORY = "your memory|the memory|memory"
_FORGET = "forget|for get|delete|erase"
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
_NOW = "gets|needs|likes|hates|wants|can|can't|must|will|goes|comes|starts|ends|costs|opens|closes"
_TOLD = (
    "told|said|talked|spoke|went|saw|met|used|mentioned|asked|visited|watched|laughed|danced|sat|"
    "were|was|had|did|could|thought|promised|agreed|discussed"
)

COMMANDS = CommandWords(
    before=phrase_list(_WORDS["before"]),
    after=phrase_list(_WORDS["after"]),
    after_plain=phrase_list(_WORDS["after_plain"]),
    parts={
        "keep": "remember|keep in mind|bear in mind|make a note|note|note down|don't forget|"
        "do not forget|store|save|memorize|memorise",
        "for_all": "for (?:all of us|us all|us|both of us|everyone|everybody|"
        "the (?:whole )?(?:family|house|household))",
        "that": "that|dat|the fact that",
        "forget": _FORGET,
        "memory": _MEMORY,
        "wrong": "(?:that's|thats|that is|that was|this is|you got that|you've got that|you have "
        "got that|you are|you're) (?:all )?(?:wrong|not right|not true|not correct|not "
        "quite right|incorrect|false|mistaken)|(?:that|this) isn't (?:right|true|correct|"
        "quite right)|you misheard(?: me| that)?",
        "here": "(?:only )?on this (?:machine|computer|device|laptop|phone|box)(?: only)?|"
        "between (?:us|you and me|the two of us)|local|private|secret|confidential|to yourself",
    },
    rules=(
        CommandRule(
            kind="remember",
            says="(?:{keep}) (?P<shared>{for_all}) (?:(?:{that}) )?{x}",
            needs=f"(?:{_STARTS})\\b|(?:\\S+ ){{1,3}}(?:{_BE})\\b",
            may_ask=False,
        ),
        CommandRule(
            kind="remember",
            says="(?:{keep}) (?:{that}) {x}",
            needs=f"(?:{_STARTS}) \\S|you (?:should|must|can|can't|may|need|have to)\\b|"
            f"(?!(?:{_THING}|you)\\b)(?:\\S+ ){{1,3}}(?:{_BE})\\b",
            never="(?:we|you|i|they) (?:danced|laughed)\\b",
            may_ask=False,
        ),
        CommandRule(
            kind="remember",
            says="(?:remember|keep in mind|bear in mind|make a note|don't forget|do not forget) "
            "{x}",
            needs=f"(?:i'm|im|i've|i don't|i can't|i am|i have|he's|she's|we're|they're|it's|"
            f"there's|there is|there are)\\b|(?:i|we|he|she|they) (?!(?:{_TOLD})\\b)\\S+ \\S|"
            f"(?:my|our|his|her|their|the|a|an|this) (?:\\S+ ){{1,4}}(?:{_BE})\\b|"
            f"(?!(?:{_THING}|{_STARTS}|that|you|how|when|what|where|who|why|to|me|remember)\\b)"
            f"\\S+ (?:{_BE})\\b|\\S+'s (?:\\S+ ){{1,3}}(?:is|are|was|has)\\b",
            never=f"the (?:{_THING})\\b(?! (?:is|has|{_NOW})\\b)|(?:i|we|you|he|she|they) "
            f"(?:{_TOLD})\\b",
            may_ask=False,
        ),
        CommandRule(
            kind="remember",
            says="{x} (?:(?:and|so) )?(?:please )?(?:(?:can|could|would|will) you )?(?:please )?"
            "(?:remember|don't forget|make a note of|note) (?:that|dat)"
            "(?: (?P<shared>{for_all}))?",
            needs=f"(?:{_STARTS}) \\S|(?:\\S+ ){{1,3}}(?:{_BE})\\b",
            never="(?:i|we|he|she|they) (?:just |still |also |always |never )?"
            "(?:can|can't|cannot|do|don't|didn't|will|won't|would|could|couldn't|should|must)$|"
            "(?:why|how|when|what|who|where|do|does|did|can|could|will|would|is|are)\\b",
            never_ends="(?:to|can't|cannot|don't|will|won't|'ll|always|never|you|should|must|i|"
            "i'll|we|they|he|she|not|could|couldn't|would|did|didn't|do|does|still|"
            "just|also|hardly|that|who|everyone|people|to please)",
            may_ask=False,
        ),
        *rules_of(
            "forget_that",
            (
                "(?:{forget}) (?:about |all )?(?:that|this)(?: last (?:bit|thing|part|one|"
                "sentence))?(?: from (?:{memory}))?"
            ),
            "(?:scratch|remove|strike|wipe) (?:that|this) from (?:{memory})",
            (
                "(?:{forget}) (?:what|everything|all) (?:i|we|i've|we've|i have|we have) "
                "(?:just )?(?:said|told you|talked about|mentioned)(?: just now)?"
            ),
            (
                "(?:{forget}) (?:the|my|our|your) last "
                "(?:thing|bit|part|sentence|exchange|answer|two minutes|minute)"
                "(?: (?:that )?(?:i|we|you) (?:just )?(?:said|told you|mentioned))?"
            ),
            "(?:don't|do not) (?:remember|keep|store|save) (?:that|this)",
            (
                "(?:{forget}) (?:that )?i (?:just |ever )?(?:said|mentioned|told you) "
                "(?:that|this|it|anything)"
            ),
            "(?:{forget}) (?:my|the) last (?:message|words|turn|statement|remark)",
        ),
        *rules_of(
            "forget_about",
            (
                "(?:{forget}|remove|wipe) (?:what|whatever) (?:you|i|we)(?: have|'ve)? "
                "(?:know|remember|stored|learned|said|told you|mentioned) about {x}"
            ),
            (
                "(?:{forget}|remove|wipe) (?:all|every|any)(?: your| my| the)? "
                "(?:memory|memories|information|data|notes?|facts?|thing) (?:of|about|on) {x}"
            ),
            max_words=5,
            never=f"(?:it|this|that|him|her|them)\\b|(?:\\S+ )+(?:{_BE})\\b",
        ),
        CommandRule(
            kind="forget_about",
            says="(?:{forget}|remove|wipe) (?:everything|all|anything|whatever)(?: that)?"
            "(?: (?:you|i|we|you've|i've|we've)(?: have)?(?: ever)? "
            "(?:know|remember|stored|learned|learnt|said|told you|mentioned|talked))? about {x}",
            never=f"(?:it|this|that|him|her|them|what|how|the fact)\\b|(?:\\S+ )+(?:{_BE})\\b",
            max_words=5,
        ),
        CommandRule(
            kind="correct",
            says="(?:(?:no|nope|nah) )*(?:{wrong}) {x}",
            needs="(?:it's|its|it is|it was|it isn't|it's not|it should|i meant|i said|i live|i|"
            "i'm|"
            f"im|i am|he's|she's|they're|we're) \\S|(?:my|our|his|her|their|the|we|he|she|they) "
            f"(?:\\S+ ){{0,4}}(?:{_BE})\\b|(?!(?:on|and|but|isn't|is|for|to|because|if|when|of|"
            f"with|in|at|so|or|you)\\b)\\S+ (?:is|was|lives|works|likes|has)\\b",
            never="(?:\\S+ ){1,4}should(?:'ve| have| never)\\b",
            may_ask=False,
        ),
        CommandRule(
            kind="correct",
            says="(?:(?:no|nope|nah) )*(?:that's|thats|that is) a mistake {x}",
            needs="(?:it's|its|it is|it was|it should) \\S",
            may_ask=False,
        ),
        CommandRule(
            kind="correct",
            says="(?:no|nope|nah|actually) {x}",
            needs="(?:it's|its|it is|he's called|she's called|(?:his|her|my|the) name is|i said|"
            "i meant) "
            "(?:not (?:\\S+ ){1,3}(?:it's|its|it is) \\S+|(?:\\S+ ){1,4}not (?:\\S+ ?){1,4})",
            max_words=10,
            may_ask=False,
        ),
        CommandRule(
            kind="correct",
            says="(?:no|nope|nah|actually) {x}",
            needs="(?:it's|its|it is|he's called|she's called|(?:his|her|my|the) name is) \\S+ "
            "(?:(?:spelt|spelled|written) )?with (?:an? )?\\S+$",
            max_words=8,
            may_ask=False,
        ),
        *rules_of(
            "what_known",
            (
                "what(?: all)?(?: things)? (?:do|did|have) you (?:actually |really |already |all |"
                "have )*(?:know|remember|remembered|stored?|learned|learnt|saved|noted|kept)(?: "
                "down)? about me"
            ),
            (
                "(?:tell me|list|show me|read me|say) (?:everything |all )?(?:that |what )?"
                "(?:you|you've|you have) (?:know|remember|stored|learned|saved) about me"
            ),
            "what(?:'s| is)? (?:in (?:{memory})|stored|saved|known|noted) about me",
            (
                "what (?:information |data |facts |memories )?(?:do|have) you (?:have|got) "
                "(?:about|on|of) me"
            ),
            "(?:how much do|do) you know (?:anything )?about me",
        ),
        *rules_of(
            "why",
            (
                "(?:why|why'd|how come)(?: did| do)? you (?:just )?(?:say|said|mention|mentioned) "
                "(?:that|this)"
            ),
            "what (?:made|makes) you (?:say|think|mention) (?:that|this)",
            "why (?:are|were) you (?:saying|telling me) (?:that|this)",
            "why (?:did|do) you (?:tell me (?:that|this)|bring (?:that|this) up)",
            "how did you (?:come up with|get to|arrive at) (?:that|this)",
            "who told you (?:that|this)",
            "where (?:did|do) you (?:know|hear|read) (?:that|this)(?: from)?",
            "(?:where|how) (?:did|do) you (?:get|have|take) (?:that|this) from",
            "how (?:do|did|would|come) you know (?:that|this)",
        ),
        CommandRule(
            kind="off_record",
            says="(?:let's )?(?:(?:this is|that is|that's|we are|we're|go|going|strictly|"
            "talk|speak|everything is) )?(?:off|of) the record",
        ),
        CommandRule(
            kind="off_record",
            says="(?:this is |strictly )?off the record {x}",
            needs="(?:i|i'm|i've|i'll|my|we|we're|our|can|could|what|how|do|let's|between) \\S",
        ),
        *rules_of(
            "off_record",
            (
                "(?:stop|pause) (?:recording|remembering|logging|taking notes|(?:{memory}))(?: "
                "this| that| everything| me| us)?"
            ),
            "(?:don't|do not) (?:record|log)(?: this| that| anything)?",
            (
                "(?:don't|do not) (?:remember|keep|store|save) (?:any of (?:this|that)|anything)"
                "(?: i say)?"
            ),
            "(?:switch|turn) off (?:{memory})",
            "(?:switch|turn) (?:{memory}) off",
        ),
        *rules_of(
            "on_record",
            (
                "(?:let's )?(?:(?:we are|we're|we can|go|going|you're|you are) )*"
                "(?:back on the record|on the record again)"
            ),
            "(?:start|resume) (?:recording|remembering)(?: things| everything)? again",
            "(?:resume|continue|restart|unpause) (?:recording|remembering|(?:{memory}))",
            "(?:go )?back to (?:recording|remembering)",
            "remember(?: things| everything)? again",
            "(?:switch|turn) (?:{memory}) back on",
            "(?:switch|turn) (?:back )?on (?:{memory})(?: again)?",
        ),
        *rules_of(
            "who_sees",
            (
                "(?:who(?: else)?|can (?:anyone|anybody|somebody|someone)(?: else)?) (?:can |could "
                "|will |is able to )?(?:sees?|reads?|hears?|listen to) (?:this|that|what i (?:say|"
                "said|tell you|told you|say to you)|my memories|what you (?:know|remember))"
            ),
            (
                "who(?: else)? has access to (?:this|that|this information|my data|my memories|"
                "(?:{memory})|what i (?:say|tell you))"
            ),
        ),
        *rules_of(
            "undo",
            (
                "(?:undo|undue|un do|revert|reverse)(?: (?:that|this|it|what you just did|the last "
                "(?:thing|one|command|change|order)))?"
            ),
            "take that back",
            "(?:bring|get|put) (?:that|it) back|restore (?:that|it)",
            "(?:no )+(?:please )?(?:do )?keep (?:it|that|them)",
            "keep (?:it|that|them) after all",
            "(?:actually|wait|sorry) (?:please )?keep (?:it|that|them)",
            "(?:no )+(?:please )?don't (?:forget|delete) (?:it|that|them)",
        ),
        *rules_of(
            "local",
            "(?:keep|leave) (?:that|this|it) (?:just )?(?:{here})",
            (
                "(?:that|this|it|that one) (?:stays|should stay|must stay|has to stay|"
                "needs to stay|should remain|remains) (?:just )?(?:{here})"
            ),
            (
                "(?:that|this)(?:'s| is) (?:just |only |strictly )?"
                "between (?:us|you and me|the two of us)"
            ),
            (
                "(?:that|this) (?:must not|mustn't|should not|shouldn't|may not|can't) leave "
                "this (?:machine|computer|device|house)"
            ),
            (
                "(?:don't|do not) (?:tell (?:anyone|anybody)(?: else)?(?: that| this| about that| "
                "about this)?|let (?:that|this|it) leave this (?:machine|computer|device))"
            ),
            (
                "(?:don't|do not|never) (?:send|share|upload) (?:that|this|it) "
                "(?:to|with|in) (?:the cloud|the internet|anyone|anybody|anyone else)"
            ),
        ),
    ),
    intents=read_intent_words(__package__),
    statement=f"(?:{_STARTS}) \\S|(?:\\S+ ){{1,5}}(?:{_BE})\\b",
    answers=(
        CommandRule(
            kind="yes",
            says="(?:yes|yeah|yep|yup|sure|ok|okay|do it|go ahead|yes do it|do that|"
            "(?:(?:yes|yeah|sure) )?(?:please )?(?:{forget}) (?:them|it|that|everything)"
            "(?: all)?|all of (?:them|it))",
        ),
        CommandRule(
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
    requests=("could you", "can you", "would you", "will you"),
    own="i|i'm|im|i've|my|mine|we|we're|our",
    everything=word_set(_WORDS["everything"]),
    leading=word_set(_WORDS["leading"]),
)
