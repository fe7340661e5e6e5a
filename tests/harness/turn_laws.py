"""Invariants of a conversation, checked from outside.

Only the requests as they arrived, the context, and the log are used, never the processor.
"""

from collections import Counter
from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from slowcat_memory.core.render.memory_block import CLOSE, OPEN
from slowcat_memory.records import Turn
from slowcat_memory.runtime.injection import block_of, message_text, without_block
from tests.harness.turn_script import TOPICS, Utterance

Message = dict[str, Any]
Said = tuple[str, str, str]  # speaker, words, channel
NAMES = ("missing", "doubled", "broken", "edited", "captured", "lost", "repeated", "wrong", "stuck")


def people_in(messages: Sequence[Message]) -> list[Message]:
    """The messages of people."""
    return [m for m in messages if isinstance(m, dict) and m.get("role") == "user"]


class Laws:
    """Checks one conversation.

    Attributes:
        faults: How often each law was broken.
        tales: Details of each fault, for debugging.
    """

    def __init__(self) -> None:
        self.faults: Counter[str] = Counter()
        self.tales: list[str] = []
        self.turns = 0
        self.blocks = 0
        self._before: list[Message] = []  # the last request, since the context was last shortened
        self._sent: dict[int, tuple[Message, Message]] = {}  # what was sent must not change

    def fault(self, name: str, tale: str) -> None:
        """Record that a law was broken."""
        self.faults[name] += 1
        self.tales.append(f"{name}: {tale}")

    def shortened(self) -> None:
        """Record that the context was cut: no request continues the last one."""
        self._before = []

    def new_turn(self, messages: list[Message], said: Utterance, context: list[Message]) -> None:
        """Check the first request for a turn."""
        self.turns += 1
        *earlier, last = people_in(messages[len(self._before) :]) or [{}]
        if without_block(message_text(last)) != said.text:
            self.fault("wrong", f"asked for {message_text(last)!r} instead of {said.text!r}")
        self.blocks += bool(block_of(last))
        if any(block_of(message) for message in earlier if self._before):
            self.fault("wrong", "a block on an older message")
        told = block_of(last) or (said.topic and _times(TOPICS[said.topic], messages))
        if said.topic and not told:  # earlier turns may be recalled first
            self.fault("missing", f"nothing comes to mind of {said.topic}")
        self.continued(messages, context)

    def continued(self, messages: list[Message], context: list[Message] | None) -> None:
        """Check any request: what the LLM saw is unchanged, and nothing is there twice.

        A context of None is for a turn that may yet be withdrawn: nothing needs to follow it.
        """
        if messages[: len(self._before)] != self._before:
            self.fault("broken", "the prefix that the LLM saw has changed")
        for word in TOPICS.values():
            if _times(word, messages) > 1:
                self.fault("doubled", f"{word} is told twice")
        if any(message_text(message).count(OPEN) > 1 for message in people_in(messages)):
            self.fault("doubled", "two blocks in one message")
        if context is not None:
            self._before = messages
            self.unchanged(context)

    def held(self, provisional: list[Message], context: list[Message]) -> None:
        """Check a speculated turn that was confirmed: the context must be what the LLM saw."""
        real = people_in(context)[-1]
        if block_of(real) != block_of(provisional[-1]):
            self.fault("broken", "a confirmed turn has another block than the LLM saw")
        self._before = [*provisional[:-1], deepcopy(real)]
        self.unchanged(context)

    def unchanged(self, context: list[Message]) -> None:
        """Check that no message changed after it was sent."""
        for message in people_in(context):
            _, then = self._sent.setdefault(id(message), (message, deepcopy(message)))
            if then != message:
                self.fault("edited", f"{then} became {message}")

    def logged(self, log: list[Turn], people: list[Said], agent: list[tuple[str, bool]]) -> None:
        """Check the log: every word once, by its speaker, and no word of a block."""
        for turn in log:
            if OPEN in turn.text or CLOSE in turn.text or _told(turn.text):
                self.fault("captured", turn.text)
        self._compare([(t.speaker, t.text, t.channel) for t in log if t.role == "user"], people)
        self._compare([(t.text, t.interrupted) for t in log if t.role == "assistant"], agent)

    def _compare(self, found: list[Any], expected: list[Any]) -> None:
        lost, extra = Counter(expected) - Counter(found), Counter(found) - Counter(expected)
        if lost:
            self.fault("lost", f"{lost}")
        if extra:
            self.fault("repeated", f"{extra}")
        if found != expected and not (lost or extra):
            self.fault("wrong", f"order: {found}")


def _times(word: str, messages: Sequence[Message]) -> int:
    return sum(message_text(message).count(word) for message in messages)


def _told(text: str) -> bool:
    """Return whether a text has content that only a block can have provided."""
    return any(word in text for word in TOPICS.values())
