# SPDX-License-Identifier: BSD-2-Clause
"""Two people, one agent: each has a memory of their own, and nobody hears of the other's.

    pip install . && pip install --no-deps --require-hashes -r offline.txt
    ollama serve                        # or LM Studio, or llama-server; see minimal_bot.py
    python examples/two_people.py       # Ctrl-C or Ctrl-D ends it

You say who speaks by a name in front::

    > anna: I am allergic to nuts.
    > ben: What do you know about me?

In a voice bot the speaker comes from speech-to-text that tells voices apart (``speakers={"speaker_0":
"anna", ...}``), or from a recogniser of your own, which calls ``memory.speaker("ben")``. Whoever is
none of them is a guest (``guest: Hello!``), of whom nothing is remembered.
"""

import asyncio
import os
import sys

from loguru import logger
from minimal_bot import talk

from slowcat_memory import HybridContextualMemoryProcessor, load

# The same as `[people] scopes = "each"` in config.toml.
EACH = {"SLOWCAT_PEOPLE__SCOPES": "each"}
PEOPLE = ("anna", "ben")
INSTRUCTION = "You are a friendly assistant of two people who share a flat. Answer briefly."


async def main():
    logger.remove()
    logger.add(sys.stderr, level="WARNING")
    memory = HybridContextualMemoryProcessor(
        config=load(environ=os.environ | EACH),
        user_id="anna",  # whose conversation it is while nobody said who speaks
        speakers={name: name for name in PEOPLE},  # ids of voices, or names as here
    )

    def hear(line):
        """Read who speaks; a line without a name is by the one who spoke before."""
        name, colon, words = line.partition(":")
        if colon and (speaker := name.strip().lower()) in (*PEOPLE, "guest"):
            memory.speaker(speaker)
            return words.strip()
        return line

    await talk(memory, INSTRUCTION, hear)


if __name__ == "__main__":
    asyncio.run(main())
