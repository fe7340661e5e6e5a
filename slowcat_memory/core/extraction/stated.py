"""Explicit statements of people about themselves and their relatives: facts without an LLM.

A turn is cut into clauses, a clause into its subject and the words behind it, and rules of what may
stand there (`StatementRule`) say what follows: "my sister Jo | has left | Tesco". Made for
precision: what is asked, supposed, quoted, joked or denied is no statement. A missed fact is better
than an invented one (requirements F13). What is said to be over ("I no longer work at Acme") is a
statement too, and names what it ends.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

import sentencex
from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.extraction.bounded_names import can_be_name
from slowcat_memory.core.extraction.clause_subjects import (
    Reading,
    Subject,
    mentions,
    new_relative,
    readings,
    spoken_of,
)
from slowcat_memory.core.extraction.clauses import (
    Clause,
    clauses,
    compiled,
    is_serious,
    languages_of,
    rewritten,
)
from slowcat_memory.core.extraction.complements import SPEAKER, Words, complements
from slowcat_memory.core.extraction.predicates import Ending, Triple, object_type
from slowcat_memory.core.extraction.prompt_injection import injected
from slowcat_memory.core.language import LANGUAGES, Language, language_of
from slowcat_memory.core.language.facts import StatementRule
from slowcat_memory.core.text.normalize import clean
from slowcat_memory.records import Turn

MOST_CHARS = 4000  # of a turn
_SPACES = re.compile(r"\s+")

# What a predicate may be misread for, by the one that says it better: a street, a best friend.
_CLOSER = {"lives_in": "address", "has_girlfriend": "has_friend", "has_boyfriend": "has_friend"}


class StatedFact(Triple, frozen=True, kw_only=True):
    """A third-person statement of a person about themselves or their relatives.

    Attributes:
        type: Of the fact.
        content: Its sentence, in the language of the turn.
        over: Whether it says only that something is over ("I no longer work at Acme").
        ends: What it ends.
        named: Whether its subject has a name; else it is a relative of the speaker.
    """

    type: str
    content: str
    over: bool = False
    ends: tuple[Ending, ...] = ()
    named: bool = True


class _Rule(Struct, frozen=True):
    rule: StatementRule
    pattern: re.Pattern[str]
    front: re.Pattern[str] | None


class _Grammar(Struct, frozen=True):
    """A language's compiled rules."""

    rules: tuple[_Rule, ...]
    endings: tuple[_Rule, ...]
    over: tuple[_Rule, ...]
    adverbs: re.Pattern[str]
    announcing: re.Pattern[str]
    negation: re.Pattern[str]
    no_longer: re.Pattern[str]
    positive: tuple[tuple[re.Pattern[str], str], ...]
    used_to: re.Pattern[str]
    gave_up: re.Pattern[str]
    past: re.Pattern[str]
    pets: re.Pattern[str]
    third: tuple[tuple[re.Pattern[str], str], ...]
    denied: tuple[tuple[re.Pattern[str], str], ...]
    gender: tuple[tuple[re.Pattern[str], str], ...]


def stated(text: str, speaker: str, language: str = "english") -> list[StatedFact]:
    """Return a person's distinct statements about themselves, in order."""
    return _stated(text, speaker, [language_of(language)])


def stated_by(turn: Turn) -> list[StatedFact]:
    """Return a user's statements, in any language; none for the agent.

    A turn that contains an order states nothing: what is said beside an order may belong to it.
    """
    if turn.role != "user" or injected(turn.text):
        return []
    return _stated(turn.text, turn.speaker, LANGUAGES)


def _stated(text: str, speaker: str, languages: Sequence[Language]) -> list[StatedFact]:
    kept = clean(text)[0][:MOST_CHARS]
    if not all(is_serious(kept, one) for one in languages):
        return []
    found, other = list[StatedFact](), None
    spoken = languages_of(kept) if len(languages) > 1 else list(languages)
    # In German "am 25. Januar" is one sentence.
    for sentence in sentencex.segment((spoken or languages)[0].code, kept):
        sentence = " ".join(sentence.split())
        for language in languages_of(sentence) if len(languages) > 1 else languages:
            before: Subject | None = None
            for clause in clauses(sentence, language):
                made = list(_read(clause, speaker, other, language, before))
                before = _subject_of(clause, speaker, other, language, before)
                other = _other(clause, speaker, other, language, made)
                if before is not None and not before.named and other is not None and other.named:
                    before = other
                found += made
    named = {(one.predicate, one.object) for one in found}
    found = [one for one in found if (_CLOSER.get(one.predicate), one.object) not in named]
    return list(dict.fromkeys(found))


