"""Test doubles for a clock, an embedder and an LLM."""

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.config import Config, build_options
from slowcat_memory.core.ranking.token_codes import quantise
from slowcat_memory.core.text.normalize import estimate_tokens, fingerprint
from slowcat_memory.providers import Answer, Embedded, Encoded, Prompt
from slowcat_memory.providers.llm.reply_parsing import parse_reply

T = TypeVar("T", bound=Struct)


class FixedClock:
    """A clock that changes only with ``advance``: time passes on all its clocks.

    Setting ``now``, which is aware, is setting a wall clock: the boot clock does not follow.

    Attributes:
        synchronised: Whether the system says that its time is right.
    """

    def __init__(self, now: datetime = datetime(2026, 5, 12, 12, tzinfo=UTC)) -> None:
        self.now, self.synchronised = now, True
        self._boot_s = 0.0

    def __call__(self) -> datetime:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)
        self._boot_s += seconds

    def boot_s(self) -> float:
        return self._boot_s

    def is_synchronised(self) -> bool:
        return self.synchronised


class HashEmbedder:
    """An embedder that hashes words: texts with shared words have near vectors.

    Deterministic on every machine. Works as query and as document embedder. With a ``token_dim``
    it also returns token vectors: each word is one direction, whatever its context. Another
    ``name`` or ``dim`` is another vector space.
    """

    def __init__(self, dim: int = 64, name: str = "hashed-words", token_dim: int = 0) -> None:
        self.name, self.dim, self.token_dim = name, dim, token_dim
        self.key = f"{name}/{dim}"
        self.token_key = f"{self.key}~words/{token_dim}" if token_dim else ""

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Return shape (len(texts), dim), float32, each row of unit length."""
        rows = [self.encode_query(text) for text in texts]
        return np.array(rows, np.float32).reshape(-1, self.dim)

    def encode_query(self, text: str) -> np.ndarray:
        """Return shape (dim,), float32, unit length."""
        row = np.zeros(self.dim, np.float32)
        for word in fingerprint(text).split():
            place, sign = self._place(word)
            row[place] += sign
        if not row.any():
            row[0] = 1.0
        return row / np.linalg.norm(row)

    def encode_query_tokens(self, text: str) -> Encoded:
        tokens = self._words(text).astype(np.float32) if self.token_key else None
        return Encoded(self.encode_query(text), tokens)

    def encode_tokens(self, texts: Sequence[str]) -> Embedded:
        tokens = [quantise(self._words(text)) for text in texts] if self.token_key else []
        return Embedded(self.encode(texts), tokens)

    def _words(self, text: str) -> np.ndarray:
        places = [self._place(word) for word in fingerprint(text).split()]
        rows = np.zeros((len(places), self.token_dim), np.int8)
        for row, (place, sign) in zip(rows, places, strict=True):
            row[place % self.token_dim] = sign
        return rows

    def _place(self, word: str) -> tuple[int, float]:
        seed = f"{self.name}\0{word}".encode("utf-8", "replace")
        number = int.from_bytes(hashlib.blake2b(seed, digest_size=8).digest())
        return number // 2 % self.dim, 1.0 if number % 2 else -1.0


class ScriptedLLM:
    """An LLM that answers by script; its answers are parsed and checked like any LLM's.

    Example::

        llm = ScriptedLLM(lambda prompt: {"note": "Anna's dog is called Max."})

    Attributes:
        prompts: Every prompt, in order.
    """

    remote = False

    def __init__(
        self,
        reply: Callable[[Prompt], "dict[str, Any] | Struct | str | Exception"],
        *,
        prompt_tokens: int = 2500,
        model: str = "scripted@test",
    ) -> None:
        """Set the script.

        Args:
            reply: Returns the answer to a prompt: a value to encode as JSON, a raw text, or an error
                to raise.
        """
        self._reply = reply
        self.prompt_tokens, self.model = prompt_tokens, model
        self.prompts: list[Prompt] = []

    async def complete(self, prompt: Prompt, into: type[T]) -> Answer[T]:
        """Answer by script.

        Raises:
            BadAnswerError: The answer does not parse; nothing is repaired.
            Exception: The error that the script returned.
        """
        self.prompts.append(prompt)
        await asyncio.sleep(0)  # a place to be cancelled
        reply = self._reply(prompt)
        if isinstance(reply, Exception):
            raise reply.with_traceback(None)  # one object may be raised a thousand times
        text = reply if isinstance(reply, str) else msgspec.json.encode(reply).decode()
        read = estimate_tokens(prompt.system) + estimate_tokens(prompt.user)
        return replace(
            parse_reply(text, into),
            model=self.model,
            tokens_in=read,
            tokens_out=estimate_tokens(text),
        )


def memory_config(path: Path | str, **sections: dict[str, Any]) -> Config:
    """Return a configuration for tests: UTC, no vectors, idle work off, very long deadlines.

    Args:
        **sections: Overrides by section, as in config.toml.
    """
    values: dict[str, dict[str, Any]] = {
        "memory": {"path": str(path), "time_zone": "UTC"},
        "recall": {"deadline_ms": 10_000.0, "settle_ms": 10_000.0, "warn_ms": 10_000.0},
        "embedding": {"kind": "none"},
        "idle": {"enabled": False},
        "thinking": {"url": ""},
    }
    for section, knobs in sections.items():
        values.setdefault(section, {}).update(knobs)
    return build_options(values)
