"""Who a quoted clause is about: whether a statement can be about the subject that an LLM names.

A statement's words are looked up in the turn that it cites. The subject nearest to them must be one
that can mean the statement's subject: "he's nine" is not about the speaker, "I promised her" not
about her. In doubt a statement passes: pronouns are not resolved beyond their sentence.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Literal, NamedTuple

from slowcat_memory.core.extraction.clauses import languages_of, straight
from slowcat_memory.core.language import LANGUAGES, words_of_any
from slowcat_memory.core.language.english.vocabulary import DAYS, MONTHS, NUMBERS, STOP_WORDS
from slowcat_memory.core.language.facts import PersonWords
from slowcat_memory.core.language.names import is_given_name
from slowcat_memory.core.language.ordinary import is_ordinary
from slowcat_memory.records import Turn

STEM = 4  # common first letters of two forms of a word
_TOKEN = re.compile(r"[^\W_]+(?:'[^\W_]+)*|[,;:.!?…—–]")
_SHORT = re.compile(r"'(?:s|re|ll|d|ve|m)$")
_PLAIN = str.maketrans("äöü", "aou")  # "fange", "fängt"
_ENDS = frozenset(".!?;…")
_MARKS = _ENDS | frozenset(",:—–")

_TITLES = words_of_any(lambda one: one.persons.sets["titles"])

Kind = Literal["i", "we", "my", "third", "many", "name", "kin", "anybody", "object", "reporter"]


class Token(NamedTuple):
    """A word in lower case without its clitic ("he's": "he"), or a punctuation mark.

    Attributes:
        clitic: "'s", "'ll", …; "" for none.
        capital: Whether it has a capital letter that is not due to its place.
    """

    word: str
    clitic: str
    capital: bool


class Subject(NamedTuple):
    """Whom a clause may be about, and where that is said."""

    kind: Kind
    place: int
    word: str


class Asked(NamedTuple):
    """A subject that a statement is about.

    Attributes:
        words: Those of its name.
        speaker: Whether it is the speaker.
        others: Words of the names of other people.
    """

    words: frozenset[str]
    speaker: bool
    others: frozenset[str] = frozenset()


def about(subject: str, speaker: str, people: Iterable[str] = ()) -> Asked:
    words, own = frozenset(words_in(subject)), frozenset(words_in(speaker))
    others = frozenset(word for name in people for word in words_in(name))
    return Asked(words, bool(words) and words <= own, others - words - own - _not_names())


def words_in(text: str) -> list[str]:
    return [token.word for token in tokens(text) if token.word not in _MARKS]


def tokens(text: str) -> list[Token]:
    """Split a text; clitics are taken off, numbers are digits."""
    found, begins = list[Token](), True
    for match in _TOKEN.finditer(straight(text)):
        raw = match[0]
        clitic = _SHORT.search(raw)
        word = raw[: clitic.start()] if clitic else raw
        capital = raw[0].isupper() and not (begins and is_ordinary(word.lower()))
        lower = word.lower()
        found.append(Token(NUMBERS.get(lower, lower), clitic[0] if clitic else "", capital))
        begins = raw in _ENDS
    return found


def words_of_languages(text: str) -> list[PersonWords]:
    return [one.persons for one in languages_of(text)]


def kind_at(said: Sequence[Token], place: int, asked: Asked, words: PersonWords) -> Kind | None:
    """Return whom a word names as the subject or owner of something; None for nobody."""
    word, sets = said[place].word, words.sets
    if word in sets["i"]:
        return "i"
    if word in sets["we"]:
        return "we"
    if word in sets["he"] or word in sets["she"]:
        return "third"
    if word in sets["they"]:
        return "many"
    following = said[place + 1].word if place + 1 < len(said) else ""
    if word in sets["my"]:
        return None if _is_kin(following, words) or _is_name(said, place + 1, asked) else "my"
    if word in sets["his"] or word in sets["her"] and following and following not in _MARKS:
        ahead = following not in sets["before_object"] and following not in sets["starts"]
        return "third" if ahead else None
    if _is_kin(word, words) or _is_name(said, place, asked) or word in sets["anybody"]:
        led = following in sets["before_object"] and word in sets["anybody"]
        if not led and not _can_be_subject(said, place, words):
            return "object"
        if word in sets["anybody"]:
            return "anybody"
        return "name" if _is_name(said, place, asked) else "kin"
    return None


def _is_kin(word: str, words: PersonWords) -> bool:
    return word in words.sets["kin"] or word in words.sets["roles"] or bool(_kin().fullmatch(word))


@cache
def _kin() -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{one.statements.kin})" for one in LANGUAGES), re.IGNORECASE)


def _is_name(said: Sequence[Token], place: int, asked: Asked) -> bool:
    if not 0 <= place < len(said):
        return False
    token = said[place]
    if token.word in asked.words:
        return True
    if token.word in _not_names() or len(token.word) < 2 or not token.word.isalpha():
        return False
    if token.word in asked.others:
        return True
    return is_given_name(token.word) and (token.capital or not is_ordinary(token.word))


@cache
def _not_names() -> frozenset[str]:
    lists = ("i", "we", "me", "my", "he", "she", "they", "them", "his", "her", "their", "it",
             "you", "anybody", "kin", "titles", "before_object", "starts", "verbs", "helpers",
             "denials")  # fmt: skip
    return STOP_WORDS.union(
        DAYS, MONTHS, *(one.persons.sets[name] for one in LANGUAGES for name in lists)
    )


def _can_be_subject(said: Sequence[Token], place: int, words: PersonWords) -> bool:
    """Return whether a name or role can be a subject: no preposition or verb governs it."""
    sets, after = words.sets, said[place + 1] if place + 1 < len(said) else None
    before = place - 1
    while before >= 0 and (
        said[before].word in _TITLES or said[before].word in sets["my"]
        or said[before].word in sets["his"] or said[before].word in sets["her"]
        or _is_kin(said[before].word, words)
    ):  # fmt: skip
        before -= 1
    if before >= 0 and said[before].word in sets["before_object"]:
        return False
    if said[place].clitic or (after and after.word in sets["verbs"]):
        return True
    if before >= 0 and said[before].word in sets["articles"]:
        return False
    return before < 0 or said[before].word in sets["starts"] or said[before].word in _MARKS


def subjects_before(
    said: Sequence[Token], place: int, asked: Asked, words: PersonWords
) -> Iterator[Subject]:
    """Yield the subjects in front of a word, the nearest first, within its sentence."""
    for at in range(place - 1, -1, -1):
        if said[at].word in _ENDS:
            return
        kind = kind_at(said, at, asked, words)
        if kind is not None and _only_reports(said, at, place, words):
            yield Subject("reporter", at, said[at].word)
            return
        if kind is not None:
            yield Subject(kind, at, said[at].word)


def _only_reports(said: Sequence[Token], at: int, place: int, words: PersonWords) -> bool:
    """Return whether a subject says what follows: "she says it's a trapped nerve"."""
    return at + 1 < place - 1 and said[at + 1].word in words.sets["says"]


def _subject_after(
    said: Sequence[Token], place: int, asked: Asked, words: PersonWords
) -> Subject | None:
    """Return the subject behind a word of its clause, as in "am Montag fängt er an"."""
    for at in range(place + 1, min(len(said), place + 6)):
        if said[at].word in _MARKS:
            return None
        kind = kind_at(said, at, asked, words)
        if kind in ("i", "we", "third"):
            return Subject(kind, at, said[at].word)
    return None


def wrong_subject(
    content: str, subject: str, quote: str, turn: Turn, people: Iterable[str] = ()
) -> bool:
    """Return whether a statement's words are said of somebody else than its subject.

    Args:
        content: The statement, a sentence with names.
        quote: The words of the turn that state it.
        people: Names of people and animals, also in lower case.
    """
    asked, said = about(subject, turn.speaker, people), tokens(turn.text)
    span = find(words_in(quote), said)
    if span is None or not asked.words:
        return False
    return all(
        _is_wrong(content, asked, said, span, words, turn.speaker)
        for words in words_of_languages(turn.text)
    )


def _is_wrong(
    content: str,
    asked: Asked,
    said: Sequence[Token],
    span: range,
    words: PersonWords,
    speaker: str,
) -> bool:
    written = tokens(content)
    owner, rest = _owner(written, asked)
    if owner is not None and (place := _anchor([owner], said, span, words)) is not None:
        if owned_by_another(said, place, asked, words):
            return True
    own = frozenset(words_in(speaker))
    parts = [
        token for token in rest
        if token.word not in _MARKS and token.word not in asked.words and token.word not in own | asked.others
        and token.word not in words.sets["helpers"]
    ]  # fmt: skip
    if owner is not None:
        return False
    named = not asked.speaker and any(
        said[place].word in asked.words and _can_be_subject(said, place, words) for place in span
    )
    if parts and not named:
        place = _anchor(parts[:1], said, span, words)
        if place is not None and not fits(said, place, asked, words):
            return True
    return _lacks_subject(said, span, asked, words)


def _owner(written: Sequence[Token], asked: Asked) -> tuple[Token | None, Sequence[Token]]:
    """Return what of a subject a statement is about ("Anna's **operation** is …"), and the rest."""
    genitive = frozenset(f"{word}s" for word in asked.words)  # "Toms Anfang"
    named = asked.words | genitive
    last = max((n for n, one in enumerate(written[:4]) if one.word in named), default=-1)
    if last < 0:
        return None, written
    rest = written[last + 1 :]
    owns = written[last].clitic == "'s" or written[last].word in genitive - asked.words
    if owns and rest:
        heads = [one for one in rest[:4] if one.word not in STOP_WORDS]
        return (heads[-1] if len(heads) < 2 else heads[0]) if heads else None, rest
    return None, rest


def _anchor(
    parts: Sequence[Token], said: Sequence[Token], span: range, words: PersonWords
) -> int | None:
    """Return where the first of some words is said; None if none is."""
    for part in parts:
        for place in span:
            if same(said[place].word, part.word):
                return place
    return None


def same(one: str, other: str) -> bool:
    """Return whether two words are forms of one."""
    one, other = one.translate(_PLAIN), other.translate(_PLAIN)
    if one == other:
        return True
    return len(one) >= STEM <= len(other) and one[:STEM] == other[:STEM]


def fits(said: Sequence[Token], place: int, asked: Asked, words: PersonWords) -> bool:
    """Return whether the subject nearest to a word can be the one that is asked about."""
    ignored = ("object",) if asked.speaker else ("object", "my")
    every = subjects_before(said, place, asked, words)
    owners = words.sets["his"] | words.sets["her"] | words.sets["their"]
    found = next((o for o in every if o.kind not in ignored and o.word not in owners), None)
    if _is_german(words):
        comma = found is not None and any(t.word == "," for t in said[found.place : place])
        if found is None or comma:
            found = _subject_after(said, place, asked, words) or found
    if found is None or _can_mean(found, said, asked, words):
        return True
    return _mentioned(said[found.place + 1 : place], asked, words)


def _is_german(words: PersonWords) -> bool:
    return any(one.persons is words and one.statements.verb_second for one in LANGUAGES)


def _can_mean(found: Subject, said: Sequence[Token], asked: Asked, words: PersonWords) -> bool:
    if found.kind == "we":
        return True
    if asked.speaker:
        return found.kind in ("i", "my", "reporter")
    if found.kind in ("i", "my"):
        return False
    if found.kind == "reporter":
        return found.word not in asked.words | words.sets["he"] | words.sets["she"]
    if found.kind == "name":
        near = said[max(0, found.place - 2) : found.place + 3]
        return any(one.word in asked.words for one in near)
    return found.kind != "anybody" and (
        found.kind != "third" or _may_stand_for(found, said, asked, words)
    )


def _may_stand_for(found: Subject, said: Sequence[Token], asked: Asked, words: PersonWords) -> bool:
    """Return False for a pronoun whose sentence names another person as a subject before it."""
    if any(one.word in asked.words for one in said):
        return True
    objects = (n for n in range(found.place) if said[n].word in words.sets["them"])
    if any(kind_at(said, n, asked, words) is None for n in objects):
        return True
    before = list(subjects_before(said, found.place, asked, words))
    pronouns = words.sets["he"] | words.sets["she"] | words.sets["they"]
    return not any(
        one.kind == "name" or one.kind == "reporter" and one.word not in pronouns
        for one in before[:2]
    )


def _mentioned(said: Sequence[Token], asked: Asked, words: PersonWords) -> bool:
    """Return whether words between a subject and its verb's object mention who is asked about."""
    sets = words.sets
    others = asked.words | sets["them"] | sets["he"] | sets["she"]
    return any(one.word in (sets["me"] if asked.speaker else others) for one in said)


