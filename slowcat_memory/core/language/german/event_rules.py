"""German rules of what has a day: appointments, occasions, trips, outings; see the English ones.

A clause is read with its subject and its verb first ("gehe am Montag zum Zahnarzt"), so an
expression of time stands anywhere behind the verb.
"""

from slowcat_memory.core.language.facts import Rewrites
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
_THE = r"(?:der|die|das|mein\w*|unser\w*)"
_ITS, _MINE = r"(?:der|die|das)", r"(?:mein\w*|unser\w*)"
_WELL = r"((?:(?:sehr|ganz|richtig|echt|ziemlich) )?(?:gut|super|toll|schlecht|prima|schön|wunderbar|schnell|okay|glatt|bestens|klasse|mies|furchtbar))"
_AHEAD = ("plans", "appointment", "event", "operation", "has_to")

EVENT_RULES = (
    Rule("event", "appointment", "{s} {o}.", rf"{_FIRST}{_NO_DAILY}(?P<o>{_GO} (?:.* )?{_GOAL}.*)", "action", inflect=True),
    Rule("event", "appointment", "{s} {o}.", rf"{_FIRST}(?P<o>(?:mache?n?|macht|feiere?n?|feiert|gebe?n?|gibt|veranstalten?|veranstaltet|plane?n?|plant|besuche?n?|besucht|treffe?n?|trifft) .+)", "action", inflect=True),
    Rule("event", "appointment", "{o} von {s} ist jetzt {n}.", rf"'s (?P<o>{EVENT}) (?:wurde|ist) (?:auf |vom .+? auf )(?:den )?(?P<n>{_SOON}.*?) (?:verschoben|verlegt)", "value", ends=_AHEAD),
    Rule("event", "appointment", "{o} von {s} ist jetzt am {n}.", rf"'s (?P<o>{EVENT}) (?:wurde|ist|wird) auf (?:den )?(?P<n>{_NTH}|{_DAY}{_PART}) (?:verschoben|verlegt|vorverlegt)", "value", ends=_AHEAD),
    Rule("event", "appointment", "{s} hat {o}.", rf"{_FIRST}{_HAB} (?P<o>{_SOON}(?: um \w+(?: uhr)?)? \w*{any_of(_C['visited'], _C['occasions'], _C['appointments'], _C['trips'])}\b.*)", "text"),
    Rule("event", "event", "{n} kommt {o}.", rf"(?P<n>{_ITS} (?:\w+ )?\w*{any_of(_C['services'])}) (?:kommt|kommen|wird) (?P<o>{_SOON}.*?)(?: geliefert| an| zu uns)?$", "text", whose="me"),
    Rule("event", "event", "{n} ist {o}.", rf"(?P<o>{_SOON}) (?:ist|findet|steht) (?:(?:der|die|das|ein\w*|unser\w*|mein\w*) )?(?P<n>\w*{any_of(_C['occasions'], _C['appointments'], _C['trips'])}\b)(?!.*\bvon\b)", "text", whose="me"),
    Rule("event", "event", "{n} von {s} ist {o}.", rf"'s (?P<n>{EVENT}) (?:ist|findet|beginnt|fängt) (?:jetzt |nun |erst )*(?P<o>{_SOON}.*?)(?: statt| an)?$", "text"),
    Rule("event", "event", "{n} ist {o}.", rf"(?P<n>{_ITS} {EVENT}) (?:ist|findet|beginnt|fängt) (?:jetzt |nun |erst )*(?P<o>{_SOON}.*?)(?: statt| an)?$", "text", whose="me"),
    Rule("event", "event", "{s} {o}.", rf"{_THEN}{_NO_DAILY}(?P<o>(?:war|waren) (?:.* )?{_GOAL}.*)", "action"),
    Rule("event", "event", "{s} hat {o}.", rf"{_THEN}{_NO_DAILY}{_HAB} (?P<o>.+ {any_of(_C['outings_had'])}){_AUX_END}", "action"),
    Rule("plan", "plans", "{s} {o}.", rf"{_FIRST}(?P<o>(?:will|wollen|werde|werden|wird|möchte|möchten) .+ (?!{_VAGUE}\b)\w+(?:en|ern|eln))$", "action", inflect=True),
)  # fmt: skip

