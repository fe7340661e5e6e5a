"""Facts without an LLM: of what users say, and of notes."""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime, tzinfo
from itertools import product

from msgspec.structs import asdict, replace

from slowcat_memory.core.extraction.clause_facts import StatedFact
from slowcat_memory.core.extraction.derived_text import has_link
from slowcat_memory.core.extraction.evidence import Dated, dated
from slowcat_memory.core.extraction.grounding import ground
from slowcat_memory.core.extraction.prompt_injection import injected
from slowcat_memory.core.extraction.quoted import reads_aloud
from slowcat_memory.core.extraction.slots import begins, is_exclusive, object_type
from slowcat_memory.core.extraction.stated import stated, stated_by
from slowcat_memory.core.facts.fact import ExtractedFact, why_transient
from slowcat_memory.core.language import LANGUAGES, of_any
from slowcat_memory.core.text.normalize import fold
from slowcat_memory.records import Memory, Statement, Turn

MOST_WORDS = 40  # of a note that is read as a sentence about the user
_USERS = of_any(lambda language: "|".join(language.noted))  # in notes
_CORRECTS = re.compile(of_any(lambda language: language.facts.corrects), re.IGNORECASE)


def facts_by_rule(turn: Turn, zone: tzinfo) -> list[ExtractedFact]:
    """Return the facts of a turn without an LLM; none of a turn that contains an order."""
    return _checked(stated_by(turn), turn, zone)


def _checked(statements: Iterable[StatedFact], turn: Turn, zone: tzinfo) -> list[ExtractedFact]:
    """Return what a turn states as facts with their days, without what is none."""
    grounding, facts = ground((turn,), zone), list[ExtractedFact]()
    for fact in statements:
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
    if injected(note.text) or reads_aloud(note.text):
        return []
    for text, language in product((note.text, *_about_user(note)), LANGUAGES):
        turn = Turn(
            session="", scope=note.scope, speaker=note.speaker, role="user", text=text,
            at=note.valid_from,
        )  # fmt: skip
        if facts := _checked(stated(text, note.speaker, language.name), turn, zone):
            return [replace(fact, quote=note.text, sources=note.sources) for fact in facts]
    return []


def _about_user(note: Memory) -> Iterator[str]:
    """Yield a note as sentences about the user, or about something of theirs."""
    match = re.match(
        rf"(?:{re.escape(note.speaker)}|{_USERS})(?:['’]s)? ", note.text, re.IGNORECASE
    )
    words = note.text[match.end() if match else 0 :]
    if 2 <= len(words.split()) <= MOST_WORDS:
        words = words[:1].lower() + words[1:]
        yield f"{note.speaker} {words}"
        yield f"{note.speaker}'s {words}"
