"""Whether one statement changes another, from their texts."""

from slowcat_memory.core.query import asked_facts
from slowcat_memory.core.query.asked_facts import Wording


def revises(newer: str, older: str, query: str, language: str) -> bool:
    read = (Wording(text, language) for text in (newer, older, query))
    return asked_facts.revises(*read)
