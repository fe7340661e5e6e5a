"""English."""

from slowcat_memory.core.language.commands import Phrases, Rule

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
# What stands before a noun that "that" points at: "remember that time we went".
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

ENGLISH = Phrases(
    before=(
        "um", "uh", "uhm", "er", "erm", "ah", "oh", "hmm", "hey", "hi", "hello", "ok", "okay", "so",
        "well", "right", "alright", "yeah", "yes", "please", "actually", "sorry", "wait", "now",
        "and", "but", "just", "no wait", "oh no", "never mind", "listen", "look", "could you",
        "can you", "would you", "will you", "could we", "can we", "i want you to", "i need you to",
        "i'd like you to", "i would like you to", "you can", "you may", "from now on",
        "no", "nope", "let's", "i changed my mind", "excuse me", "then", "could we please", "once more",
    ),
    after=(
        "please", "thanks", "thank you", "okay", "ok", "alright", "would you", "will you",
        "could you", "can you", "if you can",
    ),
    after_plain=(
        "now", "right now", "for now", "just now", "for me", "for a moment", "for a bit",
        "for a minute", "for a while", "for a second", "for a sec", "from now on", "from here on",
        "completely", "altogether", "entirely", "straight away", "immediately", "again", "then", "so far", "at the moment",
    ),
    parts={
        "keep": "remember|keep in mind|bear in mind|make a note|note|note down|don't forget|"
        "do not forget|store|save|memorize|memorise",
        "for_all": "for (?:all of us|us all|us|both of us|everyone|everybody|"
        "the (?:whole )?(?:family|house|household))",
        "that": "that|dat|the fact that",
        "forget": _FORGET,
        "memory": _MEMORY,
        "wrong": "(?:that's|thats|that is|that was|this is|you got that|you've got that|"
        "you have got that|you are|you're) "
        "(?:all )?(?:wrong|not right|not true|not correct|not quite right|incorrect|false|mistaken)|"
        "(?:that|this) isn't (?:right|true|correct|quite right)|you misheard(?: me| that)?",
        "here": "(?:only )?on this (?:machine|computer|device|laptop|phone|box)(?: only)?|"
        "between (?:us|you and me|the two of us)|local|private|secret|confidential|to yourself",
    },
    rules=(
        Rule(
            kind="remember",
            says="(?:{keep}) (?P<shared>{for_all}) (?:(?:{that}) )?{x}",
            needs=f"(?:{_STARTS})\\b|(?:\\S+ ){{1,3}}(?:{_BE})\\b",
            asks=False,
        ),
        Rule(
            kind="remember",
            says="(?:{keep}) (?:{that}) {x}",
            needs=f"(?:{_STARTS}) \\S|you (?:should|must|can|can't|may|need|have to)\\b|"
            f"(?!(?:{_THING}|you)\\b)(?:\\S+ ){{1,3}}(?:{_BE})\\b",
            never="(?:we|you|i|they) (?:danced|laughed)\\b",
            asks=False,
        ),
        Rule(
            kind="remember",
            says="(?:remember|keep in mind|bear in mind|make a note|don't forget|do not forget) {x}",
            needs=f"(?:i'm|im|i've|i don't|i can't|i am|i have|he's|she's|we're|they're|it's|"
            f"there's|there is|there are)\\b|(?:i|we|he|she|they) (?!(?:{_TOLD})\\b)\\S+ \\S|"
            f"(?:my|our|his|her|their|the|a|an|this) (?:\\S+ ){{1,4}}(?:{_BE})\\b|"
            f"(?!(?:{_THING}|{_STARTS}|that|you|how|when|what|where|who|why|to|me|remember)\\b)"
            f"\\S+ (?:{_BE})\\b|\\S+'s (?:\\S+ ){{1,3}}(?:is|are|was|has)\\b",
            never=f"the (?:{_THING})\\b(?! (?:is|has|{_NOW})\\b)|(?:i|we|you|he|she|they) (?:{_TOLD})\\b",
            asks=False,
        ),
        Rule(
            kind="remember",
            says="{x} (?:(?:and|so) )?(?:please )?(?:(?:can|could|would|will) you )?(?:please )?"
            "(?:remember|don't forget|make a note of|note) (?:that|dat)"
            "(?: (?P<shared>{for_all}))?",
            needs=f"(?:{_STARTS}) \\S|(?:\\S+ ){{1,3}}(?:{_BE})\\b",
            never="(?:i|we|he|she|they) (?:just |still |also |always |never )?"
            "(?:can|can't|cannot|do|don't|didn't|will|won't|would|could|couldn't|should|must)$|"
            "(?:why|how|when|what|who|where|do|does|did|can|could|will|would|is|are)\\b",
            ends="(?:to|can't|cannot|don't|will|won't|'ll|always|never|you|should|must|i|i'll|we|"
            "they|he|she|not|could|couldn't|would|did|didn't|do|does|still|just|also|hardly|that|"
            "who|everyone|people|to please)",
            asks=False,
        ),
        Rule(
            kind="forget_that",
            says="(?:{forget}) (?:about |all )?(?:that|this)(?: last (?:bit|thing|part|one|sentence))?"
            "(?: from (?:{memory}))?",
        ),
        Rule(
            kind="forget_that",
            says="(?:scratch|remove|strike|wipe) (?:that|this) from (?:{memory})",
        ),
        Rule(
            kind="forget_that",
            says="(?:{forget}) (?:what|everything|all) (?:i|we|i've|we've|i have|we have) "
            "(?:just )?(?:said|told you|talked about|mentioned)(?: just now)?",
        ),
        Rule(
            kind="forget_that",
            says="(?:{forget}) (?:the|my|our|your) last "
            "(?:thing|bit|part|sentence|exchange|answer|two minutes|minute)"
            "(?: (?:that )?(?:i|we|you) (?:just )?(?:said|told you|mentioned))?",
        ),
        Rule(
            kind="forget_that",
            says="(?:don't|do not) (?:remember|keep|store|save) (?:that|this)",
        ),
        Rule(
            kind="forget_that",
            says="(?:{forget}) (?:that )?i (?:just |ever )?(?:said|mentioned|told you) "
            "(?:that|this|it|anything)",
        ),
        Rule(
            kind="forget_that",
            says="(?:{forget}) (?:my|the) last (?:message|words|turn|statement|remark)",
        ),
        Rule(
            kind="forget_about",
            says="(?:{forget}|remove|wipe) (?:what|whatever) (?:you|i|we)(?: have|'ve)? "
            "(?:know|remember|stored|learned|said|told you|mentioned) about {x}",
            never=f"(?:it|this|that|him|her|them)\\b|(?:\\S+ )+(?:{_BE})\\b",
            most=5,
        ),
        Rule(
            kind="forget_about",
            says="(?:{forget}|remove|wipe) (?:all|every|any)(?: your| my| the)? "
            "(?:memory|memories|information|data|notes?|facts?|thing) (?:of|about|on) {x}",
            never=f"(?:it|this|that|him|her|them)\\b|(?:\\S+ )+(?:{_BE})\\b",
            most=5,
        ),
        Rule(
            kind="forget_about",
            says="(?:{forget}|remove|wipe) (?:everything|all|anything|whatever)(?: that)?"
            "(?: (?:you|i|we|you've|i've|we've)(?: have)?(?: ever)? "
            "(?:know|remember|stored|learned|learnt|said|told you|mentioned|talked))? about {x}",
            never=f"(?:it|this|that|him|her|them|what|how|the fact)\\b|(?:\\S+ )+(?:{_BE})\\b",
            most=5,
        ),
        Rule(
            kind="correct",
            says="(?:(?:no|nope|nah) )*(?:{wrong}) {x}",
            needs="(?:it's|its|it is|it was|it isn't|it's not|it should|i meant|i said|i live|i|i'm|"
            f"im|i am|he's|she's|they're|we're) \\S|(?:my|our|his|her|their|the|we|he|she|they) "
            f"(?:\\S+ ){{0,4}}(?:{_BE})\\b|"
            f"(?!(?:on|and|but|isn't|is|for|to|because|if|when|of|with|in|at|so|or|you)\\b)"
            f"\\S+ (?:is|was|lives|works|likes|has)\\b",
            asks=False,
        ),
        Rule(
            kind="correct",
            says="(?:(?:no|nope|nah) )*(?:that's|thats|that is) a mistake {x}",
            needs="(?:it's|its|it is|it was|it should) \\S",
            asks=False,
        ),
        Rule(
            kind="correct",
            says="(?:no|nope|nah|actually) {x}",
            needs="(?:it's|its|it is|he's called|she's called|(?:his|her|my|the) name is|i said|"
            "i meant) "
            "(?:not (?:\\S+ ){1,3}(?:it's|its|it is) \\S+|(?:\\S+ ){1,4}not (?:\\S+ ?){1,4})",
            most=10,
            asks=False,
        ),
        Rule(
            kind="what_known",
            says="what(?: all)?(?: things)? (?:do|did|have) you "
            "(?:actually |really |already |all |have )*(?:know|remember|remembered|stored?|learned|learnt|saved|noted|kept)(?: down)? "
            "about me",
        ),
        Rule(
            kind="what_known",
            says="(?:tell me|list|show me|read me|say) (?:everything |all )?(?:that |what )?"
            "(?:you|you've|you have) (?:know|remember|stored|learned|saved) about me",
        ),
        Rule(
            kind="what_known",
            says="what(?:'s| is)? (?:in (?:{memory})|stored|saved|known|noted) about me",
        ),
        Rule(
            kind="what_known",
            says="what (?:information |data |facts |memories )?(?:do|have) you (?:have|got) "
            "(?:about|on|of) me",
        ),
        Rule(kind="what_known", says="(?:how much do|do) you know (?:anything )?about me"),
        Rule(
            kind="why",
            says="(?:why|why'd|how come)(?: did| do)? you (?:just )?(?:say|said|mention|mentioned) "
            "(?:that|this)",
        ),
        Rule(kind="why", says="what (?:made|makes) you (?:say|think|mention) (?:that|this)"),
        Rule(kind="why", says="why (?:are|were) you (?:saying|telling me) (?:that|this)"),
        Rule(kind="why", says="why (?:did|do) you (?:tell me (?:that|this)|bring (?:that|this) up)"),
        Rule(kind="why", says="how did you (?:come up with|get to|arrive at) (?:that|this)"),
        Rule(kind="why", says="who told you (?:that|this)"),
        Rule(kind="why", says="where (?:did|do) you (?:know|hear|read) (?:that|this)(?: from)?"),
        Rule(kind="why", says="(?:where|how) (?:did|do) you (?:get|have|take) (?:that|this) from"),
        Rule(kind="why", says="how (?:do|did|would|come) you know (?:that|this)"),
        Rule(
            kind="off_record",
            says="(?:let's )?(?:(?:this is|that is|that's|we are|we're|go|going|strictly|"
            "talk|speak|everything is) )?(?:off|of) the record",
        ),
        Rule(
            kind="off_record",
            says="(?:this is |strictly )?off the record {x}",
            needs="(?:i|i'm|i've|i'll|my|we|we're|our|can|could|what|how|do|let's|between) \\S",
        ),
        Rule(kind="off_record", says="(?:stop|pause) (?:recording|remembering|logging|taking notes|"
            "(?:{memory}))(?: this| that| everything| me| us)?"),
        Rule(kind="off_record", says="(?:don't|do not) (?:record|log)(?: this| that| anything)?"),
        Rule(
            kind="off_record",
            says="(?:don't|do not) (?:remember|keep|store|save) (?:any of (?:this|that)|anything)"
            "(?: i say)?",
        ),
        Rule(kind="off_record", says="(?:switch|turn) off (?:{memory})"),
        Rule(kind="off_record", says="(?:switch|turn) (?:{memory}) off"),
        Rule(
            kind="on_record",
            says="(?:let's )?(?:(?:we are|we're|we can|go|going|you're|you are) )*"
            "(?:back on the record|on the record again)",
        ),
        Rule(
            kind="on_record",
            says="(?:start|resume) (?:recording|remembering)(?: things| everything)? again",
        ),
        Rule(
            kind="on_record",
            says="(?:resume|continue|restart|unpause) (?:recording|remembering|(?:{memory}))",
        ),
        Rule(kind="on_record", says="(?:go )?back to (?:recording|remembering)"),
        Rule(kind="on_record", says="remember(?: things| everything)? again"),
        Rule(kind="on_record", says="(?:switch|turn) (?:{memory}) back on"),
        Rule(kind="on_record", says="(?:switch|turn) (?:back )?on (?:{memory})(?: again)?"),
        Rule(
            kind="who_sees",
            says="(?:who(?: else)?|can (?:anyone|anybody|somebody|someone)(?: else)?) "
            "(?:can |could |will |is able to )?(?:sees?|reads?|hears?|listen to) "
            "(?:this|that|what i (?:say|said|tell you|told you|say to you)|my memories|"
            "what you (?:know|remember))",
        ),
        Rule(
            kind="who_sees",
            says="who(?: else)? has access to (?:this|that|this information|my data|my memories|(?:{memory})|"
            "what i (?:say|tell you))",
        ),
        Rule(kind="undo", says="(?:undo|undue|un do|revert|reverse)(?: (?:that|this|it|what you just did|"
            "the last (?:thing|one|command|change|order)))?"),
        Rule(kind="undo", says="take that back"),
        Rule(kind="undo", says="(?:bring|get|put) (?:that|it) back|restore (?:that|it)"),
        Rule(kind="undo", says="(?:no )+(?:please )?(?:do )?keep (?:it|that|them)"),
        Rule(kind="undo", says="keep (?:it|that|them) after all"),
        Rule(kind="undo", says="(?:actually|wait|sorry) (?:please )?keep (?:it|that|them)"),
        Rule(kind="undo", says="(?:no )+(?:please )?don't (?:forget|delete) (?:it|that|them)"),
        Rule(
            kind="local",
            says="(?:keep|leave) (?:that|this|it) (?:just )?(?:{here})",
        ),
        Rule(
            kind="local",
            says="(?:that|this|it|that one) (?:stays|should stay|must stay|has to stay|"
            "needs to stay|should remain|remains) (?:just )?(?:{here})",
        ),
        Rule(
            kind="local",
            says="(?:that|this)(?:'s| is) (?:just |only |strictly )?"
            "between (?:us|you and me|the two of us)",
        ),
        Rule(
            kind="local",
            says="(?:that|this) (?:must not|mustn't|should not|shouldn't|may not|can't) leave "
            "this (?:machine|computer|device|house)",
        ),
        Rule(
            kind="local",
            says="(?:don't|do not) (?:tell (?:anyone|anybody)(?: else)?(?: that| this| about that| "
            "about this)?|let (?:that|this|it) leave this (?:machine|computer|device))",
        ),
        Rule(
            kind="local",
            says="(?:don't|do not|never) (?:send|share|upload) (?:that|this|it) "
            "(?:to|with|in) (?:the cloud|the internet|anyone|anybody|anyone else)",
        ),
    ),
    answers=(
        Rule(
            kind="yes",
            says="(?:yes|yeah|yep|yup|sure|ok|okay|do it|go ahead|yes do it|do that|"
            "(?:(?:yes|yeah|sure) )?(?:please )?(?:{forget}) (?:them|it|that|everything)"
            "(?: all)?|all of (?:them|it))",
        ),
        Rule(
            kind="no",
            says="(?:no|nope|nah|no thanks|cancel|never mind|stop|don't|do not|rather not|"
            "(?:no )*(?:please )?(?:don't (?:forget )?|keep )(?:them|it|that)?(?: all)?)",
        ),
    ),
    requests=("could you", "can you", "would you", "will you"),
    own="i|i'm|im|i've|my|mine|we|we're|our",
    everything=frozenset({"me", "us", "everything"}),
    months=(
        "January", "February", "March", "April", "May", "June", "July", "August", "September",
        "October", "November", "December",
    ),
    says={
        "remembered": "I'll remember: {text}.",
        "remembered_shared": "I'll remember that for all of you: {text}.",
        "remembered_alone": "I'll remember: {text}; only for you, because no memory is shared here.",
        "forgotten": "I've forgotten that; say “undo that” within {minutes} to have it back.",
        "forgotten_many": "I've forgotten {things}; say “undo that” within {minutes} "
        "to have it back.",
        "nothing_to_forget": "There is nothing in this conversation yet that I could forget.",
        "nothing_about": "I found nothing about {about}.",
        "ask_forget": "Shall I forget {things} about {about}? Say: yes, forget them.",
        "everything": "That would be all of it; please use the command slowcat-memory forget.",
        "kept": "I keep it all.",
        "corrected": "Thank you, I've corrected that: {text}.",
        "nothing_to_correct": "I don't know which memory that corrects, so I remember it as you "
        "said it: {text}.",
        "about": "About “{old}”: that is wrong, {text}.",
        "undone": "Done, that is undone.",
        "brought_back": "Done, I have it back.",
        "nothing_to_undo": "There is nothing that I could undo.",
        "too_late": "That is erased for good and cannot come back.",
        "know": "I know {things} about you: {items}.",
        "know_more": "I know {things} about you, first of all: {items}, and {more} more.",
        "know_nothing": "I don't know anything about you yet.",
        "why": "I had this in mind: {items}.",
        "why_nothing": "No memory was put before me for that, so it came from this conversation or "
        "from the model itself.",
        "why_item": "{when} {who} said “{text}”",
        "why_note": "{when} you asked me to remember “{text}”",
        "i": "I",
        "who": "What you say is kept in the memory called {scope}, on this machine only, and "
        "{llm}.",
        "who_local": "the language model that answers runs on this machine too",
        "who_remote": "the language model that answers is on another machine, which sees what is "
        "said and what I recall",
        "who_unknown": "the language model that answers sees what is said and what I recall",
        "off": "We are off the record: from now on I keep nothing.",
        "on": "We are back on the record.",
        "local": "That stays on this machine.",
        "local_nothing": "There is nothing yet that I could keep on this machine.",
        "failed": "I'm sorry, my memory could not do that.",
        "late": "My memory is still busy with that; ask me again in a moment.",
        "thing": "1 thing",
        "things": "{n} things",
        "minute": "a minute",
        "minutes": "{n} minutes",
        "today": "today",
        "yesterday": "yesterday",
        "on_day": "on {day} {month}",
    },
)  # fmt: skip
