"""English patterns of facts that people state about themselves."""

from slowcat_memory.core.language.data import read_words, word_set
from slowcat_memory.core.language.facts import (
    CAPITAL,
    NAME,
    NAMED,
    THING,
    FactWords,
    StatementRule,
    StatementWords,
    name_words,
)

_WORDS = read_words(__package__)

# End of an object. Conjunctions of both languages: bilingual speakers mix them.
_END = (
    r"(?=[.!,;]|\s+(?:and|but|so|because|now|since|und|aber|weil|jetzt|seit|these days|with|which|"
    r"where|who|when|for (?:a|two|three|ten|some|\d+)|right)\b|$)"
)
_KIN = (
    r"wife|husband|partner|girlfriend|boyfriend|son|daughter|brother|sister|mother|father|mum|mom|"
    r"dad|boss|friend|cousin|aunt|uncle|neighbou?r|roommate|grandmother|grandfather"
)
_PET = r"dog|cat|puppy|kitten|horse|parrot|hamster|rabbit|bird"
_NUMBER = (
    r"\d{1,3}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|"
    r"fifteen|sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty"
)
# Decisions and duties that still matter in a month.
_LIFE = (
    r"quit|stop|start|move|leave|marry|get (?:married|divorced)|buy|sell|adopt|study|retire|"
    r"go back|become|join|apply|accept|give up|learn|switch|change (?:jobs|careers)|travel|"
    r"take (?:a|the) (?:job|offer|year)|open|found|hire|renovate|run for|sign up|enrol|"
    r"have (?:a baby|children|surgery)"
)
_CHORE = (
    r"call|phone|book|pay|renew|buy|send|fix|repair|submit|pick up|return|schedule|visit|write to|"
    r"order|register|apply|sign|cancel|e-?mail|see (?:a|the) (?:doctor|dentist|vet)"
)
_RULES = (
    StatementRule("person", "name", "{s}'s name is {o}.", rf"\bmy name(?:'s| is) {NAMED}"),
    StatementRule("person", "name", "{s} is called {o}.", rf"^(?:please )?call me {NAMED}{_END}"),
    StatementRule("person", "lives_in", "{s} lives in {o}.",
        rf"\bI(?:'m| am)? (?:now |currently )?(?:live|living) in (?P<o>(?:the )?{NAME})"),
    StatementRule("person", "lives_in", "{s} moved to {o}.",
        rf"\b(?:I|we)(?:'ve| have)? (?:just |recently |finally )?moved (?:here )?to (?P<o>(?:the "
        rf")?{NAME})"),
    StatementRule("person", "address", "{s}'s address is {o}.",
        r"\bmy (?:new )?address is (?P<o>\d+[^,;!?]{3,60}?)(?=[.,;!]|$)"),
    StatementRule("person", "address", "{s} lives at {o}.",
        rf"\b(?:I|we)(?:'ve| have)? (?:now |just )?(?:live|living|moved) (?:at|to) (?P<o>\d+ "
        rf"{NAME})"),
    StatementRule("person", "born_in", "{s} comes from {o}.",
        rf"\bI(?:'m| am| come) (?:originally )?from (?P<o>{NAME})"),
    StatementRule("person", "works_at", "{s} works at {o}.",
        rf"\bI(?:'m| am)? (?:now |currently )?work(?:ing)? (?:at|for) (?P<o>{NAME})"),
    StatementRule("person", "works_at", "{s} started at {o}.",
        rf"\bI(?:'ve| have)? (?:just )?(?:started|begun) (?:working )?(?:at|for) (?P<o>{NAME})"),
    StatementRule("person", "works_at", "{s} no longer works at {o}.",
        rf"\bI (?:no longer|don't|do not) work (?:at|for) (?P<o>{NAME})(?: any ?more)?",
        over=True),
    StatementRule("person", "works_at", "{s} left {o}.",
        rf"\bI(?:'ve| have)? (?:just )?(?:quit my job at|left my job at|was laid off from) "
        rf"(?P<o>{NAME})",
        over=True),
    StatementRule("person", "works_as", "{s} works as {o}.",
        rf"\bI(?:'m| am)? work(?:ing)?(?: (?:at|for) {NAME})? as (?P<o>an? [a-z][a-z "
        rf"-]{{2,40}}?){_END}"),
    StatementRule("person", "works_as", "{s} is {o}.",
        r"\bI(?:'m| am) (?P<o>an? (?:[a-z]+ ){0,2}(?:nurse|teacher|doctor|engineer|programmer|"
        r"developer|designer|student|lawyer|chef|cook|baker|pilot|driver|carpenter|electrician|"
        r"plumber|journalist|writer|musician|painter|architect|accountant|scientist|researcher|"
        r"farmer|gardener|librarian|photographer|translator|therapist|dentist|vet|manager|"
        r"consultant|analyst))\b"),
    StatementRule("person", "studies", "{s} studies {o}.",
        r"\bI(?:'m| am)? stud(?:y|ying) (?P<o>[A-Za-z][A-Za-z ]{2,40}?)(?: at\b| in\b|(?=[.,!]|"
        r"$))"),
    StatementRule("person", "age", "{s} is {o} years old.",
        rf"\bI(?:'m| am) (?P<o>{_NUMBER}(?:[ -](?:one|two|three|four|five|six|seven|eight|"
        rf"nine))?)(?: years old| years of age|(?<=\d\d)(?=[.!](?:\s|$)|$))"),
    StatementRule("person", "age", "{s} turned {o}.",
        rf"(?<!when )\bI (?:just )?turned (?P<o>{_NUMBER})\b"),
    StatementRule("person", "birthday", "{s}'s birthday is {o}.",
        r"\bmy birthday is (?:on )?(?P<o>(?:the )?(?:\d{1,2}(?:st|nd|rd|th)? (?:of )?[A-Z][a-z]+|"
        r"[A-Z][a-z]+ \d{1,2}(?:st|nd|rd|th)?))"),
    StatementRule("person", "email", "{s}'s e-mail address is {o}.",
        r"\bmy e-?mail(?: address)? is (?P<o>\S+@\S+\.\w+)"),
    StatementRule("person", "has_{kin}", "{s}'s {kin} is called {o}.",
        rf"\bmy (?P<kin>{_KIN})(?:'s name is| is called| is named) {NAMED}"),
    StatementRule("person", "has_{kin}", "{s}'s {kin} is called {o}.",
        rf"\bmy (?P<kin>{_KIN}),? (?P<o>{CAPITAL})\b(?!['’])"),
    StatementRule("person", "has_pet", "{s} has a {kin} called {o}.",
        rf"\bmy (?P<kin>{_PET})(?:'s name is| is called| is named) {NAMED}"),
    StatementRule("person", "has_pet", "{s} has a {kin} called {o}.",
        rf"\b(?:I|we)(?:'ve)? (?:have|got|adopted|have got)(?: just)? an? (?:new |little |old "
        rf")?(?P<kin>{_PET}) (?:called|named) {NAMED}"),
    StatementRule("person", "has_pet", "{s} has a {kin} called {o}.",
        rf"\bmy (?P<kin>{_PET}),? (?P<o>{CAPITAL})\b(?!['’])"),
    StatementRule("person", "age", "{s} is {o} years old.",
        rf"\bmy (?:{_PET}|{_KIN}),? (?P<s>{CAPITAL}),? (?:is|turned|just turned) "
        rf"(?P<o>{_NUMBER})\b(?! (?:minutes|hours|days|weeks|months|times|kilos|o'clock))",
        subject="s"),
    StatementRule("person", "age", "{s} is {o} years old.",
        rf"^(?:and |well,? |now )?(?P<s>{CAPITAL}) (?:is|turned|just turned) (?P<o>{_NUMBER}) "
        rf"(?:years old|years of age|now|today|yesterday)\b",
        subject="s"),
    StatementRule("person", "allergic_to", "{s} is allergic to {o}.",
        rf"\bI(?:'m| am) allergic to {THING}{_END}"),
    StatementRule("person", "diet", "{s} is {o}.",
        r"\bI(?:'m| am) (?:a )?(?P<o>vegan|vegetarian|lactose intolerant|gluten[- ]free|coeliac|"
        r"celiac|diabetic)\b"),
    StatementRule("preference", "favourite {kin}", "{s}'s favourite {kin} is {o}.",
        rf"\bmy (?:all-time )?favou?rite (?P<kin>[a-z]+(?: [a-z]+)?) is {THING}{_END}"),
    StatementRule("preference", "likes", "{s} likes {o}.",
        rf"\bI (?:really |just |absolutely )?(?:love|like|enjoy|adore) (?!(?:the|those|these|all|"
        rf"being|not|making|makes|and|some|a|my|our)\b|['#‘]|it\b|that\b|this\b|you\b|to (?:know|"
        rf"think|see|say|believe|imagine)\b|how\b|what\b|when\b){THING}{_END}"),
    StatementRule("preference", "dislikes", "{s} dislikes {o}.",
        rf"\bI (?:really |just |absolutely )?(?:hate|dislike|can't stand|don't like|do not like) "
        rf"(?!being\b|having\b|not\b|how\b|what\b|when\b|to\b){THING}{_END}"),
    StatementRule("preference", "prefers", "{s} prefers {o}.",
        rf"\bI(?:'d)? (?:usually |always )?prefer (?!not\b|to\b|if\b|it\b|that\b){THING}{_END}"),
    StatementRule("event", "appointment", "{s} has {o}.",
        r"\bI(?:'ve| have)(?: got)? (?P<o>(?:an?|my) (?:[a-z]+ ){0,2}(?:appointment|interview|"
        r"exam|meeting|flight|date|check-up|checkup|surgery|operation|wedding|party|concert|"
        r"deadline)\b[^.!?;]{3,60})(?=[.!;]|$)"),
    StatementRule("decision", "decided", "{s} decided {o}.",
        rf"\b(?:I|we)(?:'ve| have)? (?:just |finally )?(?:decided|made up my mind) (?P<o>to "
        rf"(?:{_LIFE})\b[^.,;!?]{{0,60}}?){_END}"),
    StatementRule("task_completed", "finished", "{s} finished {o}.",
        rf"\b(?:I|we)(?:'ve| have)? (?:just |finally |already )?(?:finished|completed|handed in|"
        rf"submitted|passed) (?!up\b|off\b|last\b|early\b|late\b|few\b|work\b|"
        rf"\w+ing\b){THING}{_END}"),
    StatementRule("open_thread", "has_to", "{s} still has to {o}.",
        rf"\bI still (?:need|have) to (?P<o>(?:{_CHORE})\b[^.,;!?]{{2,60}}?){_END}"),
    StatementRule("open_thread", "wants_reminder", "{s} wants to be reminded to {o}.",
        rf"(?:^|\bplease |\bcan you |^so )remind me to {THING}{_END}"),
)  # fmt: skip

