"""The index document of a memory, with the keys that point to it."""

from msgspec import Struct

NO_TIME = (float("nan"), float("nan"))
KEYS, ASKED = "keys", "asked"
KEY_VIEWS = (KEYS, ASKED)
"""The two views of keys: texts that an LLM wrote, and real queries that were judged."""


def split_key_id(key_id: str) -> tuple[str, str]:
    """Split a key's id, ``<memory>?<name>``; the memory is "" where the id is not a key's."""
    memory_id, _, name = key_id.rpartition("?")
    return memory_id, name


class Pointer(Struct, frozen=True):
    """An index key of a document.

    Attributes:
        name: Unique among the document's keys.
        kind: As in ``records.Key``.
        text: The text that is indexed and embedded.
        weight: 0 to 1; below 0 for a query that the document does not answer.
    """

    name: str
    kind: str
    text: str
    weight: float = 1.0

    @property
    def view(self) -> str:
        return ASKED if self.kind == "asked" else KEYS


class Document(Struct, frozen=True, kw_only=True):
    """The indexed data of a memory.

    Attributes:
        text: The indexed text: speaker, text, context.
        at: When it became true, seconds since the epoch.
        importance: 0 to 1.
        pinned: A user asked that it always counts.
        substance: Share of its words that say something, 0 to 1; at 0 it is only a neighbour of
            others, and not proposed.
        asks: It only asks about the people here: the agent's answer repeats a memory, and is not
            proposed either.
        agent: The agent's words, in answer to the document before it.
        before: Id of the previous memory of the same session, "" for none.
        after: Id of the next one, set only if the previous one is not in the index.
        words: Length of the text in words.
        about: The time that the text mentions, from and until, seconds since the epoch.
    """

    id: str
    text: str
    at: float
    importance: float = 0.5
    pinned: bool = False
    substance: float = 1.0
    asks: bool = False
    agent: bool = False
    before: str = ""
    after: str = ""
    words: int = 0
    speaker: str = ""
    about: tuple[float, float] | None = None
    keys: tuple[Pointer, ...] = ()

    def pointers(self, view: str) -> list[Pointer]:
        return [key for key in self.keys if key.view == view]

    def columns(self, speaker: int) -> dict[str, float]:
        """Return its columns, without its place in a session; ``speaker`` is the speaker's number."""
        about = self.about or NO_TIME
        return {
            "at": self.at,
            "importance": self.importance,
            "pinned": self.pinned,
            "substance": self.substance,
            "asks": self.asks,
            "agent": self.agent,
            "words": self.words,
            "speaker": speaker,
            "about_from": about[0],
            "about_until": about[1],
        }
