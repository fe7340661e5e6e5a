"""Summaries without an LLM: stated facts first, then what else was said, in the speakers' words.

Of a conversation, its turns are read; of a day, week or topic, the summaries of its conversations, with
the day before what belongs to it where there are several.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, tzinfo
from functools import cache
from itertools import groupby, pairwise, takewhile

from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.extraction.clauses import language_of_texts, pattern_of, sentences_of
from slowcat_memory.core.extraction.derived_text import keepable
from slowcat_memory.core.extraction.options import ExtractiveOptions
from slowcat_memory.core.extraction.quoted import reads_aloud
from slowcat_memory.core.facts.by_rule import facts_by_rule
from slowcat_memory.core.facts.fact import ExtractedFact
from slowcat_memory.core.language import ENGLISH, Language, language_of, of_any
from slowcat_memory.core.language.english.vocabulary import EMPTY
from slowcat_memory.core.render.speech import spoken_day
from slowcat_memory.core.summaries.prompt import MOST_ENTITIES
from slowcat_memory.core.summaries.summary import SummaryText
from slowcat_memory.core.text.normalize import fold
from slowcat_memory.core.text.rare_words import rare_words
from slowcat_memory.core.time.expressions import day_of
from slowcat_memory.records import Turn

# A summary without an LLM: the clauses that cover most of what was said, in few words.
#
# Coverage summaries: each content word that no chosen clause has yet counts once, by how often it was
# said and how much it distinguishes (Gillick and Favre, "A scalable global model for summarization",
# 2009). Clauses are chosen greedily by what they add for their length (Lin and Bilmes, "A class of
# submodular functions for document summarization", 2011), statements of facts and changes first. What
# adds nothing is left out even if there is room: a greeting, praise, a filler of the agent.
#
# A word of any conversation ("amazing", "think") weighs a fifth of any other. What somebody says of
# themselves counts most, more if it names somebody, a number or a change; what is said to the other,
# and a question, count less; talk about the conversation itself, and what the agent says beside
# advice, do not count at all.

Tokenize = Callable[[str], list[str]]
# How much a clause counts, by what it is.
FACT, CHANGE, TELLING = 3.0, 1.2, 1.1
QUESTION, TO_LISTENER, NOBODYS, ADVICE = 0.3, 0.6, 0.8, 0.7
LIGHT = 0.2  # weight of a word of any conversation; of any other, 1
_OWN = re.compile(rf"\b(?:{of_any(lambda language: language.summary.own)})\b", re.IGNORECASE)
_ADVICE = re.compile(
    rf"\b(?:{of_any(lambda language: language.summary.advice)})\b"
    rf"|^(?:{of_any(lambda language: language.summary.advice_begins)})\b",
    re.IGNORECASE,
)
_TO_LISTENER = re.compile(
    rf"\b(?:{of_any(lambda language: '|'.join(language.extracts.listener))})\b", re.IGNORECASE
)
_TELLING = re.compile(r"\d|(?<=\s)[A-ZÄÖÜ][a-zäöüß]{2,}")  # a number, or a name inside a sentence
_CLAUSE_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")


class Line(Struct, frozen=True):
    """A sentence or clause of a turn (its log id).

    Attributes:
        agent: Whether the agent said it.
        fact: Whether it is a statement about somebody by name, which needs no speaker.
        at: When it was said; None where that is of no interest.
    """

    speaker: str
    text: str
    turn: int
    agent: bool = False
    fact: bool = False
    at: datetime | None = None

    @property
    def length(self) -> int:
        return len(self.text.split())


def weights(words: Iterable[str], language: Language, tokenize: Tokenize) -> dict[str, float]:
    """Return the weight of each stem, 0 to 1."""
    function = {stem for word in language.extracts.function for stem in tokenize(word)}
    light = {stem for word in language.extracts.light for stem in tokenize(word)}
    return {word: 0.0 if word in function else LIGHT if word in light else 1.0 for word in words}


def worth(line: Line, language: Language) -> float:
    """Return how much a clause counts by what it is; 0 for what belongs in no summary."""
    if line.fact:
        return FACT * (CHANGE if _changes(line.text, language) else 1.0)
    if _chatter(language.name).search(line.text) or (line.agent and not is_advice(line.text)):
        return 0.0
    about = ADVICE if line.agent else _whose(line.text)
    about *= QUESTION if line.text.rstrip().endswith("?") else 1.0
    about *= TELLING if _TELLING.search(line.text) else 1.0
    return about * (CHANGE if _changes(line.text, language) else 1.0)


def is_advice(sentence: str) -> bool:
    """Return whether a sentence advises."""
    return _ADVICE.search(sentence) is not None


def _whose(text: str) -> float:
    if _OWN.search(text):
        return 1.0
    return TO_LISTENER if _TO_LISTENER.search(text) else NOBODYS


def _changes(text: str, language: Language) -> bool:
    return any(word.casefold() in language.extracts.changes for word in _CLAUSE_WORD.findall(text))


@cache
def _chatter(language: str) -> re.Pattern[str]:
    phrases = "|".join(map(re.escape, language_of(language).extracts.chatter))
    return re.compile(rf"(?<![\w'’])(?:{phrases})(?![\w'’])".replace("'", "['’]"), re.IGNORECASE)


_MARKS = " \t,;:–—-"
_EDGE = re.compile(r"^\W+|\W+$")


def clauses(sentence: str, language: Language = ENGLISH) -> list[str]:
    """Return the clauses of a sentence without fillers; none of a sentence that has no others."""
    cuts, opening, tail = _patterns(language.name)
    parts = (part.strip(_MARKS) for part in cuts.split(sentence) if part)
    trimmed = (_without_fillers(tail.sub("", opening.sub("", part)), language) for part in parts)
    return [part for part in trimmed if any(map(str.isalnum, part))]


def as_sentence(clause: str) -> str:
    """Return a clause with a capital letter at its beginning and a mark at its end."""
    whole = clause[:1].upper() + clause[1:]
    return whole if whole[-1:] in ".!?…" else f"{whole.rstrip(_MARKS)}."


def _without_fillers(clause: str, language: Language) -> str:
    """Drop emphasis; one that is the last word may be what the clause says ("it is enough")."""
    fillers, words = language.extracts.fillers, clause.split()
    bare = (_EDGE.sub("", word).casefold() for word in words)
    kept = [
        word
        for place, (word, plain) in enumerate(zip(words, bare, strict=True))
        if plain not in fillers or place == len(words) - 1
    ]
    return " ".join(kept).strip(_MARKS)


@cache
def _patterns(language: str) -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    words = language_of(language).extracts
    subject = _any(words.subjects)
    cuts = (
        rf"\s*(?:[;:]\s|(?:\s[-–—]+\s|—|--)(?=\s*(?:{_any(words.conjunctions)}|{subject})\b))\s*"
        rf"|,\s*(?=(?:{_any(words.conjunctions)}|{subject})\b)"
        rf"|\s+(?=(?:{_any(words.contrasts)})\b)"
        rf"|\s+(?=(?:{_any(words.additions)}) (?:{subject})\b)"
    )
    opening = rf"^(?:(?:{_any(words.openings)})(?![\w'’])[\s,]*)+"
    tail = rf"(?:[\s,]+(?:{_any(words.tails)}))+(?=[.!?…]*$)"
    return pattern_of(cuts), pattern_of(opening), pattern_of(tail)


def _any(phrases: tuple[str, ...]) -> str:
    longest_first = sorted(phrases, key=len, reverse=True)
    return "|".join(re.escape(phrase).replace("'", "['’]") for phrase in longest_first)


_MOST_CHARS = 20_000  # of a text
LENGTH_POWER, OFTEN_POWER = 0.8, 0.5
LEAST_LENGTH = 3  # words of a clause
LEAST_WEIGHT = 1.0  # of a clause's words together: below it, it says nothing


class _Candidate(Struct, frozen=True):
    place: int
    words: frozenset[str]
    worth: float
    length: int

    def added(self, seen: set[str], weight: Mapping[str, float]) -> float:
        """Return what the clause adds to those already chosen, for its length."""
        fresh = sum(weight[word] for word in sorted(self.words - seen))
        return self.worth * fresh / self.length**LENGTH_POWER


def split_turn(speaker: str, text: str, turn: int, *, agent: bool = False) -> list[Line]:
    """Split a turn into non-empty sentences, without orders, links, and what was read aloud."""
    whole = sentences_of(text[:_MOST_CHARS], "en")
    kept = (sentence for sentence in whole if keepable(sentence) and not reads_aloud(sentence))
    return [Line(speaker, sentence, turn, agent) for sentence in kept]


def choose_clauses(
    lines: Sequence[Line],
    tokenize: Tokenize,
    options: ExtractiveOptions = ExtractiveOptions(),
    *,
    cut: bool = True,
) -> list[Line]:
    """Return the facts and clauses that say most, in their order; none if nothing says anything.

    Args:
        lines: Facts and sentences.
        tokenize: Splits a text into stems.
        cut: Cut sentences into clauses; not for what has been cut before.
    """
    language = language_of_texts(line.text for line in lines)
    parts = [part for line in lines for part in _parts(line, language, cut=cut)]
    bare = [frozenset(tokenize(part.text)).difference(tokenize(part.speaker)) for part in parts]
    often = Counter(word for words in bare for word in words)
    value = weights(often, language, tokenize)
    candidates = [
        _Candidate(place, bare[place], worth_, part.length)
        for place, part in enumerate(parts)
        if (part.fact or part.length >= LEAST_LENGTH)
        and sum(value[word] for word in bare[place]) >= LEAST_WEIGHT
        and (worth_ := worth(part, language))
    ]
    weight = {word: value[word] * count**OFTEN_POWER for word, count in often.items()}
    total = sum(line.length for line in lines if not line.fact)
    room = min(options.words, max(options.least, math.ceil(options.share * total)))
    return [parts[place] for place in sorted(_covering(candidates, weight, room))]


def as_text(kept: Sequence[Line], zone: tzinfo | None = None, language: Language = ENGLISH) -> str:
    """Join clauses to a text: facts, then what each speaker said, with the name before it.

    Args:
        zone: Put the day before what was said on it; None for no days.
    """
    if zone is None:
        return " ".join(_by_speaker(kept))
    days = groupby(kept, key=lambda part: _day(part, zone))
    return " ".join(
        f"{spoken_day(day, language.dates)}: {text}" if day else text
        for day, lines in days
        if (text := " ".join(_by_speaker(list(lines))))
    )


def _day(line: Line, zone: tzinfo) -> date | None:
    return date.fromisoformat(day_of(line.at, zone).name) if line.at else None


def _by_speaker(kept: Sequence[Line]) -> Iterator[str]:
    yield from (as_sentence(line.text) for line in kept if line.fact)
    others = [line for line in kept if not line.fact]
    for speaker in dict.fromkeys(line.speaker for line in others):
        own = " ".join(as_sentence(line.text) for line in others if line.speaker == speaker)
        yield f"{speaker}: {own}" if speaker else own


def _parts(line: Line, language: Language, *, cut: bool) -> Iterator[Line]:
    if line.fact or not cut:
        yield line
        return
    asks = line.text.rstrip().endswith("?")
    for text in clauses(line.text, language):
        yield replace(line, text=f"{text.rstrip('?')}?" if asks else text)


def _covering(candidates: list[_Candidate], weight: dict[str, float], room: int) -> Iterator[int]:
    """Yield the places of clauses, chosen greedily by what they add for their length."""
    seen = set[str]()
    while candidates := [part for part in candidates if part.length <= room]:
        best = max(candidates, key=lambda part: (part.added(seen, weight), -part.place))
        if best.added(seen, weight) <= 0:
            return
        yield best.place
        seen |= best.words
        room -= best.length


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
    named = [not text.isupper() and _is_name(word[0], language) for word in words]
    for place, (before, match) in enumerate(pairwise(words), start=1):
        between = text[before.end() : match.start()]
        determined = between == " " and before[0].lower() in language.extracts.articles
        if named[place] and not between.strip(" ,"):
            noun = determined and language.capital_nouns
            if noun or not (between == " " and place > 1 and named[place - 1]):
                run = _run(text, words[place:], lambda word: _is_name(word, language))
                yield _POSSESSIVE.sub("", " ".join(run[:MOST_WORDS])), not noun
        elif determined:
            run = _run(text, words[place:], lambda word: _is_thing(word, language))
            if 0 < len(run) <= MOST_WORDS:
                yield _POSSESSIVE.sub("", " ".join(run)), False


def _run(text: str, words: Sequence[re.Match[str]], fits: Callable[[str], bool]) -> list[str]:
    """Return the words from the first on that fit and are separated by single spaces."""
    kept = list[re.Match[str]]()
    for match in takewhile(lambda match: fits(match[0]), words):
        if kept and text[kept[-1].end() : match.start()] != " ":
            break
        kept.append(match)
    return [match[0] for match in kept]


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
