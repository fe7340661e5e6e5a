"""The one filter of derived text: what a rule or an LLM made holds no link and no order.

Every derived text passes it where it is made (`keepable`), and again where it is written
(`keepable_batch`), so that no job can forget it. Speech recognisers write domains as they are
spoken: "corrib dash payroll dot net".
"""

import re
from collections.abc import Iterable

from msgspec.structs import replace

from slowcat_memory.core.extraction.attributed import same, words_in
from slowcat_memory.core.extraction.bounded_names import holds_false_name
from slowcat_memory.core.extraction.prompt_injection import injected
from slowcat_memory.core.language import of_any, words_of_any
from slowcat_memory.core.language.data import lazy_pattern
from slowcat_memory.core.language.english.vocabulary import STOP_WORDS
from slowcat_memory.core.memory import BLOCK, ICEBREAKER, SUMMARY, family
from slowcat_memory.records import Memory, WriteBatch

FILTERED = frozenset({SUMMARY, BLOCK, ICEBREAKER, "episode", "topic"})
REPEATED = 0.7  # of the content words of a text that repeats an order
LEAST_REPEATED = 3  # content words
_ENDINGS = (
    "com|net|org|info|biz|app|dev|io|co|uk|de|eu|at|ch|fr|es|nl|pl|se|dk|fi|ie|us|ca|au|nz|jp|ru|cn|br|"
    "xyz|shop|online|site|store|live|tech|cloud|click|link|top|club|vip|work|zip|mobi|tv|cc|gg|ly|"
    "bank|finance|money|support|help|pay|page|web|website|space|email|gov|edu|ac|int"
)
_LINK = lazy_pattern(
    rf"""\b(?:https?|ftp)\b:?/?|\bwww\.|://
    |(?<![@\w.-])[\w-]{{2,}}(?:\.[\w-]+)*\.(?:{_ENDINGS})\b(?!\.\w)
    |(?<![@\w.-])[^\W_]+(?:-[^\W_]+)+\.[a-z]{{2,24}}\b
    |\b[^\W_]+(?:[ ]?(?:dash|hyphen|minus|bindestrich)[ ]?[^\W_]+)*[ ](?:dot|punkt)[ ](?:{_ENDINGS})\b""",
    flags=re.VERBOSE | re.IGNORECASE,
)
_SENTENCE = lazy_pattern(r"(?<=[.!?…])\s+")
_DEMANDS = lazy_pattern(of_any(lambda table: f"(?:{table.persons.demands})"), flags=re.IGNORECASE)
_SCAM = words_of_any(lambda table: table.persons.sets["scam"])


def has_link(text: str) -> bool:
    """Return whether a text holds a link or a domain; an e-mail address is none."""
    return bool(_LINK.search(text))


def keepable(text: str) -> bool:
    """Return whether a derived sentence holds neither a link nor an order to the reader."""
    return not (has_link(text) or _DEMANDS.search(text) or injected(text) or holds_false_name(text))


def keepable_part(text: str) -> str:
    """Return a derived text without its sentences that are not `keepable`."""
    if keepable(text):
        return text
    lines = (_SENTENCE.split(line) for line in text.splitlines())
    kept = (" ".join(sentence for sentence in line if keepable(sentence)) for line in lines)
    return "\n".join(line for line in kept if line.strip())


def content_of(text: str) -> tuple[str, ...]:
    """Return the content words of a text."""
    return tuple(word for word in words_in(text) if word not in STOP_WORDS and len(word) > 1)


def repeats(text: str, orders: Iterable[tuple[str, ...]]) -> bool:
    """Return whether a text puts an order of a talk in other words, as a question for example.

    Args:
        orders: Content words of orders. That a text or a scam asks for something may be told.
    """
    own = content_of(text)
    if len(own) < LEAST_REPEATED or any(word in _SCAM for word in words_in(text)):
        return False
    return any(
        sum(any(same(word, other) for other in order) for word in own) >= REPEATED * len(own)
        for order in orders
    )


def keepable_batch(batch: WriteBatch) -> WriteBatch:
    """Return what a job made without derived texts that are not `keepable`.

    Facts are quarantined where they are checked, so that the audit shows them; what a person wrote
    by hand (``made`` is None) is theirs.
    """
    lost = {key.id for key in batch.keys if not keepable(key.text)}
    memories = tuple(memory for memory in map(_filtered, batch.memories) if memory is not None)
    if not lost and memories == batch.memories and all(keepable(c.text) for c in batch.contexts):
        return batch
    return replace(
        batch,
        memories=memories,
        contexts=tuple(replace(row, text=keepable_part(row.text)) for row in batch.contexts),
        keys=tuple(key for key in batch.keys if key.id not in lost),
        vectors=tuple(vector for vector in batch.vectors if vector.memory not in lost),
    )


def _filtered(memory: Memory) -> Memory | None:
    """Return a derived memory's keepable part; None if nothing of it is left."""
    if family(memory.kind) not in FILTERED or memory.made is None or not memory.text:
        return memory
    if (text := keepable_part(memory.text)) == memory.text:
        return memory
    return replace(memory, text=text) if text else None
