"""Gets the compiled walk, off the way of whoever talks.

numba costs a second and 60 MB to import, and a few seconds more to compile. The child that builds
a large sealed index compiles into numba's cache on disk; the process that talks loads it on a
thread of its own, once, when it opens such an index. Until then, and where numba does not work,
the NumPy walk serves.
"""

import threading
from pathlib import Path

from loguru import logger

from slowcat_memory.index.lexical.scorer import NumpyScorer, Scorer
from slowcat_memory.pages import give_back

PLAIN: Scorer = NumpyScorer()

_compiled: Scorer | None = None
_asked: threading.Thread | None = None
_lock = threading.Lock()


def walk() -> Scorer:
    """Return the fastest walk that is at hand."""
    return _compiled or PLAIN


def load() -> None:
    """Load the compiled walk, and compile it if nobody has. Blocks; never raises."""
    global _compiled
    try:
        from slowcat_memory.index.lexical.scorer_numba import NumbaScorer

        _compiled = NumbaScorer()
        _release_compiler()
    except Exception as error:  # whatever numba, LLVM or an unwritable cache raise
        logger.warning(f"large indexes are searched without numba: {type(error).__name__}")


def _release_compiler() -> None:
    """Give LLVM's code back, 60 MB that nobody needs once the loops are loaded."""
    import llvmlite

    give_back(Path(llvmlite.__file__).parent / "binding" / "libllvmlite.so")


def ask() -> threading.Thread:
    """Have the compiled walk loaded in the background, once.

    Returns:
        The thread that does it, or has done.
    """
    global _asked
    with _lock:
        if _asked is None:
            _asked = threading.Thread(target=load, name="slowcat-compiled", daemon=True)
            _asked.start()
        return _asked
