"""What may be tuned? config.toml and the environment to the options of each package.

Useful for: reading a configuration (``load``), making one in a program (``build``, with the tables
of config.toml; ``build_options``, with the sections of the code). Not useful for: defaults; they
stand beside the code that they tune.
"""

from slowcat_memory.config.config import (
    PRESETS,
    Config,
    MemoryOptions,
    check_names,
    time_zone,
    tokenizer,
)
from slowcat_memory.config.knobs import KNOBS, Knob, options
from slowcat_memory.config.loader import build, build_options, load

__all__ = [
    "KNOBS",
    "PRESETS",
    "Config",
    "Knob",
    "MemoryOptions",
    "build",
    "build_options",
    "check_names",
    "load",
    "options",
    "time_zone",
    "tokenizer",
]
