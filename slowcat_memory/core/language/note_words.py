"""Words for reading notes: what other programs write about a user, often without a subject."""

from msgspec import Struct


class NotedWords(Struct, frozen=True, kw_only=True):
    """How a note about a user becomes a sentence of the user's own.

    Attributes:
        subjects: What notes call the user: "the user".
        i: The first person, before a verb.
        mine: The possessives before a noun: "my".
        verbs: Verbs in the third person whose first person is irregular: "is" of "am".
        endings: Endings of the third person and of the first, the first match counts.
    """

    subjects: tuple[str, ...]
    i: str
    mine: tuple[str, ...]
    verbs: tuple[tuple[str, str], ...]
    endings: tuple[tuple[str, str], ...]
