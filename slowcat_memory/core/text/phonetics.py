"""Words that sound alike: matches a misheard word of the STT with the name that was spoken.

STT that does not know "Isaura" writes "Ysaura", "Is aura" or "Isora". Two words are close when
their consonants sound the same (Metaphone, voiced and voiceless ones merged) and their spelling is
close (edit distance, after the usual confusions of letters are undone). Both count by half: sounds
alone would match "Aaron" with "Erin" and "Tom" with "Tim", spelling alone "Martin" with "Marta".
"""

import re
import unicodedata

import jellyfish
from msgspec import Struct

VOICING_CLOSENESS = 0.92  # of words that differ only in voicing: "Bedro", "Pedro"
_VOICELESS = str.maketrans({"B": "P", "D": "T", "G": "K", "V": "F", "Z": "S", "X": "S", "0": "T"})
_VOWELS = "AEIOU"
_GLIDES, _TWICE = re.compile(r"[YW]"), re.compile(r"(.)\1+")  # within a word: "Marya", "Jamess"
_LETTERS = re.compile(r"[^a-z]")
_RESPELL = tuple(
    (re.compile(pattern), letter)
    for pattern, letter in (
        (r"ck|qu?|c(?![eiyh])|kh", "k"),
        (r"c(?=[eiy])|z", "s"),
        (r"ph", "f"),
        (r"x", "ks"),
        (r"gi(?=[aou])", "j"),
        (r"oey?$", "oi"),
        (r"au|aw", "o"),
        (r"ie|ee|ey|ea|y", "i"),
        (r"oo|ou", "u"),
        (r"ai|ay", "e"),
        (r"(?<=.)h", ""),
        (r"(.)\1+", r"\1"),
        (r"(?<=..)e$", ""),
    )
)


class MisheardWord(Struct, frozen=True):
    """The words of a query that may be a misheard name; ``confidence`` is 0 to 1."""

    said: str
    name: str
    confidence: float


class Sound(Struct, frozen=True):
    """Sound and spelling of a word.

    ``spelling`` has the usual confusions undone; ``exact`` are the consonants by Metaphone; in
    ``rough``, voiced and voiceless ones are merged.
    """

    spelling: str
    exact: str
    rough: str


def sound(word: str) -> Sound | None:
    """Return a word's English sound; None without Latin letters or without a consonant."""
    decomposed = unicodedata.normalize("NFKD", word.lower())
    letters = _LETTERS.sub("", decomposed)
    if len(letters) < 2 or 2 * len(letters) < len(word):
        return None
    if letters[0] == "y" and letters[1] not in "aeiou":
        letters = f"i{letters[1:]}"
    code = jellyfish.metaphone(letters)
    exact = _TWICE.sub(r"\1", code[:1].strip(_VOWELS) + _GLIDES.sub("", code[1:]))
    if letters[0] in "aeiou":
        exact = f"A{exact}"
    spelling = letters
    for pattern, letter in _RESPELL:
        spelling = pattern.sub(letter, spelling)
    return Sound(spelling, exact, exact.translate(_VOICELESS)) if exact else None


def keys(heard: Sound) -> tuple[str, ...]:
    """Return a sound's look-up keys; two sounds that differ by one consonant share a key.

    These are the rough consonants, and of four or more also those with one omitted.
    """
    rough = heard.rough
    if len(rough) < 4:
        return (rough,)
    return tuple(dict.fromkeys((rough, *(rough[:n] + rough[n + 1 :] for n in range(len(rough))))))


def closeness(one: Sound, other: Sound) -> float:
    """Return the similarity of two words, 0 to 1; 1 for the same sound and spelling."""
    spelt = _likeness(one.spelling, other.spelling)
    if one.exact == other.exact:
        alike = 1.0
    elif one.rough == other.rough:
        alike = VOICING_CLOSENESS
    else:
        alike = _likeness(one.rough, other.rough)
    if (
        min(len(one.rough), len(other.rough)) < 2
    ):  # a single consonant occurs in nearly any short word
        spelt = 2 * spelt - 1
    return (alike + max(0.0, spelt)) / 2


def _likeness(one: str, other: str) -> float:
    """Return the share of the longer of two strings that needs no edit."""
    return 1 - jellyfish.damerau_levenshtein_distance(one, other) / max(len(one), len(other))
