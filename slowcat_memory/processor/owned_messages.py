"""What the memory put into the LLM's context, by whose memories it is made of.

All users in the room share one context. Before another user's turn is answered, everything of the
memory's that this user may not read leaves the context: blocks, session heads, spoken answers to
commands, and what the LLM never said aloud (calls of the memory's tools with arguments and results,
thoughts, calls of other tools that repeat a memory). The spoken words of users and agent stay.

A block and a session head are known by their text, a tool's call by its id: so they are known in an
equal copy of the context, too. What the LLM wrote without saying it belongs to whoever could be
read when it was written.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from loguru import logger
from msgspec.structs import replace
from pipecat.processors.aggregators.llm_context import LLMSpecificMessage

from slowcat_memory.core.render.memory_block import CLOSE, OPEN, Packed
from slowcat_memory.core.text.normalize import fingerprint
from slowcat_memory.processor.context_messages import Message, Pack
from slowcat_memory.runtime import injection
from slowcat_memory.runtime.recall.query import Recollection
from slowcat_memory.tools.functions import NAMES

KEPT = 256  # blocks and answers; an older one is treated as unknown
UNKNOWN = frozenset(("",))  # no scope has this name: nobody may read it
_WORD = re.compile(r"\w{4,}")
Changed = tuple[Message, Packed]


class OwnedMessages:
    """The one registry of such content. Use it on the event loop.

    Attributes:
        readable: The scopes for which the context was stripped last; None before the first time.
        is_stale: A head was rendered since, which the application may have placed.
        head_of: The scope whose head the memory placed itself; "" for none.
        late_head: A head that came after the first request, and waits for the next block; or "".
    """

    def __init__(self) -> None:
        self.readable: frozenset[str] | None = None
        self.is_stale = False
        self.head_of = self.late_head = ""
        self._blocks: dict[str, Recollection] = {}
        self._answers: dict[str, frozenset[str]] = {}
        self._calls: dict[str, frozenset[str]] = {}  # by the id of a tool's call
        self._silent: dict[int, tuple[Any, frozenset[str]]] = {}  # messages for one LLM service
        self._heads: dict[str, frozenset[str]] = {}
        self._without_heads: list[tuple[Message, Any, Any]] = []  # content before and after
        self._instruction = SystemInstruction()

    # ---------------------------------------------------------------- what is put there

    def add_block(self, found: Recollection, packed: Packed) -> None:
        if packed.text:
            self._blocks[packed.text] = replace(found, hits=list(packed.hits))
            if self.late_head and injection.head_lines(self.late_head) in packed.text:
                self.late_head = ""
        _limit(self._blocks)

    def add_answer(self, text: str, scopes: Iterable[str]) -> None:
        """Add a spoken answer, made of what may be read for some scopes."""
        if words := fingerprint(text):
            self._answers[words] = frozenset(scopes)
        _limit(self._answers)

    def add_head(self, text: str, scope: str) -> None:
        """Add a session head, which the application may place anywhere."""
        if text.strip():
            self._heads[text.strip()] = frozenset((scope,))
            self.is_stale = True

    def add_instruction(self, text: str, llm: Any, messages: list[Any]) -> None:
        """Complete the system instruction; see ``SystemInstruction.append``."""
        self._instruction.append(llm, text, messages)

    def knows_head(self, scope: str) -> bool:
        return {scope} in self._heads.values()

    def place_head(
        self, head: str, scope: str, llm: Any, messages: list[Any], *, late: bool
    ) -> list[Message]:
        """Write the head of a scope where the LLM reads it, once; a later one takes its place.

        Args:
            llm: The LLM service; None for none.
            messages: The context's.
            late: A request was sent already: a first head waits for the next block.

        Returns:
            The messages whose block held the earlier head, and is removed.
        """
        known = [text for text, owner in self._heads.items() if owner == {scope}]
        stripped = list[Message]()
        for old in known:
            if old == head:
                continue
            self._instruction.replace(llm, old, head)
            self.late_head = self.late_head.replace(old, head)
            for message in (one for one in messages if isinstance(one, dict)):
                if injection.head_lines(old) in _block(message):
                    message["content"] = injection.strip_memories([message])[0]["content"]
                    stripped.append(message)
                elif message.get("content"):
                    message["content"] = injection.without_texts(message["content"], (old,), head)
            self._without_heads = [
                (message, injection.without_texts(before, (old,), head), after)
                for message, before, after in self._without_heads
            ]
        if head and not known:
            self.head_of = scope
        if head and (stripped or (not known and late)):
            self.late_head = head
        elif head and not known:
            self._instruction.append(llm, head, messages)
        self.add_head(head, scope)
        return stripped

    def with_late_head(self, packed: Packed) -> Packed:
        """Return a block that begins with the head that waits, if any."""
        if not self.late_head:
            return packed
        lines = f"{OPEN}\n{injection.head_lines(self.late_head)}"
        text = packed.text.replace(OPEN, lines, 1) if packed.text else f"{lines}\n{CLOSE}"
        return replace(packed, text=text)

    def may_enter(self, call: str) -> bool:
        """Return whether the result of a tool's call may enter the context now."""
        owner = self._calls.get(call)
        return owner is None or self.readable is None or owner <= self.readable

    # ---------------------------------------------------------------- another user speaks

    def strip(
        self, contexts: Sequence[list[Any]], scopes: Iterable[str], pack: Pack, llm: Any = None
    ) -> list[Changed]:
        """Remove, in place, what may not be read for some scopes.

        What is of unknown origin, such as a block that the application added, is removed as a
        whole. Messages keep their places, because Pipecat's summariser counts them, but for those
        in the format of one LLM service, which cannot be emptied.

        Args:
            contexts: The messages of contexts, which may share some.
            scopes: What is made of memories of these alone may stay.
            pack: Renders what stays of a block.
            llm: The LLM service, whose system instruction may hold a session head.

        Returns:
            The messages whose blocks changed, with their present blocks.
        """
        allowed = frozenset(scopes)
        messages = list({id(m): m for context in contexts for m in context}.values())
        self._adopt(messages)
        self.readable, self.is_stale = allowed, False
        changed, gone = self._strip_blocks(messages, allowed, pack)
        gone += self._strip_heads(messages, allowed, llm)
        gone += self._strip_calls(messages, allowed)
        self._strip_repeated(messages, allowed, _words(gone))
        self._strip_answers(messages, allowed)
        for context in contexts:
            self._strip_silent(context, allowed)
        return changed

    def _adopt(self, messages: Sequence[Any]) -> None:
        """Record what the LLM wrote for those who could be read until now."""
        owner = UNKNOWN if self.readable is None else self.readable
        calls = {
            injection.call_id(call)
            for message in messages
            for call in injection.tool_calls(message)
        }
        self._calls = {call: self._calls.get(call, owner) for call in calls}
        silent = {id(m): m for m in messages if isinstance(m, LLMSpecificMessage)}
        given = frozenset[str]() if self.readable is None else owner  # the application's own
        self._silent = {
            key: self._silent.get(key, (message, given)) for key, message in silent.items()
        }

    def _strip_blocks(
        self, messages: Sequence[Any], allowed: frozenset[str], pack: Pack
    ) -> tuple[list[Changed], list[str]]:
        standing = [(m, block) for m in messages if (block := _block(m))]
        self._blocks = {text: self._blocks[text] for _, text in standing if text in self._blocks}
        changed, gone = list[Changed](), list[str]()
        for message, block in standing:
            found = self._blocks.get(block, Recollection())
            stays = [hit for hit in found.hits if hit.memory.scope in allowed]
            if found.hits and len(stays) == len(found.hits):
                continue
            gone += [hit.memory.text for hit in found.hits if hit not in stays]
            packed = pack(replace(found, hits=stays))
            message["content"] = injection.strip_memories([message])[0]["content"]
            if packed.text:
                injection.prefix(message, packed.text)
            self.add_block(found, packed)
            changed.append((message, packed))
        return changed, gone

    def _strip_heads(self, messages: Sequence[Any], allowed: frozenset[str], llm: Any) -> list[str]:
        """Remove the heads that may not be read, and restore the others."""
        for message, before, after in self._without_heads:
            if message.get("content") == after:
                message["content"] = before
        self._without_heads.clear()
        gone = [text for text, owner in self._heads.items() if not owner <= allowed]
        gone.sort(key=len, reverse=True)  # an earlier head may be a part of a later one
        for message in messages:
            if not isinstance(message, dict):
                continue
            before = message.get("content")
            after = injection.without_texts(before, gone)
            if after != before:
                message["content"] = after
                self._without_heads.append((message, before, after))
        self._instruction.remove(llm, gone)
        return gone

    def _strip_calls(self, messages: Sequence[Any], allowed: frozenset[str]) -> list[str]:
        """Empty the calls of the memory's tools, and their results; return what was in them.

        Each call keeps its result message: providers refuse one without the other.
        """
        gone = {
            injection.call_id(call): injection.call_arguments(call)
            for message in messages
            for call in injection.tool_calls(message)
            if injection.call_name(call) in NAMES
            and not self._calls[injection.call_id(call)] <= allowed
        }
        return [*gone.values(), *injection.empty_calls(messages, gone)]

    def _strip_repeated(
        self, messages: Sequence[Any], allowed: frozenset[str], gone: set[str]
    ) -> None:
        """Empty the calls of other tools that repeat removed words which nobody said aloud."""
        foreign = [
            call
            for message in messages
            for call in injection.tool_calls(message)
            if not self._calls[injection.call_id(call)] <= allowed
            and injection.call_name(call) not in NAMES
        ]
        if not foreign or not gone:
            return
        secret = gone - _words(_said(messages))
        results = dict[str, str]()
        for message in messages:
            for call, text in injection.tool_results(message):
                results[call] = f"{results.get(call, '')} {text}"
        repeated = {
            injection.call_id(call)
            for call in foreign
            if not secret.isdisjoint(
                _words([injection.call_arguments(call), results.get(injection.call_id(call), "")])
            )
        }
        injection.empty_calls(messages, repeated)

    def _strip_answers(self, messages: Sequence[Any], allowed: frozenset[str]) -> None:
        foreign = [words for words, owner in self._answers.items() if not owner <= allowed]
        for message in messages if foreign else ():
            if not isinstance(message, dict) or message.get("role") != "assistant":
                continue
            spoken = fingerprint(injection.message_text(message))
            # It may have been interrupted, or joined with what was said next.
            if spoken and any(one.startswith(spoken) or one in spoken for one in foreign):
                message["content"] = injection.FORGOTTEN

    def _strip_silent(self, context: list[Any], allowed: frozenset[str]) -> None:
        gone = {key for key, (_, owner) in self._silent.items() if not owner <= allowed}
        if gone:
            context[:] = [message for message in context if id(message) not in gone]

    # ---------------------------------------------------------------- summaries

    def without_memories(self, messages: Sequence[Any]) -> list[Any]:
        """Copy a context without anything of the memory's, for a summary of what was said."""
        copies = [_copied(message) for message in injection.strip_memories(messages)]
        ours = {
            injection.call_id(call)
            for message in copies
            for call in injection.tool_calls(message)
            if injection.call_name(call) in NAMES
        }
        injection.empty_calls(copies, ours)
        heads = sorted(self._heads, key=len, reverse=True)
        for message in copies:
            if isinstance(message, dict):
                message["content"] = injection.without_texts(message.get("content"), heads)
        return copies


