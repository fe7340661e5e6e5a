"""Names as a recogniser writes them that has never met them: seeded, and with nothing of the product.

A name loses its spelling and keeps its sound, more or less: letters that sound alike change places,
letters double or no longer do, an unstressed vowel becomes another, a silent ending comes or goes, a
name falls into two words or runs into the next one.
"""

import random
import re
from collections.abc import Callable, Collection

WORD = re.compile(r"[^\W\d_]+")
SPLIT, MERGED, TWICE = 0.08, 0.04, 0.35  # shares of words that are split, merged, or changed twice
ALIKE = (  # what is written for what
    ("ck", "k"), ("k", "c"), ("c", "k"), ("ph", "f"), ("f", "ph"), ("ie", "y"), ("y", "ie"),
    ("i", "y"), ("y", "i"), ("ee", "ea"), ("ea", "ee"), ("th", "t"), ("t", "th"), ("s", "z"),
    ("z", "s"), ("x", "ks"), ("j", "g"), ("oo", "u"), ("ou", "u"), ("au", "o"), ("ei", "ai"),
    ("ey", "y"), ("sh", "sch"), ("w", "wh"), ("d", "t"), ("b", "p"), ("g", "k"), ("v", "f"),
)  # fmt: skip
VOWELS = ("ae", "ea", "ei", "ie", "ou", "uo", "ao", "oa")  # one for the other, unstressed


def mangle(text: str, rare: Collection[str], seed: str) -> str:
    """Write a question's names and rare words as a recogniser might.

    Args:
        text: The question.
        rare: The words to mangle, in lower case; those with a capital inside the sentence are
            mangled as well.
        seed: The same one mangles alike.

    Returns:
        The question; the same where it has no such word.
    """
    chance = random.Random(f"{seed}/{text}")
    pieces, last = [], 0
    for match in WORD.finditer(text):
        word = match[0]
        inside = match.start() and word[0].isupper() and len(word) > 2
        if inside or word.lower() in rare:
            pieces += [text[last : match.start()], _heard(word, chance)]
            last = match.end()
            if chance.random() < MERGED and text[last : last + 1] == " ":
                last += 1
    return "".join([*pieces, text[last:]])


def _heard(word: str, chance: random.Random) -> str:
    said = made = word.lower()
    for _ in range(2 if chance.random() < TWICE else 1):
        ways = [[one for one in way(made) if one not in (said, made)] for way in WAYS]
        made = chance.choice(chance.choice([way for way in ways if way]))
    if len(made) > 5 and chance.random() < SPLIT:
        cut = chance.randrange(2, len(made) - 2)
        made = f"{made[:cut]} {made[cut:]}"
    return made.capitalize() if word[0].isupper() else made


def _sound_alike(word: str) -> list[str]:
    return [
        word[:place] + new + word[place + len(old) :]
        for old, new in ALIKE
        for place in range(len(word))
        if word.startswith(old, place)
    ]


def _doubled(word: str) -> list[str]:
    return [
        word[:n] + word[n] + word[n:]
        for n in range(1, len(word))
        if word[n] in "bdfglmnprt" and word[n - 1] in "aeiou" and word[n] != word[n - 1]
    ]


def _single(word: str) -> list[str]:
    made = re.sub(r"([b-df-hj-np-tv-z])\1", r"\1", word)
    return [made]


def _other_vowel(word: str) -> list[str]:
    return [
        word[:n] + pair[1] + word[n + 1 :]
        for n in range(1, len(word))
        for pair in VOWELS
        if word[n] == pair[0]
    ]


def _ending(word: str) -> list[str]:
    if word.endswith(("e", "h")) and len(word) > 3:
        return [word[:-1]]
    return [f"{word}h"] if word.endswith("a") else [f"{word}e"]


WAYS: tuple[Callable[[str], list[str]], ...] = (
    _sound_alike,
    _doubled,
    _single,
    _other_vowel,
    _ending,
)
