"""Whether one statement changes another, from their texts."""

from slowcat_memory.core.query import revisions
from slowcat_memory.core.query.revisions import Wording


def revises(newer: str, older: str, query: str, language: str) -> bool:
    read = (Wording(text, language) for text in (newer, older, query))
    return revisions.revises(*read)
