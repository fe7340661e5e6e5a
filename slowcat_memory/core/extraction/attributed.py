"""Who a quoted clause is about: whether a statement can be about the subject that an LLM names.

A statement's words are looked up in the turn that it cites. The subject nearest to them must be one
that can mean the statement's subject: "he's nine" is not about the speaker, "I promised her" not
about her. In doubt a statement passes: pronouns are not resolved beyond their sentence.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from msgspec import Struct

from slowcat_memory.core.extraction.clauses import languages_of, straight
from slowcat_memory.core.language import LANGUAGES, Language, of_any, words_of_any
from slowcat_memory.core.language.data import lazy_pattern
from slowcat_memory.core.language.english.vocabulary import STOP_WORDS
from slowcat_memory.core.language.names import is_given_name, is_ordinary
from slowcat_memory.core.text.numerals import DATED, digits_of
from slowcat_memory.records import Turn

STEM = 4  # common first letters of two forms of a word
_TOKEN = re.compile(r"[^\W_]+(?:'[^\W_]+)*|[,;:.!?…—–]")
_SHORT = re.compile(r"'(?:s|re|ll|d|ve|m)$")
_PLAIN = str.maketrans("äöü", "aou")  # "fange", "fängt"
_ENDS = frozenset(".!?;…")
_MARKS = _ENDS | frozenset(",:—–")

_TITLES = words_of_any(lambda language: language.persons.sets["titles"])
_KIN = lazy_pattern(of_any(lambda language: f"(?:{language.statements.kin})"), flags=re.IGNORECASE)
_NAMELESS = (
    "i", "we", "me", "my", "he", "she", "they", "them", "his", "her", "their", "it", "you", "anybody",
    "kin", "titles", "before_object", "starts", "verbs", "helpers", "denials",
)  # fmt: skip
_NOT_NAMES = STOP_WORDS.union(
    DATED, *(language.persons.sets[name] for language in LANGUAGES for name in _NAMELESS)
)

Kind = Literal["i", "we", "my", "third", "many", "name", "kin", "anybody", "object"]


# Sets of pronouns that are subjects, in the order in which they count.
_PRONOUNS: Mapping[str, Kind] = {
    "i": "i", "we": "we", "he": "third", "she": "third", "they": "many",
}  # fmt: skip


class Token(NamedTuple):
    """A word in lower case without its clitic ("he's": "he"), or a punctuation mark.

    Attributes:
        clitic: "'s", "'ll", …; "" for none.
        capital: Whether it has a capital letter that is not due to its place.
    """

    word: str
    clitic: str
    capital: bool


class AskedSubject(NamedTuple):
    """A subject that a statement is about.

    Attributes:
        words: Those of its name.
        speaker: Whether it is the speaker.
        others: Words of the names of other people.
    """

    words: frozenset[str]
    speaker: bool
    others: frozenset[str] = frozenset()


class QuotedPassage(Struct, frozen=True):
    """A turn's tokens, who is asked about, and one of its languages."""

    said: Sequence[Token]
    asked: AskedSubject
    language: Language

    @property
    def sets(self) -> Mapping[str, frozenset[str]]:
        return self.language.persons.sets

    def word(self, place: int) -> str:
        """Return the word at a place; "" behind the end."""
        return self.said[place].word if place < len(self.said) else ""


def about(subject: str, speaker: str, people: Iterable[str] = ()) -> AskedSubject:
    words, own = frozenset(words_in(subject)), frozenset(words_in(speaker))
    others = frozenset(word for name in people for word in words_in(name))
    return AskedSubject(words, bool(words) and words <= own, others - words - own - _NOT_NAMES)


def words_in(text: str) -> list[str]:
    return [token.word for token in tokens(text) if token.word not in _MARKS]


def tokens(text: str) -> list[Token]:
    """Split a text; clitics are taken off, numbers are digits."""
    parts, begins = list[Token](), True
    for match in _TOKEN.finditer(straight(text)):
        raw = match[0]
        clitic = _SHORT.search(raw)
        word = raw[: clitic.start()] if clitic else raw
        capital = raw[0].isupper() and not (begins and is_ordinary(word.lower()))
        lower = word.lower()
        parts.append(Token(digits_of(lower), clitic[0] if clitic else "", capital))
        begins = raw in _ENDS
    return parts


