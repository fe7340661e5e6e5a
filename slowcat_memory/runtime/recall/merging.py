"""Merges what was recalled from several scopes for one turn."""

from collections.abc import Sequence

from msgspec.structs import replace

from slowcat_memory.core.ranking.abstention import answer_probability
from slowcat_memory.core.ranking.fusion import union
from slowcat_memory.runtime.recall.query import Query, Recollection, RetrievalOptions


def merge(found: Sequence[Recollection], query: Query, options: RetrievalOptions) -> Recollection:
    """Merge the scopes' results; stage and trace are those of the first, the speaker's own."""
    timings, words = dict[str, float](), dict[str, float]()
    for one in found:
        for lap, ms in one.timings.items():
            timings[lap] = round(timings.get(lap, 0.0) + ms, 4)
        words |= {word: max(weight, words.get(word, 0.0)) for word, weight in one.words.items()}
    evidence = [one.evidence for one in found if one.evidence is not None]
    return replace(
        found[0],
        hits=union([one.hits for one in found], query.limit(options), options.fuse.duplicate),
        timings=timings,
        words=words,
        evidence=max(evidence, key=answer_probability) if len(evidence) == len(found) else None,
        names_speaker=any(one.names_speaker for one in found),
    )
