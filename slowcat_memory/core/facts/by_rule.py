"""Facts without an LLM: of what users say, and of notes."""

import re
from collections.abc import Iterator
from datetime import datetime, tzinfo

from msgspec.structs import asdict, replace

from slowcat_memory.core.extraction.derived_text import has_link
from slowcat_memory.core.extraction.evidence import Dated, dated
from slowcat_memory.core.extraction.grounding import ground
from slowcat_memory.core.extraction.prompt_injection import injected
from slowcat_memory.core.extraction.slots import begins, is_exclusive, object_type
from slowcat_memory.core.extraction.stated import stated_by
from slowcat_memory.core.facts.fact import ExtractedFact, why_transient
from slowcat_memory.core.language import LANGUAGES, Language, of_any
from slowcat_memory.core.text.normalize import fold
from slowcat_memory.records import Memory, Statement, Turn

MOST_WORDS = 40  # of a note that is tried in the first person
_CORRECTS = re.compile(of_any(lambda language: language.facts.corrects), re.IGNORECASE)


def facts_by_rule(turn: Turn, zone: tzinfo) -> list[ExtractedFact]:
    """Return the facts of a turn without an LLM; none of a turn that contains an order."""
    grounding, facts = ground((turn,), zone), list[ExtractedFact]()
    for fact in stated_by(turn):
        links = has_link(fact.content) and fact.predicate != "email"
        own_name = fact.predicate == "name" and fold(fact.object) == fold(fact.subject)
        if links or own_name or injected(fact.content) or why_transient(fact.type, fact.content):
            continue
        when = dated(fact.quote, turn, "", grounding, zone)
        if object_type(fact.predicate) in ("person", "pet") and not fact.over:
            when = Dated("", turn.at, turn.at)  # it is the day of what else the words say
        parts = asdict(fact) | {
            "confidence": "high" if fact.type == "person" else "medium",
            "date": when.day,
            "last": when.last,
            "corrects": is_correction(turn.text),
            "since": holds_since(when, fact),
        }
        facts.append(ExtractedFact(**parts, turn=turn, sources=(turn.id,)))
    return facts


def holds_since(when: Dated, stated: Statement) -> datetime:
    """Return since when a fact is true; what takes another's place does so on its day."""
    changes = stated.over or is_exclusive(stated)
    return begins(stated, when.day, when.begins if changes else when.since)


def is_correction(text: str) -> bool:
    """Return whether a turn corrects what was said before, rather than reporting a change."""
    return bool(_CORRECTS.match(text.strip()))


def facts_of_note(note: Memory, zone: tzinfo) -> list[ExtractedFact]:
    """Return the facts that the rules read in a note; their turn is the note, and they quote it."""
    for text in (note.text, *dict.fromkeys(_first_person(note))):
        turn = Turn(
            session="", scope=note.scope, speaker=note.speaker, role="user", text=text,
            at=note.valid_from,
        )  # fmt: skip
        if facts := facts_by_rule(turn, zone):
            return [replace(fact, quote=note.text, sources=note.sources) for fact in facts]
    return []


def _first_person(note: Memory) -> Iterator[str]:
    for language in LANGUAGES:
        words = _without_subject(note, language).split()
        if not 2 <= len(words) <= MOST_WORDS:
            continue
        verb, rest = words[0].lower(), " ".join(words[1:])
        yield f"{language.noted.i} {_conjugated(verb, language)} {rest}"
        for my in language.noted.mine:
            yield f"{my} {verb} {rest}"


def _without_subject(note: Memory, language: Language) -> str:
    """Return a note without the words for the user at its beginning."""
    for subject in (note.speaker, *language.noted.subjects):
        for after in ("'s ", "’s ", " "):
            if fold(note.text).startswith(fold(subject) + after):
                return note.text[len(subject) + len(after) :]
    return note.text


def _conjugated(verb: str, language: Language) -> str:
    """Return a verb of the third person in the first; a verb in the first person stays."""
    if known := dict(language.noted.verbs).get(verb):
        return known
    ends = ((ending, own) for ending, own in language.noted.endings if verb.endswith(ending))
    ending, own = next(ends, ("", ""))
    return verb.removesuffix(ending) + own
