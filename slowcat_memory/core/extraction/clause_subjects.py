"""The subjects of a clause: the speaker, relatives, animals and people by name, and pronouns.

A clause may be read in several ways ("my wife is called Ana" is about the speaker's wife, and about
the speaker's having one); the rules of what stands behind the subject decide.
"""

from collections.abc import Iterator

from msgspec import Struct

from slowcat_memory.core.extraction.clauses import Clause, Signs, pattern_of
from slowcat_memory.core.extraction.complements import is_ordinary, name_of
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

    @classmethod
    def of(cls, clause: Clause) -> "Subject":
        """Return the speaker of a clause."""
        return cls(clause.speaker, speaker=True)


class ReadClause(Struct, frozen=True):
    """A subject, the words behind it ("'s birthday is ..." for what it has), and those before.

    ``whole`` means that the words are the whole clause, for rules in which the speaker is no
    subject.
    """

    subject: Subject
    words: str
    front: str = ""
    whole: bool = False


def readings(
    clause: Clause, other: Subject | None = None, before: Subject | None = None
) -> Iterator[ReadClause]:
    """Yield the readings of a clause.

    Args:
        other: Whom a pronoun of the third person stands for.
        before: The subject of the clause before, for one without a subject.
    """
    signs, me = clause.signs, Subject.of(clause)
    yield ReadClause(me, clause.text, whole=True)
    for text, front in _orders(clause):
        yield from _first(text, front, me, signs)
        yield from _relatives(text, front, clause)
        yield from _named(text, front, clause)
        yield from _pronouns(text, front, other, signs)
        if not front and before is not None and signs["finite"].match(text):
            if before.speaker and signs["third_form"].match(text):
                continue
            yield ReadClause(before, text)
        elif not front and signs["elided"].match(text):
            yield ReadClause(me, text)
            yield ReadClause(me, f"{clause.words.am} {text}")
    yield from _together(clause)


def mentions(clause: Clause) -> Iterator[Subject]:
    """Yield the relatives and animals of the speaker that a clause names."""
    signs = clause.signs
    for match in signs["plural"].finditer(clause.text):
        for part in signs["joins"].split(match["o"]):
            if name := name_of(part, clause):
                yield Subject(name, kin=match["kin"].lower())
    for match in signs["apposed"].finditer(clause.text):
        if name := name_of(match["n"], clause, strong=False):
            yield Subject(name, kin=match["kin"].lower())
    for match in (
        *signs["mention"].finditer(clause.text),
        *signs["titled_name"].finditer(clause.text),
    ):
        rest = clause.text[match.end() :]
        name = name_of(rest.lstrip(" ,"), clause)
        plain = clause.cased and not signs["oblique"].match(match[0])
        if name and (plain or _is_certain(name, rest.lstrip(" ,"), clause)):
            if not rest.startswith(",") or not signs["finite"].match(rest.lstrip(" ,")):
                yield Subject(name, kin=match["kin"].lower())


def _is_certain(name: str, rest: str, clause: Clause) -> bool:
    """Return whether a word without a capital is a name: a known one, or one that a verb follows."""
    signs, behind = clause.signs, rest[len(name) :].strip(" ,")
    first = name.partition(" ")[0].lower()
    if is_given_name(first) and first not in COMMON_NAMES:
        return True
    follows = (
        (not behind and not clause.words.no_name)
        or rest[len(name) :].startswith(",")
        or signs["finite"].match(behind)
    )
    unlike = signs["no_name"].fullmatch(first)
    return bool(follows) and (is_given_name(first) or not (unlike or is_ordinary(first)))


def new_relative(clause: Clause) -> Subject | None:
    """Return the relative or animal without a name that a clause mentions ("we had a son")."""
    match = clause.signs["one_of"].search(clause.text)
    if match is None:
        return None
    kin = match["kin"].lower()
    return Subject(clause.words.relative.format(s=clause.speaker, kin=kin), kin=kin, named=False)


def _orders(clause: Clause) -> Iterator[tuple[str, str]]:
    """Yield a clause with its subject first, and the adverbial that stood before it."""
    text = clause.text
    yield text, ""
    if match := clause.signs["fronted"].match(text):
        yield text[match.end() :], _inside(match["front"].strip(" ,"), clause)
    yield from _turned(clause)


def _turned(clause: Clause) -> Iterator[tuple[str, str]]:
    """Yield a clause whose verb stands before its subject, in the usual order.

    "Seit April arbeite ich bei Bosch" becomes "ich arbeite seit April bei Bosch", and "ich arbeite
    bei Bosch seit April".
    """
    text, signs = clause.text, clause.signs
    for match in signs["verb"].finditer(text):
        front, rest = text[: match.start()].strip(" ,"), text[match.end() :].strip()
        subject = (
            signs["first"].match(rest) or signs["own_kin"].match(rest) or signs["their"].match(rest)
        )
        if subject is None or (front and len(front.split()) > 8):
            continue
        who, tail = rest[: subject.end()].strip(), rest[subject.end() :].strip()
        verb = match[0].lower()
        if not front:
            yield f"{who} {verb} {tail}", ""
            return
        front = _inside(front, clause)
        yield f"{who} {verb} {front} {tail}", front
        yield f"{who} {verb} {tail} {front}", front
        return


