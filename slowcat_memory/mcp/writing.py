"""The tools that change the memory: keep, forget, pin, mute, and take back."""

import secrets
from collections.abc import Callable
from datetime import datetime, timedelta
from threading import Lock

from msgspec import Struct

from slowcat_memory.core.memory import NOTE, family
from slowcat_memory.core.text.normalize import fold, neutralise
from slowcat_memory.mcp import arguments as given
from slowcat_memory.mcp.answers import NOTHING, Answer, Reading, Unclear, words_of
from slowcat_memory.mcp.seen import Seen
from slowcat_memory.records import Disclosed, Forget

FEW = 5  # memories that one call may forget
LONGEST = 2000  # characters of a statement to keep
PROPOSALS = 16  # previews that can still be confirmed
VALID_FOR = timedelta(minutes=15)  # a preview
SAME_AGAIN = 3  # likely copies of a statement that are compared with it


class Proposal(Struct, frozen=True):
    """A preview of ``forget``: what is deleted when its code comes back."""

    code: str
    at: datetime
    memories: tuple[str, ...]
    lines: tuple[str, ...]


class Writing:
    """Answers the tools that change something. Every method blocks; safe to use from any thread."""

    def __init__(
        self, seen: Seen, reading: Reading, code: Callable[[], str] = lambda: secrets.token_hex(4)
    ) -> None:
        """Change a scope.

        Args:
            code: Makes the code of a preview; it must not be guessable.
        """
        self._seen, self._memory, self._reading, self._code = seen, seen.memory, reading, code
        self._proposals: list[Proposal] = []
        self._done: list[tuple[str, Callable[[], object]]] = []  # what it was, and its reverse
        self._lock = Lock()

    def remember(self, asked: given.Remember) -> Answer:
        """Keep a statement; local-only once the LLM that words it was shown what is."""
        text = words_of(asked.text, "text")
        if len(text) > LONGEST:
            raise Unclear("That is too long. Keep one sentence at a time.")
        for hit in self._seen.search(text, SAME_AGAIN, {"talk": True}):
            if family(hit.memory.kind) == NOTE and fold(hit.memory.text) == fold(text):
                return Answer(f"Kept already: {neutralise(hit.memory.text)}", (hit.memory.id,))
        private = self._seen.showed_private
        kept = self._memory.remember(text, self._seen.scope, local_only=private)
        order = Forget(scope=self._seen.scope, memories=(kept.id,))
        self._can_undo("remember", lambda: self._memory.forget(order))
        return Answer(f"Kept: {neutralise(kept.text)}", (kept.id,))

    def forget(self, asked: given.ForgetWhat) -> Answer:
        """Preview what would be deleted; with a preview's code, delete it."""
        return self._confirmed(asked.confirm) if asked.confirm.strip() else self._preview(asked)

    def _preview(self, asked: given.ForgetWhat) -> Answer:
        found = self._found(words_of(asked.what, "what"))
        if not found:
            return Answer("Nothing like that is stored. Nothing was deleted.")
        lines = tuple(self._reading.line(one) for one in found)
        ids = tuple(one.id for one in found)
        made = Proposal(self._code(), self._memory.clock(), ids, lines)
        with self._lock:
            self._proposals = [*self._proposals[1 - PROPOSALS :], made]
        head = "Nothing is deleted yet. This would be deleted for good:"
        rest = f"If the user agrees, call forget with confirm = {made.code}"
        return Answer("\n".join((head, *lines, rest)), ids)

    def _confirmed(self, code: str) -> Answer:
        with self._lock:
            agreed = self._taken(code.strip())
        if agreed is None:
            raise Unclear(
                "There is no preview with that code, or it is too old. Nothing was deleted. "
                "Call forget with `what` first."
            )
        self._memory.forget(Forget(scope=self._seen.scope, memories=agreed.memories))
        return Answer("\n".join(("Deleted for good:", *agreed.lines)), agreed.memories)

    def _taken(self, code: str) -> Proposal | None:
        """Remove and return the preview of a code, if it is still valid."""
        now = self._memory.clock()
        valid = [one for one in self._proposals if now - one.at <= VALID_FOR]
        found = next((one for one in valid if _same(one.code, code)), None)
        self._proposals = [one for one in valid if one is not found]
        return found

    def pin(self, asked: given.Marked) -> Answer:
        one = self._best(asked.what)
        if one is None:
            return Answer(NOTHING)
        scope = self._seen.scope
        self._memory.mark(scope, one.id, pinned=True)
        self._can_undo("pin", lambda: self._memory.mark(scope, one.id, pinned=False))
        return Answer(f"Always kept in mind from now on:\n{self._reading.line(one)}", (one.id,))

    def mute(self, asked: given.Marked) -> Answer:
        one = self._best(asked.what)
        if one is None:
            return Answer(NOTHING)
        scope = self._seen.scope
        self._memory.mark(scope, one.id, muted=True)
        self._can_undo("mute", lambda: self._memory.mark(scope, one.id, muted=False))
        return Answer(f"Kept, and not used from now on:\n{self._reading.line(one)}", (one.id,))

    def undo(self, asked: given.Nothing) -> Answer:
        with self._lock:
            done = self._done.pop() if self._done else None
        if done is None:
            return Answer("There is nothing to take back. What was deleted is gone for good.")
        what, reverse = done
        reverse()
        return Answer(f"Taken back: the last {what}.")

    def _can_undo(self, what: str, reverse: Callable[[], object]) -> None:
        with self._lock:
            self._done = [*self._done[1 - PROPOSALS :], (what, reverse)]

    def _best(self, what: str) -> Disclosed | None:
        return next(iter(self._found(words_of(what, "what"))), None)

    def _found(self, what: str) -> list[Disclosed]:
        """Return the memories that words surely mean, best first."""
        floor = self._memory.config.recall.floor
        hits = self._seen.search(what, FEW, {"floor": floor, "talk": True})
        return [hit.memory for hit in hits if hit.coverage >= hits[0].coverage / 2]


def _same(one: str, other: str) -> bool:
    return secrets.compare_digest(one.encode(), other.encode())
