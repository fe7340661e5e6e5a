"""Summaries without an LLM: stated facts first, then what else was said, in the speakers' words.

Of a conversation, its turns are read; of a day, week or topic, the summaries of its conversations, with
the day before what belongs to it where there are several.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, tzinfo

from msgspec.structs import replace

from slowcat_memory.core.facts.prompt import ExtractedFact, facts_by_rule
from slowcat_memory.core.language import Language
from slowcat_memory.core.render.speech import spoken_day
from slowcat_memory.core.summaries.extractive import as_text, choose_clauses, split_turn
from slowcat_memory.core.summaries.options import ExtractiveOptions
from slowcat_memory.core.summaries.prompt import MOST_ENTITIES
from slowcat_memory.core.summaries.salience import Line, Tokenize, language_of_lines
from slowcat_memory.core.summaries.subjects import subjects
from slowcat_memory.core.summaries.summary import SummaryText
from slowcat_memory.core.text.rare_words import rare_words
from slowcat_memory.core.time.periods import day_of
from slowcat_memory.records import Turn

TOPICS = 6
_FULL_DAY = re.compile(r"\d{4}-\d\d-\d\d")  # not a month or year alone
_LABEL = re.compile(r"(\w[\w .'’-]{0,30}): (?=\S)")  # speaker of a sentence, in a summary by rule


def of_turns(
    turns: Sequence[Turn],
    zone: tzinfo,
    tokenize: Tokenize,
    options: ExtractiveOptions = ExtractiveOptions(),
) -> SummaryText:
    """Summarise a conversation; the text is "" if nothing was said that is worth keeping."""
    said = [line for turn in turns for line in _said(turn)]
    language = language_of_lines(said)
    facts = [fact for turn in turns for fact in facts_by_rule(turn, zone)]
    lines = [*(_worded(fact, zone, language) for fact in facts), *said]
    kept = choose_clauses(lines, tokenize, options)
    about = _objects(facts)
    own = [line for line in said if not line.agent]
    return SummaryText(
        text=as_text(kept),
        topics=subjects(own or said, about, language, tokenize, TOPICS) if kept else (),
        entities=_names(turns, said),
    )


def of_summaries(
    parts: Sequence[Turn],
    zone: tzinfo,
    tokenize: Tokenize,
    options: ExtractiveOptions = ExtractiveOptions(),
) -> SummaryText:
    """Summarise summaries in the form of turns: the most important of each, under its day."""
    said = [line for part in parts for line in _summarised(part)]
    language = language_of_lines(said)
    kept = choose_clauses(said, tokenize, replace(options, share=1.0), cut=False)
    days = {day_of(part.at, zone).name for part in parts}
    return SummaryText(
        text=as_text(kept, zone if len(days) > 1 else None, language),
        topics=subjects(said, (), language, tokenize, TOPICS),
        entities=_names((), said),
    )


def _said(turn: Turn) -> list[Line]:
    return split_turn(turn.speaker, turn.text, turn.id, agent=turn.role == "assistant")


def _worded(fact: ExtractedFact, zone: tzinfo, language: Language) -> Line:
    """Return a fact as a line, with the day of what it states unless it was that of the turn."""
    text, turn = fact.content.rstrip(" ."), fact.turn
    if _FULL_DAY.fullmatch(fact.date) and fact.date != day_of(turn.at, zone).name:
        day = spoken_day(date.fromisoformat(fact.date), language.dates)
        text = text if day in text else f"{text} ({day})"
    return Line(turn.speaker, text, turn.id, fact=True, at=turn.at)


def _summarised(part: Turn) -> Iterator[Line]:
    """Yield the sentences of a summary; those before a speaker's name are facts."""
    speaker = ""
    for line in split_turn("", part.text, part.id):
        text = line.text
        if label := _LABEL.match(text):
            speaker, text = label[1], text[label.end() :]
        yield Line(speaker, text, part.id, fact=not speaker, at=part.at)


def _objects(facts: Iterable[ExtractedFact]) -> list[str]:
    return [fact.object for fact in facts if fact.object]


def _names(turns: Sequence[Turn], said: Sequence[Line]) -> tuple[str, ...]:
    """Return who spoke, then the names that were said, in order."""
    found = dict.fromkeys(turn.speaker for turn in turns)
    for line in said:
        found.update(dict.fromkeys(word.form for word in rare_words(line.text) if word.named))
    return tuple(found)[:MOST_ENTITIES]
