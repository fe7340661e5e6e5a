"""Which kind of value a question asks for: an amount or a time.

"How much does the stairlift cost?" is near to "we're getting a stairlift put in", which does not
answer it: no amount is said. A statement of the past answers "when" by its own date, so only what
is due or regular asks for a time.
"""

import re
from collections.abc import Sequence

from slowcat_memory.core.language import language_of
from slowcat_memory.core.query.revisions import shared
from slowcat_memory.core.ranking.abstention import names_in
from slowcat_memory.core.text.normalize import fold

MOST_CHARS = 120  # of a question: longer ones ask for more than a value
STEM = 5  # letters by which the thing that is counted is the same
BESIDE = 0.4  # an amount in a text without a word of the question: of something else, or reworded


def lacks_value(query: str, texts: Sequence[str], language: str) -> float:
    """Return how surely a question asks for a value that no text has, 0 to 1.

    ``BESIDE`` where texts have one that share no word with the question. Only questions about
    somebody or something definite count ("the", "my", "wir"): others may be about the world. Takes
    a few microseconds for a question that asks for none.
    """
    if len(query) > MOST_CHARS:
        return 0.0
    talk, line = language_of(language).talk, fold(query.replace("’", "'"))
    for pattern, values in talk.values:
        met = pattern.search(line)
        if met and (talk.definite.search(line) or names_in(query, language)):
            counted = (met.groupdict().get("counted") or "")[:STEM].removesuffix("s")
            having = [one for one in texts if _has(fold(one.replace("’", "'")), values, counted)]
            near = any(shared(query, one, language) for one in having)
            return 0.0 if near else BESIDE if having else 1.0
    return 0.0


def _has(text: str, values: re.Pattern[str], counted: str) -> bool:
    """Return whether a text has a value, or what is counted: "my sister Jo" counts sisters."""
    if len(counted) > 2 and re.search(rf"\b{re.escape(counted)}", text):
        return True
    return bool(values.search(text))
