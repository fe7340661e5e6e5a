"""The clauses of what people say that may be statements: not asked, supposed, quoted or joking.

Speech recognisers write few full stops, some of them neither commas nor capitals; so a clause ends
before a new subject with its verb as well.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache

import sentencex
from msgspec import Struct
from msgspec.structs import fields

from slowcat_memory.core.language import ENGLISH, LANGUAGES, Language, language_of
from slowcat_memory.core.language.facts import Rewrites, StatementWords

MOST_WORDS = 40  # of a clause: longer ones are stories
MOST_LETTERS = 80  # of a word: longer ones are numbers, addresses or noise, and slow to match
_QUOTES = str.maketrans({"‘": "'", "’": "'", "´": "'", "`": "'"})  # one letter each
_QUOTED = re.compile('["“”„«»]')
_ORDINAL = re.compile(r"\b(?:am|der|dem|den|vom|zum|bis|ab|seit) \d{1,2}\.$", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
_EDGE = " ,.;:!?…-–—"
_SHARE = 0.5  # of the function words of the language that has most, for a second language


NEVER = r"(?!)"  # matches nothing


class Signs(dict[str, re.Pattern[str]]):
    """The signs of a language's statements, compiled when they are first used.

    A sign is a pattern of `StatementWords`, or what `_composed` makes of several.
    """

    def __init__(self, words: StatementWords) -> None:
        super().__init__()
        self._words, self._made_of = words, _composed(words)

    def __missing__(self, name: str) -> re.Pattern[str]:
        expression = self._made_of.get(name) or getattr(self._words, name) or NEVER
        self[name] = sign = re.compile(expression, re.IGNORECASE)
        return sign

    def compile_all(self) -> None:
        """Compile every sign, so that no turn does. Takes 0.03 s."""
        for name in (*self._made_of, *(f.name for f in fields(self._words) if f.type is str)):
            _ = self[name]


@cache
def signs_of(language: str) -> Signs:
    """Return the signs of a language, by its name."""
    return Signs(language_of(language).statements)


def _composed(words: StatementWords) -> dict[str, str]:
    own = rf"(?:{words.possessive}) {words.before_kin}"
    subject, owner = words.others
    return {
        # Of a clause and its subject.
        "fillers": rf"(?:{words.fillers})(?:[,.!]\s*|\s+)",
        "first": rf"(?:{words.first})\b(?!')",
        "owned": rf"(?:{words.possessive})\b(?= )",
        "own_kin": rf"{own}(?P<kin>{words.kin})\b(?!-)",
        "alone": rf"(?P<kin>{words.alone})\b",
        "pronoun": rf"(?:{subject})\b",
        "their": rf"(?:{owner})\b(?= )",
        "fronted": rf"(?P<front>{words.front}),? (?=(?:{words.first})\b|(?:{words.possessive}) {words.kin}\b)",
        "mention": rf"\b{own}(?P<kin>{words.kin})(?!'s),? (?!(?:{words.first})\b)",
        "theirs": NEVER if words.oblique else rf"{words.before_kin}(?P<kin>{words.kin})(?= )",
        "titled_name": rf"\b(?P<kin>{words.titled}) ",
        "one_of": rf"\b(?:{words.a}){words.before_kin}(?P<kin>{words.kin})\b",
        "apposed": rf"\b(?P<n>[^\W\d]+), {own}(?P<kin>{words.kin})(?=,|$)",
        "begins_titled": rf"{words.titles} ",
        "verb": rf"\b(?:{words.verb_second})\b" if words.verb_second else NEVER,
        # Of an object.
        "past": rf"(?:{words.past})\b",
        "unfit": rf"\b(?:{words.not_in_object})\b",
        "trailing": rf",? (?:{'|'.join(words.trailing)})$",
        "cut_short": rf"\b(?:{words.cut_short})$",
        "trifles": rf"\b(?:{words.trifles})\b",
        "titles": rf"\b(?:{words.titles})(?:$|(?= ))",
    }


class Clause(Struct, frozen=True):
    """A clause as it was said, with its contractions written out.

    Attributes:
        quote: As it was said.
        text: With contractions written out, without fillers.
        cased: Whether its sentence has capitals.
        speaker: Who says it.
        after: The rest of the sentence.
        request: Whether it is a request.
        announced: Whether a name follows the words that are read ("called").
    """

    quote: str
    text: str
    cased: bool
    language: Language
    speaker: str
    after: str = ""
    request: bool = False
    announced: bool = False

    @property
    def signs(self) -> Signs:
        return signs_of(self.language.name)

    @property
    def words(self) -> StatementWords:
        return self.language.statements


@cache
def pattern_of(expression: str) -> re.Pattern[str]:
    """Return an expression of a language's table, compiled."""
    return re.compile(expression, re.IGNORECASE)