# Sentences whose clauses are read together; see the English ones.
JOINED: Rewrites = (
    (rf"\b({_SOON}) geht(?:'s| es)(?: für (?:mich|uns))? ((?:nach|zum|zur|ins|in|an|auf) .+)$", r"\1 fahren wir \2"),
    (rf"\b(?:mein\w*|unser\w*|der|die|das) ({EVENT}) (?:wurde|ist|wird) (?:verschoben|verlegt|umgelegt|vorverlegt|nach hinten geschoben)(?: worden)?,? (?:und )?(?:(?:er|sie|es) ist |es wird |(?:jetzt|nun) ist (?:er|sie|es) )?(?:jetzt |nun |erst )*({_SOON})",
     r"mein \1 wurde auf \2 verschoben"),
    (rf"\b(?:ich|wir|die|sie) (?:habe|hab|haben|ham) (?:den|die|das|mein\w*|unser\w*) ({EVENT}) (?:verschoben|verlegt|umgelegt|vorverlegt),? (?:und )?(?:(?:er|sie|es) ist |es wird |(?:jetzt|nun) ist (?:er|sie|es) )?(?:jetzt |nun |erst )*({_SOON})",
     r"mein \1 wurde auf \2 verschoben"),
    (rf"\b(?:mein\w*|unser\w*|der|die|das) ({EVENT}) (?:findet erst|ist erst) ({_SOON})(?: statt)?", r"mein \1 wurde auf \2 verschoben"),
    (rf"\b(?:mein\w*|unser\w*|der|die|das) ({EVENT}) ist (?:gar |doch )*nicht {_SOON},? sondern (?:erst |schon )?({_SOON})", r"mein \1 wurde auf \2 verschoben"),
    (rf"\b(?:mein\w*|unser\w*|der|die|das) ({EVENT}) ist ({_SOON}),? (?:und )?nicht {_SOON}", r"mein \1 wurde auf \2 verschoben"),
    (r"\b(ich|wir) (esse|essen|trinke|trinken|lebe|leben) nicht mehr ([\w-]+),? sondern ([\w-]+)", r"\1 \2 nicht mehr \3 | \1 \2 \4"),
    (r"\b(ich|wir) (bin|sind) (?:nicht mehr|kein\w* mehr) ([\w-]+),? sondern ([\w-]+)", r"\1 \2 nicht mehr \3 | \1 \2 \4"),
    (r"\b(?:früher|damals) (?:hab|habe|haben) (ich|wir) ([\w -]+?) (?:geliebt|gemocht),? (?:aber |doch )?(?:jetzt|heute|inzwischen|mittlerweile) (?:kann|können|hasse|hassen|mag|mögen) (?:ich|wir) (?:das|es|ihn|sie|die|den)(?: (?:nicht|gar nicht|überhaupt nicht)(?: mehr)?)?(?: ausstehen| leiden)?",
     r"\1 kann \2 nicht mehr ausstehen"),
    (r"\b((?:ich|wir)\b[^,;]*?\b(?:ein|eine|einen|mein|unser) neue[snr]? (?:auto|wagen|handy|telefon|smartphone|laptop|computer|fahrrad|rad|kamera|gitarre|tablet|motorrad))( gekauft| bekommen| geholt)?,? (ein|eine|einen) ([\w-]+)", r"\1 – \3 \4\2"),
    (rf"\b({_THE} {EVENT}) (lief|ging|war) {_WELL},? ({_AGO})", r"\1 \2 \3 \4"),
)  # fmt: skip
