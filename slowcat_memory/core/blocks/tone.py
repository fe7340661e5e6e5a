"""How somebody sounds, by telling words: coarse, and enough to see a change over weeks."""

import re
from collections import Counter
from collections.abc import Iterable

# English and German. A word tells one tone alone; what may mean anything ("fine") is left out.
TONES = {
    "anxious": "anxious nervous worried worry worries scared afraid panic panicking dread dreading "
    "anxiety terrified freaking nervös ängstlich angst sorge sorgen besorgt",
    "sad": "sad crying cried lonely miserable heartbroken hopeless traurig einsam",
    "frustrated": "frustrated frustrating annoyed annoying angry furious fed wütend genervt sauer",
    "overwhelmed": "overwhelmed stressed exhausted burnt drowning gestresst überfordert erschöpft",
    "hopeful": "hopeful optimistic promising encouraged encouraging hoffnungsvoll zuversicht",
    "confident": "confident confidence ready prepared capable proud selbstbewusst stolz vorbereitet "
    "zuversichtlich",
    "happy": "happy thrilled excited delighted glad wonderful amazing glücklich begeistert froh",
    "grateful": "grateful thankful appreciate dankbar",
}
_OF = {word: tone for tone, words in TONES.items() for word in words.split()}
_DENIED = frozenset(
    "not no never less isn't wasn't don't doesn't didn't without nicht kein keine".split()
)
_WORDS = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_REACH = 2  # words that a denial reaches over: "not that nervous"


def tone_of(texts: Iterable[str]) -> str:
    """Tell how somebody sounds.

    Args:
        texts: What they said.

    Returns:
        One of ``TONES``, the one that most words tell; "" when none does. What is denied ("not
        nervous any more") does not count.
    """
    counts = Counter[str]()
    for text in texts:
        words = [word.lower().replace("’", "'") for word in _WORDS.findall(text)]
        for place, word in enumerate(words):
            tone = _OF.get(word)
            if tone and _DENIED.isdisjoint(words[max(0, place - _REACH) : place]):
                counts[tone] += 1
    return max(counts, key=lambda tone: (counts[tone], -list(TONES).index(tone)), default="")