def _other(
    clause: Clause, speaker: str, other: Subject | None, language: Language, made: list[StatedFact]
) -> Subject | None:
    """Return whom a pronoun of the next clause stands for: who was named last."""
    named = list(mentions(clause, speaker, language))
    about = [one.subject for one in readings(clause, speaker, None, language)]
    there = [one for one in about if not one.speaker and one.named] or [
        one for one in about if not one.speaker
    ]
    if there:
        # "My fiancé is called Rui": his name.
        called = [one for one in made if one.predicate.startswith("has_") and one.object]
        if called and not there[0].named:
            return Subject(called[0].object, kin=there[0].kin)
        return there[0]
    if named:
        return named[-1]
    pets = [one for one in made if object_type(one.predicate) in ("pet", "person") and not one.over]
    if len(pets) == 1:
        return Subject(pets[0].object)
    return spoken_of(clause, language) or new_relative(clause, speaker, language) or other


def _subject_of(
    clause: Clause,
    speaker: str,
    other: Subject | None,
    language: Language,
    before: Subject | None,
) -> Subject | None:
    """Return the subject of a clause, which the next one may leave out."""
    found = [one for one in readings(clause, speaker, other, language, before) if not one.whole]
    plain = [one.subject for one in found if not one.words.startswith("'s")]
    return plain[0] if plain else found[0].subject if found else None


def _read(
    clause: Clause,
    speaker: str,
    other: Subject | None,
    language: Language,
    before: Subject | None,
) -> Iterator[StatedFact]:
    grammar = _grammar(language)
    if clause.request:
        reading = Reading(Subject(speaker, speaker=True), clause.text)
        yield from _by_rules(grammar.rules, reading, clause, speaker, language, request=True)
        return
    made = list[StatedFact]()
    done = set[tuple[str, bool]]()
    for reading in readings(clause, speaker, other, language, before):
        order = (reading.subject.name, reading.words.startswith("'s"))
        if order in done:
            continue
        known = len(made)
        made += _read_one(reading, clause, speaker, language)
        if len(made) > known and not reading.whole:
            done.add(order)
    dead = {one.object for one in made if one.over}
    for relative in mentions(clause, speaker, language):
        if relative.name not in dead and not any(one.over for one in made):
            made.append(_called(relative, clause, speaker, language))
    yield from _chosen(made)


def _read_one(
    reading: Reading, clause: Clause, speaker: str, language: Language
) -> list[StatedFact]:
    """Return what one reading of a clause states; of what it says to be over, one fact."""
    grammar = _grammar(language)
    reading = replace(reading, words=_without_adverbs(reading.words, grammar))
    ended = _by_rules(grammar.endings, reading, clause, speaker, language)
    if ended:
        return ended[:1]
    if reading.whole:
        return _by_rules(grammar.rules, reading, clause, speaker, language)
    once = grammar.used_to.match(reading.words)
    if once and grammar.gave_up.search(clause.after):
        rest = replace(reading, words=reading.words[once.end() :])
        return _over(rest, clause, speaker, language)
    if grammar.no_longer.search(reading.words):
        positive = _without_adverbs(rewritten(reading.words, grammar.positive), grammar)
        rest = replace(reading, words=_SPACES.sub(" ", positive).strip())
        return _over(rest, clause, speaker, language)
    return _by_rules(grammar.rules, reading, clause, speaker, language)


