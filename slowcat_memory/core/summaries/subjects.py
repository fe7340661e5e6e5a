"""What a conversation was about, without an LLM: names of people, places and things, or nothing.

A subject is a name (words with a capital inside a sentence, "the Royal Infirmary"), what a stated
fact is about, or a thing that was named more than once ("the deposit", "my driving test"). A single
word that may be a verb or adjective is none, so a conversation without subjects has none.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

from slowcat_memory.core.language import Language
from slowcat_memory.core.language.english.vocabulary import EMPTY
from slowcat_memory.core.summaries.salience import Line, Tokenize

MOST_WORDS = 3  # of a subject
NAMED, OFTEN = 1, 2  # how often a name, and a thing, must occur
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_POSSESSIVE = re.compile(r"['’]s?$")


def subjects(
    said: Sequence[Line], facts: Iterable[str], language: Language, tokenize: Tokenize, most: int
) -> tuple[str, ...]:
    """Return what was spoken of, the most frequent first.

    Args:
        said: Sentences, in any case.
        facts: Objects of stated facts.
        most: Most subjects.
    """
    counts, forms, named = Counter[str](), dict[str, str](), set[str]()
    speakers = {stem for line in said for stem in tokenize(line.speaker)}
    for line in said:
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
        if not any(set(key.split()) <= set(one.split()) for one in kept):
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
        if is_name and determined and language.extracts.capital_nouns:
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