def rewritten(text: str, rewrites: Rewrites) -> str:
    """Return a text with all rewrites, in order."""
    for expression, by in rewrites:
        text = pattern_of(expression).sub(by, text)
    return text


def straight(text: str) -> str:
    """Return a text of the same length with straight apostrophes."""
    return text.translate(_QUOTES)


def languages_of(sentence: str) -> list[Language]:
    """Return the languages of a sentence by its function words; all where these say nothing."""
    words = [word.lower() for word in _WORD.findall(straight(sentence))]
    counts = [sum(word in language.statements.function for word in words) for language in LANGUAGES]
    most = max(counts)
    return [
        table
        for table, count in zip(LANGUAGES, counts, strict=True)
        if count >= most * _SHARE and (count or not most)
    ]


def language_of_texts(texts: Iterable[str]) -> Language:
    """Return the language whose common words occur most; English if none do."""
    counts = Counter(word.casefold() for text in texts for word in _WORD.findall(straight(text)))
    return max(
        (ENGLISH, *LANGUAGES),
        key=lambda t: sum(counts[word] for word in t.extracts.light | t.extracts.function),
    )


def sentences_of(text: str, code: str) -> list[str]:
    """Return the sentences of a text; what was cut behind an ordinal is one: "am 28. November".

    Args:
        code: Of the language whose abbreviations count.
    """
    sentences = list[str]()
    for sentence in filter(None, (" ".join(s.split()) for s in sentencex.segment(code, text))):
        if sentences and _ORDINAL.search(sentences[-1]):
            sentence = f"{sentences.pop()} {sentence}"
        sentences.append(sentence)
    return sentences


def clauses(sentence: str, speaker: str, language: Language) -> list[Clause]:
    """Return the clauses of a sentence that can be statements or requests, in order."""
    signs, line = signs_of(language.name), straight(sentence)
    expand, cased = language.statements.expand, line != line.lower()
    if request := signs["request"].search(line):
        text = rewritten(request["o"], expand)
        return [Clause(sentence.strip(), text, cased, language, speaker, request=True)]
    if _QUOTED.search(line) or signs["false_sentence"].search(line):
        return []
    parts = list(_parts(line, signs))
    if not parts or signs["asks"].match(_without_fillers(line[slice(*parts[0])], signs)):
        return []
    if line.rstrip().endswith("?"):
        parts = parts[:-1]
    pieces = list[Clause]()
    for start, end in parts:
        text = _without_fillers(line[start:end], signs)
        words = text.split()
        too_long = len(words) > MOST_WORDS or max(map(len, words), default=0) > MOST_LETTERS
        if too_long or signs["asks"].match(text):
            continue
        text = _without_fillers(rewritten(text, expand), signs)
        if text and not signs["false_clause"].search(text):
            quote = sentence[start:end].strip(_EDGE)
            pieces.append(Clause(quote, text, cased, language, speaker, line[end:]))
    return pieces


def _parts(line: str, signs: Signs) -> Iterator[tuple[int, int]]:
    """Yield where each clause begins and ends."""
    start = 0
    for border in signs["breaks"].finditer(line):
        before = line[start : border.start()].strip(_EDGE)
        # Neither "Leon" of "Leon and I" nor "every morning" of "every morning I swim" is a clause.
        if len(before.split()) > 1 and not signs["front"].fullmatch(before):
            yield start, border.start()
            start = border.end()
    if line[start:].strip(_EDGE):
        yield start, len(line)


def _without_fillers(text: str, signs: Signs) -> str:
    text = text.strip(_EDGE)
    while match := signs["fillers"].match(text):
        if not text[match.end() :]:
            break
        text = text[match.end() :]
    return text
