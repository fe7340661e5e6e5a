"""English rules of what has a day: appointments, occasions, trips, deliveries, outings.

A sentence is one of these if it has a noun or verb of the class and an expression of time. The
frames are: having one, going to one, its being on a day, its having moved, and its having happened.
"""

from slowcat_memory.core.language.facts import Rewrites
from slowcat_memory.core.language.facts import StatementRule as Rule
from slowcat_memory.core.language.life import any_of, read_classes

_C = read_classes(__package__)
_DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day\b(?!'s)"
_MONTH = (
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december)"
)
_NTH = (
    r"(?:\d{1,2}(?:st|nd|rd|th)?|(?:twenty|thirty)[- ](?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth)|"
    r"first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth|\w+teenth|twentieth|thirtieth)"
)
_MANY = (
    r"(?:an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fourteen|\d+|a couple of|a few|several|"
    r"about an?|just over an?|less than an?)"
)
_UNIT = r"(?:day|night|week|fortnight|month|year)s?"
_PART = r"(?: (?:morning|afternoon|evening|night|lunchtime))?"
_DATE = (
    rf"(?:(?:the )?{_NTH} (?:of )?{_MONTH}|{_MONTH} (?:the )?{_NTH}|the {_NTH}|"
    rf"(?:(?:this|next|last|the following|the coming) )?{_DAY}{_PART}(?: (?:week|next week|the {_NTH}(?: of {_MONTH})?))?)"
)
_SOON = (
    rf"(?:(?:(?:on|by|for) )?{_DATE}|tomorrow{_PART}|the day after tomorrow|in {_MANY} {_UNIT}(?:' time)?|{_MANY} {_UNIT} from (?:now|today)|"
    rf"next (?:week|weekend|month|year|spring|summer|autumn|winter)|(?:at|over) (?:the weekend|easter|christmas|whitsun)|(?:this|the) (?:coming )?weekend|"
    rf"(?:in|next) {_MONTH}|later (?:this|next) (?:week|month)|(?:a week|two weeks) (?:on|from) {_DAY})"
)
_AGO = (
    rf"(?:(?:on )?{_DATE}|yesterday{_PART}|(?:the )?day before yesterday|{_MANY} {_UNIT} ago|the other day|"
    rf"last (?:week|weekend|month|year|spring|summer|autumn|winter|night)|(?:at|over) (?:the weekend|easter|christmas)|(?:in|last) {_MONTH}|"
    r"earlier (?:today|this week|this month)|this (?:morning|afternoon|evening|week|month)|today|tonight)"
)
_DETERMINER = r"(?:an?|the|my|our|his|her|their|another|some|two|three)"
_ADJ = (
    r"(?:(?!a\b|an\b|the\b|not\b|in\b|at\b|of\b|to\b|for\b|on\b|from\b|with\b|and\b)[\w'-]+ ){0,3}?"
)
_NOUN = any_of(_C["appointments"], _C["occasions"], _C["trips"]) + "s?"
_WITH = r"(?: (?:with|at|for|in|to|of|from|by) (?!the \d|every|each|most)(?:the |my |our |her |his |an? )?[\w'&-]+(?: (?!every\b|each\b)[\w'&-]+){0,3}?)?"
EVENT = rf"{_ADJ}{_NOUN}\b{_WITH}"
_BE, _HAVE = r"(?:am|is|are)", r"(?:have|has)(?: got)?"
_HOLD = (
    rf"(?:{_HAVE}|got|(?:have|has) (?:made|arranged|booked|scheduled|got)|booked|arranged|scheduled|made|"
    rf"{_BE} (?:having|going to have|hosting|holding|throwing|organising|organizing|giving|planning|celebrating|attending|taking|sitting|doing))"
)
_SERVICE = rf"(?:the|my|our) {_ADJ}{any_of(_C['services'], _C['family'], _C['friends'], _C['contacts'])}s?\b"
_COMES = r"(?:is|are) (?:being )?(?:coming|due|arriving|delivered|fitted|installed|collected|picked up|visiting|coming over|coming round|coming back)|comes|arrives|gets delivered|gets here|will be (?:here|delivered|fitted|installed)|will (?:come|arrive)"
_MOVED = (
    r"(?:(?:have|has) been|was|were|got|is being|is|has) (?:moved|rescheduled|postponed|pushed(?: back)?|put (?:back|off)|brought forward|"
    r"changed|shifted|delayed)(?: (?:back|forward))?(?: again)?(?: from [\w ]+?)? (?:to|until|till) "
)
_DONE = any_of(_C["outings"])
_DAILY, _VAGUE, _STATES = any_of(_C["daily"]), any_of(_C["vague"]), any_of(_C["states"])
_AHEAD = ("plans", "appointment", "event", "operation", "has_to")

