"""Lines of the background block from the latest day's and week's summaries."""

from collections.abc import Iterator, Sequence
from datetime import datetime, tzinfo

from slowcat_memory.core.blocks.statements import SourcedLine, valid_of_kind
from slowcat_memory.core.extraction.checks.derived_text import keepable_part
from slowcat_memory.core.language import ENGLISH, Language
from slowcat_memory.core.query.overview import without_repeats
from slowcat_memory.core.render.head_blocks import shorten_to_chars
from slowcat_memory.core.render.speech import spoken_day
from slowcat_memory.core.summaries.summary import DAY, WEEK, until
from slowcat_memory.core.text.normalize import neutralise
from slowcat_memory.core.time.calendar import in_zone
from slowcat_memory.records import Memory

CHARS = 240
WEIGHTS = {WEEK: 1.5, DAY: 0.9}


def rollup_lines(
    memories: Sequence[Memory],
    said: Sequence[str],
    zone: tzinfo,
    language: Language = ENGLISH,
) -> Iterator[SourcedLine]:
    """Yield a line on the latest week, and one on the latest day, without what is said already.

    Args:
        memories: Summaries among others.
        said: Texts that stand before these lines.
    """
    told = list(said)
    for kind, wording in ((WEEK, language.blocks.of_week), (DAY, language.blocks.of_day)):
        found = [one for one in valid_of_kind(memories, kind) if one.kind == kind]
        latest = max(found, key=until, default=None)
        text = keepable_part(latest.text) if latest else ""
        if latest is None or not text:
            continue
        *_, rest = without_repeats([*told, text])
        told.append(text)
        if rest:
            shown = shorten_to_chars(neutralise(rest), CHARS)
            yield SourcedLine(
                text=wording.format(day=_day(latest.valid_from, zone, language), text=shown),
                at=latest.valid_from,
                sources=latest.sources,
                weight=WEIGHTS[kind],
                of=latest.id,
            )


def _day(at: datetime, zone: tzinfo, language: Language) -> str:
    return spoken_day(in_zone(at, zone).date(), language.dates)
