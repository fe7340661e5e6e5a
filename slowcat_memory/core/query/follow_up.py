"""One query to several: its parts, and what it leaves unsaid.

`subqueries` takes a question apart whose answer lies in several memories ("Where did Anna move, and
what does she do now?"). `with_context` gives a question that cannot stand alone ("and what about
him?") the words of the dialogue that it leans on. Both by rules, for English; in another language
they change nothing.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from slowcat_memory.core.text.word_lists import (
    ASKING,
    AUXILIARIES,
    EMPTY,
    PRONOUNS,
    QUESTION_WORDS,
    WORD,
    content_words,
)

_LEANS = re.compile(  # beginnings that lean on what was said before
    r"(?:so |okay |ok |oh |hm+ |yes |no )?(?:and|or|but|what about|how about|why not|which one|"
    r"what else|who else|where else|anything else|tell me more|more about)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[^.!?…;。！？؟\n]+[.!?…;。！？؟]*")
_CLAUSES = re.compile(
    rf",?\s+(?:and|or|but)\s+(?=(?:also\s+|then\s+)?(?:(?:{QUESTION_WORDS})\b|(?:{AUXILIARIES})\s+"
    r"(?:(?:i|you|he|she|it|we|they|the|my|your|his|her|our|their)\b|(?-i:[A-Z]))))"
    rf"|,\s+(?=(?:{QUESTION_WORDS})\s+(?:{AUXILIARIES})\b)",
    re.IGNORECASE,
)
_BOTH = re.compile(
    r"\b(?:both|either|neither|difference between)\s+((?:[\w'’-]+\s+){1,5}?)(?:and|or|nor)\s+",
    re.IGNORECASE,
)
_NAMES = re.compile(
    r"\b([^\W\d_a-z][\w'’-]+)((?:,\s+[^\W\d_a-z][\w'’-]+)*),?\s+(and|or)\s+([^\W\d_a-z][\w'’-]+)"
)
_OR = re.compile(r"\b([\w'’-]+)\s+or\s+(?:(?:a|an|the)\s+)?([\w'’-]+)", re.IGNORECASE)
_THAN = re.compile(r"\s+than\s+", re.IGNORECASE)
_RELATIVE = re.compile(
    rf"\b((?!(?:{AUXILIARIES})\b)[\w'’-]+)\s+(?:who|whom|that|whose|where)\s+((?:[\w'’-]+\s*){{2,6}})"
)
_CAPITAL = re.compile(r"[^\W\d_a-z]")


class QueryOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a query is taken apart and completed.

    Attributes:
        parts: How many sub-queries at most, beside the whole.
        part_weight: What a sub-query's scores count against the whole's 1.
        context_words: How many words of the dialogue a follow-up takes with it.
        context_seconds: Age from which a turn is no longer what a follow-up leans on.
    """

    parts: int = 3
    part_weight: float = 0.5
    context_words: int = 8
    context_seconds: float = 600.0


class Subquery(Struct, frozen=True):
    """One query to search with.

    Attributes:
        text: Its words.
        weight: What its scores count, 0 to 1.
    """

    text: str
    weight: float


class Said(Struct, frozen=True):
    """A turn of the dialogue that a query is part of.

    Attributes:
        text: What was said.
        at: When.
        memory: Id of the memory that keeps it, "" for none.
    """

    text: str
    at: datetime
    memory: str = ""


def subqueries(
    text: str, names: Iterable[str] = (), options: QueryOptions | None = None
) -> tuple[Subquery, ...]:
    """Take a query apart.

    Args:
        text: A query, spoken or written.
        names: Known speakers, to be told from other words in lower case.
        options: How many parts, and their weight.

    Returns:
        The whole with weight 1, then its parts, no two the same; the whole alone for most queries.
    """
    options = options or QueryOptions()
    whole = " ".join(text.split())
    seen = {_key(whole), ""}
    made = [Subquery(text, 1.0)]
    for part in _parts(whole, frozenset(name.lower() for name in names)):
        key = _key(part)
        if len(made) > options.parts:
            break
        if key not in seen and content_words(part):
            seen.add(key)
            made.append(Subquery(part, options.part_weight))
    return tuple(made)


def _parts(text: str, names: frozenset[str]) -> Iterator[str]:
    sentences = [found.strip() for found in _SENTENCE.findall(text)]
    if len(sentences) > 1:
        # Among statements, the question is often the part that says least ("What is next?"):
        # searching for it alone cost RealMem 6 points R@10.
        if not all(one.endswith(("?", "？", "؟")) for one in sentences):
            return
        yield from sentences
    for sentence in sentences:
        yield from _clauses(sentence, names)
        yield from _either(sentence, names)
        yield from _compared(sentence)
        yield from _relatives(sentence)


def _clauses(text: str, names: frozenset[str]) -> Iterator[str]:
    """Where did Anna move | and what does she do now?"""
    clauses = [clause for clause in _CLAUSES.split(text) if clause]
    if len(clauses) < 2:
        return
    who = _named(clauses[0], names)
    for place, clause in enumerate(clauses):
        if place and who and not _named(clause, names):
            words = (_spelled(match, who[0]) for match in WORD.finditer(clause))
            clause = " ".join(words)
        yield clause


