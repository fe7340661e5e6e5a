"""What the rules of a language make of one reading of a clause: facts in the third person."""

import re
from collections.abc import Iterable, Iterator

from slowcat_memory.core.extraction.bounded_names import can_be_name
from slowcat_memory.core.extraction.clause_subjects import Reading, Subject
from slowcat_memory.core.extraction.clauses import Clause, pattern_of, rewritten, signs_of
from slowcat_memory.core.extraction.complements import SPEAKER, Words, complements, is_ordinary
from slowcat_memory.core.extraction.slots import PARTNERS, object_type
from slowcat_memory.core.language import Language
from slowcat_memory.core.language.facts import StatementRule
from slowcat_memory.records import Ending, Statement

_ACTS = frozenset(
    "event plan goal decision possession success task_completed habit open_thread".split()
)
# What an animal neither does nor has, however it is said: "our cat is writing a novel".
_HUMAN = frozenset("goal plan decision possession success task_completed open_thread".split())
_HUMAN_PREDICATES = frozenset("works_as works_at studies studies_at speaks learns".split())
# What a person or animal of a name is to the speaker, and is no longer once dead.
_COMPANY = ("has_pet", "has_friend", "friend_of", *PARTNERS)
_SPACES = re.compile(r"\s+")
_MISPLACED = re.compile(
    r"(?:in|on|at|with|for|from|by|im|am|mit|bei|auf|beim|vor|seit|für|aus|an) ", re.IGNORECASE
)


class StatedFact(Statement, frozen=True, kw_only=True):
    """A third-person statement of a person about themselves or their relatives.

    Attributes:
        type: Of the fact.
        content: Its sentence, in the language of the turn.
    """

    type: str
    content: str


def by_rules(
    rules: Iterable[StatementRule],
    reading: Reading,
    clause: Clause,
    speaker: str,
    language: Language,
    *,
    request: bool = False,
    denied: bool = False,
) -> list[StatedFact]:
    made = list[StatedFact]()
    taken = set[str]()
    signs = signs_of(language.name)
    negated = bool(signs["negation"].search(reading.words))
    for one in rules:
        if negated and not one.denies and not one.over and not one.ends:
            continue
        if (one.whose == "request") != request or not _is_about(one, reading.subject):
            continue
        if reading.whole != (one.whose == "me"):
            continue
        if (one.type in _HUMAN or one.predicate in _HUMAN_PREDICATES) and signs["pets"].fullmatch(
            reading.subject.kin
        ):
            continue
        if one.front and not pattern_of(one.front).search(reading.front):
            continue
        group = "act" if one.type in _ACTS else one.predicate
        if group in taken and "{kin}" not in group:
            continue
        if match := pattern_of(one.pattern).match(reading.words):
            known = len(made)
            made += _made(one, match, reading, clause, speaker, language, denied)
            if len(made) > known:
                taken.add(group)
    return made


def _is_about(rule: StatementRule, subject: Subject) -> bool:
    if rule.whose in ("speaker", "first"):
        return subject.speaker
    if rule.whose == "unnamed":
        return not subject.speaker and not subject.named and bool(subject.kin)
    return not subject.speaker if rule.whose == "other" else True


def _made(
    rule: StatementRule,
    match: re.Match[str],
    reading: Reading,
    clause: Clause,
    speaker: str,
    language: Language,
    denied: bool,
) -> Iterator[StatedFact]:
    groups = {name: value or "" for name, value in match.groupdict().items()}
    kin = groups.get("kin", "").lower()
    subject = Subject(speaker, speaker=True) if rule.whose == "me" else reading.subject
    raw = groups.get("o", "").strip()
    start = match.start("o") if "o" in groups else 0
    announced = bool(signs_of(language.name)["announcing"].search(match.string[:start]))
    if rule.front:
        raw = f"{raw} {reading.front}"
    if rule.present and signs_of(language.name)["past"].match(raw):
        return
    if rule.predicate == "died":
        for when in complements("due", Words(raw, clause.cased, language))[:1]:
            yield from _dead(subject, when, clause, speaker, language)
        return
    if rule.reverse and rule.whose == "unnamed":
        for name in complements(rule.complement, Words(raw, clause.cased, language, announced)):
            yield called(Subject(name, kin=subject.kin), clause, speaker, language)
        return
    if rule.reverse:
        if subject.named and not subject.speaker:
            yield called(Subject(subject.name, kin=kin), clause, speaker, language)
        return
    for object_ in complements(rule.complement, Words(raw, clause.cased, language, announced)):
        if rule.type == "preference" and _MISPLACED.match(object_):
            continue
        object_ = object_.replace(SPEAKER, speaker)
        if object_type(rule.predicate) not in ("place", "organisation", "person", "pet"):
            object_ = _uncapitalised(object_, clause, language)
        if rule.inflect and (subject.speaker or denied):
            object_ = _third_person(object_, language)
        if kin and not rule.over and rule.predicate in ("has_pet", "has_{kin}"):
            yield called(Subject(object_, kin=kin), clause, subject.name, language)
            continue
        content = _denied(rule.content, language) if denied else rule.content
        fact = StatedFact(
            type=rule.type,
            subject=subject.name,
            predicate=rule.predicate.format(kin=kin),
            object=object_.strip(),
            content=_sentence(
                content, language, s=subject.name, o=object_, kin=kin, n=groups.get("n", "")
            ),
            quote=clause.quote,
            over=rule.over,
            ends=_ends(rule, subject, object_.strip()),
        )
        if _are_names(fact):
            yield fact


