"""Explicit statements of people about themselves: facts without an LLM.

A table of patterns over single sentences, English and German, made for precision: a statement in
the first person, in the present or past, not a question, not negated, supposed or quoted. "I live
in Lisbon" is one; "if I lived in Lisbon", "I used to live in Lisbon" and "do I live in Lisbon?" are
not. A missed fact is better than an invented one (requirements F13).
"""

import re
from collections.abc import Iterable, Sequence
from functools import cache

import sentencex

from slowcat_memory.core.extraction.bounded_names import can_be_name
from slowcat_memory.core.extraction.predicates import Ending, Triple, object_type
from slowcat_memory.core.extraction.prompt_injection import injected
from slowcat_memory.core.language import LANGUAGES, language_of, of_any
from slowcat_memory.core.language.facts import StatementRule
from slowcat_memory.core.text.normalize import clean
from slowcat_memory.records import Turn

MOST_CHARS = 4000  # of a turn
MOST_WORDS = 60  # of a sentence: longer ones are stories


class StatedFact(Triple, frozen=True, kw_only=True):
    """A third-person statement of a person about themselves or their relatives.

    ``over`` is whether it says that the fact is over ("I no longer work at Acme").
    ``ends`` is what it ends.
    """

    type: str
    content: str
    over: bool = False
    ends: tuple[Ending, ...] = ()


# Words of sentences that are negated, supposed, past, or quoted.
_UNSURE = re.compile(rf"\b(?:{of_any(lambda one: one.statements.unsure)})\b", re.IGNORECASE)
# Words that a third-person sentence cannot contain, and words that it cannot end with.
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
    """Return a person's distinct statements about themselves, in order."""
    words = language_of(language)
    table = tuple(rules) or words.statements.rules
    found = list[StatedFact]()
    for sentence in sentencex.segment(words.code, clean(text)[0][:MOST_CHARS]):
        found += _read(" ".join(sentence.split()), speaker, table)
    return list(dict.fromkeys(found))


def stated_by(turn: Turn) -> list[StatedFact]:
    """Return a user's statements by the rules of every language; none for the agent.

    A turn that contains an order states nothing: what is said beside an order may belong to it.
    """
    if turn.role != "user" or injected(turn.text):
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
    if not _are_names(rule.predicate.format(kin=kin), subject, object_):
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


def _are_names(predicate: str, subject: str, object_: str) -> bool:
    """Return whether what must be a name can be one: a sentence is none."""
    person = predicate == "name" or object_type(predicate) in ("person", "pet")
    named = person or object_type(predicate) in ("place", "organisation")
    return can_be_name(subject) and (not named or can_be_name(object_, person=person))


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)
