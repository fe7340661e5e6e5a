"""What people say about themselves in so many words: facts without an LLM.

A table of patterns over single sentences, English and German, made for precision: a statement in
the first person, in the present or past, not a question, not denied, not supposed, not quoted.
"I live in Lisbon" is one; "if I lived in Lisbon", "I used to live in Lisbon" and "do I live in
Lisbon?" are not. Better to miss one than to make one up (requirements F13).
"""

import re
from collections.abc import Iterable, Sequence
from functools import cache

import sentencex
from msgspec import Struct

from slowcat_memory.core.extraction.predicates import Triple
from slowcat_memory.core.text.normalize import clean

MOST_CHARS = 4000  # of a turn
MOST_WORDS = 60  # of a sentence: what is longer tells a story
MOST_OBJECT = 60  # characters of an object


class Stated(Triple, frozen=True, kw_only=True):
    """Something that a person said about themselves or theirs.

    Attributes:
        type: "person", "preference", "event", "decision", "task_completed", "open_thread".
        content: The same as a sentence in the third person.
        over: Whether it is said to be over ("I no longer work at Acme").
    """

    type: str
    content: str
    over: bool = False


class Rule(Struct, frozen=True):
    """One way to say something.

    Attributes:
        type: As in ``Stated``.
        predicate: As in ``Stated``.
        content: Its sentence, with {s} for the subject and {o} for the object.
        pattern: What is said; groups ``o`` and, where it is about somebody else, ``s``.
        over: As in ``Stated``.
        subject: Whom it is about, made of the groups; "" for the speaker.
    """

    type: str
    predicate: str
    content: str
    pattern: str
    over: bool = False
    subject: str = ""


_END = r"(?=[.!,;]|\s+(?:and|but|so|because|now|since|und|aber|weil|jetzt|seit|these days|with|which|where|who|when|for (?:a|two|three|ten|some|\d+)|right)\b|$)"
# Case counts in names alone.
_NAME = r"(?-i:[A-ZÄÖÜ][\w'’-]+(?: (?:(?:of|the|von|van|de) )*[A-ZÄÖÜ][\w'’-]+)*)"
_CAPITAL = r"(?-i:[A-ZÄÖÜ][a-zäöüß]+)"
_KIN = (
    r"wife|husband|partner|girlfriend|boyfriend|son|daughter|brother|sister|mother|father|mum|mom|"
    r"dad|boss|friend|cousin|aunt|uncle|neighbou?r|roommate|grandmother|grandfather"
)
_KIN_DE = r"frau|mann|freund|freundin|sohn|tochter|bruder|schwester|mutter|vater|chef|chefin"
_PET = r"dog|cat|puppy|kitten|horse|parrot|hamster|rabbit|bird"
_PET_DE = r"hund|katze|kater|pferd|hamster|papagei|hase"
_NUMBER = (
    r"\d{1,3}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|"
    r"fifteen|sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty"
)
_THING = rf"(?P<o>[^.,;!?]{{2,{MOST_OBJECT}}}?)"
_WHO = rf"(?P<o>{_NAME})"
# What one decides, and what one has to do, that still matters in a month.
_LIFE = (
    r"quit|stop|start|move|leave|marry|get (?:married|divorced)|buy|sell|adopt|study|retire|go back|"
    r"become|join|apply|accept|give up|learn|switch|change (?:jobs|careers)|travel|take (?:a|the) (?:job|offer|year)|"
    r"open|found|hire|renovate|run for|sign up|enrol|have (?:a baby|children|surgery)"
)
_CHORE = (
    r"call|phone|book|pay|renew|buy|send|fix|repair|submit|pick up|return|schedule|visit|write to|"
    r"order|register|apply|sign|cancel|e-?mail|see (?:a|the) (?:doctor|dentist|vet)"
)

