"""English rules of further ways to state a home, work, people, tastes, health and open matters.

They stand behind those of ``statement_rules`` and have the same form.
"""

from slowcat_memory.core.language.english.event_rules import EVENT
from slowcat_memory.core.language.english.statement_rules import CLASSES, ILLNESS, JOB, PET
from slowcat_memory.core.language.facts import StatementRule as Rule
from slowcat_memory.core.language.life import any_of

_BE = r"(?:am|is|are)"
_PAST = r"(?:(?:have|has) )?(?:just |finally )?"
_WORK = ("works_at", "works_as")
_AHEAD = ("plans", "appointment", "event", "operation", "has_to")
_TASTE = ("likes", "prefers", "drinks", "habit", "smokes", "plays", "learns", "diet")
_THEM = r"(?!(?:it|that|this|them|him|her|you|things?|everything|something|nothing|the (?:rest|other))\b)"
_LOVE = (
    "has_partner", "has_husband", "has_wife", "has_boyfriend", "has_girlfriend", "has_fiancé", "has_fiancée",
    "has_fiance", "has_fiancee", "married_to", "engaged_to", "relationship_status",
)  # fmt: skip
_MATTER = any_of(CLASSES["matters"])
_A_MATTER = rf"(?:the|my|our) (?:[\w'-]+ ){{0,2}}?{_MATTER}"
_THING = r"(?:car|phone|mobile|bike|laptop|computer|van|motorbike|camera|tablet)"

