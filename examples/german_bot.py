# SPDX-License-Identifier: BSD-2-Clause
"""A bot that speaks and remembers German: "Merk dir, dass ...", "Vergiss das", "letzten Dienstag".

    pip install . && pip install --no-deps --require-hashes -r offline.txt
    ollama serve                        # or LM Studio, or llama-server; see minimal_bot.py
    python examples/german_bot.py       # Ctrl-C or Ctrl-D ends it

The multilingual model is fetched once, by name, when the bot starts for the first time; until it is
there, German is found by words. It is kept in a store of its own: vectors of two models cannot be
compared.
"""

import asyncio
import os
import sys

from loguru import logger
from minimal_bot import talk

from slowcat_memory import HybridContextualMemoryProcessor, load

# The same as in config.toml; what you set in the environment counts.
GERMAN = {
    "SLOWCAT_MEMORY__PATH": "~/.slowcat-deutsch",
    "SLOWCAT_MEMORY__LANGUAGE": "german",
    "SLOWCAT_EMBEDDING__MODEL": "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2",
}


async def main():
    logger.remove()
    logger.add(sys.stderr, level="WARNING")
    memory = HybridContextualMemoryProcessor(
        config=load(environ=GERMAN | os.environ), user_id="jana"
    )
    await talk(memory, "Du bist ein freundlicher Assistent. Antworte kurz.")


if __name__ == "__main__":
    asyncio.run(main())
