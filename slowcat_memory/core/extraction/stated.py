"""What people say about themselves in so many words: facts without an LLM.

A table of patterns over single sentences, English and German, made for precision: a statement in
the first person, in the present or past, not a question, not denied, not supposed, not quoted.
"I live in Lisbon" is one; "if I lived in Lisbon", "I used to live in Lisbon" and "do I live in
Lisbon?" are not. Better to miss one than to make one up (requirements F13).
"""

import re
from collections.abc import Iterable, Sequence
from functools import cache

import sentencex

from slowcat_memory.core.extraction.predicates import Triple
from slowcat_memory.core.language import LANGUAGES, language_of, of_any
from slowcat_memory.core.language.facts import StatementRule
from slowcat_memory.core.text.normalize import clean
from slowcat_memory.records import Turn

MOST_CHARS = 4000  # of a turn
MOST_WORDS = 60  # of a sentence: what is longer tells a story


class StatedFact(Triple, frozen=True, kw_only=True):
    """Something that a person said about themselves or theirs.

    Attributes:
        type: "person", "preference", "event", "decision", "task_completed", "open_thread".
        content: The same as a sentence in the third person.
        over: Whether it is said to be over ("I no longer work at Acme").
    """

    type: str
    content: str
    over: bool = False


# A sentence with one of these says what is not, might be, was, or what somebody else said.
_UNSURE = re.compile(rf"\b(?:{of_any(lambda one: one.statements.unsure)})\b", re.IGNORECASE)
# A sentence in the third person cannot hold these, and one that ends with those is cut short.
_TO_SOMEBODY = re.compile(
    rf"\b(?:{of_any(lambda one: one.statements.not_in_object)})\b|[*#_()\[\]{{}}<>\"]"
    rf"|\b(?:{of_any(lambda one: one.statements.cut_short)})$",
    re.IGNORECASE,
)
_TRAILING = re.compile(
    rf"(?: (?:{of_any(lambda one: '|'.join(one.statements.trailing))}))+$", re.IGNORECASE
)
_NOT_NAMES = frozenset("The A An I My It He She They We You This That Here There Now".split())


def stated(
    text: str, speaker: str, language: str = "english", rules: Sequence[StatementRule] = ()
) -> list[StatedFact]:
    """Read what a person says about themselves.

    Args:
        language: Whose rules, as in ``language_of``.

    Returns:
        The statements, each once, in their order.
    """
    words = language_of(language)
    table = tuple(rules) or words.statements.rules
    found = list[StatedFact]()
    for sentence in sentencex.segment(words.code, clean(text)[0][:MOST_CHARS]):
        found += _read(" ".join(sentence.split()), speaker, table)
    return list(dict.fromkeys(found))


def stated_by(turn: Turn) -> list[StatedFact]:
    """Return what a user states in a turn by the rules of every language; nothing of the agent."""
    if turn.role != "user":
        return []
    found = [stated(turn.text, turn.speaker, language.name) for language in LANGUAGES]
    return list(dict.fromkeys(one for many in found for one in many))


def _read(sentence: str, speaker: str, rules: Iterable[StatementRule]) -> list[StatedFact]:
    asks = sentence.endswith("?") or len(sentence.split()) > MOST_WORDS
    if asks or _UNSURE.search(sentence) or '"' in sentence or "“" in sentence:
        return []
    made = list[StatedFact]()
    for rule in rules:
        match = _compiled(rule.pattern).search(sentence)
        if match and (one := _made(rule, match, speaker)):
            made.append(one)
    over = {(one.predicate, one.object) for one in made if one.over}
    return [one for one in made if one.over or (one.predicate, one.object) not in over]


def _made(rule: StatementRule, match: re.Match[str], speaker: str) -> StatedFact | None:
    groups = match.groupdict()
    object_ = _TRAILING.sub("", " ".join(groups["o"].split()).strip(" .,;!"))
    kin = (groups.get("kin") or "").lower()
    subject = groups.get(rule.subject) or speaker if rule.subject else speaker
    if not object_ or object_ in _NOT_NAMES or subject in _NOT_NAMES:
        return None
    if rule.type != "person" and _TO_SOMEBODY.search(object_):
        return None
    return StatedFact(
        type=rule.type,
        subject=subject,
        predicate=rule.predicate.format(kin=kin),
        object=object_,
        content=rule.content.format(s=subject, o=object_, kin=kin),
        quote=match.group(0).strip(),
        over=rule.over,
    )


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)
