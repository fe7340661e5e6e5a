"""Caches of a process that are keyed by what people say, and the clearing of them.

A function of a word is often asked for the same word, so its answers are kept for as long as the
process runs. They are cleared when something was forgotten, here or by another process, and where a
process serves one person after another. ``forget_texts`` may be called at any time: an answer that
is needed again is computed again.
"""

import re
from collections.abc import Callable
from functools import _lru_cache_wrapper, lru_cache
from typing import Any, TypeVar

T = TypeVar("T")

_caches: list[Any] = []


def text_cache(most: int) -> Callable[[Callable[..., T]], "_lru_cache_wrapper[T]"]:
    """Return a decorator for a pure function whose last ``most`` answers are kept."""

    def decorate(function: Callable[..., T]) -> "_lru_cache_wrapper[T]":
        cached = lru_cache(maxsize=most)(function)
        _caches.append(cached)
        return cached

    return decorate


def forget_texts() -> None:
    """Clear all these caches, and that of ``re``, which keeps patterns made of people's names."""
    for cached in _caches:
        cached.cache_clear()
    re.purge()