EVENT_RULES = (
    # It is had, or gone to.
    Rule("event", "appointment", "{s} {o}.", rf"(?P<o>{_HOLD} {_DETERMINER} {EVENT} {_SOON}.*)", "action", inflect=True),
    # It comes to the house, or leaves.
    Rule("event", "event", "{n} {o}.", rf"(?P<n>{_SERVICE}) (?P<o>(?:{_COMES}) {_SOON}.*)", "action", whose="me"),
    # Before its time ("on Friday I have ...").
    Rule("event", "appointment", "{s} {o}.", rf"(?P<o>{_HOLD} {_DETERMINER} {EVENT})$", "action", inflect=True, front=rf"^{_SOON}$"),
    # It has moved: the old day holds no longer.
    Rule("event", "appointment", "{s}'s {o} was moved to {n}.", rf"'s (?P<o>{EVENT}) {_MOVED}(?P<n>{_SOON})", "value", ends=_AHEAD),
    # Its own day.
    Rule("event", "event", "{n} is {o}.", rf"(?P<o>{_SOON})(?: it is| there is| is)(?: going to be)? (?P<n>(?:an?|the|my|our) (?:{EVENT}|{_ADJ}{any_of(_C['visited'], _C['contacts'])}))$", "text", whose="me"),
    Rule("event", "appointment", "The {o} was moved to {n}.", rf"the (?P<o>{EVENT}) {_MOVED}(?P<n>{_SOON})", "value", whose="me", ends=_AHEAD),
    Rule("event", "event", "{s}'s {n} is {o}.", rf"'s (?P<n>{EVENT}) (?:is|takes place|will be|starts|begins|falls)(?: now)? (?P<o>{_SOON}.*)", "text"),
    Rule("event", "event", "{n} is {o}.", rf"(?P<n>the {EVENT}) (?:is|takes place|will be|starts|begins|falls)(?: now)? (?P<o>{_SOON}.*)", "text", whose="me"),
    # It happened.
    Rule("event", "event", "{s} had {o}.", rf"(?:(?:have|has) )?had (?P<o>{_DETERMINER} {EVENT} {_AGO}.*)", "text"),
    Rule("event", "event", "{s} {o}.", rf"(?P<o>(?:{_DONE})\b(?! {_DAILY}\b)(?!.* {_DAILY}\b).* {_AGO})(?=$|,| and\b)", "action"),
    Rule("event", "event", "{s} {o}.", rf"(?P<o>(?:{_DONE})\b(?! {_DAILY}\b)(?!.* {_DAILY}\b).*)", "action", front=rf"^{_AGO}$"),
    Rule("event", "event", "{s} had {o}.", rf"had (?P<o>{_DETERMINER} {EVENT})", "text", front=rf"^{_AGO}$"),
    # It is planned, whatever it is.
    Rule("plan", "plans", "{s} is going to {o}.", rf"{_BE} (?:going|planning|about|hoping) to (?P<o>(?!{_VAGUE}\b)[a-z]+\b.* {_SOON}.*)", "plan"),
    Rule("plan", "plans", "{s} {o}.", rf"(?P<o>{_BE} (?!{_STATES}\b)[a-z]+ing\b.* {_SOON}.*)", "action", inflect=True),
    Rule("plan", "plans", "{s} {o}.", rf"(?P<o>{_BE} (?!{_STATES}\b)[a-z]+ing\b.+)", "action", inflect=True, front=rf"^{_SOON}$"),
)  # fmt: skip

_IT_IS = r"(?:it's|it is|it'll be|it will be|now it's|it's now|it is now|now it is|and it's|that's)"
# Sentences whose clauses are read together: what replaces them; " | " separates statements.
JOINED: Rewrites = (
    (rf"\b(?:they|we|i|he|she)(?: have|'ve| has|'s)? (?:moved|rescheduled|postponed|changed|pushed back|put off|brought forward) (my|our|the) ({EVENT}),? (?:and |so )*{_IT_IS} (?:now )?(?:on )?({_SOON})(?: now| instead)?",
     r"my \2 was moved to \3"),
    (rf"\b(?:my|our|the) ({EVENT}) (?:has been|was|got|is) (?:moved|rescheduled|postponed|changed|pushed back|put off|delayed),? (?:and |so )*{_IT_IS} (?:now )?({_SOON})(?: now| instead)?",
     r"my \1 was moved to \2"),
    (rf"\b(?:my|our|the) ({EVENT}) (?:isn't|is not|'s not) (?:on )?(?:{_SOON})(?: any ?more)?,? (?:but |and )*(?:{_IT_IS} )?({_SOON})", r"my \1 was moved to \2"),
    (rf"\b(my|our|the) ({EVENT}) is ({_SOON}),? (?:and )?not (?:on )?(?:{_SOON})", r"my \2 was moved to \3"),
    (r"\b(i|we) used to (?:really )?(?:love|like|enjoy|adore) ([\w' -]+?),? (?:but )?(?:(?:now|these days|nowadays|today) )?(?:i|we) (?:now )?(?:can't stand|can't bear|hate|loathe|detest|don't like|can't abide)"
     r" (?:it|them|that)(?: now| any ?more| these days| at all)*", r"\1 can't stand \2 any more"),
    (r"\b(i|we) (?:am|are|'m|'re)(?:n't)? (?:not|no longer) (an? )?([\w-]+)(?: any ?more)?,? but (an? )?([\w-]+)(?: now)?$", r"\1 am no longer \2\3 | \1 am \4\5"),
    (rf"\b((?:i|we)\b[^,;]*?\b(?:an?|my|our) (?:brand[- ])?new (?:car|phone|bike|laptop|computer|camera|van|guitar|tablet|motorbike))( {_AGO})?,? (an?) ([\w-]+)", r"\1 – \3 \4\2"),
)  # fmt: skip