ENGLISH = (
    Rule("person", "name", "{s}'s name is {o}.", rf"\bmy name(?:'s| is) {_WHO}"),
    Rule("person", "name", "{s} is called {o}.", rf"^(?:please )?call me {_WHO}{_END}"),
    Rule("person", "lives_in", "{s} lives in {o}.", rf"\bI(?:'m| am)? (?:now |currently )?(?:live|living) in (?P<o>(?:the )?{_NAME})"),
    Rule("person", "lives_in", "{s} moved to {o}.", rf"\b(?:I|we)(?:'ve| have)? (?:just |recently |finally )?moved (?:here )?to (?P<o>(?:the )?{_NAME})"),
    Rule("person", "address", "{s}'s address is {o}.", r"\bmy (?:new )?address is (?P<o>\d+[^,;!?]{3,60}?)(?=[.,;!]|$)"),
    Rule("person", "address", "{s} lives at {o}.", rf"\b(?:I|we)(?:'ve| have)? (?:now |just )?(?:live|living|moved) (?:at|to) (?P<o>\d+ {_NAME})"),
    Rule("person", "born_in", "{s} comes from {o}.", rf"\bI(?:'m| am| come) (?:originally )?from (?P<o>{_NAME})"),
    Rule("person", "works_at", "{s} works at {o}.", rf"\bI(?:'m| am)? (?:now |currently )?work(?:ing)? (?:at|for) (?P<o>{_NAME})"),
    Rule("person", "works_at", "{s} started at {o}.", rf"\bI(?:'ve| have)? (?:just )?(?:started|begun) (?:working )?(?:at|for) (?P<o>{_NAME})"),
    Rule("person", "works_at", "{s} no longer works at {o}.", rf"\bI (?:no longer|don't|do not) work (?:at|for) (?P<o>{_NAME})(?: any ?more)?", over=True),
    Rule("person", "works_at", "{s} left {o}.", rf"\bI(?:'ve| have)? (?:just )?(?:quit my job at|left my job at|was laid off from) (?P<o>{_NAME})", over=True),
    Rule("person", "works_as", "{s} works as {o}.", rf"\bI(?:'m| am)? work(?:ing)?(?: (?:at|for) {_NAME})? as (?P<o>an? [a-z][a-z -]{{2,40}}?){_END}"),
    Rule("person", "works_as", "{s} is {o}.", r"\bI(?:'m| am) (?P<o>an? (?:[a-z]+ ){0,2}(?:nurse|teacher|doctor|engineer|programmer|developer|designer|student|lawyer|chef|cook|baker|pilot|driver|carpenter|electrician|plumber|journalist|writer|musician|painter|architect|accountant|scientist|researcher|farmer|gardener|librarian|photographer|translator|therapist|dentist|vet|manager|consultant|analyst))\b"),
    Rule("person", "studies", "{s} studies {o}.", r"\bI(?:'m| am)? stud(?:y|ying) (?P<o>[A-Za-z][A-Za-z ]{2,40}?)(?: at\b| in\b|(?=[.,!]|$))"),
    Rule("person", "age", "{s} is {o} years old.", rf"\bI(?:'m| am) (?P<o>{_NUMBER}(?:[ -](?:one|two|three|four|five|six|seven|eight|nine))?)(?: years old| years of age|(?<=\d\d)(?=[.!](?:\s|$)|$))"),
    Rule("person", "age", "{s} turned {o}.", rf"(?<!when )\bI (?:just )?turned (?P<o>{_NUMBER})\b"),
    Rule("person", "birthday", "{s}'s birthday is {o}.", r"\bmy birthday is (?:on )?(?P<o>(?:the )?(?:\d{1,2}(?:st|nd|rd|th)? (?:of )?[A-Z][a-z]+|[A-Z][a-z]+ \d{1,2}(?:st|nd|rd|th)?))"),
    Rule("person", "email", "{s}'s e-mail address is {o}.", r"\bmy e-?mail(?: address)? is (?P<o>\S+@\S+\.\w+)"),
    Rule("person", "has_{kin}", "{s}'s {kin} is called {o}.", rf"\bmy (?P<kin>{_KIN})(?:'s name is| is called| is named) {_WHO}"),
    Rule("person", "has_{kin}", "{s}'s {kin} is called {o}.", rf"\bmy (?P<kin>{_KIN}),? (?P<o>{_CAPITAL})\b(?!['’])"),
    Rule("person", "has_pet", "{s} has a {kin} called {o}.", rf"\bmy (?P<kin>{_PET})(?:'s name is| is called| is named) {_WHO}"),
    Rule("person", "has_pet", "{s} has a {kin} called {o}.", rf"\b(?:I|we)(?:'ve)? (?:have|got|adopted|have got)(?: just)? an? (?:new |little |old )?(?P<kin>{_PET}) (?:called|named) {_WHO}"),
    Rule("person", "has_pet", "{s} has a {kin} called {o}.", rf"\bmy (?P<kin>{_PET}),? (?P<o>{_CAPITAL})\b(?!['’])"),
    Rule("person", "age", "{s} is {o} years old.", rf"\bmy (?:{_PET}|{_KIN}),? (?P<s>{_CAPITAL}),? (?:is|turned|just turned) (?P<o>{_NUMBER})\b(?! (?:minutes|hours|days|weeks|months|times|kilos|o'clock))", subject="s"),
    Rule("person", "age", "{s} is {o} years old.", rf"^(?:and |well,? |now )?(?P<s>{_CAPITAL}) (?:is|turned|just turned) (?P<o>{_NUMBER}) (?:years old|years of age|now|today|yesterday)\b", subject="s"),
    Rule("person", "allergic_to", "{s} is allergic to {o}.", rf"\bI(?:'m| am) allergic to {_THING}{_END}"),
    Rule("person", "diet", "{s} is {o}.", r"\bI(?:'m| am) (?:a )?(?P<o>vegan|vegetarian|lactose intolerant|gluten[- ]free|coeliac|celiac|diabetic)\b"),
    Rule("preference", "favourite {kin}", "{s}'s favourite {kin} is {o}.", rf"\bmy (?:all-time )?favou?rite (?P<kin>[a-z]+(?: [a-z]+)?) is {_THING}{_END}"),
    Rule("preference", "likes", "{s} likes {o}.", rf"\bI (?:really |just |absolutely )?(?:love|like|enjoy|adore) (?!(?:the|those|these|all|being|not|making|makes|and|some|a|my|our)\b|['#‘]|it\b|that\b|this\b|you\b|to (?:know|think|see|say|believe|imagine)\b|how\b|what\b|when\b){_THING}{_END}"),
    Rule("preference", "dislikes", "{s} dislikes {o}.", rf"\bI (?:really |just |absolutely )?(?:hate|dislike|can't stand|don't like|do not like) (?!being\b|having\b|not\b|how\b|what\b|when\b|to\b){_THING}{_END}"),
    Rule("preference", "prefers", "{s} prefers {o}.", rf"\bI(?:'d)? (?:usually |always )?prefer (?!not\b|to\b|if\b|it\b|that\b){_THING}{_END}"),
    Rule("event", "appointment", "{s} has {o}.", r"\bI(?:'ve| have)(?: got)? (?P<o>(?:an?|my) (?:[a-z]+ ){0,2}(?:appointment|interview|exam|meeting|flight|date|check-up|checkup|surgery|operation|wedding|party|concert|deadline)\b[^.!?;]{3,60})(?=[.!;]|$)"),
    Rule("decision", "decided", "{s} decided {o}.", rf"\b(?:I|we)(?:'ve| have)? (?:just |finally )?(?:decided|made up my mind) (?P<o>to (?:{_LIFE})\b[^.,;!?]{{0,60}}?){_END}"),
    Rule("task_completed", "finished", "{s} finished {o}.", rf"\b(?:I|we)(?:'ve| have)? (?:just |finally |already )?(?:finished|completed|handed in|submitted|passed) (?!up\b|off\b|last\b|early\b|late\b|few\b|work\b|\w+ing\b){_THING}{_END}"),
    Rule("open_thread", "has_to", "{s} still has to {o}.", rf"\bI still (?:need|have) to (?P<o>(?:{_CHORE})\b[^.,;!?]{{2,60}}?){_END}"),
    Rule("open_thread", "wants_reminder", "{s} wants to be reminded to {o}.", rf"(?:^|\bplease |\bcan you |^so )remind me to {_THING}{_END}"),
)  # fmt: skip

