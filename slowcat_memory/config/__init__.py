"""Configuration: reads config.toml and the environment into the options of each package.

``load`` reads a configuration; ``build`` makes one from tables of config.toml, ``build_options``
from sections as the code names them. The defaults are defined beside the code that they tune.
"""

from slowcat_memory.config.config import Config, time_zone, tokenizer
from slowcat_memory.config.loader import build, build_options, check_ranges, load

__all__ = ["Config", "build", "build_options", "check_ranges", "load", "time_zone", "tokenizer"]
