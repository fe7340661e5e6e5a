"""What an index is made of: options, documents with their keys, the header and columns of a sealed one."""

from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from slowcat_memory.errors import IndexDamagedError
from slowcat_memory.records import Key

Count = Annotated[int, Meta(ge=0, le=1_000_000_000)]


class IndexOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How memories are indexed.

    Behaviour:

    Attributes:
        stemmer: Snowball stemmer ("french", …) or "none"; "" for that of ``memory.language``.
        k1: BM25 term-frequency saturation. 0.9 and b 0.4 were measured 3 points of R@10 above the
            usual 1.5 and 0.75 on LoCoMo.
        b: BM25 length normalisation, 0 to 1. A change of ``k1`` or ``b`` rebuilds the sealed index.
        candidates: How many each view proposes for fusion. 50 to 200 were measured to find the
            same on LoCoMo and RealMem (R@10 within 0.2).
        same: Cosine from which a query counts as the same as an earlier one that was judged (see
            ``records.Key``, "asked"); 0 to below 1.

    Performance:

    Attributes:
        seal_at: A sealed index is rebuilt when the tail holds more memories than this …
        seal_share: … and more than this share of the sealed ones …
        seal_most: … or more than this, whatever the share: an opening reads the whole tail, 0.25 s
            for a thousand.
    """

    stemmer: str = ""
    k1: Annotated[float, Meta(ge=0, le=10)] = 0.9
    b: Annotated[float, Meta(ge=0, le=1)] = 0.4
    candidates: Annotated[int, Meta(ge=1, le=10_000)] = 100
    same: Annotated[float, Meta(ge=0, lt=1)] = 0.6
    seal_at: Count = 50
    seal_share: Annotated[float, Meta(ge=0, le=10)] = 0.1
    seal_most: Count = 2_000

    def seal_due(self, sealed: int, tail: int) -> bool:
        return tail > min(max(self.seal_at, self.seal_share * sealed), max(self.seal_most, 1))


# ------------------------------------------------------------------- documents

NO_TIME = (float("nan"), float("nan"))
_OWN = ("at", "importance", "pinned", "substance", "asks", "agent", "words", "local")
KEYS, ASKED = "keys", "asked"
KEY_VIEWS = (KEYS, ASKED)
"""The two views of keys: texts that an LLM wrote, and real queries that were judged."""


def split_key_id(key_id: str) -> tuple[str, str]:
    """Split a key's id, ``<memory>?<name>``; the memory is "" where the id is not a key's."""
    memory_id, _, name = key_id.rpartition("?")
    return memory_id, name


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
        local: It must not leave this machine.
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
    local: bool = False
    speaker: str = ""
    about: tuple[float, float] | None = None
    keys: tuple[Key, ...] = ()

    def keys_of(self, view: str) -> list[Key]:
        return [key for key in self.keys if (key.kind == ASKED) == (view == ASKED)]

    def columns(self, speaker: int) -> dict[str, float]:
        """Return its columns, without its place in a session; ``speaker`` is the speaker's number."""
        about_from, about_until = self.about or NO_TIME
        own = {name: getattr(self, name) for name in _OWN}
        return own | {"speaker": speaker, "about_from": about_from, "about_until": about_until}


# ------------------------------------------------------------------- a sealed index

FORMAT = 14  # raised when the files or the times read change: an index of another is rebuilt
HEADER = "header.json"
COLUMNS = {
    "before": "int32",
    "after": "int32",
    "at": "float64",
    "importance": "float32",
    "pinned": "bool",
    "substance": "float32",
    "asks": "bool",
    "agent": "bool",
    "words": "int32",
    "local": "bool",
    "digest": "int64",
    "session": "int32",
    "speaker": "int32",
    "about_from": "float64",
    "about_until": "float64",
}
"""Names and dtypes of the columns, one ``.npy`` file each, one row per document."""


class Header(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The totals of a sealed index.

    Attributes:
        format: ``FORMAT`` when it was written.
        reading: How times in the texts were read, as the caller names it.
        words: Sum of their lengths in words.
        k1: Of the scores in the postings; see ``IndexOptions``.
        b: Likewise.
        tokens: Sum of the lengths of their windows in tokens.
        vectors: How many documents have a vector.
        keys: How many keys have a vector, by view of keys.
        speakers: Names, in the order of the column's numbers.
    """

    format: int
    reading: str
    documents: int
    words: int
    k1: float
    b: float
    tokens: float
    vectors: int
    keys: dict[str, int]
    speakers: list[str]

    @property
    def embedded(self) -> int:
        return self.vectors + sum(self.keys.values())


def read_header(folder: Path, options: IndexOptions) -> Header:
    """Read the header of a sealed index.

    Raises:
        IndexDamagedError: It has another format, or was scored with another ``k1`` or ``b``.
        msgspec.ValidationError: It is not a header.
    """
    header = msgspec.json.decode((folder / HEADER).read_bytes(), type=Header)
    if header.format != FORMAT or (header.k1, header.b) != (options.k1, options.b):
        raise IndexDamagedError("the index is of another version")
    return header
