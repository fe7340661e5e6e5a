"""Finds which texts a command is for: what "that's wrong, it's Tuesday" corrects, what is forgotten.

A correction is for the agent's last statement. Only a text from which that statement was made can be
wrong: one that shares with it what the question did not say, and whose value is of the kind of the
right one (a weekday for a weekday, a number for a number, a word for a word). Where none is, the
agent made the statement by itself; where several are, the user has to be asked.

What is forgotten is decided by words, not by meaning: all texts that mention it.
"""

import re
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

from slowcat_memory.core.language import LANGUAGES, Language
from slowcat_memory.core.language.data import compiled
from slowcat_memory.core.text.normalize import fingerprint
from slowcat_memory.core.text.numerals import number_of

Tokenize = Callable[[str], list[str]]
Verdict = Literal["own", "unclear", "new"]
"""The agent's own statement; unclear which text; or a statement of its own, which corrects none."""

_WORD = re.compile(r"[^\W_]+")
_SENTENCE_END = re.compile(r"[.!?;]\s")
_IN = re.compile(r"\b(?:in|at|nach|aus|from) (\w+)", re.IGNORECASE)  # a place, in both languages
_KINDS = {"W": "weekday", "M": "month", "m": "month", "P": "part", "D": "day", "s": "season"}
_SMALL_TALK = 2  # new words of a reply that only acknowledges a statement
_ALIKE = 0.75  # of two spellings of a misheard name


class Said(NamedTuple):
    """The exchange before a correction.

    Attributes:
        question: The user's words.
        answer: The agent's reply.
        is_statement: The user's words are no question, and the last of the candidates.
    """

    question: str
    answer: str
    is_statement: bool = False


class _Values(NamedTuple):
    """The values in a text, as (kind, value), and the stems of its other words."""

    closed: frozenset[tuple[str, object]]
    words: frozenset[str]

    def of(self, kinds: frozenset[str]) -> frozenset[tuple[str, object]]:
        return frozenset(value for value in self.closed if value[0] in kinds)


_NOTHING = _Values(frozenset(), frozenset())


class Correction(NamedTuple):
    """A correction's parts.

    Attributes:
        right: What is right: the value alone, or the whole statement.
        wrong: The wrong value, "" unless it was named.
        is_value: Whether ``right`` is a value, which replaces one of a text.
        is_vague: It begins with a word that needs a text before it ("it", "his").
    """

    right: str
    wrong: str
    is_value: bool
    is_vague: bool


def find_corrected(
    correction: str, exchange: Said, texts: Sequence[str], language: Language, tokenize: Tokenize
) -> int | Verdict:
    """Return which text a correction is for, or why it is for none.

    Args:
        correction: The user's words behind "that's wrong".
        texts: Those that the agent could use for its reply, and the user's statement, if any.
        tokenize: Returns stems without stop words.
    """
    parts = parts_of(correction, language)
    right, wrong, question, answer, *candidates = (
        _values(text, language, tokenize)
        for text in (parts.right, parts.wrong, exchange.question, exchange.answer, *texts)
    )
    # A text that has the right value is right: "it's not Friday anymore, it's Tuesday".
    candidates = [row if right.closed.isdisjoint(row.closed) else _NOTHING for row in candidates]
    if parts.wrong:
        return _named(wrong, parts.wrong, answer, candidates, texts)
    kinds = frozenset(kind for kind, _ in right.closed)
    own = len(texts) - 1 if exchange.is_statement else -1
    scores, uses = dict[int, tuple[int, int]](), set[_Values]()
    for place, candidate in enumerate(candidates):
        used = _used(candidate, question, answer)
        if place == own:
            used = _stated(candidate, answer)
        if _fits(parts, kinds, right, candidate, used):
            near = len(candidate.words & answer.words) + len(candidate.words & right.words)
            scores[place] = (len(used.closed) + len(used.words), near)
            uses.add(used)
    if parts.is_value and len(uses) > 1:  # a value alone does not tell which of them is wrong
        # One of the right one's sort: a name that sounds like it, else a place ("it's in Salzburg").
        alike = [place for place in scores if not kinds and _sounds(parts.right, texts[place])]
        if not (kinds or alike) and _IN.search(correction):
            named = {place: _IN.findall(texts[place]) for place in scores}
            alike = [n for n in scores if any(answer.words >= {*tokenize(w)} for w in named[n])]
        return alike[0] if len(alike) == 1 else "unclear"
    if scores:
        return _first_of_best(scores)
    if not parts.is_value:
        return "unclear" if parts.is_vague else "new"
    by_itself = answer.of(kinds) - right.closed if kinds else answer.words - question.words
    return "own" if by_itself else "unclear"


def replaced_value(
    correction: str, answer: str, text: str, language: Language, tokenize: Tokenize
) -> tuple[str, str] | None:
    """Return the wrong value of a text and the right one, as they are written; None if unclear.

    A correction in a whole sentence replaces the whole text.

    Args:
        correction: As in ``find_corrected``, for which the text was found.
        answer: The agent's reply that was wrong.
    """
    parts = parts_of(correction, language)
    if not parts.is_value:
        return text, correction
    new = parts.right
    if not new or parts.wrong:
        return (parts.wrong, new) if new else None
    kinds = frozenset(kind for kind, _ in _values(new, language, tokenize).closed)
    words = [(word, _values(word, language, tokenize)) for word in _WORD.findall(text)]
    if kinds:
        same = {word for word, values in words if values.of(kinds)}
        return (same.pop(), new) if len(same) == 1 else None
    stems = _values(answer, language, tokenize).words
    names = [(word, values) for word, values in words[1:] if word[0].isupper() and values.words]
    used = [word for word, values in names if values.words <= stems] or [word for word, _ in names]
    return (used[-1], new) if used else None


