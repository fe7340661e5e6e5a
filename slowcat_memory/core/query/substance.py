"""How much a turn says: whether it can answer a later question at all.

Fillers, reactions ("great idea"), replies of not knowing and questions about oneself say nothing,
but share the words of a question better than its answer does: "where did we get the scooter?" is
nearest to its own earlier copies. Such turns stay in the index as neighbours, which give the turns
beside them their context, and are not proposed; see `index.candidates`.
"""

import re

from msgspec import Struct

from slowcat_memory.core.language import language_of
from slowcat_memory.core.memory import CHUNK
from slowcat_memory.core.query.recall_gate import judge
from slowcat_memory.core.text.normalize import fold
from slowcat_memory.records import Memory

OTHER_QUESTION = 0.3  # weight of the words of a question that is not about the people here
MOST_IN_FILLER = 10  # words of a sentence that may be a filler or a command to a device
MOST_IN_FRAGMENT = 6  # words of a question without a verb that asks ("my dog's name?")
MOST_CHARS = 2000  # of a turn, that are read
_SENTENCE = re.compile(r"[^.!?…;。！？؟\n]+[.!?…;。！？؟]*")
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")


class Substance(Struct, frozen=True):
    """How much a memory says.

    Attributes:
        share: Share of its words that say something, 0 to 1; those of most questions count
            ``OTHER_QUESTION``. 0: it is not recalled.
        asks: It only asks about the people here; what the agent answers repeats a memory.
    """

    share: float = 1.0
    asks: bool = False


SAYS = Substance()


def substance(memory: Memory, language: str) -> Substance:
    """Return how much a memory says; anything but the words of a turn says all."""
    if memory.kind != CHUNK or memory.pinned:
        return SAYS
    return of_words(memory.text[:MOST_CHARS], memory.role == "assistant", language)


def of_words(text: str, by_agent: bool, language: str) -> Substance:
    """Return how much the words of a turn say."""
    said, every, about_people = 0.0, 0, False
    for sentence in _SENTENCE.findall(text):
        words = [fold(match[0].replace("’", "'")) for match in _WORD.finditer(sentence)]
        weight = _weight(sentence, words, by_agent, language) if words else None
        if weight is not None:
            every += len(words)
            said += weight * len(words)
            about_people = about_people or weight == 0 and _about_people(words, language)
    if not every:
        return Substance(0.0)
    return Substance(said / every, about_people and not said and not by_agent)


def asks_about_talk(query: str, language: str) -> bool:
    """Return whether a query is for what was asked earlier: questions answer it."""
    return bool(language_of(language).talk.about_talk.search(fold(query)))


def _weight(sentence: str, words: list[str], by_agent: bool, language: str) -> float | None:
    """Return what a sentence's words count, 0 to 1; None for a filler, which counts as no words."""
    talk, line = language_of(language).talk, " ".join(words)
    if len(words) <= MOST_IN_FILLER and not judge(sentence, language).query:
        return None
    if talk.no_answer.fullmatch(line) or by_agent and talk.ignorance.search(line):
        return None
    asks = talk.question.match(line)
    if asks or sentence.rstrip().endswith(("?", "？", "؟")):
        if talk.telling.search(line):
            return 1.0
        fragment = len(words) <= MOST_IN_FRAGMENT and words[0] not in talk.tells_first
        about_people = (asks or fragment) and _about_people(words, language)
        return 0.0 if by_agent or about_people else OTHER_QUESTION
    if talk.empty.issuperset(words) and (by_agent or talk.persons.isdisjoint(words)):
        return None
    return 1.0


def _about_people(words: list[str], language: str) -> bool:
    """Return whether a question is about the people here, or an earlier conversation."""
    line, table = " ".join(words), language_of(language)
    return bool(table.talk.about_people.search(line) or table.gate.memory.search(line))