def _lacks_subject(said: Sequence[Token], span: range, asked: Asked, words: PersonWords) -> bool:
    """Return whether a quote has only others than the speaker in it.

    "They" and "it" may be a company, and what it says or pays is about the speaker.
    """
    if not asked.speaker:
        return False
    sets, part = words.sets, [said[place].word for place in span]
    if any(word in sets[name] for word in part for name in ("i", "we", "me", "my")):
        return False
    if any(_only_reports(said, place, span.stop, words) for place in span):
        return False
    kinds = [kind_at(said, place, asked, words) for place in span]
    if any(kind in ("third", "name") for kind in kinds):
        return True
    family = any(
        kind == "kin" and said[place].word not in sets["roles"]
        for place, kind in zip(span, kinds, strict=True)
    )
    before = next(subjects_before(said, span.start, asked, words), None)
    return family or (before is not None and before.kind in ("third", "name"))


def owner_before(said: Sequence[Token], place: int, asked: Asked, words: PersonWords) -> int | None:
    """Return the place of the owner that is said before a thing; None for none."""
    sets = words.sets
    for at in range(place - 1, max(-1, place - 4), -1):
        token = said[at]
        if token.word in _MARKS:
            return None
        if token.word in sets["my"] or token.word in sets["his"] or token.word in sets["her"]:
            return at
        if token.clitic == "'s" and (_is_kin(token.word, words) or _is_name(said, at, asked)):
            return at
    return None


def owned_by_another(said: Sequence[Token], place: int, asked: Asked, words: PersonWords) -> bool:
    """Return whether a thing is said to be somebody else's: "mam's operation", "my last day"."""
    at = owner_before(said, place, asked, words)
    if at is None:
        return False
    word = said[at].word
    if word in words.sets["my"]:
        return not asked.speaker and not word.startswith(("our", "unser"))
    if word in words.sets["his"] or word in words.sets["her"]:
        return asked.speaker
    return word not in asked.words and (asked.speaker or not _is_kin(word, words))


def find(wanted: Sequence[str], said: Sequence[Token]) -> range | None:
    """Return where words are said one after another, whatever marks stand between; None if not."""
    if not wanted:
        return None
    places = [n for n, one in enumerate(said) if one.word not in _MARKS]
    plain = [said[n].word for n in places]
    for start in range(len(plain) - len(wanted) + 1):
        if plain[start : start + len(wanted)] == list(wanted):
            return range(places[start], places[start + len(wanted) - 1] + 1)
    return None