GERMAN = (
    Rule("person", "name", "{s} heißt {o}.", rf"\b(?:ich heiße|mein Name ist) {_WHO}"),
    Rule("person", "lives_in", "{s} wohnt in {o}.", rf"\bich (?:wohne|lebe) (?:jetzt |derzeit )?in (?P<o>{_NAME})"),
    Rule("person", "lives_in", "{s} ist nach {o} gezogen.", rf"\bich bin (?:gerade |jetzt )?nach (?P<o>{_NAME}) gezogen"),
    Rule("person", "born_in", "{s} kommt aus {o}.", rf"\bich (?:komme|stamme) aus (?P<o>{_NAME})"),
    Rule("person", "works_at", "{s} arbeitet bei {o}.", rf"\bich arbeite (?:jetzt |derzeit )?(?:bei|für) (?P<o>{_NAME})"),
    Rule("person", "works_as", "{s} arbeitet als {o}.", rf"\bich arbeite (?:jetzt |derzeit )?als (?P<o>{_CAPITAL})"),
    Rule("person", "age", "{s} ist {o} Jahre alt.", r"\bich bin (?P<o>\d{1,3})(?: Jahre alt|(?=[.!]|$))"),
    Rule("person", "has_{kin}", "{s}: {kin} heißt {o}.", rf"\bmeine? (?P<kin>{_KIN_DE}) heißt {_WHO}"),
    Rule("person", "has_pet", "{s}: {kin} heißt {o}.", rf"\bmeine? (?P<kin>{_PET_DE}) heißt {_WHO}"),
    Rule("person", "allergic_to", "{s} ist allergisch gegen {o}.", rf"\bich bin allergisch gegen {_THING}(?=[.,;!]|\s+(?:und|aber)\b|$)"),
    Rule("preference", "likes", "{s} mag {o}.", rf"\bich (?:mag|liebe) (?!es\b|das\b|dich\b|sie\b|ihn\b|nicht\b|kein\w*\b){_THING}(?=[.,;!]|\s+(?:und|aber|sehr)\b|$)"),
    Rule("preference", "favourite {kin}", "{s}: Lieblings{kin} ist {o}.", rf"\bmein(?:e)? Lieblings(?P<kin>[a-zäöüß]+) ist {_THING}(?=[.,;!]|$)"),
    Rule("decision", "decided", "{s} hat sich entschieden, {o}.", r"\bich habe (?:mich entschieden|beschlossen),? (?P<o>[^.;!?]{4,60})(?=[.;!]|$)"),
)  # fmt: skip
LANGUAGES = {"english": ENGLISH, "german": GERMAN}

