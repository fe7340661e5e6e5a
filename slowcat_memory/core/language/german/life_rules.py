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
_LIGHT = r"(?:(?:noch|jetzt|nun|endlich|wirklich|dringend|unbedingt|inzwischen|mittlerweile|immer noch) )*"
_WORK = ("works_at", "works_as")
_AHEAD = ("plans", "appointment", "event", "operation", "has_to")
_TASTE = ("likes", "prefers", "drinks", "habit", "smokes", "plays", "learns", "diet")
_GADGET = (
    r"(?:auto|wagen|handy|telefon|smartphone|laptop|computer|fahrrad|rad|kamera|tablet|motorrad)"
)

LIFE_RULES = (
    # Home
    Rule("person", "lives_in", "{s} wohnt in {o}.", rf"{_BIN} (?:jetzt |nun |inzwischen |mittlerweile )*in (?P<o>\S+) (?:zu hause|zuhause|daheim|heimisch geworden|sesshaft geworden|gemeldet)", "place"),
    Rule("person", "lives_in", "{s} wohnt in {o}.", r"'s (?:neue[sr]? )?(?:zuhause|heimat|wohnort|adresse|bleibe|haus) (?:ist|liegt) (?:jetzt |nun )*(?:in )?(?P<o>.+)", "place", whose="speaker"),
    Rule("person", "lives_in", "{s} wohnt in {o}.", r"(?P<o>\S+) ist (?:jetzt |nun |inzwischen )*(?:mein|unser) (?:neues )?(?:zuhause|wohnort)\b", "place", whose="me"),
    Rule("person", "lives_in", "{s} ist nach {o} gezogen.", rf"{_HAB} (?:\w+ ){{0,4}}?(?:den umzug|unsere zelte|meine zelte|unsere kisten) nach (?P<o>\S+) (?:geschafft|verlegt|hinter (?:mir|uns)|gewagt|gemacht)", "place"),
    # Work
    Rule("person", "works_as", "{s} arbeitet als {o}.", rf"(?:verdiene?n?|verdient) (?:mein|unser|sein|ihr|das) (?:geld|brot|lebensunterhalt|unterhalt) als (?P<o>{_JOB})\b", "value"),
    Rule("person", "works_as", "{s} arbeitet als {o}.", rf"{_HAB} (?:\w+ ){{0,5}}?als (?P<o>{_JOB}) (?:angefangen|begonnen|angeheuert|gearbeitet)\b", "value"),
    Rule("person", "works_as", "{s} arbeitet als {o}.", rf"{_HAB} (?:\w+ ){{0,4}}?(?:eine|einen) (?:neue |neuen )?(?:stelle|job|arbeit) als (?P<o>{_JOB})\b", "value"),
    Rule("person", "works_as", "{s} ist {o}.", rf"'s (?:beruf|job) ist (?P<o>{_JOB})\b", "value"),
    Rule("person", "works_at", "{s} arbeitet bei {o}.", r"(?P<o>[\w&-]+) ist (?:jetzt |nun )*(?:mein|unser) (?:neuer )?(?:arbeitgeber|brötchengeber)\b", "organisation", whose="me"),
    Rule("person", "works_at", "{s} arbeitet bei {o}.", rf"{_BIN} (?:\w+ ){{0,3}}?bei (?P<o>\S+) (?:beschäftigt|angestellt|unter vertrag|untergekommen|eingestiegen)\b", "organisation"),
    Rule("person", "works_at", "{s} arbeitet bei {o}.", rf"{_HAB} (?:\w+ ){{0,4}}?bei (?P<o>\S+) (?:angefangen|begonnen|angeheuert|unterschrieben)\b", "organisation"),
    # Tastes and habits
    Rule("preference", "likes", "{s} mag {o}.", rf"{_BIN} (?:ein |eine )?(?:\w+ )?(?:fan|liebhaber|liebhaberin|freund|freundin) von (?P<o>.+)", "things"),
    Rule("preference", "likes", "{s} mag {o}.", r"(?:stehe|steht|stehen) (?:total |voll |sehr |ziemlich )*auf (?P<o>(?!der|dem|den|einem|einer)\S+)$", "things"),
    Rule("preference", "dislikes", "{s} mag {o} nicht.", rf"(?P<o>{_THEM}[\w-]+) (?:ist|sind) (?:gar |überhaupt |wirklich )*(?:nicht mein ding|nicht mein fall|nichts für mich)$", "thing", whose="me", denies=True),
    Rule("preference", "dislikes", "{s} mag {o} nicht.", rf"{_BIN} kein (?:großer )?(?:fan|freund|freundin) von (?P<o>.+)", "things", denies=True),
    Rule("habit", "habit", "{s} macht {o}.", rf"(?:mache|machen|macht|betreibe|betreibt) (?:jetzt |seit \w+ |seit ein\w* \w+ |neuerdings |neuerdings auch )*(?P<o>{_HOBBY})\b", "value"),
    Rule("habit", "habit", "{s} hat mit {o} angefangen.", rf"{_HAB} (?:\w+ ){{0,4}}?(?P<o>{_HOBBY}) (?:angefangen|begonnen|für (?:mich|sich|uns) entdeckt)\b", "value"),
    Rule("person", "diet", "{s} isst {o}.", rf"{_HAB} (?:\w+ ){{0,3}}?auf (?:eine )?(?P<o>{_DIET})\w* (?:ernährung |kost )?umgestellt", "value"),
    # Things
    Rule("possession", "owns", "{s} hat {o}.", rf"'s {_GADGET} ist (?:jetzt |nun )*(?P<o>(?:ein|eine) [\w-]+)$", "value"),
    Rule("possession", "owns", "{s} hat {o}.", r"(?:fahre|fährt|fahren) (?:jetzt |nun |inzwischen )*(?P<o>(?:einen|eine|ein) (?!auto|bus|lkw|taxi|zug)[\w-]+)$", "value"),
    Rule("possession", "owns", "{s} hat {o}.", rf"{_HAB} (?:jetzt |nun )*(?P<o>(?:ein|eine|einen) neue\w* {_GADGET} – ein\w* [\w-]+)$", "thing"),
    # Plans and open matters
    Rule("goal", "goal", "{s} träumt davon: {o}.", r"(?:würde|würden) (?:gerne?|so gerne?) (?:irgendwann|eines tages|einmal) (?P<o>.+)", "plan"),
    Rule("open_thread", "has_to", "{s} muss sich noch um {o} kümmern.", rf"(?:muss|müssen) (?:mich |uns |sich ){_LIGHT}um (?P<o>{_MATTER}) kümmern", "value"),
    Rule("open_thread", "has_to", "{s} muss noch {o} erledigen.", rf"(?:muss|müssen) {_LIGHT}(?P<o>{_MATTER}) {_LIGHT}(?:erledigen|klären|regeln|machen|angehen|abschließen|beantragen|einreichen)", "value"),
    Rule("open_thread", "has_to", "{o} ist noch offen.", rf"(?P<o>{_MATTER}) (?:ist|sind|steht|liegt) (?:immer )?noch (?:offen|nicht erledigt|nicht fertig|an|aus|ungeklärt|nicht durch|in der schwebe)", "value", whose="me", denies=True),
    Rule("open_thread", "has_to", "{s} hat {o} noch nicht erledigt.", rf"{_HAB} (?:mich |uns |sich )?(?:um )?(?P<o>{_MATTER}) (?:immer )?noch nicht (?:erledigt|geklärt|gekümmert|gemacht|fertig|geregelt)", "value", denies=True),
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
