"""Whether a new fact is one that is known: the same, a newer state of it, or another one.

Bands of cosine (requirements V10, 1.6 row 18), and what stands above them: whom it is about, what is
denied, which numbers it holds. "Max is 3" and "Max is 4" are one fact that changed; "Max is 3" and
"Mia is 3" are two, however alike they read. Where the bands do not decide, an LLM is asked; without
one, shared words decide, and in doubt the two stay two.
"""

import re
from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from slowcat_memory.core.extraction.predicates import FUNCTIONAL
from slowcat_memory.core.text.normalize import fold

Tokenize = Callable[[str], list[str]]
Verdict = Literal["same", "update", "ask", "other"]

_NUMBERS = {
    word: str(n)
    for n, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve".split()
    )
}
_DIGITS = re.compile(r"\d+(?:[.,:/-]\d+)*")
_DENIED = re.compile(
    r"\b(?:not|no|never|none|no longer|without|cannot|stopped|quit|dislikes|hates|nicht|kein\w*|nie)\b"
    r"|n't\b",
    re.IGNORECASE,
)
_NAMES = re.compile(r"(?<![.!?]\s)(?<!^)\b[A-ZÄÖÜ][\w'-]+")
_SUBJECT = re.compile(r"^\W*([A-ZÄÖÜ][\w'-]*?)(?:['’]s)?\b")


class MergeOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When two facts are one.

    Attributes:
        top_k: How many of the nearest facts a new one is compared with.
        auto_update: Cosine from which two facts with the same numbers and the same polarity are
            one without anybody being asked.
        check_low: Cosine from which an LLM is asked whether they are.
        fallback: Whether a second look is taken further below.
        fallback_low: Cosine from which it is, for facts of ``fallback_types`` that share a word of
            weight or a number; the LLM must still say that they are one.
        fallback_top_k: How many are looked at so.
        fallback_days: How old they may be.
        fallback_types: Of which types, with commas between them.
        words: Jaccard similarity of words from which two are one where there is no LLM to ask.
    """

    top_k: int = 5
    auto_update: float = 0.85
    check_low: float = 0.6
    fallback: bool = True
    fallback_low: float = 0.3
    fallback_top_k: int = 3
    fallback_days: float = 90.0
    fallback_types: str = "person, preference, decision"
    words: float = 0.6


class Claim(Struct, frozen=True):
    """What of a fact is compared.

    Attributes:
        type: Its type.
        content: The sentence.
        subject: Whom it is about; "" where nobody said.
        predicate: In snake_case; "" where nobody said.
        object: What of them; "" where nobody said.
    """

    type: str
    content: str
    subject: str = ""
    predicate: str = ""
    object: str = ""


def compare(
    new: Claim,
    old: Claim,
    cosine: float | None,
    tokenize: Tokenize,
    options: MergeOptions = MergeOptions(),
) -> Verdict:
    """Compare a new fact with a known one.

    Args:
        new: The new one.
        old: The known one.
        cosine: Of their vectors; None without a model.
        tokenize: That of the index.
        options: The bands.

    Returns:
        "same": nothing new. "update": the known one is over. "ask": an LLM may tell. "other".
    """
    if _about(new) != _about(old):
        return "other"
    if new.predicate and new.predicate == old.predicate:
        return _by_predicate(new, old)
    alike = _shared(new.content, old.content, tokenize)
    if _numbers(new.content) != _numbers(old.content):
        return _by_numbers(new, old, tokenize, options)
    near = alike if cosine is None else cosine
    if _denied(new.content) != _denied(old.content):
        return "update" if near >= options.auto_update else _doubt(near, options)
    if near >= options.auto_update or alike >= 0.99:
        return "same"
    return _doubt(near, options)


def second_look(
    new: Claim,
    old: Claim,
    cosine: float,
    days: float,
    tokenize: Tokenize,
    options: MergeOptions = MergeOptions(),
) -> bool:
    """Tell whether an LLM should be asked about two facts that ``compare`` took for two.

    Args:
        new: The new one.
        old: The known one.
        cosine: Of their vectors.
        days: How old the known one is.
        tokenize: That of the index.
        options: The guards.

    Returns:
        Whether all of them let it through.
    """
    return (
        options.fallback
        and cosine >= options.fallback_low
        and days <= options.fallback_days
        and new.type == old.type
        and new.type in {name.strip() for name in options.fallback_types.split(",")}
        and _about(new) == _about(old)
        and bool(
            _weighty(new, tokenize) & _weighty(old, tokenize)
            or _numbers(new.content) & _numbers(old.content)
        )
    )


def settled(
    new: Claim, old: Claim, tokenize: Tokenize, options: MergeOptions = MergeOptions()
) -> Verdict:
    """Decide what ``compare`` would have an LLM decide, without one.

    Args:
        new: The new one.
        old: The known one.
        tokenize: That of the index.
        options: How many words must be shared.

    Returns:
        "same" or "other", and "update" where one denies the other.
    """
    if _shared(new.content, old.content, tokenize) < options.words:
        return "other"
    return "same" if _denied(new.content) == _denied(old.content) else "update"


# ------------------------------------------------------------------- parts


def _by_predicate(new: Claim, old: Claim) -> Verdict:
    if fold(new.object) == fold(old.object):
        return "same" if _denied(new.content) == _denied(old.content) else "update"
    if _denied(new.content):  # that one is over says nothing of another
        return "other"
    changes = new.predicate in FUNCTIONAL or new.predicate.startswith("favourite")
    return "update" if changes else "other"


def _by_numbers(new: Claim, old: Claim, tokenize: Tokenize, options: MergeOptions) -> Verdict:
    """Two that differ in numbers alone are one fact that changed, if they name the same."""
    same_names = _named(new.content) == _named(old.content)
    bare = _shared(_without_numbers(new.content), _without_numbers(old.content), tokenize)
    both = bool(_numbers(new.content)) and bool(_numbers(old.content))
    return "update" if both and same_names and bare >= options.auto_update else "other"


def _doubt(near: float, options: MergeOptions) -> Verdict:
    return "ask" if near >= options.check_low else "other"


def _about(claim: Claim) -> str:
    if claim.subject:
        return fold(claim.subject)
    found = _SUBJECT.search(claim.content)
    return fold(found[1]) if found else ""


def _numbers(text: str) -> frozenset[str]:
    said = {_NUMBERS[word] for word in re.findall(r"[a-z]+", text.lower()) if word in _NUMBERS}
    return frozenset(said | set(_DIGITS.findall(text)))


def _without_numbers(text: str) -> str:
    words = _DIGITS.sub(" ", text).split()
    return " ".join(word for word in words if word.lower().strip(".,;") not in _NUMBERS)


def _denied(text: str) -> bool:
    return len(_DENIED.findall(text)) % 2 == 1


def _named(text: str) -> frozenset[str]:
    return frozenset(name.lower() for name in _NAMES.findall(text))


def _weighty(claim: Claim, tokenize: Tokenize) -> set[str]:
    return set(tokenize(claim.content)) - set(tokenize(_about(claim)))


def _shared(one: str, other: str, tokenize: Tokenize) -> float:
    mine, theirs = set(tokenize(one)), set(tokenize(other))
    return len(mine & theirs) / len(mine | theirs) if mine | theirs else 1.0
