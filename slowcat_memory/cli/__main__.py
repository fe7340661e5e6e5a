"""``python -m slowcat_memory.cli``."""

from slowcat_memory.cli import main

main()
