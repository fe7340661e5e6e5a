"""German rules of further ways to state a home, work, people, tastes, health and open matters.

They stand behind those of ``statement_rules`` and have the same form.
"""

from slowcat_memory.core.language.facts import StatementRule as Rule
from slowcat_memory.core.language.german.statement_rules import CLASSES
from slowcat_memory.core.language.life import any_of

_HAB, _BIN = r"(?:habe|haben|hat)", r"(?:bin|sind|ist)"
_ILLNESS, _JOB, _DIET = (any_of(CLASSES[name]) for name in ("illnesses", "jobs", "diets"))
_HOBBY = rf"(?:[\w-]*{any_of(CLASSES['hobbies'])})"
_MATTER = rf"(?:der|die|das|mein\w*|unser\w*|den|dem) (?:[\w-]+ )?\w*{any_of(CLASSES['matters'])}\b"
_THEM = r"(?!(?:es|das|dies\w*|ihn|sie|dich|euch|alles|nichts|etwas|was)\b)"
_WORK = ("works_at", "works_as")
_AHEAD = ("plans", "appointment", "event", "operation", "has_to")
_TASTE = ("likes", "prefers", "drinks", "habit", "smokes", "plays", "learns", "diet")

LIFE_RULES = (
    # Home
    Rule("person", "lives_in", "{s} wohnt in {o}.", r"'s (?:neue[sr]? )?(?:zuhause|heimat|wohnort|adresse|bleibe|haus) (?:ist|liegt) (?:jetzt |nun )*(?:in )?(?P<o>.+)", "place", whose="speaker"),
    # Work
    # Tastes and habits
    # Things
    # Plans and open matters
)  # fmt: skip

LIFE_ENDINGS = (
    Rule("person", "works_at", "{s} hat die Stelle verloren.", r"(?!.*\b(?:krankenhaus|klinik|reha|haft|gefängnis|station|wehrdienst|bundeswehr)\b)(?:die|man|mein chef|die firma|meine firma) (?:hat|haben) (?:mich|mir|uns) (?:\w+ ){0,3}?(?:entlassen|gekündigt|rausgeworfen|gefeuert|vor die tür gesetzt)(?P<o>)", "nothing", over=True, ends=_WORK, whose="me"),
    Rule("person", "works_at", "{s} hat die Stelle verloren.", r"(?!.*\b(?:krankenhaus|klinik|reha|haft|gefängnis|station|wehrdienst|bundeswehr)\b)(?:wurde|wurden|bin|ist) (?:\w+ ){0,4}?(?:entlassen|gefeuert|rausgeworfen|rausgeflogen|gekündigt)(?: worden)?$(?P<o>)", "nothing", over=True, ends=_WORK),
    Rule("health", "recovered", "{s} hat {o} nicht mehr.", rf"(?:der|die|das|mein\w*) (?P<o>{_ILLNESS}) ist (?:\w+ ){{0,2}}?(?:weg|vorbei|überstanden|ausgestanden|ausgeheilt|abgeklungen|verschwunden)", "value", over=True, ends=("health", "has", "event"), whose="me"),
    Rule("health", "recovered", "{s} hat {o} nicht mehr.", rf"{_HAB} (?:der |die |das |den |mein\w* )?(?P<o>{_ILLNESS}) (?:\w+ ){{0,2}}?(?:überstanden|hinter (?:mir|sich|uns)|auskuriert|überwunden)", "value", over=True, ends=("health", "has", "event")),
    Rule("preference", "dislikes", "{s} mag {o} nicht mehr.", rf"(?P<o>{_THEM}[\w-]+) (?:ist|sind|schmeckt|schmecken|gefällt|gefallen) (?:mir )?(?:\w+ )?nicht mehr(?: (?:mein ding|mein fall))?$", "thing", ends=_TASTE, whose="me"),
    Rule("preference", "dislikes", "{s} mag {o} nicht mehr.", rf"(?P<o>{_THEM}[\w-]+) (?:hängt|hängen|kommt|kommen) (?:mir|uns) (?:\w+ )?zum hals(?: he)?(?:raus|rau)\b", "thing", ends=_TASTE, whose="me"),
    Rule("habit", "gave_up", "{s} hat {o} aufgegeben.", rf"{_HAB} (?:\w+ ){{0,3}}?(?:das |dem |die |den )?(?P<o>{_HOBBY}) (?:aufgegeben|an den nagel gehängt|sein lassen|eingestellt|gesteckt)\b", "value", over=True, ends=("*",)),
    Rule("open_thread", "done", "{o} ist erledigt.", rf"(?P<o>{_MATTER}) (?:ist|sind|hat|haben) (?:\w+ ){{0,2}}?(?:erledigt|vom tisch|durch|geklärt|geregelt|in trockenen tüchern|abgehakt|geschafft)\b", "value", over=True, ends=_AHEAD, whose="me"),
    Rule("open_thread", "done", "{s} hat {o} erledigt.", rf"{_HAB} (?:\w+ )?(?P<o>{_MATTER}) (?:\w+ )?(?:erledigt|geklärt|geregelt|hinter mir|abgehakt|abgegeben|eingereicht)\b", "value", over=True, ends=_AHEAD),
)  # fmt: skip
