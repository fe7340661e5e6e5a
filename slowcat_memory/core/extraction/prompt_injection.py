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
from slowcat_memory.core.language.orders import NAME, OTHER, STOP, OrderWords
from slowcat_memory.core.text.rare_words import is_common

ENOUGH = 3  # points of an order
WINDOW, STEP = 48, 24  # words that are scored at once; speech recognisers may write no full stops
_MARKUP = re.compile(
    r"\[/?(?:inst|system|sys|user|assistant)\]"
    r"|[<‹][|¦/]*\s*(?:im_|system|inst|end|start|s>|user|assistant|memories)"
    r"|#{2,}\s*\w|={3,}"
    r"|\{\s*\"(?:facts?|role|name|tool|function|content|turn)\""
    r"|(?:^|[\s\"(])(?:system|developer|instructions?|tool|function)\s?[:>]"
    # French and Spanish, which have no tables
    r"|\b(?:ignorez?|oubliez?|ignora|olvida)\b.{0,40}\b"
    r"(?:instructions?|instrucciones|règles|reglas|consignes|todo|tout)\b"
    r"|\bdésormais\b|\bà partir de maintenant\b|\ba partir de ahora\b"
    r"|\b(?:tu es|vous êtes|eres) (?:maintenant|désormais|ahora)\b"
    r"|\b(?:réponds?|répondez|responde) (?:toujours|siempre|seulement|solo|uniquement)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[^.!?\n]+(?:[.!?]+|\n|$)")
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
    return " ".join(one.strip() for one in _sentences(text) if not _is_order(one))


def _sentences(text: str) -> Iterator[str]:
    return (one[0] for one in _SENTENCE.finditer(text) if _WORD_OF_TEXT.search(one[0]))


def _is_order(sentence: str) -> bool:
    return bool(_MARKUP.search(sentence)) or any(
        _scores(sentence, one.orders) for one in LANGUAGES
    )


def _scores(sentence: str, words: OrderWords) -> bool:
    codes = _encode(sentence, words)
    if words.needed.isdisjoint(codes):
        return False
    return any(_points(part, words) >= ENOUGH for part in _parts(codes, words))


def _parts(codes: str, words: OrderWords) -> Iterator[str]:
    """Yield what is scored at once: the sentence, and what follows a colon ("he said: ...")."""
    for start in range(0, max(1, len(codes) - STEP), STEP):
        yield codes[start : start + WINDOW]
    _, colon, rest = codes.partition(words.code("colon"))
    if colon and rest:
        yield rest[:WINDOW]


def _points(codes: str, words: OrderWords) -> int:
    missing = frozenset(codes).isdisjoint
    return sum(
        one.points
        for one in words.compiled
        if not any(map(missing, one.needs)) and one.pattern.search(codes)
    )


def _encode(sentence: str, words: OrderWords) -> str:
    """Return a sentence as one character per word: the code of its class."""
    codes, before = list[str](), STOP
    known, capitals = words.codes, not sentence.isupper()
    for token in _TOKEN.findall(sentence):
        code = known.get(token.lower(), OTHER)
        if code == OTHER and capitals and token[0].isupper() and _is_name(token, before, words):
            code = NAME
        codes.append(code)
        before = code
    return "".join(codes)


def _is_name(token: str, before: str, words: OrderWords) -> bool:
    """Return whether a capital letter marks a name; it need not after an article, or at first."""
    return before not in words.nouns_after and (before != STOP or not is_common(token.lower()))