def _uncapitalised(text: str, clause: Clause, language: Language) -> str:
    """Return an object that stood first in its clause without the capital letter of a sentence."""
    first, space, rest = text.partition(" ")
    if not clause.text.startswith(text) or not is_ordinary(first.lower()):
        return text
    noun = language.capital_nouns and first.lower() not in language.statements.function
    return text if noun else f"{first.lower()}{space}{rest}"


def _third_person(words: str, language: Language) -> str:
    """Return words whose verb comes first with the verb in the third person."""
    for expression, by in language.statements.third:
        if pattern_of(expression).match(words):
            return pattern_of(expression).sub(by, words, count=1)
    return words


def _sentence(content: str, language: Language, **parts: str) -> str:
    """Return a fact's sentence with its parts, in the right articles."""
    if language.capital_nouns and " {kin}" in f" {content}":
        *before, noun = parts.get("kin", "").split(" ")
        parts["kin"] = " ".join((*before, noun.capitalize()))
    text = _SPACES.sub(" ", content.format(**parts).replace("..", ".")).strip()
    return rewritten(text[:1].upper() + text[1:], language.statements.gender)


def _ends(rule: StatementRule, subject: Subject, object_: str) -> tuple[Ending, ...]:
    if not rule.ends:
        return ()
    predicates = () if rule.ends == ("*",) else rule.ends
    return (Ending(subject.name, predicates, object_),)


def _denied(content: str, language: Language) -> str:
    for expression, by in language.statements.denied:
        text, count = pattern_of(expression).subn(by, content, count=1)
        if count:
            return text
    return content


def called(relative: Subject, clause: Clause, owner: str, language: Language) -> StatedFact:
    """Return the fact that a relative or animal has a name."""
    words = language.statements
    kin = words.singular.get(relative.kin, relative.kin)
    pet = bool(signs_of(language.name)["pets"].fullmatch(kin))
    sentence = words.has_pet if pet else words.called
    shown = words.plain_kin.get(kin, kin)
    content = _sentence(sentence, language, s=owner, kin=shown, o=relative.name)
    return StatedFact(
        type="person",
        subject=owner,
        predicate="has_pet" if pet else f"has_{words.same_kin.get(kin, kin)}",
        object=relative.name,
        content=content,
        quote=clause.quote,
    )


def _dead(
    subject: Subject, when: str, clause: Clause, speaker: str, language: Language
) -> Iterator[StatedFact]:
    """Yield the fact that a relative or animal died: it was had, and nothing of it holds."""
    if not subject.kin and not subject.named:
        return
    words = language.statements
    kin = words.same_kin.get(subject.kin, subject.kin)
    pet = bool(signs_of(language.name)["pets"].fullmatch(subject.kin))
    predicate = "has_pet" if pet else f"has_{kin}" if kin else "died"
    had = subject.named and bool(subject.kin)
    content = _sentence(
        words.had if had else words.died, language, s=speaker if had else subject.name, kin=subject.kin,
        o=subject.name, when=when,
    )  # fmt: skip
    ends: tuple[Ending, ...] = (Ending(subject.name),)
    if kin:
        ends = (Ending(speaker, (predicate,), subject.name if subject.named else ""), *ends)
    elif subject.named:
        ends = (Ending(speaker, _COMPANY, subject.name), *ends)
    yield StatedFact(
        type="person",
        subject=speaker if had else subject.name,
        predicate=predicate if had else "died",
        object=subject.name if had else "",
        content=content,
        quote=clause.quote,
        over=True,
        ends=ends,
    )


def _are_names(fact: StatedFact) -> bool:
    """Return whether what must be a name can be one: a sentence is none."""
    person = fact.predicate == "name" or object_type(fact.predicate) in ("person", "pet")
    named = person or object_type(fact.predicate) in ("place", "organisation")
    return can_be_name(fact.subject) and (
        not named or not fact.object or can_be_name(fact.object, person=person)
    )
