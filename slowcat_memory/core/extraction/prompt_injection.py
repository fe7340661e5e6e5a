"""Orders to the agent in what people say, paste or read aloud, and in what an LLM writes.

An order is recognised by its mood and its addressee, not by single words: signals over classes of
words (an imperative, "you must", "everyone has to", "is allowed", "from now on", a password) add
up; what people report of their own lives ("I must always", "my boss told me to") counts against
it. Each language has a table of signals, ``orders.toml``; see `OrderWords`. Markup that only a
prompt has (role headers, chat template tokens) is always an order.

An order is no fact, name, summary or icebreaker. The turn that contains it stays in the log, and
can be recalled as a quote of its speaker.
"""

import re
from collections.abc import Iterator

from slowcat_memory.core.language import LANGUAGES
from slowcat_memory.core.language.names import is_ordinary
from slowcat_memory.core.language.word_classes import NAME, OTHER, STOP, OrderWords

ENOUGH = 3  # points of an order
WINDOW, STEP = 48, 24  # words that are scored at once; speech recognisers may write no full stops
_MARKUP = re.compile(
    r"\[/?(?:inst|system|sys|user|assistant)\]"
    r"|[<‹][|¦/]*\s*(?:im_|system|inst|end|start|s>|user|assistant|memories)"
    r"|#{2,}\s*\w|={3,}"
    r"|\{\s*\"(?:facts?|role|name|tool|function|content|turn)\""
    r"|(?:^|[\s\"(])(?:system|developer|instructions?|tool|function)\s?[:>]",
    re.IGNORECASE,
)
_MARKS = re.compile(r"[\[<‹#={:>]")  # a text without any of them has no markup
# French and Spanish, which have no tables.
_ELSEWHERE = re.compile(
    r"(?:ignorez?|oubliez?|ignora|olvida)\b.{0,40}\b"
    r"(?:instructions?|instrucciones|règles|reglas|consignes|todo|tout)\b"
    r"|désormais\b|partir de (?:maintenant|ahora)\b"
    r"|(?:tu es|vous êtes|eres) (?:maintenant|désormais|ahora)\b"
    r"|(?:réponds?|répondez|responde) (?:toujours|siempre|seulement|solo|uniquement)\b"
)
_BEGINS_ELSEWHERE = frozenset(
    """ignore ignorez oublie oubliez ignora olvida désormais partir tu vous eres réponds répond répondez
    responde""".split()
)
_SENTENCE = re.compile(r"[^\n]+?(?:[.!?…]+(?=\W|$)|\n|$)")
_TOKEN = re.compile(r"[^\W_]+|[,;:.!?\"“”„()–—…]")
_WORD_OF_TEXT = re.compile(r"\w")


def injected(text: str) -> bool:
    """Return whether a text contains an apparent order to the agent or a rule for it.

    False is no guarantee; therefore stored text is always given to an LLM as notes that are never
    instructions.
    """
    return any(map(_is_order, _sentences(text)))


def without_orders(text: str) -> str:
    """Return a text without the sentences that are orders."""
    parts = list(_sentences(text))
    kept = [part for part in parts if not _is_order(part)]
    return text if len(kept) == len(parts) else " ".join(part.strip() for part in kept)


def orders_in(text: str) -> list[str]:
    """Return the sentences of a text that are orders."""
    return [sentence for sentence in _sentences(text) if _is_order(sentence)]


def _sentences(text: str) -> Iterator[str]:
    return (match[0] for match in _SENTENCE.finditer(text) if _WORD_OF_TEXT.search(match[0]))


def _is_order(sentence: str) -> bool:
    return doubt(sentence) >= ENOUGH


def doubt(sentence: str) -> int:
    """Return the points of a sentence: 0 for plain talk, ``ENOUGH`` or more for an order."""
    if _MARKS.search(sentence) and _MARKUP.search(sentence):
        return ENOUGH
    tokens = _TOKEN.findall(sentence)
    words = [token.lower() for token in tokens]
    if not _BEGINS_ELSEWHERE.isdisjoint(words) and _ELSEWHERE.search(sentence.lower()):
        return ENOUGH
    if sentence.isupper():
        tokens = words
    return max(_scored(tokens, words, language.orders) for language in LANGUAGES)


def _scored(tokens: list[str], words: list[str], table: OrderWords) -> int:
    codes = "".join(map(table.codes.__getitem__, words))
    if table.needed.isdisjoint(codes):
        return 0
    codes = _with_names(codes, tokens, table)
    return max(_points(part, table) for part in _parts(codes, table))


def _parts(codes: str, table: OrderWords) -> Iterator[str]:
    """Yield what is scored at once: the sentence, and what follows a colon ("he said: ...")."""
    for start in range(0, max(1, len(codes) - STEP), STEP):
        yield codes[start : start + WINDOW]
    _, colon, rest = codes.partition(table.code_of["colon"])
    if colon and rest:
        yield rest[:WINDOW]


def _points(codes: str, table: OrderWords) -> int:
    """Add the points of the signals in a part of a sentence; 0 if more speaks against an order."""
    return max(0, sum(points for points, pattern in table.compiled if pattern.search(codes)))


def _with_names(codes: str, tokens: list[str], table: OrderWords) -> str:
    """Mark names: unknown words with a capital letter, not after an article, nor common at first."""
    marks, before = list[str](), STOP
    for code, token in zip(codes, tokens, strict=True):
        if code == OTHER and token[0].isupper() and before not in table.nouns_after:
            if before != STOP or not is_ordinary(token.lower()):
                code = NAME
        marks.append(code)
        before = code
    return "".join(marks)