STATEMENTS = StatementWords(
    rules=_RULES,
    unsure=(
        "if|would|wouldn't|could|might|maybe|perhaps|imagine|pretend|wish|suppose|used to|"
        "never|not anymore|said|says|told me|asked|dream(?:ed|t)?|joking|kidding|hypothetically"
    ),
    not_in_object=(
        "I|me|my|mine|myself|we|us|our|you|your|it|them|they|their|him|his|her|this|that|these|"
        "those"
    ),
    cut_short="to|for|of|with|about|in|on|at|from|by|as|the|an?|some|more|being|too|so|very",
    trailing=("though", "too", "anyway", "by the way", "a lot", "very much"),
)

FACTS = FactWords(
    reported=(
        "asked|asks|wonders (?:if|whether|what|how|why|who)|wants to know|inquired|requested|"
        "greeted|thanked|said (?:hello|goodbye)|the (?:assistant|agent|bot|ai)|"
        "this (?:conversation|chat|call)|can (?:you|the assistant)|"
        "is (?:talking|speaking|chatting|asking)"
    ),
    passing=(
        r"right now|at the moment|currently (?:sitting|eating|driving|walking|waiting|cooking)|"
        r"just (?:woke|got up|ate|had)|is (?:tired|hungry|sleepy|bored|busy|late|here|back|ready|"
        r"fine|ok)\b|feels? (?:tired|hungry|sleepy|bored|better)|today|tonight|this (?:morning|"
        r"afternoon|evening)"
    ),
    denied=(
        r"\b(?:not|no|never|none|no longer|without|cannot|stopped|quit|dislikes|hates)\b|n't\b"
    ),
    negated=r"\b(?:not|never|no longer)\b|n['’]t\b",
    supposed=(
        "if|would|could|might|maybe|perhaps|imagine|pretend|wish|suppose|dream(?:ed|t)? of|"
        "joking|kidding"
    ),
    first_person=r"\b(?:I|we|us|me)\b|\bI['’]",
    possessives="my|our",
    relatives=(
        r"wife|husband|partner|girlfriend|boyfriend|son|daughter|kid|child|children|brother|sister|"
        r"mother|father|mum|mom|dad|parents|boss|friend|colleague|cousin|aunt|uncle|neighbou?r|"
        r"roommate|grand\w+|dog|cat"
    ),
    corrects=r"no,|sorry,|actually,? (?:no|it|that|my)|i meant?\b|correction",
    before_date="since|in|on|at|from|back|ago|the|a|about",
    pleasantries=word_set(_WORDS["facts"]["pleasantries"]),
    regimes=word_set(_WORDS["facts"]["regimes"]),
    single=word_set(_WORDS["facts"]["single"]),
    moved=word_set(_WORDS["facts"]["moved"]),
    consuming=word_set(_WORDS["facts"]["consuming"]),
)

NAMES = name_words(_WORDS["names"], _WORDS["abbreviations"])
