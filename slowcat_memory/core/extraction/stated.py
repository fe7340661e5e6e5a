"""Explicit statements of people about themselves and their relatives: facts without an LLM.

A turn is cut into clauses, a clause into its subject and the words behind it, and rules of what may
stand there (`StatementRule`) say what follows: "my sister Jo | has left | Tesco". Made for
precision: what is asked, supposed, quoted, joked or denied is no statement. A missed fact is better
than an invented one (requirements F13). What is said to be over ("I no longer work at Acme") is a
statement too, and names what it ends.
"""

import re
from collections.abc import Sequence

from msgspec.structs import replace

from slowcat_memory.core.extraction.clause_facts import StatedFact, by_rules, called
from slowcat_memory.core.extraction.clause_subjects import (
    ReadClause,
    Subject,
    mentions,
    new_relative,
    readings,
)
from slowcat_memory.core.extraction.clauses import (
    Clause,
    Signs,
    clauses,
    languages_of,
    pattern_of,
    rewritten,
    sentences_of,
    signs_of,
    straight,
)
from slowcat_memory.core.extraction.prompt_injection import injected
from slowcat_memory.core.extraction.quoted import is_reported
from slowcat_memory.core.extraction.slots import PARTNERS, ending_of
from slowcat_memory.core.language import LANGUAGES, Language, language_of
from slowcat_memory.core.text.normalize import clean, fold
from slowcat_memory.records import Turn

MOST_CHARS = 4000  # of a turn
_FORMER = re.compile(r"\bex\b", re.IGNORECASE)  # "my ex boyfriend" is no partner
_SPACES = re.compile(r"\s+")

# What a predicate may be misread for, by the one that says it better: a street, a best friend.
_CLOSER = {"lives_in": "address", "has_girlfriend": "has_friend", "has_boyfriend": "has_friend"}


def stated(text: str, speaker: str, language: str = "english") -> list[StatedFact]:
    """Return a person's distinct statements about themselves, in order."""
    return _stated(text, speaker, [language_of(language)])


def stated_by(turn: Turn) -> list[StatedFact]:
    """Return a user's statements, in any language; none for the agent.

    A turn that contains an order states nothing: what is said beside an order may belong to it.
    """
    if turn.role != "user" or injected(turn.text):
        return []
    facts = _stated(turn.text, turn.speaker, LANGUAGES)
    return [fact for fact in facts if not is_reported(fact.quote, turn.text)]


def read_sentence(content: str, subject: str) -> StatedFact | None:
    """Return what a plain sentence about somebody states first; None if no rule reads it."""
    about = fold(subject)
    facts = (fact for language in LANGUAGES for fact in _stated(content, subject, [language]))
    return next((fact for fact in facts if fold(fact.subject) == about), None)


def compile_rules(language: str) -> None:
    """Compile what reads the statements of each turn."""
    words = language_of(language).statements
    for rule in (*words.rules, *words.endings, *words.over):
        _ = pattern_of(rule.pattern), pattern_of(rule.front)
    for known in LANGUAGES:  # a short turn may be of any
        signs_of(known.name).compile_all()
    stated("I moved to Porto in May.", "User", language)


def _stated(text: str, speaker: str, languages: Sequence[Language]) -> list[StatedFact]:
    kept = clean(text)[0][:MOST_CHARS]
    if any(signs_of(language.name)["false_turn"].search(straight(kept)) for language in languages):
        return []  # a joke, a role play
    facts, other = list[StatedFact](), None
    spoken = languages_of(kept) if len(languages) > 1 else list(languages)
    for sentence in sentences_of(kept, (spoken or languages)[0].code):
        for language in languages_of(sentence) if len(languages) > 1 else languages:
            before: Subject | None = None
            for clause in clauses(sentence, speaker, language):
                news = _read(clause, other, before)
                before = _subject_of(clause, other, before)
                other = _other(clause, other, news)
                if before is not None and not before.named and other is not None and other.named:
                    before = other
                facts += news
    named = {(fact.predicate, fact.object) for fact in facts}
    facts = [
        fact
        for fact in facts
        if (_CLOSER.get(fact.predicate), fact.object) not in named
        and (fact.over or fact.predicate not in PARTNERS or not _FORMER.search(fact.quote))
    ]
    return list(dict.fromkeys(facts))


def _other(clause: Clause, other: Subject | None, facts: list[StatedFact]) -> Subject | None:
    """Return whom a pronoun of the next clause stands for: who was named last."""
    named = list(mentions(clause))
    about = [reading.subject for reading in readings(clause) if not reading.subject.speaker]
    if about:
        last = next((subject for subject in about if subject.named), about[0])
        # "My fiancé is called Rui": his name.
        called = [fact for fact in facts if fact.predicate.startswith("has_") and fact.object]
        return Subject(called[0].object, kin=last.kin) if called and not last.named else last
    if named:
        return named[-1]
    return new_relative(clause) or other


def _subject_of(clause: Clause, other: Subject | None, before: Subject | None) -> Subject | None:
    """Return the subject of a clause, which the next one may leave out."""
    parts = [reading for reading in readings(clause, other, before) if not reading.whole]
    plain = [reading for reading in parts if not reading.words.startswith("'s")]
    return next((reading.subject for reading in plain or parts), None)


def _read(clause: Clause, other: Subject | None, before: Subject | None) -> list[StatedFact]:
    if clause.request:
        return by_rules(clause.words.rules, ReadClause(Subject.of(clause), clause.text), clause)
    facts, done = list[StatedFact](), set[tuple[str, bool]]()
    for reading in readings(clause, other, before):
        order = (reading.subject.name, reading.words.startswith("'s"))
        if order in done:
            continue
        known = len(facts)
        facts += _read_one(reading, clause)
        if len(facts) > known and not reading.whole:
            done.add(order)
    if not any(fact.over for fact in facts):
        facts += [called(relative, clause) for relative in mentions(clause)]
    return facts


def _read_one(reading: ReadClause, clause: Clause) -> list[StatedFact]:
    signs, words = clause.signs, clause.words
    reading = replace(reading, words=without_adverbs(reading.words, signs))
    if ended := by_rules(words.endings, reading, clause):
        return ended[:1]
    if not reading.whole:
        if signs["no_longer"].search(reading.words):
            positive = without_adverbs(rewritten(reading.words, words.positive), signs)
            return _over(replace(reading, words=_SPACES.sub(" ", positive).strip()), clause)
    return by_rules(words.rules, reading, clause)


def _over(reading: ReadClause, clause: Clause) -> list[StatedFact]:
    """Return what a clause says to hold no longer, from its words without the negation."""
    for rules in (clause.words.rules, clause.words.over):
        for row in by_rules(rules, reading, clause, denied=True):
            if not row.over and row.predicate != "decided":  # "decided: no more meat" still stands
                return [replace(row, over=True, ends=(ending_of(row),))]
    return []


def without_adverbs(words: str, signs: Signs) -> str:
    """Remove light adverbs from the first words behind a subject."""
    tokens = words.split(" ")
    head = (token for token in tokens[:5] if not signs["adverbs"].fullmatch(token))
    return " ".join((*head, *tokens[5:]))