LIFE_RULES = (
    # Home
    Rule("person", "lives_in", "{s} lives in {o}.", r"calls? (?P<o>[\w' -]+?) home\b", "place"),
    Rule("person", "lives_in", "{s} lives in {o}.", r"(?P<o>[\w' -]+?) is (?:where (?:i|we) (?:now )?live|(?:my|our) home(?=$|,| now\b| since\b)|home (?:to me|for me|for us|now)\b)", "place", whose="me"),
    Rule("person", "lives_in", "{s} moved to {o}.", rf"{_PAST}(?:made the move|packed up and (?:left|moved)|packed (?:my|our) bags and (?:left|moved)|upped sticks)(?: for| to) (?P<o>.+)", "place"),
    Rule("person", "lives_in", "{s} lives in {o}.", r"'s (?:new )?(?:address|home|base) is (?:now )?in (?P<o>.+)", "place", whose="speaker"),
    Rule("plan", "plans", "{s} is moving to {o}.", r"will (?:be )?(?:living|moving|move|live) (?:in|to) (?P<o>.+)", "dated"),
    # Work
    Rule("person", "works_as", "{s} works as {o}.", rf"(?:earns? (?:my|our|his|her|a) living|makes? (?:my|our|his|her) living|{_PAST}(?:began|begun|started|got a job|found a job|found work|got work|started out|started working|been working|been employed)|(?:have|has) (?:got )?a (?:new )?job|am employed|is employed) (?:as|by being) (?P<o>an? (?:[\w-]+ ){{0,3}}?{JOB})\b", "value"),
    Rule("person", "works_as", "{s} is {o}.", rf"(?:have|has) been (?P<o>an? (?:[\w-]+ ){{0,3}}?{JOB})(?= (?:since|for)\b)", "value"),
    Rule("person", "works_as", "{s}'s trade is {o}.", r"'s (?:trade|line of work|occupation|day job) is (?P<o>(?!to\b|not\b).+)", "thing"),
    Rule("person", "works_at", "{s} works at {o}.", r"(?:am|is|are) on the (?:payroll|staff|books) (?:at|of|with) (?P<o>.+)", "organisation"),
    Rule("person", "works_at", "{s} works at {o}.", r"(?P<o>[\w&' -]+?) (?:is|are) (?:now )?(?:my|our) (?:new |current )?employers?\b", "organisation", whose="me"),
    Rule("person", "works_at", "{s} was hired by {o}.", r"(?P<o>(?!they\b|he\b|she\b|someone\b|nobody\b|who\b)[\w&' -]+?) (?:have |has )?(?:hired|employed|recruited|taken on|took on|headhunted) (?:me|us)(?=$|,| (?:as|on|in|last|this|yesterday|since|after|two|three)\b)", "firm", whose="me"),
    # People
    Rule("person", "has_colleague", "{s}'s colleague is called {o}.", r"works? (?:alongside|together with) (?P<o>.+)", "given"),
    Rule("person", "has_girlfriend", "{s}'s girlfriend is called {o}.", r"(?:have|has)(?: got)? a (?:new )?girlfriend(?: now)?,? (?:and )?(?:her name is|she is called|she is) (?P<o>.+)", "people"),
    Rule("person", "has_boyfriend", "{s}'s boyfriend is called {o}.", r"(?:have|has)(?: got)? a (?:new )?boyfriend(?: now)?,? (?:and )?(?:his name is|he is called|he is) (?P<o>.+)", "people"),
    Rule("person", "has_pet", "{s} has a {kin} called {o}.", rf"there is an? (?:new )?(?P<kin>{PET}) in (?:the|our|my) (?:house|family|home)(?: now)?,? (?:called |named )?(?P<o>.+)", "pets", whose="me"),
    # Tastes and habits
    Rule("preference", "dislikes", "{s} dislikes {o}.", r"(?:am|is|are) (?:no|not much of a|not a great) (?:fan|lover|friend) of (?P<o>.+)", "things", denies=True),
    Rule("preference", "dislikes", "{s} dislikes {o}.", rf"(?P<o>{_THEM}[\w' -]{{3,30}}?) (?:makes? me (?:gag|retch|heave|feel sick)|puts? me off|disgusts? me|revolts? me|does nothing for me|do nothing for me)\b", "thing", whose="me"),
    Rule("habit", "habit", "{s} has started {o}.", rf"{_PAST}(?:started|begun|began|got into|gotten into|discovered) (?P<o>{any_of(CLASSES['hobbies'])})\b", "value"),
    Rule("habit", "habit", "{s} does {o}.", rf"(?:do|does|practise|practises|practice|practices) (?P<o>{any_of(CLASSES['hobbies'])})\b", "value"),
    Rule("person", "diet", "{s} is {o}.", rf"(?:follows?|(?:have|has) (?:switched|changed|moved) (?:over )?to|{_BE} on) (?:an? |the )?(?P<o>{any_of(CLASSES['diets'])})(?: diet| food| lifestyle)", "value"),
    Rule("health", "health", "{s} has {o}.", rf"(?:have|has) been (?:having|getting) (?P<o>{ILLNESS})\b", "value", whose="person"),
    # Plans and decisions
    Rule("goal", "goal", "{s} wants to {o}.", r"would (?:love|like) to (?P<o>.+?)(?: one day| some day| someday| eventually| at some point)$", "plan"),
    Rule("decision", "decided", "{s} agreed to {o}.", rf"{_PAST}(?:agreed|resolved|determined|opted|chosen|chose) to (?P<o>(?!differ\b|disagree\b|be\b)\w+ .+)", "plan"),
    # Things
    Rule("possession", "owns", "{s}'s {n} is {o}.", rf"'s (?P<n>{_THING}) is (?P<o>an? (?-i:[A-Z])[\w-]+)", "value"),
    Rule("possession", "owns", "{s} has {o}.", rf"{_PAST}(?:traded|swapped|exchanged|changed) (?:in )?(?:my|our|the) [\w' -]+?(?: in)? (?:for|to) (?P<o>an? .+)", "thing"),
    # Open matters
    Rule("open_thread", "has_to", "{o} is still open.", rf"(?P<o>{_A_MATTER}) (?:is|are) (?:still )?(?:open|pending|outstanding|unfinished|up in the air|hanging over (?:me|us)|not (?:done|finished|sorted|settled)(?: yet)?)\b", "text", whose="me", denies=True),
    Rule("open_thread", "has_to", "{o} is still to be done.", rf"(?P<o>{_A_MATTER}) (?:still )?needs? (?:doing|sorting|sorting out|finishing|dealing with|to be (?:done|sorted|dealt with|finished))\b", "text", whose="me"),
    Rule("open_thread", "has_to", "{s} has not yet {n} {o}.", rf"(?:have|has) not (?P<n>dealt with|sorted out|sorted|got round to|gotten around to|taken care of|finished|done|looked at) (?P<o>{_A_MATTER})\b.*", "value", denies=True),
)  # fmt: skip

