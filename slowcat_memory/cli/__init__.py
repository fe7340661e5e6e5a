"""The ``slowcat-memory`` command: inspects and changes a memory, imports transcripts, runs a demo.

A voice agent uses the processor instead. Heavy modules are imported only by the commands that need
them, so help appears in a fraction of a second.
"""

import sys


def main() -> None:
    """Run the command; nothing in the working directory is imported."""
    from slowcat_memory.child_process import import_path

    sys.path[:] = import_path()
    from slowcat_memory.cli.app import app

    app(sys.argv[1:], prog_name="slowcat-memory")