def kind_at(passage: QuotedPassage, place: int) -> Kind | None:
    """Return whom a word names as the subject or owner of something; None for nobody."""
    word, following, sets = passage.word(place), passage.word(place + 1), passage.sets
    for name, kind in _PRONOUNS.items():
        if word in sets[name]:
            return kind
    if word in sets["my"]:
        return None if _is_kin(following, passage) or _is_name(passage, place + 1) else "my"
    if word in sets["his"] or word in sets["her"] and following and following not in _MARKS:
        ahead = following not in sets["before_object"] and following not in sets["starts"]
        return "third" if ahead else None
    named, anybody = _is_name(passage, place), word in sets["anybody"]
    if not (named or anybody or _is_kin(word, passage)):
        return None
    led = following in sets["before_object"] and anybody
    if not led and not _can_be_subject(passage, place):
        return "object"
    return "anybody" if anybody else "name" if named else "kin"


def _is_kin(word: str, passage: QuotedPassage) -> bool:
    sets = passage.sets
    return word in sets["kin"] or word in sets["roles"] or bool(_KIN.fullmatch(word))


def _is_name(passage: QuotedPassage, place: int) -> bool:
    if place >= len(passage.said):
        return False
    token, asked = passage.said[place], passage.asked
    if token.word in asked.words:
        return True
    if token.word in _NOT_NAMES or len(token.word) < 2 or not token.word.isalpha():
        return False
    if token.word in asked.others:
        return True
    return is_given_name(token.word) and (token.capital or not is_ordinary(token.word))


def _can_be_subject(passage: QuotedPassage, place: int) -> bool:
    """Return whether a name or role can be a subject: no preposition or verb governs it."""
    sets, before = passage.sets, place - 1
    owners = _TITLES | sets["my"] | sets["his"] | sets["her"]
    while before >= 0 and (
        passage.word(before) in owners or _is_kin(passage.word(before), passage)
    ):
        before -= 1
    led_by = passage.word(before) if before >= 0 else "."
    if led_by in sets["before_object"]:
        return False
    if passage.said[place].clitic or passage.word(place + 1) in sets["verbs"]:
        return True
    return led_by not in sets["articles"] and (led_by in sets["starts"] or led_by in _MARKS)


def subjects_before(passage: QuotedPassage, place: int) -> Iterator[tuple[Kind, int]]:
    """Yield the subjects in front of a word with their places, the nearest first, in its sentence."""
    for at in range(place - 1, -1, -1):
        if passage.word(at) in _ENDS:
            return
        if (kind := kind_at(passage, at)) is not None:
            yield kind, at


def wrong_subject(
    content: str, subject: str, quote: str, turn: Turn, people: Iterable[str] = ()
) -> bool:
    """Return whether a statement's words are said of somebody else than its subject.

    Args:
        content: The statement, a sentence with names.
        quote: The words of the turn that state it.
        people: Names of people and animals, also in lower case.
    """
    asked, speech = about(subject, turn.speaker, people), tokens(turn.text)
    span = find(words_in(quote), speech)
    if span is None or not asked.words:
        return False
    return all(
        _is_wrong(content, QuotedPassage(speech, asked, language), span, turn.speaker)
        for language in languages_of(turn.text)
    )


def _is_wrong(content: str, passage: QuotedPassage, span: range, speaker: str) -> bool:
    asked = passage.asked
    owner, rest = _owner(tokens(content), asked)
    if owner is not None:
        place = _anchor(owner, passage, span)
        return place is not None and owned_by_another(passage, place)
    left_out = asked.words | asked.others | passage.sets["helpers"] | _MARKS
    part = next((t for t in rest if t.word not in left_out.union(words_in(speaker))), None)
    place = _anchor(part, passage, span) if part else None
    return (place is not None and not fits(passage, place)) or _lacks_subject(passage, span)


