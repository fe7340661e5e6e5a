"""Command lines and environments of child processes. Nothing in the working directory is ever imported.

A file ``msgspec.py`` in a folder of downloads must not run because somebody starts a command there.
So a child imports what its parent can, wherever that is installed (a user's site, ``PYTHONPATH``,
an editable install, a zip), except from the working directory; and so does the command line.
"""

import os
import sys  # and no other module: the working directory may still be searched

# Holds this package; may be a zip file.
_ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
# -E: an empty entry of PYTHONPATH would name the working directory even before ``_START`` runs.
_FLAGS = ("-E", "-P")
# The package is this one, even if another version of it is installed and this one is not. Nothing
# is imported from its folder: what its ``__init__`` imports is there already.
_START = """\
import sys
sys.path[:] = {path!r}
import importlib, runpy
sys.path.insert(0, {root!r})
import slowcat_memory
del sys.path[0]
runpy.{run}({program!r}, {{}}, "__main__")
"""


def python_command(program: str, *arguments: str) -> list[str]:
    """Return the command line that runs a program in a child process.

    Args:
        program: The full name of a module, or the path of a script that ends in ".py".
        *arguments: Its ``sys.argv[1:]``.

    Raises:
        FileNotFoundError: This program has no Python interpreter of its own: it is frozen.
    """
    if not sys.executable or getattr(sys, "frozen", False):
        raise FileNotFoundError("there is no Python interpreter to run a child process")
    run = "run_path" if program.endswith(".py") else "run_module"
    # An interpreter that was moved finds its library by PYTHONHOME alone.
    flags = _FLAGS[1:] if "PYTHONHOME" in os.environ else _FLAGS
    start = _START.format(path=import_path(), root=_ROOT, run=run, program=program)
    return [sys.executable, *flags, "-c", start, *arguments]


# Libraries start a thread for each core, and theirs spin for milliseconds after every product.
_ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OMP_WAIT_POLICY": "PASSIVE",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "VECLIB_MAXIMUM_THREADS": "1",
}


def child_environment() -> dict[str, str]:
    """Return the environment of a child process: a library has the threads that it is given there.

    The cores are the conversation's. This process keeps its own settings.
    """
    return {**os.environ, **_ONE_THREAD}


def import_path() -> list[str]:
    """Return ``sys.path`` without the working directory.

    The working directory stays if a package is installed in it in place, behind all other entries.
    """
    here = os.path.realpath(os.getcwd())
    library = os.path.dirname(os.__file__)
    inserted = sys.path.index(library) if library in sys.path else len(sys.path)
    path = [
        entry
        for position, entry in enumerate(sys.path)
        if os.path.isabs(entry) and (position > inserted or os.path.realpath(entry) != here)
    ]
    if _ROOT not in map(os.path.realpath, path):
        path.append(_ROOT)
    return path
