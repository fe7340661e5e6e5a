"""Other names of known places and organisations: "Munich" is "München", "VW" is "Volkswagen"."""

from functools import cache

import msgspec

from slowcat_memory.core.language.data import phrase_list, read_data

Groups = tuple[tuple[str, ...], ...]


@cache
def aliases() -> dict[str, Groups]:
    """Return the groups of names of one thing by entity type: "place", "organisation"."""
    read = msgspec.toml.decode(read_data(__package__, "aliases.toml"), type=dict[str, str])
    return {kind.removesuffix("s"): _groups(text) for kind, text in read.items()}


def _groups(text: str) -> Groups:
    return tuple(tuple(name.strip() for name in group.split("=")) for group in phrase_list(text))