LIFE_ENDINGS = (
    Rule("person", "works_at", "{s} left the job.", r"(?:they|the (?:company|firm|boss)|my boss) (?:have |has )?(?:let (?:me|us) go|fired (?:me|us)|sacked (?:me|us)|laid (?:me|us) off|made (?:me|us) redundant|gave (?:me|us) the sack)(?=$|,| (?:on|in|last|this|yesterday|today|after|because|two|three|a|just)\b)(?P<o>)", "nothing", over=True, ends=_WORK, whose="me"),
    Rule("person", "works_at", "{s} left the job.", r"(?:was|were|got|(?:have|has) been) (?:made redundant|laid off|let go|fired|sacked)(?=$|,| (?:\w+ ){1,2}ago| in\b| on\b| last\b| yesterday\b| today\b)(?P<o>)", "nothing", over=True, ends=_WORK),
    Rule("person", "has_partner", "{s} separated from {o}.", r"(?:it is|it's|things are) (?:all )?over (?:between|with) (?:me and )?(?P<o>\S+?)(?: and (?:me|i))?(?=$|,| now\b| since\b)", "given", over=True, ends=_LOVE, whose="me"),
    Rule("person", "has_partner", "{s} separated from {o}.", r"(?P<o>\S+) is (?:now )?my ex(?:-\w+)?\b", "given", over=True, ends=_LOVE, whose="me"),
    Rule("health", "recovered", "{s} no longer has {o}.", rf"{_PAST}(?:got rid of|gotten rid of|got over|gotten over|recovered from|shaken off|beaten|shook off|am over|is over|am rid of) (?:the |my |his |her )?(?P<o>{ILLNESS})\b", "value", over=True, ends=("health", "has", "event")),
    Rule("health", "recovered", "{s} no longer has {o}.", rf"(?:am|is|are) (?:over|rid of|free of|done with) (?:the |my |his |her )?(?P<o>{ILLNESS})\b", "value", over=True, ends=("health", "has", "event")),
    Rule("health", "recovered", "{s} no longer has {o}.", rf"(?:the|my) (?P<o>{ILLNESS}) (?:is|are|has|have) (?:(?:all |completely |finally )?(?:gone|over|healed|cleared up|cured|better|history|past|passed))\b", "value", over=True, ends=("health", "has", "event"), whose="me"),
    Rule("preference", "dislikes", "{s} no longer likes {o}.", rf"(?P<o>{_THEM}[\w' -]{{3,30}}?) (?:is|are) not (?:really )?(?:my (?:thing|cup of tea)|for me) (?:any ?more|any longer|these days|now)\b", "thing", ends=_TASTE, whose="me"),
    Rule("habit", "gave_up", "{s} gave up {o}.", rf"no more (?P<o>{any_of(CLASSES['hobbies'])}) for me\b", "value", over=True, ends=("*",), whose="me"),
    Rule("open_thread", "done", "{s} dealt with {o}.", rf"{_PAST}(?:dealt with|sorted out|sorted|taken care of|took care of|settled|got (?:round to|through)) (?P<o>{_A_MATTER})\b.*", "value", over=True, ends=_AHEAD),
    Rule("open_thread", "done", "{o} is done.", rf"(?P<o>{_A_MATTER}) (?:is|are|has been|got) (?:finally )?(?:off my (?:list|plate|desk)|out of the way|dealt with|behind (?:me|us)|sorted|settled|wrapped up|ticked off)\b", "value", over=True, ends=_AHEAD, whose="me"),
    Rule("event", "called_off", "{o} is cancelled.", rf"(?P<o>(?:the|our|my) {EVENT}) (?:is|are) not (?:happening|going ahead|taking place|on any ?more)\b", "thing", over=True, ends=_AHEAD, whose="me"),
    Rule("event", "called_off", "{o} is cancelled.", rf"(?:the|my) [\w' ]+? (?:has |have )?(?:cancelled|canceled|called off|scrapped) (?P<o>my {EVENT})", "thing", over=True, ends=_AHEAD, whose="me"),
)  # fmt: skip
