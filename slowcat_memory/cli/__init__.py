"""The ``slowcat-memory`` command.

Useful for: looking into a memory, putting transcripts in, taking things out, trying it all.
Not useful for: a conversation with a voice agent; that is the processor's.

Nothing heavy is imported before a command needs it: help appears in a fraction of a second.
"""

import sys


def main() -> None:
    """Run the command line; the entry point of ``slowcat-memory``."""
    from slowcat_memory.cli.app import app

    app(sys.argv[1:], prog_name="slowcat-memory")
