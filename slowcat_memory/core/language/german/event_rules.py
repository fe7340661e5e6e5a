"""German rules of what has a day: appointments, occasions, trips, outings; see the English ones.

A clause is read with its subject and its verb first ("gehe am Montag zum Zahnarzt"), so an
expression of time stands anywhere behind the verb.
"""

from slowcat_memory.core.language.facts import StatementRule as Rule
from slowcat_memory.core.language.life import any_of, read_classes

_C = read_classes(__package__)
_DAY = r"(?:(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch|sonnabend|wochenende)"
_MONTH = (
    r"(?:januar|jänner|februar|märz|april|mai|juni|juli|august|september|oktober|november|dezember)"
)
_PART = r"(?: (?:früh|morgen|vormittag|mittag|nachmittag|abend|nacht)|(?:morgen|vormittag|mittag|nachmittag|abend))?"
_NTH = rf"(?:\d{{1,2}}\.(?: ?{_MONTH}| ?\d{{1,2}}\.)?|\w+(?:ten|sten)(?: {_MONTH})?)"
_MANY = r"(?:einer|einem|ein paar|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf|vierzehn|einigen|\d+)"
_UNIT = r"(?:tag|tage|tagen|woche|wochen|monat|monaten|jahr|jahren)"
_DATE = (
    rf"(?:(?:am|ab|bis zum|zum|vom) (?:(?:kommenden|nächsten|letzten|vergangenen|vorigen|diesen) )?(?:{_DAY}{_PART}|{_NTH}(?=\W|$))|"
    rf"(?:diesen|kommenden|nächsten|letzten|vorigen) {_DAY}{_PART}|dieses wochenende|nächstes wochenende|letztes wochenende|(?:an|zu|über) (?:ostern|weihnachten|pfingsten|silvester))"
)
_SOON = (
    rf"(?:{_DATE}|(?:über)?morgen{_PART}|in {_MANY} {_UNIT}|nächste woche|nächsten monat|nächstes jahr|im (?:kommenden |nächsten )?(?:{_MONTH}|sommer|herbst|winter|frühjahr|frühling|monat|jahr)|"
    rf"(?:mon|diens|donners|frei|sams|sonn)tag{_PART} (?:um|in)|heute abend|heute nachmittag|ende der woche|(?:ende|anfang|mitte) {_MONTH})"
)
_AGO = (
    rf"(?:{_DATE}|(?:vor)?gestern{_PART}|heute{_PART}|vor {_MANY} {_UNIT}|neulich|letzte (?:woche|nacht)|letzten (?:monat|sommer|winter|herbst)|letztes (?:jahr|wochenende)|"
    rf"im (?:letzten |vergangenen )?(?:{_MONTH}|sommer|herbst|winter|frühjahr|frühling)|diese woche)"
)
_NOUN = rf"\w*{any_of(_C['appointments'], _C['occasions'], _C['trips'])}\b"
EVENT = rf"(?:[\w-]+ ){{0,2}}?{_NOUN}(?: (?:mit|bei|beim|in|für|zum|zur|von|im) (?:\w+ )?\w+)?"
_GOAL = (
    rf"(?:zum|zur|zu (?:einem|einer|der|dem|den|mein\w*|unser\w*)|ins|in (?:die|den|das)|auf (?:die|den|das|ein\w*)|beim|bei (?:der|dem|den)|im|in der|auf der|auf dem|an die) "
    rf"(?:[\w-]+ )?(?:\w*{any_of(_C['occasions'], _C['appointments'], _C['trips'], _C['visited'])})\b"
)
_GO = r"(?:gehe?n?|geht|fahre?n?|fährt|fliege?n?|fliegt|muss|müssen|soll|sollen|darf|dürfen|will|wollen|werde|werden|wird|möchte|möchten|komme?n?|kommt)"
_HAB, _BIN = r"(?:habe|haben|hat|hab)", r"(?:bin|sind|ist)"
_FIRST, _THEN = rf"(?=.*\b{_SOON}(?:\W|$))", rf"(?=.*\b{_AGO}(?:\W|$))"
_AUX_END = r"(?=$|,| und\b)"
_DAILY, _VAGUE = any_of(_C["daily"]), any_of(_C["vague"])
_NO_DAILY = rf"(?!.*\b{_DAILY}\b)"
_ITS, _MINE = r"(?:der|die|das)", r"(?:mein\w*|unser\w*)"
_AHEAD = ("plans", "appointment", "event", "operation", "has_to")