def _chosen(made: Sequence[StatedFact]) -> Iterator[StatedFact]:
    """Yield the facts of a clause: of one kind of statement the first."""
    general, taken = ("habit", "plan"), set[tuple[str, str]]()
    special = any(one.type not in (*general, "person") or one.over for one in made)
    seen = set[tuple[str, str, str]]()
    animals = any(one.predicate == "has_pet" for one in made)
    for one in made:
        if animals and one.predicate in ("bought", "owns"):
            continue
        if one.type in general and one.predicate in ("habit", "plans") and special:
            if any(other is not one and other.type not in ("person",) for other in made):
                continue
        alone = (one.type, one.subject)
        same = (one.subject, one.predicate, one.object.casefold())
        if same in seen or (one.type in general and alone in taken):
            continue
        seen.add(same)
        taken.add(alone)
        yield one


def _over(reading: Reading, clause: Clause, speaker: str, language: Language) -> list[StatedFact]:
    """Return what a clause says to hold no longer, from its words without the negation."""
    grammar = _grammar(language)
    for rules in (grammar.rules, grammar.over):
        found = [
            one
            for one in _by_rules(rules, reading, clause, speaker, language, denied=True)
            if not one.over
        ]
        if found:
            one = found[0]
            ends = Ending(one.subject, _related(one.predicate), one.object)
            return [replace(one, over=True, ends=(ends,))]
    return []


_TOGETHER = (
    ("likes", "prefers", "habit", "drinks", "smokes", "plays", "member_of"),
    ("works_at", "works_as"),
    ("lives_in", "address"),
    ("has_partner", "has_husband", "has_wife", "has_boyfriend", "has_girlfriend", "married_to",
     "engaged_to", "relationship_status"),
)  # fmt: skip


def _related(predicate: str) -> tuple[str, ...]:
    """Return the predicates that end with one: who no longer drinks tea does not like it."""
    if predicate in ("works_at", "works_as"):
        return (predicate,)
    return next((group for group in _TOGETHER if predicate in group), (predicate,))


def _without_adverbs(words: str, grammar: _Grammar) -> str:
    """Remove light adverbs from the first words behind a subject."""
    tokens = words.split(" ")
    head = [one for one in tokens[:5] if not grammar.adverbs.fullmatch(one)]
    return " ".join((*head, *tokens[5:]))


def _by_rules(
    rules: Iterable[_Rule],
    reading: Reading,
    clause: Clause,
    speaker: str,
    language: Language,
    *,
    request: bool = False,
    denied: bool = False,
) -> list[StatedFact]:
    made = list[StatedFact]()
    negated = bool(_grammar(language).negation.search(reading.words))
    for one in rules:
        if negated and not one.rule.denies and not one.rule.over and not one.rule.ends:
            continue
        if (one.rule.whose == "request") != request or not _is_about(one.rule, reading.subject):
            continue
        if reading.whole != (one.rule.whose == "me"):
            continue
        if one.front is not None and not one.front.search(reading.front):
            continue
        if match := one.pattern.match(reading.words):
            made += _made(one.rule, match, reading, clause, speaker, language, denied)
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
    announced = bool(_grammar(language).announcing.search(match.string[:start]))
    if rule.front:
        raw = f"{raw} {reading.front}"
    if rule.present and _grammar(language).past.match(raw):
        return
    if rule.predicate == "died":
        for when in complements("due", Words(raw, clause.cased, language))[:1]:
            yield from _dead(subject, when, clause, speaker, language)
        return
    if rule.reverse and rule.whose == "unnamed":
        for name in complements(rule.complement, Words(raw, clause.cased, language, announced)):
            yield _called(Subject(name, kin=subject.kin), clause, speaker, language)
        return
    if rule.reverse:
        if subject.named and not subject.speaker:
            yield _called(Subject(subject.name, kin=kin), clause, speaker, language)
        return
    for object_ in complements(rule.complement, Words(raw, clause.cased, language, announced)):
        object_ = object_.replace(SPEAKER, speaker)
        if rule.inflect and subject.speaker:
            object_ = _third_person(object_, language)
        if kin and not rule.over and rule.predicate in ("has_pet", "has_{kin}"):
            yield _called(Subject(object_, kin=kin), clause, subject.name, language)
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
            named=subject.named,
        )
        if _are_names(fact):
            yield fact