def _inside(front: str, clause: Clause) -> str:
    """Return words from the beginning of a sentence as they are written inside of it."""
    first, space, others = front.partition(" ")
    function = first.lower() in clause.words.function or clause.signs["time_word"].fullmatch(first)
    return f"{first.lower()}{space}{others}" if function else front


def _first(text: str, front: str, me: Subject, signs: Signs) -> Iterator[ReadClause]:
    if match := signs["first"].match(text):
        yield ReadClause(me, text[match.end() :].strip(), front)
    elif match := signs["owned"].match(text):
        yield ReadClause(me, f"'s {text[match.end() :].strip()}", front)
    elif text.startswith((f"{me.name} ", f"{me.name}'s ")):  # as others write about the speaker
        yield from _behind(me, text[len(me.name) :], front, signs)


def _relatives(text: str, front: str, clause: Clause) -> Iterator[ReadClause]:
    signs, words = clause.signs, clause.words
    match = signs["own_kin"].match(text) or signs["alone"].match(text)
    if match is None:
        if title := signs["titled_name"].match(text):
            behind = text[title.end() :].strip()
            if name := name_of(behind, clause):
                subject = Subject(name, kin=title["kin"].lower())
                yield from _behind(subject, behind[len(name) :], front, signs)
        return
    word, rest = match["kin"].lower(), text[match.end() :]
    kin = words.plain_kin.get(word, word)
    near = rest.removeprefix(",").strip()
    name = name_of(near, clause) if not rest.startswith("'s") else ""
    if name and (clause.cased or _is_certain(name, near, clause)):
        behind = near[len(name) :]
        if near.lower().startswith(name.lower()):
            yield from _behind(Subject(name, kin=kin), behind, front, signs)
            return
    shown = kin.capitalize() if clause.language.capital_nouns else kin
    unnamed = words.relative.format(s=clause.speaker, kin=shown)
    yield from _behind(Subject(unnamed, kin=kin, named=False), rest, front, signs)


def _behind(subject: Subject, rest: str, front: str, signs: Signs) -> Iterator[ReadClause]:
    if rest.startswith("'s"):
        words = rest[2:].strip()
        if chain := signs["theirs"].match(words):
            # "My sister's husband works": a person of their own.
            far = Subject(f"{subject.name}'s {chain['kin'].lower()}", named=False)
            yield from _behind(far, words[chain.end() :], front, signs)
        yield ReadClause(subject, f"'s {words}", front)
    else:
        yield ReadClause(subject, rest.strip(" ,"), front)


def _named(text: str, front: str, clause: Clause) -> Iterator[ReadClause]:
    signs = clause.signs
    first, _, rest = text.partition(" ")
    if first.endswith("'s"):
        name = name_of(first[:-2], clause, strong=False)
        if name and not is_ordinary(name.lower()):
            yield from _behind(Subject(name), f"'s {rest}", front, signs)
        return
    if signs["alone"].fullmatch(first):
        return  # "Nan" is read as a relative
    name = name_of(text, clause, strong=False)
    behind = text[len(name) :].strip(" ,") if name else ""
    first = name.partition(" ")[0].lower()
    ordinary = (
        is_ordinary(first) and not is_given_name(first) and not signs["begins_titled"].match(name)
    )
    # German writes all nouns with a capital.
    known = is_given_name(first) or not signs["no_name"].fullmatch(first)
    known = known or bool(signs["begins_titled"].match(name))
    if name and known and not ordinary and signs["finite"].match(behind):
        yield ReadClause(Subject(name), behind, front)


def _pronouns(text: str, front: str, other: Subject | None, signs: Signs) -> Iterator[ReadClause]:
    if other is None:
        return
    if (match := signs["pronoun"].match(text)) and _agrees(match[0], other, signs):
        yield ReadClause(other, text[match.end() :].strip(), front)
    elif (match := signs["their"].match(text)) and _agrees(match[0], other, signs):
        yield from _behind(other, f"'s {text[match.end() :].strip()}", front, signs)


def _agrees(pronoun: str, other: Subject, signs: Signs) -> bool:
    word = pronoun.strip()
    he, she = signs["men"].fullmatch(word), signs["women"].fullmatch(word)
    wrong = signs["female"] if he else signs["male"] if she else None
    return wrong is None or not wrong.fullmatch(other.kin)


def _together(clause: Clause) -> Iterator[ReadClause]:
    """Yield "Leon and I broke up" as "I broke up with Leon"."""
    for expression in clause.words.and_me:
        if match := pattern_of(expression).match(clause.text):
            if name := name_of(match["n"], clause, strong=False):
                rest = clause.text[match.end() :].strip()
                yield ReadClause(Subject.of(clause), f"{rest} {clause.words.with_} {name}")
