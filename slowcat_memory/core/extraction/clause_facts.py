"""What the rules of a language make of one reading of a clause: facts in the third person."""

import re
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from slowcat_memory.core.extraction.bounded_names import can_be_name
from slowcat_memory.core.extraction.clause_subjects import ReadClause, Subject
from slowcat_memory.core.extraction.clauses import Clause, pattern_of, rewritten
from slowcat_memory.core.extraction.complements import SPEAKER, complements, is_ordinary
from slowcat_memory.core.extraction.slots import PARTNERS, object_type
from slowcat_memory.core.language.facts import Rewrites, StatementRule
from slowcat_memory.records import Ending, Statement

_ACTS = frozenset(
    "event plan goal decision possession success task_completed habit open_thread".split()
)
# What a person or animal of a name is to the speaker, and is no longer once dead.
_COMPANY = ("has_pet", "has_friend", "friend_of", *PARTNERS)
_SPACES = re.compile(r"\s+")


class StatedFact(Statement, frozen=True, kw_only=True):
    """A third-person statement of a person about themselves or their relatives.

    Attributes:
        type: Of the fact.
        content: Its sentence, in the language of the turn.
    """

    type: str
    content: str


def by_rules(
    rules: Iterable[StatementRule], reading: ReadClause, clause: Clause, *, denied: bool = False
) -> list[StatedFact]:
    facts, taken = list[StatedFact](), set[str]()
    negated = bool(clause.signs["negation"].search(reading.words))
    for rule in rules:
        if negated and not rule.denies and not rule.over and not rule.ends:
            continue
        if (rule.whose == "request") != clause.request or reading.whole != (rule.whose == "me"):
            continue
        if not _is_about(rule, reading.subject):
            continue
        if rule.front and not pattern_of(rule.front).search(reading.front):
            continue
        group = "act" if rule.type in _ACTS else rule.predicate
        if group in taken and "{kin}" not in group:
            continue
        if match := pattern_of(rule.pattern).match(reading.words):
            known = len(facts)
            facts += _made(rule, match, reading, clause, denied)
            if len(facts) > known:
                taken.add(group)
    return facts


def _is_about(rule: StatementRule, subject: Subject) -> bool:
    if rule.whose == "speaker":
        return subject.speaker
    if rule.whose == "unnamed":
        return not subject.speaker and not subject.named and bool(subject.kin)
    return not subject.speaker if rule.whose == "other" else True


def _made(
    rule: StatementRule, match: re.Match[str], reading: ReadClause, clause: Clause, denied: bool
) -> Iterator[StatedFact]:
    groups = {name: value or "" for name, value in match.groupdict().items()}
    kin = groups.get("kin", "").lower()
    subject = Subject.of(clause) if rule.whose == "me" else reading.subject
    raw = groups.get("o", "").strip()
    start = match.start("o") if "o" in groups else 0
    if clause.signs["announcing"].search(match.string[:start]):
        clause = replace(clause, announced=True)
    if rule.front:
        raw = f"{raw} {reading.front}"
    if rule.present and clause.signs["past"].match(raw):
        return
    if rule.predicate == "died":
        for when in complements("due", raw, clause)[:1]:
            yield from _dead(subject, when, clause)
        return
    if rule.reverse and rule.whose == "unnamed":
        for name in complements(rule.complement, raw, clause):
            yield called(Subject(name, kin=subject.kin), clause)
        return
    if rule.reverse:
        if subject.named and not subject.speaker:
            yield called(Subject(subject.name, kin=kin), clause)
        return
    for object_ in complements(rule.complement, raw, clause):
        object_ = object_.replace(SPEAKER, clause.speaker)
        if object_type(rule.predicate) not in ("place", "organisation", "person", "pet"):
            object_ = _uncapitalised(object_, clause)
        if rule.inflect and (subject.speaker or denied):
            object_ = _rewritten_once(object_, clause.words.third)
        if kin and not rule.over and rule.predicate in ("has_pet", "has_{kin}"):
            yield called(Subject(object_, kin=kin), clause, subject.name)
            continue
        content = _rewritten_once(rule.content, clause.words.denied if denied else ())
        parts = {"s": subject.name, "o": object_, "kin": kin, "n": groups.get("n", "")}
        fact = StatedFact(
            type=rule.type,
            subject=subject.name,
            predicate=rule.predicate.format(kin=kin),
            object=object_.strip(),
            content=_sentence(content, clause, **parts),
            quote=clause.quote,
            over=rule.over,
            ends=_ends(rule, subject, object_.strip()),
        )
        if _are_names(fact):
            yield fact


def _uncapitalised(text: str, clause: Clause) -> str:
    """Return an object that stood first in its clause without the capital letter of a sentence."""
    first, space, rest = text.partition(" ")
    if not clause.text.startswith(text) or not is_ordinary(first.lower()):
        return text
    noun = clause.language.capital_nouns and first.lower() not in clause.words.function
    return text if noun else f"{first.lower()}{space}{rest}"


def _rewritten_once(text: str, rewrites: Rewrites) -> str:
    """Return a text with the first of some rewrites that changes it."""
    for expression, by in rewrites:
        changed, count = pattern_of(expression).subn(by, text, count=1)
        if count:
            return changed
    return text


def _sentence(content: str, clause: Clause, **parts: str) -> str:
    """Return a fact's sentence with its parts, in the right articles."""
    if clause.language.capital_nouns and " {kin}" in f" {content}":
        *before, noun = parts.get("kin", "").split(" ")
        parts["kin"] = " ".join((*before, noun.capitalize()))
    text = _SPACES.sub(" ", content.format(**parts).replace("..", ".")).strip()
    return rewritten(text[:1].upper() + text[1:], clause.words.gender)


def _ends(rule: StatementRule, subject: Subject, object_: str) -> tuple[Ending, ...]:
    if not rule.ends:
        return ()
    predicates = () if rule.ends == ("*",) else rule.ends
    return (Ending(subject.name, predicates, object_),)


def called(relative: Subject, clause: Clause, owner: str = "") -> StatedFact:
    """Return the fact that a relative or animal of the speaker, or of an owner, has a name."""
    words, owner = clause.words, owner or clause.speaker
    kin = words.singular.get(relative.kin, relative.kin)
    pet = bool(clause.signs["pets"].fullmatch(kin))
    sentence = words.has_pet if pet else words.called
    shown = words.plain_kin.get(kin, kin)
    content = _sentence(sentence, clause, s=owner, kin=shown, o=relative.name)
    return StatedFact(
        type="person",
        subject=owner,
        predicate="has_pet" if pet else f"has_{words.same_kin.get(kin, kin)}",
        object=relative.name,
        content=content,
        quote=clause.quote,
    )


def _dead(subject: Subject, when: str, clause: Clause) -> Iterator[StatedFact]:
    """Yield the fact that a relative or animal died: it was had, and nothing of it holds."""
    if not subject.kin and not subject.named:
        return
    words, speaker = clause.words, clause.speaker
    kin = words.same_kin.get(subject.kin, subject.kin)
    pet = bool(clause.signs["pets"].fullmatch(subject.kin))
    predicate = "has_pet" if pet else f"has_{kin}" if kin else "died"
    had = subject.named and bool(subject.kin)
    content = _sentence(
        words.had if had else words.died, clause, s=speaker if had else subject.name, kin=subject.kin,
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
