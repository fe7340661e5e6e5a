"""Facts of notes: a note is read by the rules as if the user had said it.

Other programs keep notes in the third person, and often without a subject: "Loves Thai food", "User
is allergic to nuts", "Name is Anna". The rules read what people say of themselves, so a note is also
tried in the first person.
"""

from collections.abc import Iterator
from datetime import tzinfo

from msgspec.structs import replace

from slowcat_memory.core.facts.fact import ExtractedFact
from slowcat_memory.core.facts.prompt import facts_by_rule
from slowcat_memory.core.language import LANGUAGES, Language
from slowcat_memory.core.text.normalize import fold
from slowcat_memory.records import Memory, Turn

MOST_WORDS = 40  # of a note that is tried in the first person


def facts_of_note(note: Memory, zone: tzinfo) -> list[ExtractedFact]:
    """Return the facts that the rules read in a note; their turn is the note, and they quote it."""
    for text in (note.text, *dict.fromkeys(_first_person(note))):
        turn = Turn(
            session="", scope=note.scope, speaker=note.speaker, role="user", text=text,
            at=note.valid_from,
        )  # fmt: skip
        if found := facts_by_rule(turn, zone):
            return [replace(one, quote=note.text, sources=note.sources) for one in found]
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