def _spelled(match: re.Match[str], who: str) -> str:
    """Put a name in the place of a pronoun."""
    word = match[0].lower()
    if word in ("he", "she", "him", "they", "them"):
        return who
    return f"{who}'s" if word in ("his", "her", "their") else match[0]


def _either(text: str, names: frozenset[str]) -> Iterator[str]:
    """Both X and Y; X, Y and Z by name; X or Y: the query once for each."""
    both = _BOTH.search(text)
    if both:
        first = both[1].strip()
        rest = text[both.end() :].split()
        size = min(len(first.split()), len(rest))
        head, tail = text[: both.start()], " ".join(rest[size:])
        for one in (first, " ".join(rest[:size])):
            yield f"{head}{one} {tail}".strip()
        return
    named = _NAMES.search(text)
    if named and (named.start() or named[1].lower() in names):
        several = [named[1], *re.findall(r"[\w'’-]+", named[2]), named[4]]
        for one in several:
            yield f"{text[: named.start()]}{one}{text[named.end() :]}"
        return
    other = _OR.search(text)
    if other and not {other[1].lower(), other[2].lower()} & EMPTY:
        for one in (other[1], other[2]):
            yield f"{text[: other.start()]}{one}{text[other.end() :]}"


def _compared(text: str) -> Iterator[str]:
    """Does Anna earn more than Ben: the query once for each side."""
    than = _THAN.search(text)
    if than is None:
        return
    left, right = text[: than.start()], text[than.end() :].rstrip("?!. ")
    sides = content_words(left)
    yield left
    yield " ".join([right, *(word for word in sides if not _CAPITAL.match(word))])


def _relatives(text: str) -> Iterator[str]:
    """The friend who moved to Berlin: what is known of whom is asked about."""
    for match in _RELATIVE.finditer(text):
        noun, clause = match[1], match[2].strip()
        if noun.lower() not in EMPTY and content_words(clause):
            yield f"{noun} {clause}"


def leans(text: str) -> bool:
    """Decide whether a question needs the dialogue before it to be understood.

    Args:
        text: What was said.

    Returns:
        True for "and what about him?", "what did she say then?", "why?"; False for what stands on
        its own, and for what asks nothing ("thanks!").
    """
    words = [word.lower().replace("’", "'") for word in WORD.findall(text)]
    if not words or len(words) > 14:
        return False
    content = content_words(text)
    bare = {word.partition("'")[0] for word in words}
    joined = bool(_LEANS.match(text)) and (words[0] not in _JOINS or "?" in text or len(words) < 6)
    asks = "?" in text or words[0] in ASKING or joined
    pronoun = not PRONOUNS.isdisjoint(bare)
    if not content:  # "why?", but not "how are you"
        return asks and (pronoun or bare.isdisjoint(("i", "you")))
    if any(_CAPITAL.match(word) for word in content[1:]) and not joined:
        return False
    if joined:
        return len(content) <= 2 or pronoun and len(content) <= 3
    return asks and pronoun and len(content) <= 1 and bare.isdisjoint(("i", "my", "me"))


_JOINS = ("and", "or", "but")


def with_context(
    text: str,
    turns: Sequence[Said],
    now: datetime,
    options: QueryOptions | None = None,
    weight: Callable[[str], float] = len,
) -> tuple[Subquery, ...]:
    """Complete a question that leans on what was said before.

    Args:
        text: What the user says.
        turns: The turns before it, oldest first.
        now: When it is said.
        options: How many words to take, and from how long ago.
        weight: How much a word tells; the rarer the more. By its length where nothing is known.

    Returns:
        The text alone where it stands on its own; else the text with words of the last user turn
        and the agent's reply (two of the user's where there is no reply), then the bare text with
        less weight.
    """
    options = options or QueryOptions()
    if not leans(text):
        return (Subquery(text, 1.0),)
    oldest = now - timedelta(seconds=options.context_seconds)
    recent = [turn.text for turn in turns[-2:] if turn.at >= oldest]
    asked = {word.lower() for word in WORD.findall(text)}
    found: dict[str, float] = {}
    for said in recent:
        for word in content_words(said):
            if word.lower() not in asked:
                name = bool(_CAPITAL.match(word)) and not _begins(said, word)
                found[word] = weight(word.lower()) + (1e6 if name else 0.0)
    best = sorted(found, key=lambda word: -found[word])[: options.context_words]
    taken = [word for word in found if word in best]
    if not taken:
        return (Subquery(text, 1.0),)
    return Subquery(f"{text} {' '.join(taken)}", 1.0), Subquery(text, options.part_weight)


def _named(text: str, names: frozenset[str]) -> list[str]:
    words = WORD.findall(text)
    return [
        word.removesuffix("'s").removesuffix("’s")
        for place, word in enumerate(words)
        if word.lower().partition("'")[0] in names
        or (place and _CAPITAL.match(word) and word.lower() not in EMPTY and word != "I")
    ]


def _begins(text: str, word: str) -> bool:
    """Tell whether a word is capitalised only because a sentence begins with it."""
    return all(
        not text[: match.start()].strip() or text[: match.start()].rstrip()[-1] in ".!?…\n"
        for match in re.finditer(rf"\b{re.escape(word)}\b", text)
    )


def _key(text: str) -> str:
    return " ".join(WORD.findall(text.lower()))
