"""German patterns of facts that people state about themselves."""

from slowcat_memory.core.language.data import read_words, word_set
from slowcat_memory.core.language.facts import (
    CAPITAL,
    NAME,
    NAMED,
    THING,
    FactWords,
    StatementRule,
    StatementWords,
    name_words,
)

_WORDS = read_words(__package__)

_KIN = r"frau|mann|freund|freundin|sohn|tochter|bruder|schwester|mutter|vater|chef|chefin"
_PET = r"hund|katze|kater|pferd|hamster|papagei|hase"
_RULES = (
    StatementRule("person", "name", "{s} heißt {o}.", rf"\b(?:ich heiße|mein Name ist) {NAMED}"),
    StatementRule("person", "lives_in", "{s} wohnt in {o}.",
        rf"\bich (?:wohne|lebe) (?:jetzt |derzeit )?in (?P<o>{NAME})"),
    StatementRule("person", "lives_in", "{s} ist nach {o} gezogen.",
        rf"\bich bin (?:gerade |jetzt )?nach (?P<o>{NAME}) gezogen"),
    StatementRule("person", "born_in", "{s} kommt aus {o}.",
        rf"\bich (?:komme|stamme) aus (?P<o>{NAME})"),
    StatementRule("person", "works_at", "{s} arbeitet bei {o}.",
        rf"\bich arbeite (?:jetzt |derzeit )?(?:bei|für) (?P<o>{NAME})"),
    StatementRule("person", "works_as", "{s} arbeitet als {o}.",
        rf"\bich arbeite (?:jetzt |derzeit )?als (?P<o>{CAPITAL})"),
    StatementRule("person", "age", "{s} ist {o} Jahre alt.",
        r"\bich bin (?P<o>\d{1,3})(?: Jahre alt|(?=[.!]|$))"),
    StatementRule("person", "has_{kin}", "{s}: {kin} heißt {o}.",
        rf"\bmeine? (?P<kin>{_KIN}) heißt {NAMED}"),
    StatementRule("person", "has_pet", "{s}: {kin} heißt {o}.",
        rf"\bmeine? (?P<kin>{_PET}) heißt {NAMED}"),
    StatementRule("person", "allergic_to", "{s} ist allergisch gegen {o}.",
        rf"\bich bin allergisch gegen {THING}(?=[.,;!]|\s+(?:und|aber)\b|$)"),
    StatementRule("preference", "likes", "{s} mag {o}.",
        rf"\bich (?:mag|liebe) (?!es\b|das\b|dich\b|sie\b|ihn\b|nicht\b|"
        rf"kein\w*\b){THING}(?=[.,;!]|\s+(?:und|aber|sehr)\b|$)"),
    StatementRule("preference", "favourite {kin}", "{s}: Lieblings{kin} ist {o}.",
        rf"\bmein(?:e)? Lieblings(?P<kin>[a-zäöüß]+) ist {THING}(?=[.,;!]|$)"),
    StatementRule("decision", "decided", "{s} hat sich entschieden, {o}.",
        r"\bich habe (?:mich entschieden|beschlossen),? (?P<o>[^.;!?]{4,60})(?=[.;!]|$)"),
)  # fmt: skip

STATEMENTS = StatementWords(
    rules=_RULES,
    unsure="wenn|falls|würde|könnte|vielleicht|angenommen|früher|nie|sagte|sagt|gesagt|geträumt",
    not_in_object=r"mein\w*|dein\w*|unser\w*|mich|dich|es|das|sie|ihn",
    trailing=("übrigens", "auch"),
)

FACTS = FactWords(
    reported="fragte|bedankte|begrüßte|der assistent",
    passing="gerade|im moment|heute",
    denied=r"\b(?:nicht|kein\w*|nie)\b",
    negated=r"\b(?:nicht|nie|kein\w*)\b",
    supposed="wenn|falls|würde|könnte|vielleicht",
    first_person=r"\b(?:ich|wir|mir|mich|uns)\b",
    possessives="meine?|unsere?",
    relatives=(
        "frau|mann|freundin|freund|sohn|tochter|bruder|schwester|mutter|vater|chef|hund|katze"
    ),
    corrects="nein,|ich meinte",
    before_date="seit|im|am",
    pleasantries=word_set(_WORDS["facts"]["pleasantries"]),
    regimes=word_set(_WORDS["facts"]["regimes"]),
    single=word_set(_WORDS["facts"]["single"]),
    moved=word_set(_WORDS["facts"]["moved"]),
    consuming=word_set(_WORDS["facts"]["consuming"]),
)

NAMES = name_words(_WORDS["names"])
