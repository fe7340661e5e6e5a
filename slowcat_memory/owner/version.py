"""The version of this package, as processes tell each other."""

import sys

VERSION = str(vars(sys.modules["slowcat_memory"])["__version__"])  # importing it names every door
