"""Words that tell two similar things apart, however near their vectors lie: red and white wine.

Vectors put opposites close together, because they are used in the same contexts, so a staged match
must not rely on them here.
"""

from slowcat_memory.core.language.english.vocabulary import PARTS, QUALITIES

_QUALITY_OF = {
    word: number
    for number, line in enumerate(QUALITIES.strip().splitlines())
    for word in line.split()
}


def contrast(one: frozenset[str], other: frozenset[str]) -> bool:
    """Return whether two names differ in a quality ("red", "white") or one names a part.

    Args:
        one: A name's words, folded.
        other: Another's.
    """
    if not PARTS.isdisjoint(one ^ other):
        return True
    qualities = {_QUALITY_OF[word] for word in one - other if word in _QUALITY_OF}
    return any(_QUALITY_OF.get(word) in qualities for word in other - one)
