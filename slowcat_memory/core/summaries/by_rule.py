"""Summaries without an LLM: stated facts first, then what else was said, in the speakers' words.

Of a conversation, its turns are read; of a day, week or topic, the summaries of its conversations, with
the day before what belongs to it where there are several.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, tzinfo
from itertools import pairwise

from msgspec.structs import replace

from slowcat_memory.core.extraction.clauses import language_of_texts
from slowcat_memory.core.extraction.options import ExtractiveOptions
from slowcat_memory.core.facts.by_rule import facts_by_rule
from slowcat_memory.core.facts.fact import ExtractedFact
from slowcat_memory.core.language import Language
from slowcat_memory.core.language.english.vocabulary import EMPTY
from slowcat_memory.core.render.speech import spoken_day
from slowcat_memory.core.summaries.extractive import (
    Line,
    Tokenize,
    as_text,
    choose_clauses,
    split_turn,
)
from slowcat_memory.core.summaries.prompt import MOST_ENTITIES
from slowcat_memory.core.summaries.summary import SummaryText
from slowcat_memory.core.text.normalize import fold
from slowcat_memory.core.text.rare_words import rare_words
from slowcat_memory.core.time.periods import day_of
from slowcat_memory.records import Turn

MOST_WORDS = 3  # of a subject
NAMED, OFTEN = 1, 2  # how often a name, and a thing, must occur
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_POSSESSIVE = re.compile(r"['’]s?$")


def subjects(
    lines: Sequence[Line], facts: Iterable[str], language: Language, tokenize: Tokenize, most: int
) -> tuple[str, ...]:
    """Return what was spoken of, the most frequent first.

    Args:
        lines: Sentences, in any case.
        facts: Objects of stated facts.
        most: Most subjects.
    """
    counts, forms, named = Counter[str](), dict[str, str](), set[str]()
    speakers = {stem for line in lines for stem in tokenize(line.speaker)}
    for line in lines:
        for form, is_name in _phrases(line.text, language):
            key = " ".join(tokenize(form))
            if key and not speakers.issuperset(key.split()):
                counts[key] += 1
                forms.setdefault(key, form)
                named.update((key,) if is_name else ())
    for form in facts:
        if (key := " ".join(tokenize(form))) and len(form.split()) <= MOST_WORDS:
            counts[key] += OFTEN
            forms.setdefault(key, form)
    ranked = sorted(counts, key=lambda key: (-counts[key] - (key in named), key))
    enough = (key for key in ranked if counts[key] >= (NAMED if key in named else OFTEN))
    return _distinct(enough, forms, most)


def _distinct(keys: Iterable[str], forms: dict[str, str], most: int) -> tuple[str, ...]:
    """Return forms of subjects of which none is a part of an earlier one."""
    kept = list[str]()
    for key in keys:
        if not any(set(key.split()) <= set(subject.split()) for subject in kept):
            kept.append(key)
    return tuple(forms[key] for key in kept[:most])


def _phrases(text: str, language: Language) -> Iterator[tuple[str, bool]]:
    """Yield the names and things of a sentence, and whether each is a name."""
    words = list(_WORD.finditer(text))
    shouted = text.isupper()
    for place, (before, match) in enumerate(pairwise(words), start=1):
        between = text[before.end() : match.start()]
        determined = between == " " and before[0].lower() in language.extracts.articles
        is_name = not shouted and _is_name(match[0], language)
        if is_name and determined and language.capital_nouns:
            yield _run(text, words[place:], lambda word: _is_name(word, language)), False
        elif is_name and not between.strip(" ,"):
            if between != " " or place == 1 or not _is_name(before[0], language):
                yield _run(text, words[place:], lambda word: _is_name(word, language)), True
        elif determined:
            phrase = _run(text, words[place:], lambda word: _is_thing(word, language))
            if phrase and not _goes_on(text, words, place + len(phrase.split()), language):
                yield phrase, False


def _run(text: str, words: Sequence[re.Match[str]], fits: Callable[[str], bool]) -> str:
    """Return the words from the first on that fit and are separated by single spaces."""
    kept = list[re.Match[str]]()
    for match in words[:MOST_WORDS]:
        if not fits(match[0]) or (kept and text[kept[-1].end() : match.start()] != " "):
            break
        kept.append(match)
    return _POSSESSIVE.sub("", " ".join(match[0] for match in kept))


def _goes_on(text: str, words: Sequence[re.Match[str]], place: int, language: Language) -> bool:
    """Return whether a noun phrase is longer than what was read of it."""
    if place >= len(words) or text[words[place - 1].end() : words[place].start()] != " ":
        return False
    return _is_thing(words[place][0], language)


def _is_name(word: str, language: Language) -> bool:
    bare = _POSSESSIVE.sub("", word).lower()
    return word[:1].isupper() and len(bare) > 1 and _has_content(bare, language)


def _is_thing(word: str, language: Language) -> bool:
    bare = word.lower()
    return len(bare) > 2 and "'" not in bare and "’" not in bare and _has_content(bare, language)


def _has_content(bare: str, language: Language) -> bool:
    words = language.extracts
    days = {day.lower() for day in (*language.dates.months, *language.dates.weekdays)}
    if bare in days or bare in EMPTY:
        return False
    return not any(
        bare.casefold() in known for known in (words.light, words.function, words.fillers)
    )


TOPICS = 6
_FULL_DAY = re.compile(r"\d{4}-\d\d-\d\d")  # not a month or year alone
_LABEL = re.compile(r"(\w[\w .'’-]{0,30}): (?=\S)")  # speaker of a sentence, in a summary by rule


def of_turns(
    turns: Iterable[Turn],
    zone: tzinfo,
    tokenize: Tokenize,
    options: ExtractiveOptions = ExtractiveOptions(),
) -> SummaryText:
    """Summarise a conversation; the text is "" if nothing was said that is worth keeping."""
    record, facts, speakers = list[Line](), list[ExtractedFact](), []
    for turn in turns:
        record += split_turn(turn.speaker, turn.text, turn.id, agent=turn.role == "assistant")
        facts += facts_by_rule(turn, zone)
        speakers.append(turn.speaker)
    language = language_of_texts(line.text for line in record)
    lines = [*(_worded(fact, zone, language) for fact in facts), *record]
    kept = choose_clauses(lines, tokenize, options)
    about = [fact.object for fact in facts if fact.object]
    own = [line for line in record if not line.agent]
    return SummaryText(
        text=as_text(kept),
        topics=subjects(own or record, about, language, tokenize, TOPICS) if kept else (),
        entities=_names(speakers, record),
    )


def of_summaries(
    parts: Iterable[Turn],
    zone: tzinfo,
    tokenize: Tokenize,
    options: ExtractiveOptions = ExtractiveOptions(),
    about: str = "",
) -> SummaryText:
    """Summarise summaries in the form of turns: the most important of each, under its day.

    Args:
        about: A name or thing; only what names it counts, if anything does.
    """
    lines = [line for part in parts for line in _summarised(part)]
    days = {day_of(line.at, zone).name for line in lines if line.at}
    lines = [line for line in lines if fold(about) in fold(line.text)] or lines
    language = language_of_texts(line.text for line in lines)
    kept = choose_clauses(lines, tokenize, replace(options, share=1.0), cut=False)
    return SummaryText(
        text=as_text(kept, zone if len(days) > 1 else None, language),
        topics=subjects(lines, (), language, tokenize, TOPICS),
        entities=_names((), lines),
    )


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


def _names(speakers: Iterable[str], lines: Sequence[Line]) -> tuple[str, ...]:
    """Return who spoke, then the names that were said, in order."""
    names = dict.fromkeys(speakers)
    for line in lines:
        names.update(dict.fromkeys(word.form for word in rare_words(line.text) if word.named))
    return tuple(names)[:MOST_ENTITIES]
