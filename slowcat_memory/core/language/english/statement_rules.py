"""English rules of facts that people state: what stands behind the subject of a clause.

A rule matches the words behind the subject ("live in Oslo"), or "'s" and a noun that somebody has
("'s birthday is ..."); contractions are written out and light adverbs removed before.
"""

from slowcat_memory.core.language.data import any_of, read_classes
from slowcat_memory.core.language.facts import AHEAD, LOVE, TASTE, THINGS, WORK
from slowcat_memory.core.language.facts import StatementRule as Rule

_C = read_classes(__package__)
KIN = any_of(_C["partner"], _C["family"], _C["friends"])
PET = any_of(_C["pets"])
CONTACT = any_of(_C["contacts"], ("boss", "manager", "neighbour", "neighbor"))
JOB = any_of(_C["jobs"], _C["contacts"])
ILLNESS = any_of(_C["illnesses"], ("allergies",))
CONDITION = any_of(_C["conditions"])
DIET = any_of(_C["diets"])
_EVALUATIVE = any_of(_C["evaluative"])
_ONES = "one|two|three|four|five|six|seven|eight|nine"
_TENS = "twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
NUMBER = (
    rf"(?:\d{{1,3}}|(?:{_TENS})(?:[ -](?:{_ONES}))?|{_ONES}|ten|eleven|twelve|thirteen|fourteen|"
    r"fifteen|sixteen|seventeen|eighteen|nineteen|a hundred(?: and (?:one|two|three|four|five))?)"
)
_BE, _HAVE = r"(?:am|is|are)", r"(?:have|has)(?: got)?"
_PAST = r"(?:(?:have|has) )?"
_NOTICE = r"(?:handed in|given|gave)(?: in)? (?:my|his|her) notice"
_LOVES = (
    r"(?:love|like|enjoy|adore|fancy|am mad about|am into|am keen on|am crazy about|am nuts about|"
    r"am obsessed with|am fond of|am (?:a )?(?:big |huge |massive )?fan of|am partial to|"
    r"(?:have|has) always loved|can't get enough of|could eat|(?:have|has) an? (?:\w+ )?(?:soft spot|weakness|thing) for|"
    r"swear by)"
)
LOVES = _LOVES.replace("am ", rf"{_BE} ").replace(
    "love|like|enjoy|adore|fancy", "loves?|likes?|enjoys?|adores?"
)
HATES = (
    rf"(?:hates?|dislikes?|loathes?|detests?|despises?|can't stand|can't bear|can't abide|"
    rf"(?:do|does) not (?:really )?(?:like|enjoy|care for|fancy)|(?:do|does)n't (?:really )?(?:like|enjoy|"
    rf"care for)|{_BE} not (?:(?:a )?(?:big |huge )?fan of|keen on|fond of|into)|{_BE} scared of|"
    rf"{_BE} afraid of|{_BE} terrified of)"
)
_NOT_LIKED = (
    r"(?!(?:(?:the|a) (?:idea|way|fact|look|thought|feeling)|those|these|all|being|not|making|makes|brings?|and|some|is|are|"
    r"how|what|when|where|if|that|this|it|you|him|her|them|my|our|your|his|their|to (?:know|think|see|say|believe|imagine|be|go)|"
    r"having|getting|thinking|feeling|hearing|seeing|in|on|for|with|at|of|by|from|about|so|everyone|everything|everywhere|"
    r"the (?!(?:smell|taste|sound|sight|sea|seaside|ocean|mountains|beach|theatre|opera|cinema|rain|snow|cold|heat|countryside|city|outdoors|dentist|gym|blues|dark|violin|piano|guitar)\b))\b|['#‘])"
)
_OFTEN = (
    r"(?:every (?:single |other )?(?:day|night|morning|evening|afternoon|week|weekend|month|year|summer|"
    r"winter|spring|autumn|monday|tuesday|wednesday|thursday|friday|saturday|sunday)\b|each (?:day|night|morning|evening|"
    r"week|weekend|month|year)|on (?:most )?(?:mon|tues|wednes|thurs|fri|satur|sun)days\b|"
    r"(?:on|at) weekends|(?:once|twice|three times|four times|five times) an? (?:day|week|month|year)|"
    r"most (?:days|mornings|evenings|weekends|nights)|daily|in the (?:mornings|evenings)|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day (?:mornings|evenings|nights|afternoons))"
)
_LIFE, _HABIT, _CHORE = any_of(_C["life"]), any_of(_C["habits"]), any_of(_C["chores"])
_GOING = (
    r"(?:(?:am|is|are) (?:all set |about |hoping |planning |aiming |intending |determined )?(?:going )?to|"
    r"(?:am|is|are) gonna|plan to|plans to|intend to|intends to|have (?:signed up|enrolled) to|"
    r"have made up my mind to)"
)
_THING = any_of(_C["possessions"])
_APPOINTMENT = any_of(_C["appointments"])
_SHOP = any_of(_C["shops"])
_NEAR = (
    r"(?:in|near|at|just outside(?: of)?|outside(?: of)?|on the outskirts of|close to|not far from|"
    r"over in|up in|down in|out in|by)"
)
_ALONE = r"(?:(?:all )?(?:alone|on (?:my|his|her|our|their) own|by (?:myself|himself|herself)))"
_FLAT = (
    r"(?:an? |the |our |my )(?:\w+ ){0,3}(?:flat|house|apartment|cottage|bungalow|place|village|town|room|studio|"
    r"farm|suburb|bit|part|street|city|island|loft|maisonette)(?: \w+){0,3}? "
)
_ADJ = (
    r"(?:(?!a\b|an\b|the\b|not\b|in\b|at\b|of\b|to\b|for\b|on\b|from\b|with\b|and\b)[\w'-]+ ){0,3}"
)
_OF = r"(?:at|for|over at|up at|down at|in(?= (?:an?|the)\b))"