def _limit(kept: dict[str, Any]) -> None:
    if len(kept) > KEPT:
        del kept[next(iter(kept))]


def _block(message: Any) -> str:
    return injection.block_of(message) if isinstance(message, dict) else ""


def _copied(message: Any) -> Any:
    if not isinstance(message, dict):
        return message
    copied = dict(message)
    if calls := copied.get("tool_calls"):
        copied["tool_calls"] = [{**call, "function": dict(call["function"])} for call in calls]
    if isinstance(parts := copied.get("content"), list):
        copied["content"] = [dict(part) if isinstance(part, dict) else part for part in parts]
    return copied


def _said(messages: Sequence[Any]) -> Iterator[str]:
    """Yield what users and agent said aloud: their messages without blocks."""
    for message in messages:
        if isinstance(message, dict) and message.get("role") in ("user", "assistant"):
            yield injection.without_block(injection.message_text(message))


def _words(texts: Iterable[str]) -> set[str]:
    return {word for text in texts for word in _WORD.findall(text.casefold())}


Parts = tuple[str | None, list[str]]


class SystemInstruction:
    """Completes the instruction of one LLM service; removes texts from it, and restores them.

    The application gives it to the service before the pipeline starts, and Pipecat composes it with
    addenda. There is no public way to read it, so its parts are read where Pipecat keeps them; a
    service that keeps them elsewhere is left alone, with a warning.
    """

    def __init__(self) -> None:
        self._before: Parts | None = None  # while something is removed
        self._after: Parts | None = None
        self._warned = False

    def append(self, llm: Any, text: str, messages: list[Any]) -> None:
        """Append a text to the context's own system message, or else to the service's instruction.

        Beside an instruction, most services drop a system message of the context, and strict chat
        templates refuse a second one.

        Args:
            llm: The service; None for none.
            messages: The context's; a system message is replaced, not edited.
        """
        first: Any = messages[0] if messages else None
        content = first.get("content") if isinstance(first, dict) else None
        if isinstance(content, str) and first.get("role") == "system" and _read(llm) == (None, []):
            messages[0] = {**first, "content": f"{content}\n\n{text}"}
        elif llm is not None:
            llm.append_system_instruction(text)

    def replace(self, llm: Any, old: str, new: str) -> None:
        """Replace a text, also where it is removed at present."""
        parts = _read(llm)
        if parts is None:
            self._warn(llm, (old,))
        elif self._before is not None and parts == self._after:
            self._before = _replaced(self._before, old, new)
        else:
            _write(llm, _replaced(parts, old, new))

    def remove(self, llm: Any, texts: Sequence[str]) -> None:
        """Remove these texts, and restore the others that were removed before.

        Args:
            llm: The service; None for none.
        """
        parts = _read(llm)
        if parts is None:
            self._warn(llm, texts)
            return
        if self._before is not None and parts == self._after:  # the application changed nothing
            _write(llm, self._before)
            parts = self._before
        self._before = self._after = None
        base, added = parts
        after = (_without(base, texts) if base else base, [_without(one, texts) for one in added])
        if after != parts:
            self._before, self._after = parts, after
            _write(llm, after)

    def _warn(self, llm: Any, texts: Sequence[str]) -> None:
        if llm is not None and texts and not self._warned:
            self._warned = True
            logger.warning(
                f"the system instruction of {type(llm).__name__} cannot be read: a session "
                "context in it stays there when another person speaks"
            )


def _read(llm: Any) -> Parts | None:
    base: Any = getattr(llm, "_base_system_instruction", 0)
    added: Any = getattr(llm, "_appended_system_instructions", None)
    if not hasattr(llm, "_compose_system_instruction") or not isinstance(added, list):
        return None
    return (base, list(added)) if base is None or isinstance(base, str) else None


def _write(llm: Any, parts: Parts) -> None:
    llm._base_system_instruction, llm._appended_system_instructions = parts[0], list(parts[1])
    llm._compose_system_instruction()


def _replaced(parts: Parts, old: str, new: str) -> Parts:
    base, added = parts
    return (base.replace(old, new) if base else base, [text.replace(old, new) for text in added])


def _without(text: str, parts: Sequence[str]) -> str:
    for part in parts:
        text = text.replace(part, "")
    return text.strip()
