"""Names that an LLM lists as mentioned, and values that it gives: kept if they occur."""

import re
from collections.abc import Iterable, Sequence
from typing import Annotated, ClassVar

from msgspec import Meta, Struct

from slowcat_memory.core.extraction.attributed import same
from slowcat_memory.core.extraction.bounded_names import can_be_name
from slowcat_memory.core.extraction.derived_text import has_link
from slowcat_memory.core.extraction.grounding import Ground, one_line, strays
from slowcat_memory.core.extraction.prompt_injection import injected
from slowcat_memory.core.extraction.prompt_record import CONFIDENCE_NAMES, Aliases
from slowcat_memory.core.extraction.slots import canonical
from slowcat_memory.core.language.english.vocabulary import STOP_WORDS
from slowcat_memory.core.text.normalize import fingerprint, fold
from slowcat_memory.records import Confidence, Turn

MOST_OBJECT = 80  # characters
_TYPE = re.compile(r"[a-z][a-z_]{1,29}")
_TYPES = {
    "people": "person", "human": "person", "animal": "pet", "city": "place", "country": "place",
    "location": "place", "company": "organisation", "organization": "organisation",
    "school": "organisation", "work": "product", "activity": "topic", "concept": "topic",
    "hobby": "topic",
}  # fmt: skip


class Mention(Struct, frozen=True, omit_defaults=True):
    """A name in a turn, as spoken; ``entity`` is its entity's id, "" until it is resolved.

    ``type`` is "person", "pet", "place", "organisation", …; ``attributes`` are stated values that
    are no relation: "email", "phone", "breed", ….
    """

    name: str
    type: str
    attributes: dict[str, str] = {}
    entity: str = ""


class EntityReply(Struct, frozen=True, forbid_unknown_fields=True):
    """An entity in the LLM's reply."""

    ALIASES: ClassVar[Aliases] = {
        "name": ("entity", "entity_name", "label"),
        "type": ("kind", "category", "entity_type"),
        "attributes": ("attribute", "properties", "details"),
        "confidence": CONFIDENCE_NAMES,
    }
    name: Annotated[str, Meta(max_length=80)]
    type: Annotated[str, Meta(max_length=40)]
    attributes: dict[str, Annotated[str, Meta(max_length=120)]] = {}
    confidence: Confidence = "medium"


class Sayings(Struct, frozen=True):
    """The words in which names and values must occur: the turns, with the names known before."""

    turns: Sequence[Turn]
    ground: Ground
    names: Sequence[str] = ()

    @property
    def text(self) -> str:
        return " ".join((*(f"{turn.speaker} {turn.text}" for turn in self.turns), *self.names))

    def has_name(self, name: str) -> bool:
        """Return whether something can be a name and occurs."""
        if not can_be_name(name) or len(name) > MOST_OBJECT or has_link(name):
            return False
        words, text = fingerprint(name), f" {fingerprint(self.text)} "
        return bool(words) and (f" {words} " in text or f" {words}s " in text)  # "Hanas Katze"

    def has_value(self, value: str, text: str) -> bool:
        """Return whether a value occurs in a text, in these words or other forms of them."""
        if not value or len(value) > MOST_OBJECT or injected(value) or has_link(value):
            return False
        words = [word for word in fingerprint(value).split() if word not in STOP_WORDS]
        content = frozenset(fingerprint(text).split())
        return (
            bool(words)
            and all(any(same(word, other) for other in content) for word in words)
            and not strays(value, self.ground)
        )


def tidy(text: str) -> str:
    """Return a name or value without outer punctuation and spaces."""
    return one_line(text).strip(" .,;:!?\"'“”")


def mentions(
    entities: Iterable[EntityReply], sayings: Sayings, types: Sequence[str]
) -> tuple[Mention, ...]:
    """Return the entities whose names occur, with the attributes that occur.

    Args:
        types: Wanted types; others become "topic".
    """
    agents = {fold(turn.speaker) for turn in sayings.turns if turn.role != "user"}
    text, kept = sayings.text, dict[str, Mention]()
    for entity in entities:
        name = tidy(entity.name)
        if entity.confidence == "low" or not sayings.has_name(name) or fold(name) in agents:
            continue
        values = {canonical(key): tidy(value) for key, value in entity.attributes.items()}
        attributes = {
            key: value for key, value in values.items() if key and sayings.has_value(value, text)
        }
        kept.setdefault(fold(name), Mention(name, _kind(entity.type, types), attributes))
    return tuple(kept.values())


def _kind(kind: str, types: Sequence[str]) -> str:
    name = kind.strip().lower().replace(" ", "_")
    name = name if name in types else _TYPES.get(name, name)
    if name in types:
        return name
    return "topic" if "topic" in types or not _TYPE.fullmatch(name) else types[-1]