RULES = (
    Rule("person", "has_{kin}", "", r"'s (?P<kin>youngest|eldest|oldest|middle one|little one) is (?:called |named )?(?P<o>.+)", "people"),
    Rule("event", "event", "{s} had {n}{o}.", r"(?:(?:have|has) )?had (?P<n>an? (?:car |bike |riding |road |skiing |bad |nasty |serious |terrible |mild |minor )?(?:accident|stroke|heart attack|miscarriage|fall|seizure))\b(?P<o>.*)", "due"),
    Rule("success", "achieved", "{s} won {o}.", r"(?:(?:have|has) )?(?:won|come first in|came first in|came top in|took first place in|got first place in) (?P<o>(?:an?|the|my|our|first|second|third|gold|silver|bronze)\b.+)", "text"),
    Rule("person", "allergic_to", "{s} is allergic to {o}.", r"(?P<o>[\w' -]{3,30}?) (?:makes?|sets?) (?:me|us) (?:sneeze|itch|wheeze|swell up|swell|ill|sick|throw up|off sneezing|come out in .+)$", "value", whose="me"),
    Rule("preference", "likes", "{s} likes {o}.", r"(?:am|is|are) (?:an? (?:real |total |absolute )?sucker for|big on|hooked on|addicted to|devoted to|passionate about|partial to|mad keen on|crackers about) (?P<o>.+)", "things"),
    Rule("preference", "dislikes", "{s} dislikes {o}.", r"(?P<o>[\w' -]{3,30}?) (?:is|are) (?:really )?not (?:my cup of tea|my thing|for me)$", "thing", whose="me", denies=True),
    Rule("person", "works_at", "{s} works at {o}.", r"teach(?:es)? (?:[a-z]+ )?(?:at|in) (?P<o>(?:an?|the) .+|(?-i:[A-Z]).+)", "organisation"),
    Rule("person", "works_as", "{s} drives {o}.", r"drives? (?P<o>(?:an? |the )?(?:taxi|cab|bus|lorry|truck|hgv|tram|train|ambulance|forklift|minibus|school bus|night bus|coach))\b", "value"),
    Rule("person", "works_as", "{s} teaches {o}.", r"(?:teach|teaches|am teaching|is teaching) (?P<o>(?:(?:primary|secondary) school|[a-z]+)(?: [a-z]+)?)(?= (?:at|in|to|part)\b|$)", "value"),
    Rule("person", "has_{kin}", "", r"(?:is|are) (?:called|named) (?P<o>.+)", "people", whose="unnamed", reverse=True),
    Rule("person", "has_{kin}", "", r"'s name is (?P<o>.+)", "people", whose="unnamed", reverse=True),
    Rule("preference", "likes", "{s} likes {o}.", r"(?P<o>[\w' -]+?) (?:is|are) my (?:absolute |all-time |very )?favou?rites?$", "thing", whose="me"),
    Rule("preference", "likes", "{s} likes {o}.", rf"{_BE} an? (?:big |huge |lifelong |massive |total |real )?(?P<o>(?!(?:big|huge|real|total|great|lifelong|massive)\b)[\w'-]+(?: (?!fan)[\w'-]+)?) (?:fan|supporter|fanatic|lover|nut|buff|enthusiast|addict)\b(?! of)", "value"),
    Rule("plan", "plans", "{s} is going to {o}.", rf"{_BE} off to (?P<o>.+)", "dated"),
    Rule("plan", "plans", "{s} wants to {o}.", r"(?:would like to|wants? to|hopes? to|am hoping to|is hoping to|are hoping to) (?P<o>(?:see|visit|go|travel|spend|pay off|move|do)\b.+)", "dated"),
    Rule("goal", "goal", "{s} wants to {o}.", r"(?:really )?(?:wants?|hopes?|am hoping|is hoping|are hoping) to (?P<o>(?:be fluent|be able|speak|master|pay off|be debt|become|give up|stop|quit|win|learn|lose|save)\b.+)", "text"),
    Rule("event", "event", "{s} has tickets {o}.", rf"(?:{_HAVE}|got|{_PAST}bought) (?:\w+ )?tickets (?P<o>(?:for|to) .+)", "text"),
    Rule("event", "event", "{n} is {o}.", rf"(?:it|there) is (?:the )?(?!my\b|our\b)(?P<n>(?:[\w'-]+ ){{0,3}}(?:{_APPOINTMENT}|birthday|anniversary|parents' evening|evening)) (?P<o>(?:on|in|at|next|this|tomorrow)\b.+)", "dated", whose="me"),
    Rule("decision", "decided", "{s} decided {o}.", rf"{_PAST}(?:decided|made up (?:my|our) minds?) (?P<o>(?:to|not to|against) (?:take|accept|turn down|keep|have|let|go|get|call|cancel|stay|put|send|give|try|do)\b.+)", "text", denies=True),
    Rule("success", "achieved", "{s} got {o}.", rf"{_PAST}(?:got|gotten|received|been awarded|was awarded|been given|earned|achieved) (?P<o>(?:my|the|an?|his|her|our) (?:[\w-]+ ){{0,2}}(?:degree|diploma|licen[cs]e|certificate|phd|masters|master's|a-levels|promotion|scholarship|grant|award|medal|prize|citizenship|visa|distinction|first|pay rise|raise)\b.*)", "text"),
    Rule("person", "has_{kin}", "", rf"{_HAVE} an? (?:\w+ )?(?P<kin>{KIN}), (?P<o>.+)", "people"),
    # Name, age, birthday, origin
    Rule("person", "name", "{s}'s name is {o}.", r"'s (?:full |real |first )?name is (?P<o>.+)", "person", whose="speaker"),
    Rule("person", "name", "{s} is called {o}.", r"am (?:called|named) (?P<o>.+)", "person"),
    Rule("person", "name", "{s} is called {o}.", r"(?:please )?call me (?P<o>.+)", "person", whose="request"),
    Rule("person", "age", "{s} is {o} years old.",
        rf"{_BE} (?P<o>{NUMBER})(?: years old| years of age| years young|(?=$|,| and (?!{NUMBER})| so | now\b| already\b| today\b))"
        rf"(?! (?:minutes|hours|o'clock|times|kilos|miles|percent|now today))", "value"),
    Rule("person", "age", "{s} is {o} years old.",
        rf"(?:have |has )?turned (?P<o>{NUMBER})\b(?! (?:of|people|times|miles))", "value"),
    Rule("person", "birthday", "{s}'s birthday is on {o}.",
        r"'s birthday is (?:on )?(?P<o>.+)", "date"),
    Rule("person", "birthday", "{s}'s birthday is on {o}.", rf"(?:turns?|{_BE} turning|will (?:be|turn)) {NUMBER} on (?P<o>.+)", "date"),
    Rule("person", "birthday", "{s} was born on {o}.", r"was born on (?P<o>.+)", "date"),
    Rule("person", "born_in", "{s} was born in {o}.", r"(?:was |am |is )?born (?:and (?:raised|bred|brought up) )?in (?P<o>.+)", "place"),
    Rule("person", "born_in", "{s} comes from {o}.",
        rf"(?:{_BE}|comes?) (?:originally )?from (?P<o>.+)", "place"),
    Rule("person", "born_in", "{s} grew up in {o}.", r"(?:grew up|was raised|was brought up) in (?P<o>.+)", "place"),
    # Home
    Rule("person", "lives_in", "{s} lives in {o}.",
        rf"(?:lives?|{_BE} (?:living|based|settled)|(?:have|has) (?:been living|lived)|{_BE} living) (?:{_ALONE} )?(?:{_NEAR} )?{_NEAR} (?:{_FLAT}{_NEAR} )?(?P<o>.+)", "place"),
    Rule("person", "lives_in", "{s} lives in {o}.",
        rf"'s (?:home|place|flat|house|apartment) is (?:(?:{_FLAT})?{_NEAR} )?(?P<o>.+)", "place", whose="speaker"),
    Rule("person", "lives_in", "{s} moved to {o}.",
        rf"{_PAST}(?:moved|relocated|emigrated)(?: house| here| back| away| over| up| down| from [\w ]+?)* (?<!moved over )to (?:{_FLAT}{_NEAR} )?(?P<o>.+)", "place"),
    Rule("person", "lives_in", "{s} lives in {o}.", rf"home is (?:(?:{_FLAT})?{_NEAR} )?(?P<o>.+)", "place", whose="me"),
    Rule("person", "lives_with", "{s} lives with {o}.", r"lives? with (?P<o>.+?)(?: (?:in|near|at|on|until) .*)?$", "thing"),
    Rule("person", "address", "{s} lives at {o}.", r"(?:lives?|am living|are living|(?:have )?moved) (?:at|to|on) (?P<o>\d+ .+)", "thing"),
    Rule("person", "address", "{s}'s address is {o}.", r"'s (?:new )?address is (?P<o>\d+[^,;!?]{3,60})", "text"),
    # Work
    Rule("habit", "habit", "{s} has taken up {o}.", rf"{_PAST}(?:taken|took) up (?P<o>(?!residence\b|arms\b|a lot\b|so much\b|the (?:offer|challenge|whole)\b|space\b|half\b|all\b).+)", "thing"),
    Rule("possession", "owns", "{s} drives {o}.", r"drives? (?P<o>an? (?!lot|bus|van|lorry|truck|taxi|cab|train|tram|bit|few|hard|long|minicab|coach|forklift|tractor|car|ambulance).+)", "thing"),
    Rule("person", "works_as", "{s} works as {o}.",
        rf"(?:works?|{_BE} working|(?:have|has) been working)(?: \w+){{0,3}}? as (?P<o>(?:an?|the) .+)", "thing"),
    Rule("person", "works_as", "{s} is {o}.",
        rf"{_BE} (?P<o>(?:an?|the) (?!{_EVALUATIVE} ){_ADJ}{JOB})(?:s|es)?(?='s|\b)(?! (?:to|'s|(?:wife|husband|son|daughter|appointment)))"
        r"(?!'s (?:wife|husband|son|daughter|partner|kid|child|friend|house|room))", "value"),
    Rule("person", "works_as", "{s} {o} for a living.", r"(?P<o>[a-z]+s? (?:an?|the|old|new)? ?[\w' -]+?) for a living", "deed", inflect=True),
    Rule("person", "works_as", "{s} {o}.", rf"(?P<o>(?:run|own|manage|have|has|runs|owns|manages) (?:an?|the|our|my) {_ADJ}{_SHOP}(?: in [A-Z]\w+)?)\b", "deed", inflect=True),
    Rule("person", "works_as", "{s} is training to be {o}.", rf"{_BE} (?:training|studying|learning) to (?:be|become) (?P<o>an? .+)", "thing"),
    Rule("person", "works_as", "{s} is {o}.", rf"(?:{_BE} |(?:have |has )?(?=retired))(?P<o>self-employed|freelance|unemployed|out of work|between jobs|retired)\b(?! from)", "value"),
    Rule("person", "works_at", "{s} works at {o}.",
        rf"(?:works?|{_BE} working|(?:have|has) (?:been working|worked)) (?:part[- ]time |full[- ]time |nights |days |shifts )?{_OF} (?P<o>.+)", "organisation"),
    Rule("person", "works_at", "{s} works at {o}.", rf"{_BE} an? {_ADJ}{JOB} (?:{_OF} ){{1,2}}(?P<o>.+)", "organisation"),
    Rule("person", "works_at", "{s} starts at {o}.", rf"(?:{_BE} starting|starts?)(?: a (?:new )?job| work)? (?:at|for|with) (?P<o>.+)", "organisation"),
    Rule("person", "works_at", "{s} started at {o}.",
        rf"{_PAST}(?:started|begun|joined)(?: a (?:new )?job| work| working| my new job| in a new job)? (?:at|for|with) (?P<o>.+)", "organisation"),
    Rule("person", "works_at", "{s} has a job at {o}.",
        rf"(?:{_PAST}(?:got|landed|gotten|accepted|been offered|taken)|got|{_HAVE}) (?:the|a|that|my) (?:new |first |dream )?(?:job|position|post|role|place)(?: as an? [\w ]+?)? (?:at|with) (?P<o>.+)", "organisation"),
    Rule("person", "studies", "{s} studies {o}.", rf"(?:stud(?:y|ies)|{_BE} studying|{_BE} doing a degree in|{_BE} reading) (?P<o>(?!to\b|for\b|hard\b|at\b|the\b|a\b)[\w' -]+?)(?= at\b| in\b|$|,| and\b)", "thing"),
    Rule("person", "studies_at", "{s} studies at {o}.", rf"(?:stud(?:y|ies)|{_BE} studying)(?: [\w' -]+?)? at (?P<o>.+)", "place"),
    # People and animals
    Rule("person", "has_{kin}", "{s}'s {kin} is called {o}.", rf"'s (?:{_ADJ})??(?P<kin>{KIN})s? (?:is|are) (?:called |named )?(?P<o>(?:Dr|Mr|Mrs|Ms|Miss)?\.? ?[\w'-]+)(?=$|,| and\b| or\b)", "people"),
    Rule("person", "has_{kin}", "{s}'s {kin} is called {o}.", rf"'s (?:[\w-]+ )?(?P<kin>{CONTACT}) is (?:called |named )?(?P<o>.+)", "person"),
    Rule("person", "has_{kin}", "{s}'s {kin} is called {o}.", rf"(?:is|has been) (?:my|our) (?:[\w-]+ )??(?P<kin>{KIN}|{CONTACT})\b(?!'s)(?P<o>)", reverse=True),
    Rule("person", "has_{kin}", "{s}'s {kin} is called {o}.", rf"{_HAVE} (?P<n>two|three|four|five|six) (?:\w+ )?(?P<kin>kid|child|son|daughter|girl|boy|brother|sister|grandchild)(?:s|ren)?,? (?:called |named )?(?P<o>.+)", "people"),
    Rule("person", "has_{kin}", "{s}'s {kin} is called {o}.", rf"{_HAVE} an? (?:\w+ )?(?P<kin>{KIN}|{CONTACT}) (?:called|named|whose name is) (?P<o>.+)", "people"),
    Rule("person", "has_child", "{s} has {o}.", rf"{_HAVE} (?P<o>(?:two|three|four|five|six|one|\d|a) (?:\w+ )?(?:kids|children|sons|daughters|boys|girls|son|daughter))\b(?! (?:called|named))", "value"),
    Rule("person", "has_sibling", "{s} has {o}.", rf"{_HAVE} (?P<o>(?:two|three|four|five|six|one|\d|an?) (?:\w+ )?(?:brother|sister)s?(?: and (?:two|three|four|five|one|an?) (?:\w+ )?(?:brother|sister)s?)?)\b(?! (?:called|named|who|in)\b|-|'s)", "value"),
    Rule("person", "married_to", "{s} is married to {o}.", rf"(?:{_BE} married to|{_PAST}married|got married to|have been married to) (?P<o>.+)", "person"),
    Rule("person", "engaged_to", "{s} is engaged to {o}.", rf"(?:{_BE} engaged to|got engaged to) (?P<o>.+)", "person"),
    Rule("person", "has_partner", "{s} is together with {o}.", rf"{_BE} (?:dating|seeing|going out with|together with|in a relationship with) (?P<o>.+)", "person"),
    Rule("person", "relationship_status", "{s} is {o}.", rf"{_BE} (?P<o>single|divorced|widowed|a widow|a widower|separated|engaged|married)\b(?! (?:to|from|with|by|in))", "value"),
    Rule("person", "has_pet", "{s} has a {kin} called {o}.",
        rf"(?:{_HAVE}|{_PAST}(?:got|adopted|bought|rescued)|{_PAST}gotten) (?:(?:myself|ourselves) )?(?:an?|two|three|the|our) {_ADJ}(?P<kin>{PET})s?(?:,| called| named| and (?:he|she) is called) (?P<o>.+)", "people"),
    Rule("person", "has_pet", "{s} has a {kin} called {o}.", rf"'s {_ADJ}(?P<kin>{PET})(?:'s name)?,? (?:is (?:called |named |a )?)(?P<o>.+)", "people"),
    Rule("possession", "owns", "{s} has {o}.", rf"(?:{_HAVE}|keeps?) (?P<o>(?:an?|two|three|four|five|six|some) {_ADJ}{PET}s?)\b(?!,? (?:called|named|nap|food|flu|person|lover))", "value"),
    # Health and food
    Rule("person", "allergic_to", "{s} is allergic to {o}.", rf"{_BE} (?:\w+ )?(?:allergic|hypersensitive) to (?P<o>.+)", "things"),
    Rule("person", "allergic_to", "{s} is allergic to {o}.", rf"{_HAVE} an? (?:\w+ )?(?P<o>[\w'-]+(?: [\w'-]+)?) (?:allergy|intolerance)\b", "value"),
    Rule("health", "avoids", "{s} cannot have {o}.", r"(?:can't|cannot|can not|must not|mustn't|(?:am|is|are) not allowed to) (?:eat|have|tolerate|touch|drink|digest) (?P<o>(?!it\b|that\b|this\b|any ?more\b|my\b|enough\b|both\b).+)", "things"),
    Rule("person", "diet", "{s} is {o}.", rf"(?:{_BE}|(?:have|has) been|(?:have|has) (?:gone|become|turned)|went|(?:eat|eats)) (?:an? |strictly |completely |mostly )*(?P<o>{DIET})\b(?! (?:restaurant|food|cheese|place|option|sausage|burger|recipe))", "value"),
    Rule("person", "diet", "{s} does not drink {o}.", r"(?:do not|does not|never) drinks? (?P<o>(?!much\b|enough\b|it\b|that\b|a lot\b)(?:any )?[\w' -]+?)(?=$|,| and (?:i|he|she)| so\b| but\b| because\b)", "things", denies=True),
    Rule("person", "diet", "{s} does not eat {o}.", r"(?:do not|does not|never) (?:eat|touch) (?P<o>(?!much\b|enough\b|it\b|that\b|any ?more\b|there\b|out\b|in\b|a lot\b|lunch\b|breakfast\b|dinner\b)(?:any )?[\w' -]+?)(?=$|,| and (?:i|he|she|keep)| so\b| but\b| because\b)", "things", denies=True),
    Rule("health", "health", "{s} is {o}.", rf"{_BE} (?:an? |a bit |quite |very |severely |mildly |type (?:one|two|1|2) )*(?P<o>{CONDITION}(?: in (?:one|both|the left|the right|his|her|my) (?:ears?|eyes?))?)\b", "value"),
    Rule("health", "health", "{s} has {o}.", rf"(?:{_HAVE}|suffers? (?:badly )?(?:from|with)|(?:have|has) been (?:suffering from|struggling with|battling|battling with|down with|ill with|laid up with|fighting)|{_BE} (?:suffering from|down with|laid up with)|(?:came|went) down with|{_PAST}(?:been )?(?:had|got|diagnosed with)|was diagnosed with|lives? with|{_BE} plagued by|gets?|struggles? with) (?:really |quite |my |the |terrible |mild |severe |chronic |awful |regular |type (?:one|two|1|2) |touch of |bit of )*(?P<o>(?:[\w-]+ )?{ILLNESS}(?: in (?:my|his|her|both|one) \w+(?: of (?:my|his|her) \w+)?)?)\b", "value"),
    Rule("event", "health", "{s} broke {o}.", rf"{_PAST}(?:broke|broken|fractured|sprained|dislocated|tore|torn|ruptured|twisted) (?P<o>(?:my|his|her|the|an?|their) (?:\w+ )?{any_of(_C['parts'])}\b.*)", "text"),
    Rule("event", "event", "{s} is pregnant{o}.", rf"{_BE} pregnant(?! with (?!twins|triplets|our|my|her|a\b|number))(?P<o>.*)", "due"),
    Rule("event", "operation", "{s} has {o}.", r"(?:got|have|have got|am having|is having|are having|has|am getting|is getting) (?P<o>(?:(?:an?|my|his|her) )?(?:[\w-]+ ){0,3}(?:operation|surgery|transplant|replacement|bypass|biopsy|scan|knee done|hip done)\b.*)", "text"),
    # Likes and dislikes
    Rule("preference", "favourite {kin}", "{s}'s favourite {kin} is {o}.", r"'s (?:all-time |absolute |very )?favou?rite (?P<kin>[a-z]+(?: [a-z]+)?) (?:is|are) (?P<o>.+)", "thing"),
    Rule("preference", "likes", "{s} likes {o}.", rf"{LOVES} {_NOT_LIKED}(?:(?:the|a) (?:smell|taste|sound|sight|smell and taste) of )?(?P<o>.+)", "things"),
    Rule("preference", "dislikes", "{s} dislikes {o}.", rf"{HATES} {_NOT_LIKED}(?P<o>.+)", "things", denies=True),
    Rule("preference", "prefers", "{s} prefers {o}.", r"(?:would )?(?:usually |always )?prefers? (?!not\b|to\b|if\b|it\b|that\b|you\b)(?P<o>.+)", "thing"),
    # What people do
    Rule("habit", "plays", "{s} plays {o}.", rf"(?:plays?|{_BE} (?:learning|teaching myself)(?: to play)?) (?:the )?(?P<o>{any_of(_C['instruments'], _C['sports'])}\b(?: {_OFTEN}| in (?:an?|the) (?:\w+ )?(?:band|orchestra|team|club|group|quartet|trio|ensemble))?)", "text"),
    Rule("habit", "learns", "{s} is learning {o}.", rf"{_BE} (?:learning|studying|taking lessons in) (?P<o>{any_of(_C['languages'])})\b", "value"),
    Rule("habit", "habit", "{s} {o}.", rf"(?P<o>(?!(?:have|has|am|is|are|was|were|had|did|will|been|think|feel|need|want|love|like|hate|forget|wish|hope|get|see|say|said|told|wonder|keep)\b)[a-z]+(?:-[a-z]+)? (?:.*? )?{_OFTEN}.*)", "deed", inflect=True, present=True),
    Rule("habit", "habit", "{s} {o}.", rf"(?:(?:still|always|usually|often|regularly) )?(?P<o>{_HABIT} .*)", "deed", inflect=True, front=_OFTEN, present=True),
    Rule("habit", "member_of", "{s} is a member of {o}.", rf"(?:{_BE} (?:in|a member of|part of)|{_PAST}joined|belongs? to) (?P<o>(?:an?|the|our|my) (?:[\w'-]+ ){{0,3}}(?:choir|band|orchestra|club|team|society|book club|union|church|group|association|league))\b", "value"),
    Rule("habit", "habit", "{s} has started {o}.", rf"{_PAST}(?:just |finally )?(?:started|begun|began|got into|gotten into|discovered) (?P<o>{any_of(_C['hobbies'])})\b", "value"),
    # What lies ahead
    Rule("event", "appointment", "{s} has {o}.", rf"(?:{_HAVE}|got|{_PAST}booked|(?:have|has) made) (?P<o>(?:an?|my|the|another) {_ADJ}{_APPOINTMENT}\b(?! of (?:stairs|steps|patience|strength|time|life)|.*\b(?:every|each)\b).{{3,60}})", "text"),
    Rule("event", "event", "{s}'s {n} is {o}.", rf"'s (?P<n>{_ADJ}(?:{_APPOINTMENT}|anniversary|party|due date|move|last day|first day|exam|finals|results?|holiday|holidays)(?: (?:at|with|in|for) (?:the |my )?[\w']+(?: [\w']+)?)?) (?:is|starts?|begins?) (?P<o>(?:on|in|at|this|next|tomorrow|the|coming)\b.+)", "dated"),
    Rule("event", "event", "{s} is getting married{o}.", rf"{_BE} getting married(?P<o>.*)", "due"),
    Rule("event", "event", "{s} got {n}{o}.", r"(?:got|(?:have|has) got|(?:have|has) gotten|have become) (?P<n>married|engaged)(?! to)(?P<o>.*)", "due"),
    Rule("plan", "plans", "{s} is going to {o}.", rf"{_GOING} (?P<o>{_LIFE}\b.*)", "text"),
    Rule("plan", "plans", "{s} is {o}.", rf"{_BE} (?P<o>(?:moving|flying|travelling|traveling|emigrating|relocating|cycling|driving|sailing|hiking|going(?! to be\b)|heading|starting|changing|leaving|taking) (?:out )?(?:to|from|for|on|in|at|back|away|over|jobs|school|university|uni|college|the|up)\b.*)", "dated"),
    Rule("plan", "plans", "{s} is {o}.", rf"{_BE} (?P<o>(?:selling|buying|renovating|adopting|building|opening|expecting) (?:the|our|my|a|an)\b.*)", "text"),
    Rule("plan", "plans", "{s} signed up for {o}.", rf"{_PAST}(?:signed up|registered|enrolled|entered) (?:for|on|in) (?!it\b)(?P<o>.+)", "thing"),
    Rule("plan", "plans", "{s} booked {o}.", rf"{_PAST}(?:booked|reserved) (?P<o>(?:an?|the|our|my|two|three|flights?|tickets?)\b.+)", "text"),
    Rule("goal", "goal", "{s}'s goal is {o}.", r"'s (?:big |main |biggest |next |new year's )?(?:goal|aim|dream|ambition|target|resolution|plan)(?: (?:for|this) [\w ]+?)? is (?P<o>(?:to|that) .+)", "text", denies=True),
    Rule("goal", "goal", "{s} wants to {o}.", r"(?:really )?wants? to (?P<o>(?:finish|run|lose|learn|become|be able to|save|get fit|get better|climb|swim|write|qualify|read|beat|reach|earn|pay off|retire|own)\b.+)", "text"),
    Rule("goal", "goal", "{s} is trying to {o}.", rf"{_BE} trying to (?P<o>(?:lose|quit|give up|learn|save|get fit|cut down|cut out|eat less|stop|become|have a baby|pay off|write)\b.*)", "text"),
    # What happened
    Rule("decision", "decided", "{s} decided {o}.", rf"{_PAST}(?:decided|made up (?:my|our|his|her) minds?|made the decision|resolved) (?P<o>(?:(?:not )?to {_LIFE}|on|against|not to)\b.*)", "text", denies=True),
    Rule("decision", "decided", "{s} chose {o}.", rf"{_PAST}(?:chose|chosen|picked|settled on|gone with|went with|went for(?! an?\b)|gone for|opted for|plumped for) (?P<o>(?!up\b|to\b|him\b|her\b).+)", "text"),
    Rule("possession", "bought", "{s} bought {o}.", rf"{_PAST}(?:gone and )?(?:(?:bought|purchased|ordered)(?: (?:myself|ourselves|himself|herself))?|got (?:myself|ourselves|himself|herself)|treated (?:myself|ourselves|himself|herself) to) (?P<o>(?:an?|the|two|three|some|tickets|our|my|new)\b.+)", "bought"),
    Rule("possession", "owns", "{s} has {o}.", rf"(?!drives? an? (?:bus|lorry|truck|taxi|cab|train|tram|van|ambulance|coach|tractor)\b)(?:{_HAVE}|drives?|rides?) (?P<o>(?:an?|two|three|our own|my own) {_ADJ}{_THING}s?\b(?: (?:in|on|at|of|called|named) [\w ]+)?)", "thing"),
    Rule("task_completed", "finished", "{s} finished {o}.", rf"{_PAST}(?:already )?(?:finished|completed|handed in|submitted|wrapped up) (?P<o>(?!up\b|off\b|last\b|early\b|late\b|few\b|work\b|it\b|my notice\b|\w+ing\b).+)", "thing"),
    Rule("success", "achieved", "{s} {o}.", rf"{_PAST}(?P<o>graduated\b.*|(?:was|been|got) (?:promoted|awarded|shortlisted|published|elected|selected)\b.*|made partner\b.*|got (?:a|an|my|straight) (?:first|distinction|degree|phd|as|licen[cs]e|promotion|scholarship|place|pay rise|raise|grant)\b.*)", "text"),
    # Open matters
    Rule("open_thread", "has_to", "{s} still has to {o}.", rf"(?:still )?(?:need|needs|must|(?:have|has)(?: got)?|got) to (?P<o>{_CHORE}\b.{{2,60}})", "text"),
    Rule("open_thread", "wants_reminder", "{s} wants to be reminded to {o}.", r"(?:please )?remind me to (?P<o>.+)", "text", whose="request"),
)  # fmt: skip

