"""How much a fact matters, whatever its confidence: by its type, its predicate and its words.

Health, family and what may endanger somebody matter most, a small like least. It decides what is
said first and what goes first when room is short; below an option's minimum a fact is not kept.
"""

from slowcat_memory.core.extraction.predicates import Triple, canonical, object_type
from slowcat_memory.core.extraction.slots import PARTNERS
from slowcat_memory.core.language import LANGUAGES
from slowcat_memory.core.text.normalize import fingerprint

HIGH, ORDINARY, LOW = 0.7, 0.5, 0.3
_BY_TYPE = {"health": HIGH, "preference": LOW, "opinion": LOW, "habit": LOW}
_WEIGHTY_PREDICATES = frozenset({"allergic_to", "health", "condition", "medication", *PARTNERS})
_WEIGHTY = frozenset[str]().union(*(one.facts.weighty for one in LANGUAGES))


def fact_importance(type_: str, claim: Triple, sentence: str) -> float:
    """Return the importance of a fact, 0 to 1.

    Args:
        type_: One of ``fact.TYPES``, or a word of the extractor's own.
        claim: What it states in parts; its predicate may be "".
        sentence: Its text.
    """
    predicate = canonical(claim.predicate)
    family = object_type(predicate) == "person" and predicate != "friend_of"
    weighty = not _WEIGHTY.isdisjoint(fingerprint(sentence).split())
    if predicate in _WEIGHTY_PREDICATES or family or weighty:
        return HIGH
    return _BY_TYPE.get(type_, ORDINARY)
