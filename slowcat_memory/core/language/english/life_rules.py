"""English rules of further ways to state a home, work, people, tastes, health and open matters.

They stand behind those of ``statement_rules`` and have the same form.
"""

from slowcat_memory.core.language.english.event_rules import EVENT
from slowcat_memory.core.language.english.statement_rules import CLASSES, ILLNESS
from slowcat_memory.core.language.facts import StatementRule as Rule
from slowcat_memory.core.language.life import any_of

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

LIFE_RULES = (
    # Home
    # Work
    # People
    # Tastes and habits
    Rule("habit", "habit", "{s} has started {o}.", rf"{_PAST}(?:started|begun|began|got into|gotten into|discovered) (?P<o>{any_of(CLASSES['hobbies'])})\b", "value"),
    # Plans and decisions
    Rule("decision", "decided", "{s} agreed to {o}.", rf"{_PAST}(?:agreed|resolved|determined|opted|chosen|chose) to (?P<o>(?!differ\b|disagree\b|be\b)\w+ .+)", "plan"),
    # Things
    # Open matters
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
