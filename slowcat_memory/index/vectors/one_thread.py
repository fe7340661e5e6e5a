"""Limits FAISS to one thread for a call, and leaves the caller's own setting as it was.

A second thread gains nothing on so few vectors, and where another process keeps its core busy, it
slows a search from 0.2 ms to 10.
"""

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def one_thread(call: Callable[P, T]) -> Callable[P, T]:
    """Make a function that searches with FAISS use the calling thread alone."""

    @functools.wraps(call)
    def limited(*arguments: P.args, **more: P.kwargs) -> T:
        import faiss  # only namespaces with many vectors need it

        before = faiss.omp_get_max_threads()  # per calling thread
        faiss.omp_set_num_threads(1)
        try:
            return call(*arguments, **more)
        finally:
            faiss.omp_set_num_threads(before)

    return limited