def _third_person(words: str, language: Language) -> str:
    """Return words whose verb comes first with the verb in the third person."""
    for pattern, by in _grammar(language).third:
        if pattern.match(words):
            return pattern.sub(by, words, count=1)
    return words


def _sentence(content: str, language: Language, **parts: str) -> str:
    """Return a fact's sentence with its parts, in the right articles."""
    if language.statements.capital_nouns:
        parts["kin"] = parts.get("kin", "").capitalize()
    text = _SPACES.sub(" ", content.format(**parts)).strip()
    return rewritten(text[:1].upper() + text[1:], _grammar(language).gender)


def _ends(rule: StatementRule, subject: Subject, object_: str) -> tuple[Ending, ...]:
    if not rule.ends:
        return ()
    predicates = () if rule.ends == ("*",) else rule.ends
    return (Ending(subject.name, predicates, object_),)


def _denied(content: str, language: Language) -> str:
    for pattern, by in _grammar(language).denied:
        text, count = pattern.subn(by, content, count=1)
        if count:
            return text
    return content


def _called(relative: Subject, clause: Clause, owner: str, language: Language) -> StatedFact:
    """Return the fact that a relative or animal has a name."""
    words, grammar = language.statements, _grammar(language)
    pet = bool(grammar.pets.fullmatch(words.singular.get(relative.kin, relative.kin)))
    sentence = words.has_pet if pet else words.called
    kin = words.singular.get(relative.kin, relative.kin)
    kin = words.same_kin.get(kin, kin)
    shown = words.singular.get(relative.kin, relative.kin)
    content = _sentence(sentence, language, s=owner, kin=shown, o=relative.name)
    return StatedFact(
        type="person",
        subject=owner,
        predicate="has_pet" if pet else f"has_{kin}",
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
    words, grammar = language.statements, _grammar(language)
    kin = words.same_kin.get(subject.kin, subject.kin)
    pet = bool(grammar.pets.fullmatch(subject.kin))
    predicate = "has_pet" if pet else f"has_{kin}" if kin else "died"
    had = subject.named and bool(subject.kin)
    content = _sentence(
        words.had if had else words.died, language, s=speaker if had else subject.name, kin=subject.kin,
        o=subject.name, when=when,
    )  # fmt: skip
    ends = (Ending(subject.name),)
    if kin:
        ends = (Ending(speaker, (predicate,), subject.name if subject.named else ""), *ends)
    yield StatedFact(
        type="person",
        subject=speaker if had else subject.name,
        predicate=predicate if had else "died",
        object=subject.name if had else "",
        content=content,
        quote=clause.quote,
        over=True,
        ends=ends,
        named=subject.named,
    )


def _are_names(fact: StatedFact) -> bool:
    """Return whether what must be a name can be one: a sentence is none."""
    person = fact.predicate == "name" or object_type(fact.predicate) in ("person", "pet")
    named = person or object_type(fact.predicate) in ("place", "organisation")
    return can_be_name(fact.subject) and (
        not named or not fact.object or can_be_name(fact.object, person=person)
    )


def _grammar(language: Language) -> _Grammar:
    return _compiled(language.name)


@cache
def _compiled(name: str) -> _Grammar:
    words = language_of(name).statements

    def signs(pattern: str) -> re.Pattern[str]:
        return re.compile(pattern, re.IGNORECASE)

    def rules(table: Iterable[StatementRule]) -> tuple[_Rule, ...]:
        return tuple(
            _Rule(one, signs(rf"(?:{one.pattern})"), signs(one.front) if one.front else None)
            for one in table
        )

    return _Grammar(
        rules=rules(words.rules),
        endings=rules(words.endings),
        over=rules(words.over),
        announcing=signs(words.announcing),
        adverbs=signs(rf"(?:{words.adverbs})"),
        negation=signs(words.negation),
        no_longer=signs(words.no_longer),
        positive=compiled(words.positive),
        used_to=signs(words.used_to),
        gave_up=signs(words.gave_up),
        past=signs(rf"(?:{words.past})\b"),
        pets=signs(words.pets),
        third=compiled(words.third),
        denied=compiled(words.denied),
        gender=compiled(words.gender),
    )
