"""The subjects of a clause: the speaker, relatives, animals and people by name, and pronouns.

A clause may be read in several ways ("my wife is called Ana" is about the speaker's wife, and about
the speaker's having one); the rules of what stands behind the subject decide.
"""

import re
from collections.abc import Iterator
from functools import cache

from msgspec import Struct

from slowcat_memory.core.extraction.clauses import Clause, compiled_signs
from slowcat_memory.core.extraction.complements import Words, is_ordinary, name_of
from slowcat_memory.core.language import Language, language_of
from slowcat_memory.core.language.english.vocabulary import COMMON_NAMES
from slowcat_memory.core.language.names import is_given_name


class Subject(Struct, frozen=True):
    """Who a clause is about.

    Attributes:
        name: As facts write it: a name, or "Anna's mother".
        kin: The word for a relative or animal of the speaker; "" for others.
        named: Whether ``name`` is a name.
        speaker: Whether it is the speaker.
    """

    name: str
    kin: str = ""
    named: bool = True
    speaker: bool = False


class Reading(Struct, frozen=True):
    """A subject, the words behind it ("'s birthday is ..." for what it has), and those before.

    ``whole`` means that the words are the whole clause, for rules in which the speaker is no
    subject.
    """

    subject: Subject
    words: str
    front: str = ""
    whole: bool = False


class Subjects(Struct, frozen=True):
    """The compiled signs of a language's subjects."""

    first: re.Pattern[str]
    own: re.Pattern[str]
    kin: re.Pattern[str]
    alone: re.Pattern[str]
    titled: re.Pattern[str]
    other: re.Pattern[str]
    others: re.Pattern[str]
    finite: re.Pattern[str]
    elided: re.Pattern[str]
    third_form: re.Pattern[str]
    and_me: tuple[re.Pattern[str], ...]
    front: re.Pattern[str]
    mention: re.Pattern[str]
    theirs: re.Pattern[str]
    far: re.Pattern[str]
    one_of: re.Pattern[str]
    oblique: re.Pattern[str] | None
    no_name: re.Pattern[str] | None
    apposed: re.Pattern[str]
    titled_name: re.Pattern[str]
    titles: re.Pattern[str]
    plural: re.Pattern[str]
    joins: re.Pattern[str]
    for_whom: re.Pattern[str]
    men: re.Pattern[str]
    women: re.Pattern[str]
    male: re.Pattern[str]
    female: re.Pattern[str]
    verb: re.Pattern[str] | None
    function: frozenset[str]
    time_word: re.Pattern[str]


def readings(
    clause: Clause,
    speaker: str,
    other: Subject | None,
    language: Language,
    before: Subject | None = None,
) -> Iterator[Reading]:
    """Yield the readings of a clause.

    Args:
        other: Whom a pronoun of the third person stands for.
        before: The subject of the clause before, for one without a subject.
    """
    signs, me = subjects_of(language), Subject(speaker, speaker=True)
    yield Reading(me, clause.text, whole=True)
    for text, front in _orders(clause.text, signs):
        yield from _first(text, front, me, signs)
        yield from _relatives(text, front, me, clause, language)
        yield from _named(text, front, clause, language)
        yield from _pronouns(text, front, other, signs)
        if not front and before is not None and signs.finite.match(text):
            if before.speaker and signs.third_form.match(text):
                continue
            yield Reading(before, text)
        elif not front and signs.elided.match(text):
            yield Reading(me, text)
            yield Reading(me, f"{language.statements.am} {text}")
    yield from _together(clause, me, language)


def mentions(clause: Clause, speaker: str, language: Language) -> Iterator[Subject]:
    """Yield the relatives and animals of the speaker that a clause names."""
    signs = subjects_of(language)
    for found in signs.plural.finditer(clause.text):
        for part in signs.joins.split(found["o"]):
            if name := name_of(Words(part, clause.cased, language)):
                yield Subject(name, kin=found["kin"].lower())
    for found in signs.apposed.finditer(clause.text):
        if name := name_of(Words(found["n"], clause.cased, language), strong=False):
            yield Subject(name, kin=found["kin"].lower())
    for found in (*signs.mention.finditer(clause.text), *signs.titled_name.finditer(clause.text)):
        rest = clause.text[found.end() :]
        name = name_of(Words(rest.lstrip(" ,"), clause.cased, language))
        plain = clause.cased and not (signs.oblique and signs.oblique.match(found[0]))
        if name and (plain or _is_certain(name, rest.lstrip(" ,"), signs)):
            if not rest.startswith(",") or not signs.finite.match(rest.lstrip(" ,")):
                yield Subject(name, kin=found["kin"].lower())


