"""Compares words as a person would: without accents, capitals and endings of the plural."""

import re
import unicodedata
from collections.abc import Iterable

LEAST_PART = 5  # letters of a part of a compound
_WORD = re.compile(r"[^\W_]+")
_GERMAN_ENDINGS = re.compile(r"(?<=...)(?:en|er|em|es|e|n)$")
_POSSESSIVE = re.compile(r"['’]s\b")
_LEADING = frozenset(
    "that dass the a an my our your der die das den dem des ein eine einen einem mein meine meinen "
    "meinem meiner unser unsere unseren to zu on in at from am im von vom".split()
)
_NUMBERS = {  # "seven" and "7" are equal; not "one", which is a pronoun and an article too
    word: str(number)
    for line in (
        "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
        "sixteen seventeen eighteen nineteen twenty",
        "zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn "
        "sechzehn siebzehn achtzehn neunzehn zwanzig",
    )
    for number, word in enumerate(line.replace("ü", "u").replace("ö", "o").split(), 2)
}


def stems(text: str, language: str = "english") -> list[str]:
    """Return a text's words, folded: "Haselnüsse" and "haselnuss" are equal in German."""
    decomposed = unicodedata.normalize("NFKD", _POSSESSIVE.sub("", text).casefold())
    plain = "".join(letter for letter in decomposed if not unicodedata.combining(letter))
    return [_stem(word, language) for word in _WORD.findall(plain)]


def _stem(word: str, language: str) -> str:
    if word in _NUMBERS:
        return _NUMBERS[word]
    if language == "german":
        word = _GERMAN_ENDINGS.sub("", word)
    return word.rstrip("s") if len(word) > 3 else word


def contains(text: str, words: Iterable[str], language: str = "english") -> bool:
    """Return whether a text has every word of some phrases, in any order.

    In German a word may be a part of a longer one: "Laktose" is in "laktoseintolerant".
    """
    held = set(stems(text, language))
    wanted = {stem for phrase in words for stem in stems(phrase, language)}
    missing = wanted - held
    if language == "german":
        missing = {stem for stem in missing if not _in_compound(stem, held)}
    return not missing


def _in_compound(stem: str, held: Iterable[str]) -> bool:
    long = len(stem) >= LEAST_PART
    return long and any(word.startswith(stem) or word.endswith(stem) for word in held)


def same_phrase(one: str, other: str, language: str = "english") -> bool:
    """Return whether two phrases are equal but for a leading article, "that" or "my"."""
    return _bare(one, language) == _bare(other, language)


def _bare(phrase: str, language: str) -> list[str]:
    words = phrase.casefold().split()
    while len(words) > 1 and words[0] in _LEADING:
        words = words[1:]
    return stems(" ".join(words), language)
