"""Words that tell two like things apart, however near their vectors lie: red and white wine.

Each line names one quality; a thing has one value of it. Vectors put opposites close together,
because they are said in the same places, so a staged match must not ask them.
"""

_QUALITIES = """
red blue green yellow black white brown pink purple orange grey silver gold
left right
north south east west upper lower inner outer northern southern eastern western
winter summer spring autumn
electric acoustic manual
men women mens womens kids boys girls
dog cat horse bird fish baby
small large medium big little
morning evening night afternoon
old new
front back rear
first last
mini pro max plus lite ultra air
mountain road racing
hot cold
paperback hardcover audio
stand sleeve case bag cup cover charger
one two three four five
"""
_ALONE = frozenset(
    "mini pro max plus lite ultra stand sleeve case bag cup cover charger energy insurance".split()
)
_OF = {
    word: place
    for place, line in enumerate(_QUALITIES.strip().splitlines())
    for word in line.split()
}


def contrast(one: frozenset[str], other: frozenset[str]) -> bool:
    """Tell whether two names hold different values of one quality, or one of them names a part.

    Args:
        one: A name's words, folded.
        other: Another's.

    Returns:
        Whether.
    """
    if not _ALONE.isdisjoint(one ^ other):  # a part of it, or a model of its own
        return True
    mine = {_OF[word] for word in one - other if word in _OF}
    return any(_OF.get(word) in mine for word in other - one)
