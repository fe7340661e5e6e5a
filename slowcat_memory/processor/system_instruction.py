"""The system instruction of an LLM service, which a session head completes, and may have to leave.

The application gives the instruction to the service before the pipeline starts, and Pipecat
composes it with addenda. There is no public way to read it, so its parts are read where Pipecat
keeps them; a service that keeps them elsewhere is left alone, with a warning.
"""

from collections.abc import Sequence
from typing import Any

from loguru import logger

Parts = tuple[str | None, list[str]]


class SystemInstruction:
    """Completes the instruction of one LLM service; removes texts from it, and restores them."""

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