def _is_certain(name: str, rest: str, signs: Subjects) -> bool:
    """Return whether a word without a capital is a name: a known one, or one that a verb follows."""
    behind = rest[len(name) :].strip(" ,")
    first = name.partition(" ")[0].lower()
    if is_given_name(first) and first not in COMMON_NAMES:
        return True
    follows = (
        (not behind and signs.no_name is None)
        or rest[len(name) :].startswith(",")
        or signs.finite.match(behind)
    )
    unlike = signs.no_name is not None and signs.no_name.fullmatch(first)
    return bool(follows) and (is_given_name(first) or not (unlike or is_ordinary(first)))


def new_relative(clause: Clause, speaker: str, language: Language) -> Subject | None:
    """Return the relative or animal without a name that a clause mentions ("we had a son")."""
    found = subjects_of(language).one_of.search(clause.text)
    if found is None:
        return None
    kin = found["kin"].lower()
    return Subject(language.statements.relative.format(s=speaker, kin=kin), kin=kin, named=False)


def spoken_of(clause: Clause, language: Language) -> Subject | None:
    """Return the only person whom a clause names after a preposition ("no nuts for Tom")."""
    found = [
        name
        for one in subjects_of(language).for_whom.finditer(clause.text)
        if (name := name_of(Words(one["n"], clause.cased, language), strong=False))
    ]
    return Subject(found[0]) if len(found) == 1 else None


def _orders(text: str, signs: Subjects) -> Iterator[tuple[str, str]]:
    """Yield a clause with its subject first, and the adverbial that stood before it."""
    yield text, ""
    if found := signs.front.match(text):
        yield text[found.end() :], _inside(found["front"].strip(" ,"), signs)
    if signs.verb is not None:
        yield from _turned(text, signs, signs.verb)


