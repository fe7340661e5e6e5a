"""How words sound in English: two spellings of a name are compared by it.

STT that does not know "Isaura" writes "Ysaura", "Is aura" or "Isora": the consonants sound the same
(Metaphone, voiced and voiceless ones merged), and so does the spelling, once the usual confusions of
letters are undone.
"""

import re
import unicodedata

import jellyfish
from msgspec import Struct

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
