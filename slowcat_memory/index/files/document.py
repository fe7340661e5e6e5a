"""What the index is told of a memory."""

from msgspec import Struct

from slowcat_memory.index.files.key_file import KEYS, Pointer, view_of

NO_TIME = (float("nan"), float("nan"))


class Document(Struct, frozen=True, kw_only=True):
    """What the index keeps of a memory.

    Attributes:
        id: The memory's id.
        text: What is indexed: speaker, text, context.
        at: Seconds since the epoch since when it is true.
        importance: 0 to 1.
        pinned: A person asked that it always counts.
        agent: The agent's own words.
        before: Id of the memory said just before it in the same session, "" when none.
        after: Id of the one said just after it, told only where none before it is there.
        words: Length of the text in words.
        speaker: Whose words they are.
        about: When it speaks of, from and until, seconds since the epoch; None for no time.
        keys: All of its keys.
    """

    id: str
    text: str
    at: float
    importance: float = 0.5
    pinned: bool = False
    agent: bool = False
    before: str = ""
    after: str = ""
    words: int = 0
    speaker: str = ""
    about: tuple[float, float] | None = None
    keys: tuple[Pointer, ...] = ()

    def pointers(self, view: str) -> list[Pointer]:
        """Return its keys in one view.

        Args:
            view: One of ``key_file.VIEWS``.

        Returns:
            The keys.
        """
        return [key for key in self.keys if view_of(key.kind) == view]

    @property
    def told(self) -> str:
        """What its keys say, for the lexical views; not those of real queries."""
        return "\n".join(pointer.text for pointer in self.pointers(KEYS))
