"""The clauses of what people say that may be statements: not asked, supposed, quoted or joking.

Speech recognisers write few full stops, some of them neither commas nor capitals; so a clause ends
before a new subject with its verb as well.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, TypeVar

from msgspec import Struct

from slowcat_memory.core.language import LANGUAGES, Language, language_of

MOST_WORDS = 40  # of a clause: longer ones are stories
MOST_LETTERS = 80  # of a word: longer ones are numbers, addresses or noise, and slow to match
_QUOTES = str.maketrans({"‘": "'", "’": "'", "´": "'", "`": "'"})  # one letter each
_QUOTED = re.compile('["“”„«»]')
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
_EDGE = " ,.;:!?…-–—"
_SHARE = 0.5  # of the function words of the language that has most, for a second language


Signs = TypeVar("Signs", bound=Struct)


class Clause(Struct, frozen=True):
    """A clause as it was said, with its contractions written out.

    Attributes:
        quote: As it was said.
        text: With contractions written out, without fillers.
        cased: Whether its sentence has capitals.
        after: The rest of the sentence.
        request: Whether it is a request.
    """

    quote: str
    text: str
    cased: bool
    after: str = ""
    request: bool = False


class Moods(Struct, frozen=True):
    """The compiled signs of a language's clauses."""

    false_turn: re.Pattern[str]
    false_sentence: re.Pattern[str]
    false_clause: re.Pattern[str]
    asks: re.Pattern[str]
    own_tag: re.Pattern[str]
    request: re.Pattern[str]
    breaks: re.Pattern[str]
    front: re.Pattern[str]
    fillers: re.Pattern[str]
    expand: tuple[tuple[re.Pattern[str], str], ...]


def straight(text: str) -> str:
    """Return a text of the same length with straight apostrophes."""
    return text.translate(_QUOTES)


def languages_of(sentence: str) -> list[Language]:
    """Return the languages of a sentence by its function words; all where these say nothing."""
    words = [word.lower() for word in _WORD.findall(straight(sentence))]
    counts = [sum(word in one.statements.function for word in words) for one in LANGUAGES]
    most = max(counts)
    return [
        one
        for one, count in zip(LANGUAGES, counts, strict=True)
        if count >= most * _SHARE and (count or not most)
    ]


def is_serious(text: str, language: Language) -> bool:
    """Return False for a turn with a sign of a joke or a role play."""
    return not _moods(language).false_turn.search(straight(text))


def clauses(sentence: str, language: Language) -> list[Clause]:
    """Return the clauses of a sentence that can be statements or requests, in order."""
    moods, said = _moods(language), straight(sentence)
    cased = said != said.lower()
    if request := moods.request.search(said):
        return [Clause(sentence.strip(), _expanded(request["o"], moods), cased, request=True)]
    if _QUOTED.search(said) or moods.false_sentence.search(said):
        return []
    parts = list(_parts(said, moods))
    if not parts or moods.asks.match(_without_fillers(said[slice(*parts[0])], moods)):
        return []
    if said.rstrip().endswith("?"):
        own = moods.own_tag.search(said[slice(*parts[-1])].rstrip(" ?"))
        parts = parts[: -2 if own else -1]
    found = list[Clause]()
    for start, end in parts:
        text = _without_fillers(said[start:end], moods)
        if _is_too_long(text) or moods.asks.match(text):
            continue
        text = _without_fillers(_expanded(text, moods), moods)
        if text and not moods.false_clause.search(text):
            found.append(Clause(sentence[start:end].strip(_EDGE), text, cased, said[end:]))
    return found


def _is_too_long(text: str) -> bool:
    words = text.split()
    return len(words) > MOST_WORDS or max(map(len, words), default=0) > MOST_LETTERS


def _parts(said: str, moods: Moods) -> Iterator[tuple[int, int]]:
    """Yield where each clause begins and ends."""
    start = 0
    for border in moods.breaks.finditer(said):
        before = said[start : border.start()].strip(_EDGE)
        # Neither "Leon" of "Leon and I" nor "every morning" of "every morning I swim" is a clause.
        if len(before.split()) > 1 and not moods.front.fullmatch(before):
            yield start, border.start()
            start = border.end()
    if said[start:].strip(_EDGE):
        yield start, len(said)


def _without_fillers(text: str, moods: Moods) -> str:
    text = text.strip(_EDGE)
    while match := moods.fillers.match(text):
        if not text[match.end() :]:
            break
        text = text[match.end() :]
    return text


def _expanded(text: str, moods: Moods) -> str:
    return rewritten(text, moods.expand)


def rewritten(text: str, rewrites: Iterable[tuple[re.Pattern[str], str]]) -> str:
    """Return a text with all rewrites, in order."""
    for pattern, by in rewrites:
        text = pattern.sub(by, text)
    return text


def compiled(rewrites: Iterable[tuple[str, str]]) -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((re.compile(pattern, re.IGNORECASE), by) for pattern, by in rewrites)


def compiled_signs(kind: type[Signs], table: Struct, **own: Any) -> Signs:
    """Return a table's patterns and rewrites, compiled.

    Args:
        kind: Has a field for each of them, named as in the table.
        own: Expressions of fields that the table has not, or in another form.
    """
    made = dict[str, Any]()
    for name in kind.__struct_fields__:
        value = own[name] if name in own else getattr(table, name)
        if isinstance(value, str):
            value = re.compile(value, re.IGNORECASE)
        elif isinstance(value, tuple):
            pairs = value and isinstance(value[0], tuple)
            value = compiled(value) if pairs else tuple(re.compile(x, re.IGNORECASE) for x in value)
        made[name] = value
    return kind(**made)


def _moods(language: Language) -> Moods:
    return _compiled(language.name)


@cache
def _compiled(name: str) -> Moods:
    words = language_of(name).statements
    fillers = rf"(?:{words.fillers})(?:[,.!]\s*|\s+)"
    return compiled_signs(Moods, words, fillers=fillers)
