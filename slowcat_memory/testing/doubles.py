"""Stand-ins for a clock, an embedder and an LLM."""

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec
import numpy as np
from msgspec import Struct

from slowcat_memory.config import Config, build_options
from slowcat_memory.core.ranking.maxsim import SCALE, maxsim, quantise
from slowcat_memory.core.text.normalize import estimate_tokens, fingerprint
from slowcat_memory.providers import (
    Answer,
    Embedded,
    Embedder,
    Encoded,
    Prompt,
    TokenEmbedder,
    token_key_of,
)
from slowcat_memory.providers.llm.parsing import parse

T = TypeVar("T", bound=Struct)

ODD_TEXTS = (
    "",
    " \n\t ",
    "...",
    "a\x00b",
    "\ud800 lone \udfff",
    "e\u0301\u200d\u202e\ufeff",
    "👩‍👩‍👧 漢字 ﷺ",
    "x" * 4000,
)


class FixedClock:
    """A clock that stands still until it is told to go on.

    Attributes:
        now: The time it shows, aware.
    """

    def __init__(self, now: datetime = datetime(2026, 5, 12, 12, tzinfo=UTC)) -> None:
        """Set the clock.

        Args:
            now: The time, aware.
        """
        self.now = now

    def __call__(self) -> datetime:
        """Read the clock."""
        return self.now

    def advance(self, seconds: float) -> None:
        """Put the clock forward."""
        self.now += timedelta(seconds=seconds)


class HashEmbedder:
    """Vectors from words by hashing: texts that share words are near, and nothing is learnt.

    Deterministic on every machine. It stands for the query embedder and for the document embedder.
    With a ``token_dim`` it tells tokens, too: each word is a direction, whatever is around it.

    Attributes:
        name: What it is called.
        key: Its vector space; another ``name`` or ``dim`` is another space.
        dim: Length of a vector.
        token_key: The space of its token vectors, "" when it tells none.
        token_dim: Length of a token's vector.
    """

    def __init__(self, dim: int = 64, name: str = "hashed-words", token_dim: int = 0) -> None:
        """Choose a vector space.

        Args:
            name: What it is called.
            token_dim: Length of a token's vector, 0 to tell none.
        """
        self.name, self.dim, self.token_dim = name, dim, token_dim
        self.key = f"{name}/{dim}"
        self.token_key = f"{self.key}~words/{token_dim}" if token_dim else ""

    def encode(
        self, texts: Sequence[str], progress: Callable[[int], None] | None = None
    ) -> np.ndarray:
        """Embed texts.

        Args:
            progress: Told at the end how many texts are done.

        Returns:
            Shape (len(texts), dim), float32, each row of unit length.
        """
        rows = np.zeros((len(texts), self.dim), np.float32)
        for row, text in enumerate(texts):
            rows[row] = self.encode_query(text)
        if progress:
            progress(len(texts))
        return rows

    def encode_query(self, text: str) -> np.ndarray:
        """Embed one text.

        Returns:
            Shape (dim,), float32, unit length.
        """
        row = np.zeros(self.dim, np.float32)
        for word in fingerprint(text).split():
            place, sign = self._place(word)
            row[place] += sign
        if not row.any():
            row[0] = 1.0
        return row / np.linalg.norm(row)

    def encode_query_tokens(self, text: str) -> Encoded:
        """Embed one text and its words."""
        tokens = self._words(text).astype(np.float32) if self.token_key else None
        return Encoded(self.encode_query(text), tokens)

    def encode_tokens(
        self, texts: Sequence[str], progress: Callable[[int], None] | None = None
    ) -> Embedded:
        """Embed texts and their words.

        Args:
            progress: Told at the end how many texts are done.
        """
        tokens = [quantise(self._words(text)) for text in texts] if self.token_key else []
        return Embedded(self.encode(texts, progress), tokens)

    def close(self) -> None:
        """Do nothing: there is nothing to give back."""

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
    """An LLM that answers by script; what it says is parsed and checked as any LLM's answer is.

    Example::

        llm = ScriptedLLM(lambda prompt: {"note": "Anna's dog is called Max."})

    Attributes:
        prompts: Every prompt, in order.
        prompt_tokens: Tokens that a prompt may have.
        remote: Whether it counts as being on another machine; a test may set it.
        model: What it is called.
    """

    remote = False

    def __init__(
        self,
        reply: Callable[[Prompt], "dict[str, Any] | Struct | str | Exception"],
        *,
        prompt_tokens: int = 2500,
        model: str = "scripted@test",
        delay_s: float = 0.0,
    ) -> None:
        """Choose what it says.

        Args:
            reply: Given a prompt, the answer: a value to be told as JSON, what it wrote word for
                word, or an error to raise.
            prompt_tokens: Tokens that a prompt may have.
            model: What it is called.
            delay_s: Seconds that it thinks; it can be cancelled meanwhile.
        """
        self._reply, self._delay_s = reply, delay_s
        self.prompt_tokens, self.model = prompt_tokens, model
        self.prompts: list[Prompt] = []

    async def complete(self, prompt: Prompt, into: type[T]) -> Answer[T]:
        """Answer.

        Raises:
            BadAnswerError: The script says what cannot be used; nothing is repaired.
            Exception: Whatever the script says.
        """
        self.prompts.append(prompt)
        await asyncio.sleep(self._delay_s)
        reply = self._reply(prompt)
        if isinstance(reply, Exception):
            raise reply
        text = reply if isinstance(reply, str) else msgspec.json.encode(reply).decode()
        read = estimate_tokens(prompt.system) + estimate_tokens(prompt.user)
        return Answer(
            value=parse(text, into),
            model=self.model,
            tokens_in=read,
            tokens_out=estimate_tokens(text),
        )

    async def ready(self) -> bool:
        """Return whether it can be asked.

        Returns:
            True.
        """
        return True

    @property
    def seconds_until_probe(self) -> float:
        """Seconds until it can be asked."""
        return 0.0


