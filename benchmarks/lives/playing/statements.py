"""Claims as plain sentences in the third person, and as relations: what a truthful LLM writes."""

from datetime import date

from benchmarks.lives import dates
from benchmarks.lives.model import Claim

# By slot: what is true, and what is no longer.
ENGLISH = {
    "home": ("{who} lives in {value}.", "{who} no longer lives in {value}."),
    "job": ("{who} works as {value}.", "{who} no longer works as {value}."),
    "employer": ("{who} works at {value}.", "{who} no longer works at {value}."),
    "partner": ("{value} is the partner of {who}.", "{who} and {value} are no longer a couple."),
    "diet": ("{who} is {value}.", "{who} is no longer {value}."),
    "phone": ("{who} has a phone, a {value}.", "{who} no longer has the {value}."),
    "car": ("{who} drives a {value}.", "{who} no longer drives the {value}."),
    "dog": ("{who} has a dog called {value}.", "The dog {value} of {who} died."),
    "cat": ("{who} has a cat called {value}.", "The cat {value} of {who} died."),
    "pet": ("{who} has a pet called {value}.", "The pet {value} of {who} died."),
    "likes": ("{who} likes {value}.", "{who} no longer likes {value}."),
    "dislikes": ("{who} dislikes {value}.", "{who} no longer dislikes {value}."),
    "allergy": ("{who} is allergic to {value}.", "{who} is no longer allergic to {value}."),
    "condition": ("{who} has {value}.", "{who} has recovered from {value}."),
    "hobby": ("{who} does {value} as a hobby.", "{who} gave up {value}."),
    "goal": ("{who} wants to {value}.", "{who} no longer wants to {value}."),
    "decision": ("{who} decided to {value}.", "{who} decided not to {value}."),
    "plan": ("{who} plans {value}.", "The plan of {who} does not happen: {value}."),
    "appointment": ("{who} has a {value}.", "The {value} of {who} was cancelled."),
    "event": ("{who} {value}.", "{who} {value}."),
    "thread": ("{who} still has to deal with {value}.", "{who} has dealt with {value}."),
    "purchase": ("{who} bought {value}.", "{who} no longer has {value}."),
    "success": ("{who} {value}.", "{who} {value}."),
}
GERMAN = {
    "home": ("{who} wohnt in {value}.", "{who} wohnt nicht mehr in {value}."),
    "job": ("{who} arbeitet als {value}.", "{who} arbeitet nicht mehr als {value}."),
    "employer": ("{who} arbeitet bei {value}.", "{who} arbeitet nicht mehr bei {value}."),
    "partner": ("{who} ist mit {value} zusammen.", "{who} ist nicht mehr mit {value} zusammen."),
    "diet": ("{who} isst {value}.", "{who} isst nicht mehr {value}."),
    "phone": ("{who} hat als Handy ein {value}.", "{who} hat das {value} nicht mehr."),
    "car": ("{who} fährt einen {value}.", "{who} fährt den {value} nicht mehr."),
    "dog": ("{who} hat einen Hund namens {value}.", "{value}, der Hund von {who}, ist gestorben."),
    "cat": ("{who} hat eine Katze namens {value}.", "{value}, die Katze von {who}, ist gestorben."),
    "pet": ("{who} hat ein Haustier namens {value}.", "{value}, das Haustier von {who}, ist gestorben."),
    "likes": ("{who} mag {value}.", "{who} mag {value} nicht mehr."),
    "dislikes": ("{who} mag {value} nicht.", "{who} mag {value} wieder."),
    "allergy": ("{who} ist allergisch gegen {value}.", "{who} verträgt {value} wieder."),
    "condition": ("{who} hat {value}.", "{who} hat {value} überstanden."),
    "hobby": ("{who} hat als Hobby {value}.", "{who} hat {value} aufgegeben."),
    "goal": ("{who} will {value}.", "{who} will nicht mehr {value}."),
    "decision": ("{who} hat entschieden: {value}.", "{who} hat anders entschieden: {value}."),
    "plan": ("{who} plant {value}.", "Aus dem Plan von {who} wird nichts: {value}."),
    "appointment": ("{who} hat einen {value}.", "Der {value} von {who} ist abgesagt."),
    "event": ("{who}: {value}.", "{who}: {value}."),
    "thread": ("{who} muss {value} noch erledigen.", "{who} hat {value} erledigt."),
    "purchase": ("{who} hat {value} gekauft.", "{who} hat {value} nicht mehr."),
    "success": ("{who} hat {value}.", "{who} hat {value}."),
}  # fmt: skip
KIN = {
    "en": ("The {slot} of {who} is called {value}.", "The {slot} of {who} is not called {value}."),
    "de": ("{value} gehört zu {who} ({slot}).", "{value} gehört nicht zu {who} ({slot})."),
}
GERMAN_KIN = {
    "sister": "Schwester", "brother": "Bruder", "mother": "Mutter", "father": "Vater",
    "son": "Sohn", "daughter": "Tochter", "aunt": "Tante", "uncle": "Onkel", "friend": "Freundschaft",
    "colleague": "Arbeit", "boss": "Chef",
}  # fmt: skip
TYPES = {
    "home": "person", "job": "work", "employer": "work", "likes": "preference",
    "dislikes": "preference", "diet": "preference", "allergy": "health", "condition": "health",
    "goal": "plan", "decision": "decision", "plan": "plan", "appointment": "event",
    "event": "event", "thread": "open_thread", "purchase": "possession", "phone": "possession",
    "car": "possession", "success": "event", "hobby": "preference",
}  # fmt: skip
PREDICATES = {
    "home": "lives_in", "job": "works_as", "employer": "works_at", "partner": "has_partner",
    "sister": "has_sister", "brother": "has_brother", "mother": "has_mother",
    "father": "has_father", "son": "has_child", "daughter": "has_child", "friend": "friend_of",
    "dog": "has_pet", "cat": "has_pet", "pet": "has_pet", "likes": "likes", "dislikes": "dislikes",
    "allergy": "allergic_to", "diet": "diet", "phone": "owns", "car": "owns",
}  # fmt: skip
ENTITIES = {
    "home": "place",
    "employer": "organisation",
    "dog": "pet",
    "cat": "pet",
    "pet": "pet",
    **dict.fromkeys(("partner", *GERMAN_KIN), "person"),
}


def sentence(claim: Claim, who: str, language: str, over: bool = False) -> str:
    """Return a claim, or that it is over, as a sentence; dated events with their day."""
    table = ENGLISH if language == "en" else GERMAN
    pair = table.get(claim.slot, KIN[language])
    slot = claim.slot if language == "en" else GERMAN_KIN.get(claim.slot, claim.slot)
    value = claim.value.replace("my ", "the ")
    if claim.slot == "job" and language == "en":
        value = f"{'an' if value[0] in 'aeiou' else 'a'} {value}"
    name = who if claim.subject == "user" else claim.subject
    text = pair[over].format(who=name, value=value, slot=slot)
    if claim.on and not over and claim.slot != "success":
        text = f"{text[:-1]} {_on(claim.on, language)}."
    return text


def type_of(claim: Claim, over: bool) -> str:
    """Return the type of a claim's fact: an open matter that is over is a completed task."""
    if claim.slot == "thread" and over:
        return "task_completed"
    return TYPES.get(claim.slot, "person")


def _on(day: date, language: str) -> str:
    if language == "en":
        return f"on {day.day} {dates.MONTHS['en'][day.month - 1]} {day.year}"
    return f"am {day.day}. {dates.MONTHS['de'][day.month - 1]} {day.year}"
