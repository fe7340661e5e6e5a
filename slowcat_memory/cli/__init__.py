"""The ``slowcat-memory`` command.

Use it to inspect and change a memory, to import transcripts, and to try it all. A voice agent uses
the processor instead.

Heavy modules are imported only by the commands that need them, so help appears in a fraction of a
second.
"""

import sys


def main() -> None:
    """Run the command line: the entry point of ``slowcat-memory``."""
    from slowcat_memory.cli.app import app

    app(sys.argv[1:], prog_name="slowcat-memory")