EVENT_RULES = (
    Rule("event", "appointment", "{s} {o}.", rf"{_FIRST}{_NO_DAILY}(?P<o>{_GO} (?:.* )?{_GOAL}.*)", "action", inflect=True),
    Rule("event", "appointment", "{s} {o}.", rf"{_FIRST}(?P<o>(?:mache?n?|macht|feiere?n?|feiert|gebe?n?|gibt|veranstalten?|veranstaltet|plane?n?|plant|besuche?n?|besucht|treffe?n?|trifft) .+)", "action", inflect=True),
    Rule("event", "appointment", "{o} von {s} ist jetzt am {n}.", rf"'s (?P<o>{EVENT}) (?:wurde|ist|wird) auf (?:den )?(?P<n>{_SOON}|{_NTH}|{_DAY}{_PART}) (?:verschoben|verlegt|vorverlegt)", "value", ends=_AHEAD),
    Rule("event", "appointment", "{s} hat {o}.", rf"{_FIRST}{_HAB} (?P<o>{_SOON}(?: um \w+(?: uhr)?)? \w*{any_of(_C['visited'], _C['occasions'], _C['appointments'], _C['trips'])}\b.*)", "text"),
    Rule("event", "event", "{n} kommt {o}.", rf"(?P<n>{_ITS} (?:\w+ )?\w*{any_of(_C['services'])}) (?:kommt|kommen|wird) (?P<o>{_SOON}.*?)(?: geliefert| an| zu uns)?$", "text", whose="me"),
    Rule("event", "event", "{n} ist {o}.", rf"(?P<o>{_SOON}) (?:ist|findet|steht) (?:(?:der|die|das|ein\w*|unser\w*|mein\w*) )?(?P<n>\w*{any_of(_C['occasions'], _C['appointments'], _C['trips'])}\b)(?!.*\bvon\b)", "text", whose="me"),
    Rule("event", "event", "{n} von {s} ist {o}.", rf"'s (?P<n>{EVENT}) (?:ist|findet|beginnt|fängt) (?:jetzt |nun |erst )*(?P<o>{_SOON}.*?)(?: statt| an)?$", "text"),
    Rule("event", "event", "{n} ist {o}.", rf"(?P<n>{_ITS} {EVENT}) (?:ist|findet|beginnt|fängt) (?:jetzt |nun |erst )*(?P<o>{_SOON}.*?)(?: statt| an)?$", "text", whose="me"),
    Rule("event", "event", "{s} {o}.", rf"{_THEN}{_NO_DAILY}(?P<o>(?:war|waren) (?:.* )?{_GOAL}.*)", "action"),
    Rule("event", "event", "{s} hat {o}.", rf"{_THEN}{_NO_DAILY}{_HAB} (?P<o>.+ {any_of(_C['outings_had'])}){_AUX_END}", "action"),
    Rule("person", "lives_in", "{s} zieht nach {o}.", rf"{_FIRST}(?:ziehe?n?|zieht) (?:.*? )??nach (?P<o>.+)", "place"),
    Rule("plan", "plans", "{s} {o}.", rf"{_FIRST}(?P<o>(?:will|wollen|werde|werden|wird|möchte|möchten) .+ (?!{_VAGUE}\b)\w+(?:en|ern|eln))$", "action", inflect=True),
)  # fmt: skip
