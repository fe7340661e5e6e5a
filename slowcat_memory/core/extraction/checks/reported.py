"""What was read aloud or repeated from a text: "it says ...", "the message goes ...".

It was not said by the speaker about their life: what follows from it is kept as reported, with low
confidence, and is never brought up. What a person said ("the doctor said I have to rest") and what
a recipe says is the speaker's own.
"""

import re
from collections.abc import Iterator

from slowcat_memory.core.extraction.clauses import straight
from slowcat_memory.core.language import of_any
from slowcat_memory.core.text.normalize import fingerprint

_READ = re.compile(of_any(lambda one: f"(?:{one.persons.read_aloud})"), re.IGNORECASE)
_OWN = re.compile(of_any(lambda one: f"(?:{one.persons.own_doing})"), re.IGNORECASE)
_END = re.compile(r"[.!?…](?=\s|$)")


def reported_parts(text: str) -> Iterator[str]:
    """Yield what a turn repeats from a text: from the words that announce it to the sentence's end."""
    said = straight(text)
    for found in _READ.finditer(said):
        start = max((end.end() for end in _END.finditer(said, 0, found.start())), default=0)
        if _OWN.search(said[start : found.end()]):
            continue
        end = _END.search(said, found.end())
        yield said[found.start() : end.end() if end else len(said)]


def is_reported(quote: str, text: str) -> bool:
    """Return whether a quote of a turn lies in what the turn repeats from a text."""
    words = fingerprint(straight(quote))
    return bool(words) and any(words in fingerprint(part) for part in reported_parts(text))


def reads_aloud(text: str) -> bool:
    """Return whether a text repeats another one."""
    return any(True for _ in reported_parts(text))
