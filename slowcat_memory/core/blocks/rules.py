"""Blocks written without an LLM: lines from facts, summaries and advice."""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, tzinfo
from itertools import groupby

from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.blocks.statements import SourcedLine, coming_lines, is_ruled, valid_of_kind
from slowcat_memory.core.extraction.derived_text import keepable, keepable_part
from slowcat_memory.core.extraction.grounding import sentences
from slowcat_memory.core.language import ENGLISH, Language
from slowcat_memory.core.render.head_blocks import shorten_to_chars
from slowcat_memory.core.render.speech import full_date, spoken_day
from slowcat_memory.core.summaries.by_rule import is_advice
from slowcat_memory.core.summaries.summary import DAY, WEEK, until, without_repeats
from slowcat_memory.core.text.normalize import neutralise
from slowcat_memory.core.time.calendar import in_zone
from slowcat_memory.records import Memory, Turn

CHARS = 240
WEIGHTS = {WEEK: 1.5, DAY: 0.9}


def rollup_lines(
    memories: Sequence[Memory], lines: Sequence[str], zone: tzinfo, language: Language = ENGLISH
) -> Iterator[SourcedLine]:
    """Yield a line on the latest week, and one on the latest day, without what is said already.

    Args:
        memories: Summaries among others.
        lines: Texts that stand before them.
    """
    told = list(lines)
    for kind, wording in ((WEEK, language.blocks.of_week), (DAY, language.blocks.of_day)):
        rows = [row for row in valid_of_kind(memories, kind) if row.kind == kind]
        latest = max(rows, key=until, default=None)
        text = keepable_part(latest.text) if latest else ""
        if latest is None or not text:
            continue
        *_, rest = without_repeats([*told, text])
        told.append(text)
        if rest:
            shown = shorten_to_chars(neutralise(rest), CHARS)
            day = spoken_day(in_zone(latest.valid_from, zone).date(), language.dates)
            text = wording.format(day=day, text=shown)
            yield SourcedLine.stated(latest, text, WEIGHTS[kind])


SUMMARY = "summary/session"
ADVICE_CHARS, LINE_CHARS, RECENT_CHARS = 160, 200, 300
LEAST_SPACES = 2  # in advice: "You should." answers a question that is not there
MOST_STEPS = 3  # of the tone line
TONE_WEIGHT = 2.0  # of the tone line: more than any single session
_PART = re.compile(r"[,;.:(]| - ")  # of a tone by an LLM: "disappointed, worried about the dog"


class SessionView(Struct, frozen=True, kw_only=True):
    """A session as input for blocks; ``at`` is its start, ``summary`` None if there is none."""

    at: datetime
    turns: Sequence[Turn] = ()
    summary: Memory | None = None

    @property
    def tone(self) -> str:
        """Return the user's tone by the summary, "" if unknown."""
        return self.summary.facets.get("tone", "") if self.summary else ""


def relationship(
    sessions: Sequence[SessionView], zone: tzinfo, language: Language = ENGLISH
) -> list[SourcedLine]:
    """Return the dated line on changes of tone, then the relationship notes of summaries.

    ``sessions`` has the earliest first; the latest notes have the most weight.
    """
    toned = [(session, session.tone) for session in sessions]
    steps = [next(group) for _, group in groupby((s for s in toned if s[1]), key=lambda s: s[1])]
    lines = list[SourcedLine]()
    if steps:
        latest = steps[-MOST_STEPS:]
        turns = tuple(turn.id for session, _ in latest for turn in session.turns)
        sources = turns or tuple(i for s, _ in latest if s.summary for i in s.summary.sources)
        text = _tones(latest, len(steps) > 1, zone, language)
        at = steps[-1][0].at
        summaries = tuple(session.summary.id for session, _ in latest if session.summary)
        lines.append(
            SourcedLine(text=text, at=at, sources=sources, weight=TONE_WEIGHT, also=summaries)
        )
    for place, session in enumerate(sessions):
        sentence = session.summary.facets.get("relationship", "") if session.summary else ""
        if sentence and session.summary and keepable(sentence):
            day = full_date(session.at, zone, language.dates)
            text = f"{day}: {shorten_to_chars(neutralise(sentence), LINE_CHARS)}"
            line = SourcedLine.stated(session.summary, text, place / len(sessions))
            lines.append(replace(line, at=session.at))
    return lines


def _tones(
    steps: Sequence[tuple[SessionView, str]], changed: bool, zone: tzinfo, language: Language
) -> str:
    words = language.blocks
    days = words.then.join(
        words.tone_of_day.format(
            tone=neutralise(_PART.split(tone)[0].strip()),
            day=full_date(session.at, zone, language.dates),
        )
        for session, tone in steps
    )
    return words.tones.format(tones=days) if changed else words.tone.format(tone=days)


def advice(
    sessions: Iterable[SessionView], zone: tzinfo, language: Language = ENGLISH
) -> list[SourcedLine]:
    """Return a line per sentence of the agent's advice, for consistency; later ones weigh more."""
    lines = list[SourcedLine]()
    turns = (turn for session in sessions for turn in session.turns if turn.role == "assistant")
    for turn in turns:
        for sentence in sentences(turn.text):
            usable = sentence.count(" ") >= LEAST_SPACES and not sentence.endswith("?")
            if usable and is_advice(sentence) and keepable(sentence):
                text = language.blocks.advised.format(
                    day=full_date(turn.at, zone, language.dates),
                    text=shorten_to_chars(neutralise(sentence), ADVICE_CHARS),
                )
                weight = float(len(lines))
                lines.append(SourcedLine(text=text, at=turn.at, sources=(turn.id,), weight=weight))
    return lines


def background(
    memories: Iterable[Memory],
    now: datetime,
    zone: tzinfo,
    threads: int,
    language: Language = ENGLISH,
) -> list[SourcedLine]:
    """Return lines "Recent: …" and "- …" (near days, open threads)."""
    every = [m for m in memories if not (m.kind.startswith("summary/") and is_ruled(m))]
    summaries = valid_of_kind(every, SUMMARY)
    lines = list[SourcedLine]()
    told = [(summary, text) for summary in summaries if (text := keepable_part(summary.text))]
    if told:
        last, text = told[-1]
        text = language.blocks.recent.format(text=shorten_to_chars(neutralise(text), RECENT_CHARS))
        lines.append(SourcedLine.stated(last, text, 3.0))
    lines += rollup_lines(every, [text for _, text in told[-1:]], zone, language)
    return lines + coming_lines(every, now, zone, threads, language)