def _fits(
    parts: Correction, kinds: frozenset[str], right: _Values, values: _Values, used: _Values
) -> bool:
    """Return whether a text holds a wrong value of the right one's kind, which was used.

    A whole statement needs no use where it has most of the text's words.
    """
    if kinds and not values.of(kinds):
        return False
    if not kinds and right.words and right.words <= values.words:  # that is what it says
        return False
    if parts.is_value:
        return bool(used.of(kinds) if kinds else used.words)
    shared = values.words & right.words
    same = len(shared) > 1 or bool(kinds and shared and right.words <= values.words)
    return bool(shared) and (same or bool(used.closed or used.words))


def _used(own: _Values, question: _Values, answer: _Values) -> _Values:
    """Return what an answer has from a text and not from the question."""
    return _Values(
        (own.closed & answer.closed) - question.closed, (own.words & answer.words) - question.words
    )


def _stated(values: _Values, answer: _Values) -> _Values:
    """Return what of a user's statement may be wrong: all, if the reply only acknowledges it."""
    more = answer.words - values.words
    talks = len(more) > _SMALL_TALK or answer.closed - values.closed
    return _NOTHING if talks else values


def _first_of_best(scores: dict[int, tuple[int, int]]) -> int:
    """Return the best text; of equal ones the first, which was put before the LLM first."""
    return max(scores, key=lambda place: (scores[place], -place))


def _named(
    wrong: _Values, word: str, answer: _Values, candidates: Sequence[_Values], texts: Sequence[str]
) -> int | Verdict:
    """Find the text with a wrong value that the user named; a name may have been misheard."""
    scores = {
        place: (len(own.words & answer.words), len(own.closed & answer.closed))
        for place, own in enumerate(candidates)
        if (wrong.closed or wrong.words) and wrong.closed <= own.closed and wrong.words <= own.words
    }
    if not scores and not wrong.closed:
        scores = {place: (0, 0) for place, text in enumerate(texts) if _sounds(word, text)}
    if scores:
        return _first_of_best(scores)
    heard = wrong.closed <= answer.closed and wrong.words <= answer.words
    return "own" if heard else "unclear"


def _sounds(word: str, text: str) -> bool:
    low = word.casefold()
    return any(
        SequenceMatcher(None, low, other.casefold()).ratio() >= _ALIKE
        for other in _WORD.findall(text)
        if len(other) > 3
    )


def parts_of(correction: str, language: Language) -> Correction:
    """Return what the words behind "that's wrong" say is right, and what is wrong."""
    table = language.commands
    text = correction.strip(" .!?,;:")
    value = compiled(table.right_value, re.IGNORECASE).match(text)
    rest = text[value.end() :] if value else text
    wrong, named = "", compiled(table.right_and_wrong, re.IGNORECASE).search(text)
    if named:
        groups = named.groupdict()
        wrong = (groups.get("y") or groups.get("z") or "").strip(" ,.")
        rest = (groups.get("x") or groups.get("w") or "").strip(" ,.")
    rest = compiled(table.spelt, re.IGNORECASE).sub("", rest).strip(" ,.")
    if value or named:  # "it's Tuesday. They moved it": the value is in the first sentence
        rest = _SENTENCE_END.split(rest)[0]
    vague = compiled(table.right_vague, re.IGNORECASE).match(text) is not None
    return Correction(rest, wrong, value is not None or bool(named), vague)


def _values(text: str, language: Language, tokenize: Tokenize) -> _Values:
    table = language.time.table
    closed, others = set[tuple[str, object]](), list[str]()
    for word in _WORD.findall(text.casefold()):
        kind, value = table.get(word, ("", None))
        number, ordinal = number_of(word) or (0, False)
        if word.isdecimal():
            closed.add(("number", int(word[:12])))
        elif not kind and number > 1 and not ordinal:
            closed.add(("number", number))
        elif kind in _KINDS:
            closed.add((_KINDS[kind], str(value)))
        else:
            others.append(word)
    return _Values(frozenset(closed), frozenset(tokenize(" ".join(others))))


# ------------------------------------------------------------------- what is to be forgotten

_LEADING = frozenset[str]().union(*(language.commands.leading for language in LANGUAGES))
_FOUND_BY = 3  # common first letters of a word's forms


def mentions(about: str, tokenize: Tokenize) -> Callable[[str], bool]:
    """Return a test for texts that contain all words of ``about`` in sequence.

    Forms of a word match ("Ben's"). ``tokenize`` returns stems without stop words.
    """
    words = fingerprint(about).split()
    while len(words) > 1 and words[0] in _LEADING:
        words.pop(0)
    stems = tokenize(" ".join(words))
    if not stems:
        return lambda text: _holds(fingerprint(text).split(), words)
    roots = [word[:_FOUND_BY] for word in words if tokenize(word)]

    def mentioned(text: str) -> bool:
        folded = text.casefold()  # far cheaper than tokenizing, and rejects most texts
        return all(root in folded for root in roots) and _holds(tokenize(text), stems)

    return mentioned


def _holds(words: list[str], wanted: list[str]) -> bool:
    length = len(wanted)
    return bool(wanted) and any(
        words[at : at + length] == wanted for at in range(len(words) - length + 1)
    )
