"""``python -m slowcat_memory``."""

from slowcat_memory.cli import main

main()