# A sentence with one of these says what is not, might be, was, or what somebody else said.
_UNSURE = re.compile(
    r"\b(?:if|would|wouldn't|could|might|maybe|perhaps|imagine|pretend|wish|suppose|used to|"
    r"never|not anymore|said|says|told me|asked|dream(?:ed|t)?|joking|kidding|hypothetically|"
    r"wenn|falls|würde|könnte|vielleicht|angenommen|früher|nie|sagte|sagt|gesagt|geträumt)\b",
    re.IGNORECASE,
)
# A sentence in the third person cannot hold these, and one that ends with those is cut short.
_TO_SOMEBODY = re.compile(
    r"\b(?:I|me|my|mine|myself|we|us|our|you|your|it|them|they|their|him|his|her|this|that|these|those|"
    r"mein\w*|dein\w*|unser\w*|mich|dich|es|das|sie|ihn)\b|[*#_()\[\]{}<>\"]"
    r"|\b(?:to|for|of|with|about|in|on|at|from|by|as|the|an?|some|more|being|too|so|very)$",
    re.IGNORECASE,
)
_TRAILING = re.compile(
    r"(?: (?:though|too|anyway|by the way|a lot|very much|übrigens|auch))+$", re.IGNORECASE
)
_NOT_NAMES = frozenset("The A An I My It He She They We You This That Here There Now".split())


def stated(
    text: str, speaker: str, language: str = "english", rules: Sequence[Rule] = ()
) -> list[Stated]:
    """Read what a person says about themselves.

    Args:
        text: A person's turn.
        speaker: Who says it.
        language: Whose rules; none in any other language.
        rules: To use in their place.

    Returns:
        The statements, each once, in their order.
    """
    table = tuple(rules) or LANGUAGES.get(language, ())
    if not table:
        return []
    code = {"german": "de"}.get(language, "en")
    found = list[Stated]()
    for sentence in sentencex.segment(code, clean(text)[0][:MOST_CHARS]):
        found += _read(" ".join(sentence.split()), speaker, table)
    return list(dict.fromkeys(found))


def _read(sentence: str, speaker: str, rules: Iterable[Rule]) -> list[Stated]:
    asks = sentence.endswith("?") or len(sentence.split()) > MOST_WORDS
    if asks or _UNSURE.search(sentence) or '"' in sentence or "“" in sentence:
        return []
    made = list[Stated]()
    for rule in rules:
        match = _compiled(rule.pattern).search(sentence)
        if match and (one := _made(rule, match, speaker)):
            made.append(one)
    over = {(one.predicate, one.object) for one in made if one.over}
    return [one for one in made if one.over or (one.predicate, one.object) not in over]


def _made(rule: Rule, match: re.Match[str], speaker: str) -> Stated | None:
    groups = match.groupdict()
    object_ = _TRAILING.sub("", " ".join(groups["o"].split()).strip(" .,;!"))
    kin = (groups.get("kin") or "").lower()
    subject = groups.get(rule.subject) or speaker if rule.subject else speaker
    if not object_ or object_ in _NOT_NAMES or subject in _NOT_NAMES:
        return None
    if rule.type != "person" and _TO_SOMEBODY.search(object_):
        return None
    return Stated(
        type=rule.type,
        subject=subject,
        predicate=rule.predicate.format(kin=kin),
        object=object_,
        content=rule.content.format(s=subject, o=object_, kin=kin),
        quote=match.group(0).strip(),
        over=rule.over,
    )


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)
