"""What an LLM was asked and answered, kept in a file, so that a run can be repeated without it.

JSON lines: first what the LLM was (``prompt_tokens``, since prompts are cut to it), then one line
for every prompt, under a hash of all that makes its answer. The file holds memories.
"""

import hashlib
import json
import os
from pathlib import Path
from typing import IO, Any, TypeVar

import msgspec
from msgspec import Struct

from slowcat_memory.errors import (
    BadAnswerError,
    EndpointError,
    PromptTooLongError,
    ProviderError,
    TranscriptError,
)
from slowcat_memory.providers.llm.base import LLM, Answer, Prompt, is_remote
from slowcat_memory.providers.llm.breaker import CircuitBreakerLLM
from slowcat_memory.providers.llm.parsing import parse

T = TypeVar("T", bound=Struct)
_ERRORS: dict[str, type[ProviderError]] = {
    "bad answer": BadAnswerError,
    "prompt too long": PromptTooLongError,
}


class Recorded(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One prompt and what came of it.

    Attributes:
        key: See ``key_of``.
        prompt: The prompt.
        text: The answer as JSON, "" when there was none.
        error: "bad answer", "prompt too long", or "".
        model: Who answered.
        tokens_in: Prompt tokens.
        tokens_out: Tokens that it wrote.
    """

    key: str
    prompt: Prompt
    text: str = ""
    error: str = ""
    model: str = ""
    tokens_in: int = 0
    tokens_out: int = 0


def key_of(prompt: Prompt) -> str:
    """Name a prompt by all that makes its answer.

    Args:
        prompt: The prompt.

    Returns:
        A hash of its job, version, words and ``max_tokens``, in hex.
    """
    whole = [prompt.job, prompt.version, prompt.system, prompt.user, prompt.max_tokens]
    return hashlib.blake2b(json.dumps(whole).encode(), digest_size=16).hexdigest()


class RecordingLLM:
    """An LLM of which every prompt and answer is written down; an absence is not."""

    def __init__(self, inner: LLM, path: Path) -> None:
        """Begin a file, in place of one that is there.

        Args:
            inner: The LLM.
            path: The file; readable by its owner alone.
        """
        self._inner = inner
        mode = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        self._file: IO[str] = os.fdopen(os.open(path, mode, 0o600), "w", encoding="utf-8")
        self._begun = False

    @property
    def prompt_tokens(self) -> int:
        """Tokens that a prompt may have, instruction included."""
        return self._inner.prompt_tokens

    @property
    def remote(self) -> bool:
        """Whether it is on another machine."""
        return is_remote(self._inner)

    async def complete(self, prompt: Prompt, into: type[T]) -> Answer[T]:
        """Ask and write down; see ``LLM.complete``.

        Args:
            prompt: The question.
            into: Type of the answer.

        Returns:
            The answer.

        Raises:
            EndpointError: The server is away, refuses, or took too long.
            BadAnswerError: The answer cannot be used, after one repair.
            PromptTooLongError: The prompt is longer than the server reads.
        """
        try:
            answer = await self._inner.complete(prompt, into)
        except (BadAnswerError, PromptTooLongError) as error:
            kind = next(name for name, type_ in _ERRORS.items() if isinstance(error, type_))
            self._write(Recorded(key=key_of(prompt), prompt=prompt, error=kind))
            raise
        self._write(
            Recorded(
                key=key_of(prompt),
                prompt=prompt,
                text=msgspec.json.encode(answer.value).decode(),
                model=answer.model,
                tokens_in=answer.tokens_in,
                tokens_out=answer.tokens_out,
            )
        )
        return answer

    async def ready(self) -> bool:
        """Tell whether the LLM can be asked.

        Returns:
            What the LLM says, True when it does not know.
        """
        return await self._inner.ready() if isinstance(self._inner, CircuitBreakerLLM) else True

    @property
    def seconds_until_probe(self) -> float:
        """Seconds until ``ready`` is worth asking again."""
        return getattr(self._inner, "seconds_until_probe", 0.0)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _write(self, line: Recorded) -> None:
        if not self._begun:  # only now the LLM knows how much it reads
            self._begun = True
            self._file.write(json.dumps({"prompt_tokens": self.prompt_tokens}) + "\n")
        self._file.write(msgspec.json.encode(line).decode() + "\n")
        self._file.flush()


class ReplayingLLM:
    """Answers from a recorded file; what it says is parsed and checked as any LLM's answer is.

    Attributes:
        prompt_tokens: Tokens that a prompt may have: as when it was recorded.
        remote: False: the file is on this machine.
        asked: How many prompts it was asked.
        missing: How many of them are not in the file.
    """

    remote = False

    def __init__(self, path: Path) -> None:
        """Read a file.

        Args:
            path: What ``RecordingLLM`` wrote.

        Raises:
            TranscriptError: It is no such file.
        """
        self.prompt_tokens, self.asked, self.missing = 0, 0, 0
        self._lines: dict[str, Recorded] = {}
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                try:
                    self._read(number, line)
                except (msgspec.MsgspecError, TypeError, KeyError) as error:
                    raise TranscriptError(f"line {number} is no recorded prompt") from error

    async def complete(self, prompt: Prompt, into: type[T]) -> Answer[T]:
        """Answer as was answered.

        Args:
            prompt: The question.
            into: Type of the answer.

        Returns:
            The answer.

        Raises:
            EndpointError: The prompt was not recorded.
            BadAnswerError: The answer could not be used, or cannot be used as this type.
            PromptTooLongError: The prompt was too long.
        """
        self.asked += 1
        line = self._lines.get(key_of(prompt))
        if line is None:
            self.missing += 1
            raise EndpointError(
                f"a prompt of {prompt.job!r}, version {prompt.version}, was not recorded",
                hint="Record again: what precedes it, its words or the version have changed",
            )
        if line.error:
            raise _ERRORS[line.error]("so it was when it was recorded")
        return Answer(
            value=parse(line.text, into),
            model=line.model,
            tokens_in=line.tokens_in,
            tokens_out=line.tokens_out,
        )

    async def ready(self) -> bool:
        """Tell whether it can be asked.

        Returns:
            True.
        """
        return True

    @property
    def seconds_until_probe(self) -> float:
        """Seconds until it can be asked."""
        return 0.0

    def _read(self, number: int, line: bytes) -> None:
        if number == 1:
            head: dict[str, Any] = msgspec.json.decode(line)
            self.prompt_tokens = int(head["prompt_tokens"])
        else:
            recorded = msgspec.json.decode(line, type=Recorded)
            self._lines[recorded.key] = recorded
