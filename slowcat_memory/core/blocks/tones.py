"""How a user sounds, by what they say of themselves; "" wherever that is not plain.

A word of feeling alone tells nothing: people cry for joy, worry about films and speak of other
people's moods. A tone is what somebody says to feel now ("I'm so nervous", "ich habe Angst"). A
conversation has one if it is said in several turns, and no other is said in as many.
"""

import re
from collections import Counter
from collections.abc import Iterable

from slowcat_memory.core.language import ENGLISH, LANGUAGES

LEAST = 2  # turns of a conversation that must say so
TONES = tuple(ENGLISH.tones)
_TONE_OF = {
    word: tone for one in LANGUAGES for tone, words in one.tones.items() for word in words.split()
}
_DENIALS = frozenset[str]().union(*(one.summary.denials for one in LANGUAGES))
_EASED = frozenset[str]().union(*(one.summary.eased for one in LANGUAGES))
_DISTRESS = frozenset(("anxious", "sad", "frustrated", "overwhelmed"))
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_SENTENCE = re.compile(r"(?<=[.!?…])\s+")
_CLAUSE = re.compile(r"[.!;:…]+|,|\s[-–—]\s")
_OWN = re.compile("|".join(one.summary.feels for one in LANGUAGES))
_UNREAL = re.compile("|".join(one.summary.unreal for one in LANGUAGES))
_BETWEEN = frozenset[str]().union(*(one.summary.degrees for one in LANGUAGES))
_POLITE = frozenset[str]().union(*(one.summary.polite for one in LANGUAGES))
_BEHIND = 4  # words in which distress is said to pass: "my anxiety is much lower"


def tone_of(texts: Iterable[str], least: int = LEAST) -> str:
    """Return the one of ``TONES`` that most turns of a conversation state, "" for none.

    Args:
        texts: The user's turns.
        least: Turns that must state it.
    """
    counts = Counter(tone for text in texts for tone in stated_tones(text))
    best = counts.most_common(2)
    if not best or best[0][1] < least or (len(best) > 1 and best[1][1] >= best[0][1]):
        return ""
    return best[0][0]


def stated_tones(text: str) -> set[str]:
    """Return the tones that a turn says its speaker is in."""
    lowered = text.lower().replace("’", "'")
    return {tone for sentence in _SENTENCE.split(lowered) for tone in _of_sentence(sentence)}


def _of_sentence(sentence: str) -> set[str]:
    found = set[str]()
    own = False
    for clause in _CLAUSE.split(sentence):
        if "?" in clause or _UNREAL.search(clause):  # the rest may be what somebody else says
            break
        told = set[str]()
        for begins in _OWN.finditer(clause):
            told |= _tones_behind(clause[begins.end() :])
        told |= _tones_behind(clause) if own else set()  # "I'm anxious, and nervous too"
        own = bool(told)
        found |= told
    return found


def _tones_behind(clause: str) -> set[str]:
    """Return the tone words that stand right behind "I am": only degrees may stand between."""
    found = set[str]()
    words = _WORD.findall(clause)
    for place, word in enumerate(words):
        tone = _TONE_OF.get(word)
        if tone is None:
            if word in _DENIALS or word.casefold() not in _BETWEEN:
                break
            continue
        behind = words[place + 1 : place + 1 + _BEHIND]
        if tone not in _DISTRESS and behind[:1] and behind[0] in _POLITE:  # "happy to help"
            continue
        passes = tone in _DISTRESS and not _EASED.isdisjoint(behind)
        found.add("calm" if passes else tone)
    return found
