"""German sentences about somebody in the third person."""

from slowcat_memory.core.language.sentences import UNDERWAY, SentenceRule, SentenceWords

_OF = r"(?:s|'s|’s|')? "
_CALLED = r" (?:heißt|hieß|ist|war) "

SENTENCES = SentenceWords(
    rules=(
        SentenceRule("lives_in", r"(?:wohnt|wohnte|lebt|lebte) (?:jetzt |nun |inzwischen )?in "),
        SentenceRule("lives_in", r"(?:zieht|zog|gezogen|umgezogen) (?:[^ ]+ ){0,5}nach "),
        SentenceRule("lives_in", r"nach (?=\S+ (?:um)?gezogen)"),
        SentenceRule(
            "works_at", r"(?:arbeitet|arbeitete) (?:jetzt |nun )?(?:bei|für) (?:der |dem )?"
        ),
        SentenceRule("works_at", r"(?:bei|an) (?=\S+ (?:gekündigt|aufgehört))", over=True),
        SentenceRule("works_at", r"(?:kündigte|verließ) (?:bei )?", over=True),
        SentenceRule("works_at", r"bei (?=\S+ angefangen)"),
        SentenceRule("works_as", r"(?:arbeitet|arbeitete) (?:jetzt )?als "),
        SentenceRule("has_partner", r"(?:von|mit) (?=\S+ (?:getrennt|schluss))", over=True),
        SentenceRule("married_to", r"(?:ist )?(?:mit )(?=\S+ verheiratet)"),
        SentenceRule("engaged_to", r"(?:ist )?(?:mit )(?=\S+ verlobt)"),
        SentenceRule("has_husband", rf"{_OF}(?:mann|ehemann){_CALLED}"),
        SentenceRule("has_wife", rf"{_OF}(?:frau|ehefrau){_CALLED}"),
        SentenceRule(
            "has_{kin}",
            rf"{_OF}(?P<kin>mutter|vater|schwester|bruder|sohn|tochter|tante|onkel|chef|"
            rf"chefin|kollegin|kollege|nachbar|nachbarin){_CALLED}",
        ),
        SentenceRule(
            "has_pet",
            rf"{_OF}(?:hund|katze|kater|pferd|hamster|hase|haustier) (?=[^ ]+ ist gestorben)",
            over=True,
        ),
        SentenceRule("has_partner", r"mit (?=[^ ]+ zusammen)"),
        SentenceRule("has_boyfriend", rf"{_OF}(?:neuer )?freund{_CALLED}"),
        SentenceRule("has_girlfriend", rf"{_OF}(?:neue )?freundin{_CALLED}"),
        SentenceRule("has_partner", rf"{_OF}(?:neuer |neue )?partner(?:in)?{_CALLED}"),
        SentenceRule("relationship_status", r"(?=(?:single|geschieden|ledig|verwitwet)\b)"),
        SentenceRule("dislikes", r"(?:hasst|hasste|verabscheut) "),
        SentenceRule("dislikes", r"(?:kann|konnte) (?=.*(?:ausstehen|leiden))", firm=True),
        SentenceRule("likes", r"(?:mag|mochte|liebt|liebte) |(?:fan von) "),
        SentenceRule("drinks", r"(?:trinkt|trank) (?:gern |gerne )?"),
        SentenceRule("diet", r"(?:isst|aß) (?:jetzt )?(?=vegan|vegetari|pesceta|gluten|laktose)"),
        SentenceRule("eats", r"(?:isst|aß) (?:gern |gerne )?"),
        SentenceRule("smokes", r"(?:raucht|rauchte)(?= |\.|$) ?"),
        SentenceRule("plays", r"(?:spielt|spielte) "),
        SentenceRule("prefers", r"bevorzugt "),
        SentenceRule("diet", r"(?:ist )?(?:jetzt )?(?=vegan|vegetari|pesceta|pesketa)"),
        SentenceRule(
            "owns", r"(?:besitzt|fährt) (?:eine?n? |den |das |die )?(?!nach\b|mit\b|in\b|zu)"
        ),
        SentenceRule("owns", r"als handy (?:eine?n? )?"),
        SentenceRule("allergic_to", r"verträgt (?=.* wieder)", over=True),
        SentenceRule(
            "has",
            r"(?:hat|hatte) (?:das |den |die |eine?n? )?(?!nicht\b|nie\b|kein)",
            ends=UNDERWAY,
        ),
        SentenceRule("habit", r"als hobby "),
        SentenceRule("plans", r"plant (?:den |die |das )?"),
        SentenceRule("goal", r"(?:will|möchte) "),
        SentenceRule("has_to", r"muss (?=.* erledigen)"),
        SentenceRule(
            "over",
            r"(?=(?:\S+ ){1,6}(?:überstanden|aufgegeben|erledigt|abgesagt))",
            over=True,
            ends=UNDERWAY,
        ),
        SentenceRule(
            "over",
            r"(?:'s|’s|s|')? (?P<thing>[^.]+?) (?=ist abgesagt|fällt aus|wurde abgesagt)",
            over=True,
            ends=UNDERWAY,
        ),
        SentenceRule("allergic_to", r"(?:ist )?allergisch gegen "),
        SentenceRule(
            "has_pet",
            r"(?:eine?n? )(?:hund|katze|kater|pferd|hamster|hase|hasen|vogel|haustier) "
            r"(?:namens|mit namen|der|die) ",
        ),
        SentenceRule("has_pet", rf"{_OF}(?:hund|katze|kater|pferd|hamster|hase){_CALLED}"),
        SentenceRule("age", r"(?:ist |wurde )(?=\w+ jahre alt)"),
    ),
    before=(
        r"(?:hat|hatte|ist|war|wird|jetzt|nun|inzwischen|auch|gerade|derzeit|seit kurzem|kürzlich|"
        r"sehr|wirklich|gern|gerne|sich|bald)"
    ),
    over=r"\bnicht mehr\b|\bkeine?[nmr]?\b(?= .*\bmehr\b)|\bfrüher\b|\baufgehört\b|\bgeschieden von\b",
    ahead=r"\b(?:wird|will|möchte|plant|zieht|beginnt|fängt)\b",
    past=(
        r"\b(?:wohnte|lebte|arbeitete|mochte|liebte|trank|aß|spielte|war|hatte|hasste|rauchte|hieß|"
        r"besaß)\b"
    ),
    denied=r"\b(?:nicht|nie|niemals|kein|keine|keinen)\b",
    opposites={"likes": "dislikes"},
    inverse=(
        (r"^aus dem plan von (?P<s>.+?) wird nichts: (?P<o>.+)$", "{s} {o} abgesagt"),
        (
            r"^(?P<o>\S+), (?:der|die|das) (?P<kin>\w+) von (?P<s>[^,]+), (?P<rest>ist gestorben.*)$",
            "{s}s {kin} {o} {rest}",
        ),
        (
            r"^(?:der|die|das) (?P<kin>.+) von (?P<s>.+?) (?P<rest>(?:ist|wurde) abgesagt.*)$",
            "{s}s {kin} {rest}",
        ),
        (r"^(?:der|die|das) (?P<kin>\w+) von (?P<s>.+?) heißt (?P<o>.+)$", "{s}s {kin} heißt {o}"),
    ),
    object_ends=(
        r"\b(?:weil|seit|aber|und|mit|für|ab|bis|nicht|kein|mehr|wieder|jetzt|nun|gern|gerne|der|"
        r"die|das|gezogen|umgezogen|um|gekündigt|aufgehört|angefangen|getrennt|verheiratet|verlobt|"
        r"ausstehen|leiden|zusammen|ist gestorben|überstanden|aufgegeben|erledigt|erledigen|abgesagt|noch|jahre alt|im|am|schluss)\b"
    ),
)
