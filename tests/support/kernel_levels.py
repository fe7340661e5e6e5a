"""The levels at which kernels compute on this machine: each test of a kernel runs at all of them."""

import pytest

from slowcat_memory.kernels import library

COMPILED = [level for level in library.levels() if level != library.NUMPY]
each_level = pytest.mark.parametrize("level", library.levels())
"""Gives a test the argument ``level``; its body says ``with library.using(level):``."""