# Words behind a subject that say that something is over.
ENDINGS = (
    Rule("preference", "dislikes", "{s} dislikes {o}.",
        r"(?:can't|cannot|can not) (?:stand|bear|abide|look at|face|stomach) (?P<o>.+?) any ?(?:more|longer)\b", "things", ends=TASTE),
    Rule("person", "has_partner", "{s} is single.", rf"{_BE} (?:now |again |back to being |newly )*single(?! (?:child|parent|mum|mom|dad|mother|father))\b(?P<o>)", "nothing", over=True, ends=LOVE),
    Rule("person", "works_at", "{s} is out of work.", rf"{_BE} (?:out of (?:work|a job)|unemployed|jobless|between jobs)\b(?P<o>)", "nothing", over=True, ends=WORK),
    Rule("health", "gave_up", "{s} stopped taking {o}.", r"(?:(?:have|has) )?(?:come off|came off|am off|is off|been taken off|was taken off) (?P<o>(?:the |my )?(?!work|sick|home|school|duty|to\b).+)", "thing", over=True, ends=("*",)),
    Rule("health", "health", "{s} has recovered from {o}.", rf"{_PAST}(?:recovered from|gotten over|got over) (?P<o>.+)", "thing", over=True, ends=("*",)),
    Rule("event", "called_off", "{o} is cancelled.", r"(?P<o>(?:the|our|my) [\w' -]+?) (?:(?:is|are|was|has been|have been|got) (?:cancelled|canceled|called off|scrapped|axed)\b|(?:is|are) off$|fell through\b)", "thing", over=True, ends=AHEAD, whose="me"),
    Rule("person", "lives_with", "{s} moved out.", r"(?:have |has )?moved out\b(?! of)(?P<o>)", "nothing", over=True, ends=("lives_in", "address", "lives_with")),
    Rule("person", "works_at", "{s} left {o}.",
        rf"(?:{_PAST}(?:quit|left|resigned from|lost)(?: (?:my|his|her) (?:job|post|position) (?:at|with))|{_PAST}{_NOTICE} (?:at|to)|{_PAST}(?:resigned from|been laid off (?:from|by)|been fired (?:from|by)|"
        r"been sacked (?:from|by)|been made redundant (?:at|by|from))|(?:was|got) (?:laid off|fired|sacked|made redundant|let go) (?:from|by|at)|retired from) (?P<o>.+)",
        "organisation", over=True, ends=WORK),
    Rule("person", "works_at", "{s} left the job.",
        rf"(?:{_PAST}(?:quit|left|lost|packed in|given up|gave up|jacked in) (?:my|his|her|the|our) job|{_PAST}(?:quit|resigned)|(?:was|got|been|has been|have been) (?:laid off|fired|sacked|made redundant|let go)|{_PAST}{_NOTICE})"
        r"(?=$|,| last\b| on\b| yesterday\b| today\b| this\b| in\b| because\b| \w+ \w+ ago\b)(?P<o>)", "nothing", over=True, ends=WORK),
    Rule("person", "left", "{s} left {o}.", rf"{_PAST}left (?P<o>.+)", "name", over=True, ends=("works_at", "works_as", "studies_at", "member_of", "lives_in", *LOVE)),
    Rule("person", "lives_in", "{s} moved out of {o}.", rf"{_PAST}moved (?:out of|away from) (?P<o>.+)", "organisation", over=True, ends=("lives_in", "address", "lives_with")),
    Rule("person", "has_partner", "{s} separated from {o}.",
        rf"{_PAST}(?:broke up|broken up|split up|split|separated|parted|divorced|got divorced|gotten divorced|ended it),?(?: (?:with|from))? (?P<o>.+)", "person", over=True, ends=LOVE),
    Rule("person", "has_partner", "{s} and the partner separated.",
        r"(?:(?:have|has|just) )?(?:broke up|broken up|split up|separated|got divorced|gotten divorced|parted ways)\b(?P<o>)", "nothing", over=True, ends=LOVE),
    Rule("person", "relationship_status", "{s} is getting divorced.", r"(?:am|is|are) (?:getting (?:divorced|a divorce)|going through a divorce)\b(?P<o>)", "nothing", ends=LOVE),
    Rule("person", "died", "{s} died{o}.", rf"{_PAST}(?:died|passed away|passed on|been put down|was put down|had to be put down|was put to sleep|been put to sleep)\b(?P<o>.*)", "due", over=True, ends=("",), whose="other"),
    Rule("possession", "sold", "{s} no longer has {o}.", rf"{_PAST}(?:sold|given away|gave away|got rid of|gotten rid of|scrapped|rehomed|parted with|written off|wrote off|traded in) (?P<o>(?:my|our|the|his|her|all)\b.+?|(?-i:[A-Z]).+?)(?=$| (?:to|for)\b)", "thing", over=True, ends=THINGS),
    Rule("plan", "called_off", "{s} cancelled {o}.", rf"{_PAST}(?:called off|cancelled|canceled|shelved|abandoned|dropped|given up on|gave up on|pulled out of|backed out of) (?P<o>(?:my|our|the|that|his|her)\b.+)", "thing", over=True, ends=AHEAD),
    Rule("habit", "gave_up", "{s} gave up {o}.", rf"{_PAST}(?:stopped|quit|given up|gave up|packed in|kicked|jacked in|knocked off|cut out|come off|came off|dropped out of) (?P<o>(?!it\b|that\b|by\b|to\b|on\b|at\b|in\b|off\b|my job|the job|hope\b|believing|worrying|thinking|trying|listening|raining|working\b).+)", "thing", over=True, ends=("*",)),
)  # fmt: skip
# Words behind a subject that hold no longer ("we are not friends any more") and that no rule of
# what holds knows.
OVER = (
    Rule("habit", "habit", "{s} {o}.", r"(?P<o>(?!(?:am|is|are|have|has|was|were|will|would|can|could|talk|talks|speak|speaks|meet|meets|want|need|think|know|feel|care|remember|understand|get|believe|say|see|mind)\b)[a-z]+(?: .+)?)", "deed", inflect=True),
)  # fmt: skip
