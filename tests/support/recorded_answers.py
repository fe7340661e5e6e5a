"""Records prompts and answers in a file, so that a run can be repeated without the LLM.

JSON lines: first ``prompt_tokens`` (prompts are cut to it), then one line for each prompt, under a
hash of everything that determines its answer. The file contains memories.
"""

import hashlib
import json
import os
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.errors import BadAnswerError, EndpointError, PromptTooLongError
from slowcat_memory.providers.llm.base import LLM, Answer, Prompt, is_remote
from slowcat_memory.providers.llm.reply_parsing import parse_reply

T = TypeVar("T", bound=Struct)
KEPT = ("model", "tokens_in", "tokens_out", "whole")  # of an answer, besides its value


class Recorded(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One prompt and its answer."""

    key: str  # see ``key_of``
    prompt: Prompt
    text: str = ""  # the answer as JSON, "" without one
    error: str = ""  # "bad answer", "prompt too long", or ""
    model: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    whole: bool = True  # see ``Answer.whole``


def key_of(prompt: Prompt) -> str:
    """Return a hex hash of a prompt's job, version, texts and ``max_tokens``."""
    whole = [prompt.job, prompt.version, prompt.system, prompt.user, prompt.max_tokens]
    if prompt.model:
        whole.append(prompt.model)
    return hashlib.blake2b(json.dumps(whole).encode(), digest_size=16).hexdigest()


class RecordingLLM:
    """An LLM whose prompts and answers are recorded; an unreachable server is not."""

    def __init__(self, inner: LLM, path: Path) -> None:
        """Create the file, readable by its owner only, replacing an existing one."""
        self._inner, self._begun = inner, False
        self._file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb")

    @property
    def prompt_tokens(self) -> int:
        return self._inner.prompt_tokens

    @property
    def remote(self) -> bool:
        return is_remote(self._inner)

    async def complete(self, prompt: Prompt, into: type[T]) -> Answer[T]:
        line = Recorded(key=key_of(prompt), prompt=prompt)
        try:
            answer = await self._inner.complete(prompt, into)
        except (BadAnswerError, PromptTooLongError) as error:
            long = isinstance(error, PromptTooLongError)
            self._write(replace(line, error="prompt too long" if long else "bad answer"))
            raise
        text = msgspec.json.encode(answer.value).decode()
        self._write(replace(line, text=text, **{name: getattr(answer, name) for name in KEPT}))
        return answer

    def close(self) -> None:
        self._file.close()

    def _write(self, line: Recorded) -> None:
        if not self._begun:  # known only after the LLM was asked
            self._begun = True
            self._file.write(msgspec.json.encode({"prompt_tokens": self.prompt_tokens}) + b"\n")
        self._file.write(msgspec.json.encode(line) + b"\n")
        self._file.flush()


class ReplayingLLM:
    """Answers from a recorded file; its answers are parsed and checked like any LLM's.

    Attributes:
        asked: Number of prompts received.
        missing: Number of them that are not in the file.
    """

    remote = False

    def __init__(self, path: Path) -> None:
        """Read a file of ``RecordingLLM``."""
        head, *lines = path.read_bytes().splitlines()
        self.prompt_tokens: int = msgspec.json.decode(head)["prompt_tokens"]
        self.asked, self.missing = 0, 0
        recorded = (msgspec.json.decode(line, type=Recorded) for line in lines)
        self._lines = {line.key: line for line in recorded}

    async def complete(self, prompt: Prompt, into: type[T]) -> Answer[T]:
        """Return the recorded answer.

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
            kind = PromptTooLongError if line.error == "prompt too long" else BadAnswerError
            raise kind("so it was when it was recorded")
        answer = parse_reply(line.text, into)
        kept = {name: getattr(line, name) for name in KEPT}
        return replace(answer, **kept | {"whole": answer.whole and line.whole})