def _turned(text: str, signs: Subjects, verb: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    """Yield a clause whose verb stands before its subject, in the usual order.

    "Seit April arbeite ich bei Bosch" becomes "ich arbeite seit April bei Bosch", and "ich arbeite
    bei Bosch seit April".
    """
    for found in verb.finditer(text):
        front, rest = text[: found.start()].strip(" ,"), text[found.end() :].strip()
        subject = signs.first.match(rest) or signs.kin.match(rest) or signs.others.match(rest)
        if subject is None or (front and len(front.split()) > 8):
            continue
        who, tail = rest[: subject.end()].strip(), rest[subject.end() :].strip()
        said = found[0].lower()
        if not front:
            yield f"{who} {said} {tail}", ""
            return
        front = _inside(front, signs)
        yield f"{who} {said} {front} {tail}", front
        yield f"{who} {said} {tail} {front}", front
        return


def _inside(front: str, signs: Subjects) -> str:
    """Return words from the beginning of a sentence as they are written inside of it."""
    first, space, others = front.partition(" ")
    function = first.lower() in signs.function or signs.time_word.fullmatch(first)
    return f"{first.lower()}{space}{others}" if function else front


def _first(text: str, front: str, me: Subject, signs: Subjects) -> Iterator[Reading]:
    if found := signs.first.match(text):
        yield Reading(me, text[found.end() :].strip(), front)
    elif (found := signs.own.match(text)) and not signs.far.match(text[found.end() :].strip()):
        yield Reading(me, f"'s {text[found.end() :].strip()}", front)


def _relatives(
    text: str, front: str, me: Subject, clause: Clause, language: Language
) -> Iterator[Reading]:
    signs, words = subjects_of(language), language.statements
    found = signs.kin.match(text) or signs.alone.match(text)
    if found is None:
        if (title := signs.titled.match(text)) and (
            name := name_of(Words(text[title.end() :].strip(), clause.cased, language))
        ):
            subject = Subject(name, kin=title["kin"].lower())
            yield from _behind(subject, text[title.end() :].strip()[len(name) :], front, signs)
        return
    said, rest = found["kin"].lower(), text[found.end() :]
    kin = words.plain_kin.get(said, said)
    near = rest.removeprefix(",").strip()
    name = name_of(Words(near, clause.cased, language)) if not rest.startswith("'s") else ""
    if name and (clause.cased or _is_certain(name, near, signs)):
        behind = near[len(name) :]
        if near.lower().startswith(name.lower()):
            yield from _behind(Subject(name, kin=kin), behind, front, signs)
            return
    shown = kin.capitalize() if language.capital_nouns else kin
    unnamed = words.relative.format(s=me.name, kin=shown)
    yield from _behind(Subject(unnamed, kin=kin, named=False), rest, front, signs)


def _behind(subject: Subject, rest: str, front: str, signs: Subjects) -> Iterator[Reading]:
    if rest.startswith("'s"):
        words = rest[2:].strip()
        if chain := signs.theirs.match(words):
            # "My sister's husband works": a person of their own.
            far = Subject(f"{subject.name}'s {chain['kin'].lower()}", named=False)
            yield from _behind(far, words[chain.end() :], front, signs)
        yield Reading(subject, f"'s {words}", front)
    else:
        yield Reading(subject, rest.strip(" ,"), front)


def _named(text: str, front: str, clause: Clause, language: Language) -> Iterator[Reading]:
    signs = subjects_of(language)
    first, _, rest = text.partition(" ")
    if first.endswith("'s"):
        name = name_of(Words(first[:-2], clause.cased, language), strong=False)
        if name and not is_ordinary(name.lower()):
            yield from _behind(Subject(name), f"'s {rest}", front, signs)
        return
    if signs.alone.fullmatch(first):
        return  # "Nan" is read as a relative
    name = name_of(Words(text, clause.cased, language), strong=False)
    behind = text[len(name) :].strip(" ,") if name else ""
    first = name.partition(" ")[0].lower()
    ordinary = is_ordinary(first) and not is_given_name(first) and not signs.titles.match(name)
    # German writes all nouns with a capital.
    known = is_given_name(first) or signs.no_name is None or not signs.no_name.fullmatch(first)
    known = known or bool(signs.titles.match(name))
    if name and known and not ordinary and signs.finite.match(behind):
        yield Reading(Subject(name), behind, front)


def _pronouns(text: str, front: str, other: Subject | None, signs: Subjects) -> Iterator[Reading]:
    if other is None:
        return
    if (found := signs.other.match(text)) and _agrees(found[0], other, signs):
        yield Reading(other, text[found.end() :].strip(), front)
    elif (found := signs.others.match(text)) and _agrees(found[0], other, signs):
        if signs.theirs.match(text[found.end() :].strip()):
            yield from _behind(other, f"'s {text[found.end() :].strip()}", front, signs)
        else:
            yield Reading(other, f"'s {text[found.end() :].strip()}", front)


def _agrees(pronoun: str, other: Subject, signs: Subjects) -> bool:
    wrong = (
        signs.female
        if signs.men.fullmatch(pronoun.strip())
        else (signs.male if signs.women.fullmatch(pronoun.strip()) else None)
    )
    return wrong is None or not wrong.fullmatch(other.kin)


def _together(clause: Clause, me: Subject, language: Language) -> Iterator[Reading]:
    """Yield "Leon and I broke up" as "I broke up with Leon"."""
    signs = subjects_of(language)
    for pattern in signs.and_me:
        if found := pattern.match(clause.text):
            named = Words(found["n"], clause.cased, language)
            if name := name_of(named, strong=False):
                rest = clause.text[found.end() :].strip()
                yield Reading(me, f"{rest} {language.statements.with_} {name}")


def subjects_of(language: Language) -> Subjects:
    """Return the compiled signs of a language."""
    return _compiled(language.name)


@cache
def _compiled(name: str) -> Subjects:
    words = language_of(name).statements
    own = rf"(?:{words.possessive}) {words.before_kin}"
    subject, owner = words.others
    theirs = rf"{words.before_kin}(?P<kin>{words.kin})(?= )"
    return compiled_signs(
        Subjects,
        words,
        first=rf"(?:{words.first})\b(?!')",
        own=rf"(?:{words.possessive})\b(?= )",
        kin=rf"{own}(?P<kin>{words.kin})\b(?!-)",
        alone=rf"(?P<kin>{words.alone})\b",
        titled=rf"(?P<kin>{words.titled})\b ",
        other=rf"(?:{subject})\b",
        others=rf"(?:{owner})\b(?= )",
        front=rf"(?P<front>{words.front}),? (?=(?:{words.first})\b|(?:{words.possessive}) {words.kin}\b)",
        mention=rf"\b{own}(?P<kin>{words.kin})(?!'s),? (?!(?:{words.first})\b)",
        far=rf"{words.before_kin}(?:{words.kin})'s {words.before_kin}(?:{words.kin})\b",
        theirs=theirs if words.oblique == "" else r"(?!)",
        titled_name=rf"\b(?P<kin>{words.titled}) ",
        oblique=words.oblique or None,
        no_name=words.no_name or None,
        one_of=rf"\b(?:{words.a}){words.before_kin}(?P<kin>{words.kin})\b",
        apposed=rf"\b(?P<n>[^\W\d]+), {own}(?P<kin>{words.kin})(?=,|$)",
        titles=rf"{words.titles} ",
        for_whom=rf"\b{words.for_whom} (?P<n>\S+)",
        verb=rf"\b(?:{words.verb_second})\b" if words.verb_second else None,
    )