def memory_config(path: Path | str, **sections: dict[str, Any]) -> Config:
    """Configure a store for a test: in UTC, words alone, thinking when told to, and so patient that no machine is slow.

    Args:
        **sections: Options by section of ``Config``; they win.
    """
    values: dict[str, dict[str, Any]] = {
        "memory": {"path": str(path), "time_zone": "UTC"},
        "recall": {"deadline_ms": 10_000.0, "warn_ms": 10_000.0},
        "embedding": {"kind": "none"},
        "idle": {"enabled": False},
    }
    for section, knobs in sections.items():
        values[section] = {**values.get(section, {}), **knobs}
    return build_options(values)


def check_embedder(embedder: Embedder) -> None:
    """Run an embedder through what any embedder must do.

    Raises:
        AssertionError: It breaks the contract of ``Embedder``, or that of ``TokenEmbedder`` when
            it has a ``token_key``.
    """
    assert embedder.name and embedder.dim > 0, "it has no name, or no dimension"
    assert embedder.key.endswith(f"/{embedder.dim}"), "its key does not end with its dimension"
    _check_vectors(embedder, [])
    rows = _check_vectors(embedder, ODD_TEXTS)
    assert np.array_equal(rows, embedder.encode(ODD_TEXTS)), "it is not deterministic"
    alone = np.concatenate([_check_vectors(embedder, [text]) for text in ODD_TEXTS])
    assert np.allclose(rows, alone, atol=1e-5), "a vector depends on its neighbours"
    _check_vectors(embedder, ["one million bytes. " * 55_000])
    if token_key_of(embedder):
        _check_tokens(cast(TokenEmbedder, embedder))


def _check_vectors(embedder: Embedder, texts: Sequence[str]) -> np.ndarray:
    rows = embedder.encode(texts)
    assert rows.shape == (len(texts), embedder.dim), f"{rows.shape} for {len(texts)} texts"
    assert rows.dtype == np.float32, f"{rows.dtype} is not float32"
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-4), "not of unit length"
    return rows


def _check_tokens(embedder: TokenEmbedder) -> None:
    dim = embedder.token_dim
    assert embedder.token_key.endswith(f"/{dim}"), "its token key does not end with its dimension"
    assert embedder.token_key != embedder.key, "its tokens have no space of their own"
    assert embedder.encode_tokens([]).tokens == [], "tokens of nothing"
    texts = [*ODD_TEXTS, "Anna: where is the red bicycle, Anna?"]
    made = embedder.encode_tokens(texts)
    assert np.allclose(made.vectors, embedder.encode(texts), atol=1e-5), "other vectors than alone"
    assert len(made.tokens) == len(texts), f"tokens of {len(made.tokens)} texts, not {len(texts)}"
    for text, rows in zip(texts, made.tokens, strict=True):
        assert rows.dtype == np.int8 and rows.ndim == 2 and rows.shape[1] == dim, f"{rows.shape}"
        assert np.allclose(np.linalg.norm(rows, axis=1), SCALE, rtol=0.02), "not of unit length"
        alone = embedder.encode_tokens([text]).tokens[0]
        assert rows.shape == alone.shape, "tokens depend on the text's neighbours"
        assert np.abs(rows.astype(int) - alone).max(initial=0) <= 1, "tokens depend on neighbours"
    assert not len(made.tokens[texts.index("...")]), "punctuation is told as a token"
    if hasattr(embedder, "encode_query_tokens"):
        _check_query_tokens(embedder, texts[-1])


def _check_query_tokens(embedder: TokenEmbedder, text: str) -> None:
    query = embedder.encode_query_tokens(text)
    assert query.tokens is not None and query.tokens.dtype == np.float32, "no float32 tokens"
    assert np.allclose(np.linalg.norm(query.tokens, axis=1), 1, atol=1e-4), "not of unit length"
    same, other = maxsim(query.tokens, embedder.encode_tokens([text, "no"]).tokens)
    assert same > 0.9 > other, f"its own text has {same:.2f}, another has {other:.2f}"
