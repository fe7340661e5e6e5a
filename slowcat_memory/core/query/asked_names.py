"""What a user asks the name of: "what is my landlord called?" asks for that of a landlord.

Whatever has a name is near to such a question, so one about what was never mentioned would be
answered with another's name.
"""

from slowcat_memory.core.language import language_of
from slowcat_memory.core.query.asked_facts import asked_fact
from slowcat_memory.core.text.normalize import fold


def named_thing(query: str, language: str) -> list[str]:
    """Return words for what a user asks the name of, its own first; none for another question."""
    talk = language_of(language).talk
    if not talk.asks_name.search(fold(query.replace("’", "'"))):
        return []
    asked = asked_fact(query, language)
    if asked is None or f"has_{asked.thing}" not in asked.predicates:
        return []
    others = (
        (name.partition("_")[2], *things.split())
        for name, things in talk.alike.items()
        if asked.thing in things.split() or name == f"has_{asked.thing}"
    )
    return list(dict.fromkeys((asked.thing, *(word for words in others for word in words))))