def _owner(written: Sequence[Token], asked: AskedSubject) -> tuple[Token | None, Sequence[Token]]:
    """Return what of a subject a statement is about ("Anna's **operation** is …"), and the rest."""
    genitive = frozenset(f"{word}s" for word in asked.words)  # "Toms Anfang"
    named = asked.words | genitive
    last = max((n for n, token in enumerate(written[:4]) if token.word in named), default=-1)
    if last < 0:
        return None, written
    rest = written[last + 1 :]
    owns = written[last].clitic == "'s" or written[last].word in genitive - asked.words
    heads = (token for token in rest[:4] if owns and token.word not in STOP_WORDS)
    return next(heads, None), rest


def _anchor(part: Token, passage: QuotedPassage, span: range) -> int | None:
    """Return where a word is said first; None if it is not."""
    return next((place for place in span if same(passage.word(place), part.word)), None)


def same(word: str, other: str) -> bool:
    """Return whether two words are forms of one."""
    word, other = word.translate(_PLAIN), other.translate(_PLAIN)
    if word == other:
        return True
    return len(word) >= STEM <= len(other) and word[:STEM] == other[:STEM]


def fits(passage: QuotedPassage, place: int) -> bool:
    """Return whether the subject nearest to a word can be the one that is asked about."""
    sets = passage.sets
    ignored = ("object",) if passage.asked.speaker else ("object", "my")
    owners = sets["his"] | sets["her"] | sets["their"]
    for kind, at in subjects_before(passage, place):
        if kind not in ignored and passage.word(at) not in owners:
            return _can_mean(kind, at, passage) or _mentioned(passage.said[at + 1 : place], passage)
    return True


def _can_mean(kind: Kind, place: int, passage: QuotedPassage) -> bool:
    asked = passage.asked
    if kind == "we":
        return True
    if asked.speaker:
        return kind in ("i", "my")
    if kind in ("i", "my", "anybody"):
        return False
    if kind == "name":
        near = passage.said[max(0, place - 2) : place + 3]
        return any(token.word in asked.words for token in near)
    return True


def _mentioned(speech: Sequence[Token], passage: QuotedPassage) -> bool:
    """Return whether words between a subject and its verb's object mention who is asked about."""
    sets, asked = passage.sets, passage.asked
    wanted = sets["me"] if asked.speaker else asked.words | sets["them"] | sets["he"] | sets["she"]
    return any(token.word in wanted for token in speech)


def _lacks_subject(passage: QuotedPassage, span: range) -> bool:
    """Return whether a quote has only others than the speaker in it.

    "They" and "it" may be a company, and what it says or pays is about the speaker.
    """
    if not passage.asked.speaker:
        return False
    sets, part = passage.sets, [passage.word(place) for place in span]
    if any(word in sets[name] for word in part for name in ("i", "we", "me", "my")):
        return False
    if any(kind_at(passage, place) in ("third", "name") for place in span):
        return True
    before = next(subjects_before(passage, span.start), None)
    return before is not None and before[0] in ("third", "name")


def owner_before(passage: QuotedPassage, place: int) -> int | None:
    """Return the place of the owner that is said before a thing; None for none."""
    sets = passage.sets
    owners = sets["my"] | sets["his"] | sets["her"]
    for at in range(place - 1, max(-1, place - 4), -1):
        token = passage.said[at]
        if token.word in _MARKS:
            return None
        if token.word in owners:
            return at
        if token.clitic == "'s" and (_is_kin(token.word, passage) or _is_name(passage, at)):
            return at
    return None


def owned_by_another(passage: QuotedPassage, place: int) -> bool:
    """Return whether a thing is said to be somebody else's: "mam's operation", "my last day"."""
    at, asked, sets = owner_before(passage, place), passage.asked, passage.sets
    if at is None:
        return False
    word = passage.word(at)
    if word in sets["my"]:
        return not asked.speaker and not word.startswith(("our", "unser"))
    if word in sets["his"] or word in sets["her"]:
        return asked.speaker
    return word not in asked.words and (asked.speaker or not _is_kin(word, passage))


def find(wanted: Sequence[str], speech: Sequence[Token]) -> range | None:
    """Return where words are said one after another, whatever marks stand between; None if not."""
    if not wanted:
        return None
    places = [n for n, token in enumerate(speech) if token.word not in _MARKS]
    plain = [speech[n].word for n in places]
    for start in range(len(plain) - len(wanted) + 1):
        if plain[start : start + len(wanted)] == list(wanted):
            return range(places[start], places[start + len(wanted) - 1] + 1)
    return None
