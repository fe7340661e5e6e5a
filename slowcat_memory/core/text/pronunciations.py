"""Spells a name the way that it sounds, by the spelling rules of the languages it may come from.

A recogniser writes what it hears in the spelling of its own language: Irish "Saoirse" becomes
"Sersha", Polish "Wojciech" "Voycheck", German "Schäfer" "Shayfer". Each language's rules rewrite a
name only if one of its typical letters occurs, so that most names have one pronunciation.
"""

import re
import unicodedata
from collections.abc import Callable

from msgspec import Struct

from slowcat_memory.core.language.data import rewriter
from slowcat_memory.core.text_caches import text_cache

MOST = 8  # pronunciations of a word


class MisheardWord(Struct, frozen=True):
    """The words of a query that may be a misheard name; ``confidence`` is 0 to 1."""

    said: str
    name: str
    confidence: float


_Spelling = tuple[re.Pattern[str], Callable[[str], str]]


def _spelling(typical: str, *rules: tuple[str, str]) -> _Spelling:
    """Return a language's spelling: where it may apply, and what its rules make of a word."""
    return re.compile(typical), rewriter(*rules)


_IRISH = _spelling(
    r"bh|mh|dh|gh|ao|fh|aoi|sio|[aeiouáéíóú]is|rse|eoi|uai|^oi|dearb|aíg|sín|sibh|eig|eid|ois|iar|inn|onn",
    (r"^mh", "v"), (r"aoi|ao", "ee"), (r"aimh|eamh", "ev"), (r"abh|obh", "ov"), (r"adhg|aidhg", "ige"),
    (r"iamh", "eev"), (r"[bm]h", "v"), (r"igh|idh|ígh", "y"), (r"ogha|eogha", "owe"), (r"dh|gh|th(?=.)", ""),
    (r"fh", ""), (r"s(?=[eiéí])", "sh"), (r"(?<=[ií])s(?=[ií])", "sh"), (r"is(?=[^aou])|ís", "ish"),
    (r"rse", "rsha"), (r"eo", "o"), (r"ua", "oo"), (r"io", "i"), (r"ia", "ee"), (r"c", "k"),
    (r"e$", "a"), (r"á", "aw"), (r"í", "ee"), (r"ó", "oh"), (r"é", "ay"), (r"ú", "oo"),
)  # fmt: skip
_POLISH = _spelling(
    r"cz|sz|rz|ł|w|ą|ę|ń|ś|ż|ź|ó|ć|szcz|dz|ski$|ska$|ck[ia]$|ciech|si[eaou]|ni[eaou]|gn|zb",
    (r"szcz", "shch"), (r"cz|ć|ci(?=[aeou])", "ch"), (r"sz|ś|si(?=[aeou])", "sh"), (r"rz|ż|ź|zi(?=[aeou])", "zh"),
    (r"ch(?=$)", "k"), (r"ł", "§"), (r"dz", "j"), (r"j", "y"), (r"w", "v"), (r"§", "w"), (r"ck", "tsk"),
    (r"c(?![hk])", "ts"), (r"ą", "on"), (r"ę", "en"), (r"ó", "oo"), (r"ń", "n"), (r"zh", "sh"),
)  # fmt: skip
_GERMAN = _spelling(
    r"sch|ei|eu|äu|w|v|z|j|ö|ü|ä|ie|^s[tp]|pf|ß|gg|au",
    (r"tsch", "ch"), (r"sch", "sh"), (r"^s(?=[tp])", "sh"), (r"eu|äu|aeu", "oy"), (r"ei|ai", "y"), (r"ie", "ee"),
    (r"pf", "f"), (r"v", "f"), (r"w", "v"), (r"tz|z", "ts"), (r"j", "y"), (r"ö|oe", "er"), (r"ü|ue", "oo"),
    (r"ä|ae", "ay"), (r"ß", "ss"), (r"au", "ow"), (r"ch", "k"), (r"e$", "a"),
)  # fmt: skip
_FRENCH = _spelling(
    r"eau|au[tdx]s?$|oi|ç|ê|è|é|â|ï|î|gn|ou|ault|ieu|x$|^ge|che|ique|ette|aine|[aeou]n[ct]|eims|vre$|ain|elle|euil|ï|ot$|et$|er$",
    (r"eaux?|au(?:x|lt|t|d)?s?$|ot$", "o"), (r"oi", "wa"), (r"ç", "s"), (r"ch", "sh"), (r"ge(?=[aou])|g(?=[eiéè])|j", "zh"),
    (r"gn", "ny"), (r"ou", "oo"), (r"qu", "k"), (r"eims$|ains$|ens$", "ans"), (r"(?:es|[stdxzp])$", ""), (r"è|ê|é|ai", "ay"),
    (r"[ae]n(?=[^aeiouyn]|$)", "on"), (r"ain|ein|in(?=[^aeiou]|$)", "an"), (r"h", ""), (r"zh", "j"), (r"ll", "y"), (r"e$", ""),
)  # fmt: skip
_SPANISH = _spelling(
    r"j|ll|ñ|x|gu|z|qu|^h|c[ei]|g[ei]|ción|hu",
    (r"qu", "k"), (r"gu(?=[ei])", "§"), (r"^gu|hu(?=[aeo])", "w"), (r"j|g(?=[ei])", "h"), (r"^x", "s"), (r"x", "h"),
    (r"ll", "y"), (r"ñ", "ny"), (r"z|c(?=[ei])", "s"), (r"^h", ""), (r"oa", "wa"), (r"v", "b"), (r"§", "g"),
)  # fmt: skip
_ITALIAN = _spelling(
    r"gi|ci|ch|gn|gl|cc|gg|sc[ei]|zz|ghi",
    (r"cch|ch", "k"), (r"gh", "g"), (r"sci(?=[aou])|sc(?=[ei])", "sh"), (r"gi(?=[aou])|gg(?=[ei])|g(?=[ei])", "j"),
    (r"ci(?=[aou])|cc(?=[ei])|c(?=[ei])", "ch"), (r"gli", "ly"), (r"gn", "ny"), (r"zz|z", "ts"),
)  # fmt: skip
_TURKISH = _spelling(
    r"[çşğıöü]|c[aeiouıöü]|ay$|ey$|y[ıü]|lg|oğ",
    (r"ç", "§"), (r"c", "j"), (r"§", "ch"), (r"ş", "sh"), (r"ğ", ""), (r"ı", "i"), (r"ö", "er"), (r"ü", "oo"),
    (r"ay$", "i"), (r"ey$", "ay"),
)  # fmt: skip
_NORTHERN = _spelling(
    r"[åøæöä]|j|hj|kj|sj|skj|gj|vei|eig|hv|lv|rg$",
    (r"hj|gj|^j|j", "y"), (r"skj|sj|kj|tj", "sh"), (r"å", "o"), (r"ø|ö", "er"), (r"æ|ä", "e"), (r"eig$", "ay"),
    (r"rg$", "ry"), (r"hv", "v"), (r"aa", "o"), (r"w", "v"), (r"th|ð|þ", "t"),
)  # fmt: skip
_CZECH = _spelling(
    r"[čšžřěůýďťň]|lj|nj|đ|ć|c(?![khaou])|[bdz]j",
    (r"č|ć", "ch"), (r"š", "sh"), (r"ž", "zh"), (r"ř", "rsh"), (r"lj", "ly"), (r"nj", "ny"), (r"j", "y"), (r"đ", "j"),
    (r"c(?!h)", "ts"), (r"zh", "sh"), (r"ě", "ye"),
)  # fmt: skip
_THROATY = _spelling(r"kh|gh|ch", (r"kh|ch", "h"), (r"gh", "r"))
_SPELLINGS = (
    _IRISH, _POLISH, _GERMAN, _FRENCH, _SPANISH, _ITALIAN, _TURKISH, _NORTHERN, _CZECH, _THROATY,
)  # fmt: skip
_LETTERS = str.maketrans({"ł": "w", "ø": "o", "æ": "e", "å": "o", "ı": "i", "ß": "ss", "đ": "d"})


@text_cache(8192)
def pronunciations(name: str) -> tuple[str, ...]:
    """Return the spellings of a name's sound, its own first; all in plain Latin letters."""
    low = unicodedata.normalize("NFC", name.lower())
    forms = [low, *(rewrite(low) for typical, rewrite in _SPELLINGS if typical.search(low))]
    return tuple(dict.fromkeys(map(_plain, forms)))[:MOST]


@text_cache(1024)
def heard_as(words: str) -> tuple[str, ...]:
    """Return the sound's spellings of what a recogniser wrote, in English or German."""
    low = unicodedata.normalize("NFC", words.lower())
    _, in_german = _GERMAN
    return tuple(dict.fromkeys((_plain(low), _plain(in_german(low)))))


def _plain(text: str) -> str:
    apart = unicodedata.normalize("NFKD", text.translate(_LETTERS))
    return "".join(letter for letter in apart if letter.isascii() and letter.isalpha())


_CLASSES = {
    letter: class_
    for class_, letters in {"P": "bp", "F": "fv", "T": "dt", "K": "kgqc", "S": "szxj"}.items()
    for letter in letters
} | {letter: letter.upper() for letter in "mnlr"}
_sounds = rewriter(
    (r"tsh|tch|sch|sh|ch|zh|dj|ts|tz|dz|j", "s"), (r"ph", "f"), (r"th", "t"), (r"c(?=[eiy])", "s"), (r"ck|q", "k"),
    (r"^x", "s"), (r"x", "ks"), (r"gh(?=[^aeiou]|$)", ""), (r"^kn", "n"), (r"^wr", "r"), (r"ng(?=$)", "n"),
)  # fmt: skip
_VOWELS = frozenset("aeiouyw")
_NEAR = {
    frozenset(pair): cost
    for pair, cost in {"PF": 0.5, "TS": 0.6, "SK": 0.6, "RL": 0.6, "NM": 0.3, "TP": 0.8, "NR": 0.9}.items()
}  # fmt: skip
_VOWEL_COST, _GLIDE_COST, _R_COST = 0.2, 0.5, 0.4
_TWICE = re.compile(r"(.)\1+")


@text_cache(16384)
def sound_code(spelling: str) -> str:
    """Return a spelling's sound: consonants by class in capitals, vowels and glides in small letters."""
    sounds = (letter for letter in _sounds(spelling) if letter != "h")
    coded = "".join(_CLASSES.get(letter, letter) for letter in sounds)
    return _TWICE.sub(r"\1", coded)


def consonants(code: str) -> str:
    return _TWICE.sub(r"\1", "".join(letter for letter in code if letter.isupper()))


def sound_keys(code: str) -> tuple[str, ...]:
    """Return look-up keys: its consonants, and of three or more also those with one left out."""
    rough = consonants(code)
    if len(rough) < 3:
        return (rough,)
    return tuple(dict.fromkeys((rough, *(rough[:n] + rough[n + 1 :] for n in range(len(rough))))))


def sound_likeness(sound: str, other: str) -> float:
    """Return the similarity of two sound codes, 0 to 1: by consonants first, vowels count little."""
    row = [0.0]
    for letter in other:
        row.append(row[-1] + _weight(letter))
    for letter in sound:
        gone = _weight(letter)
        before, row = row, [row[0] + gone]
        for place, heard in enumerate(other):
            row.append(
                min(
                    before[place] + _change(letter, heard),
                    before[place + 1] + gone,
                    row[place] + _weight(heard),
                )
            )
    most = max(sum(map(_weight, sound)), sum(map(_weight, other)), 1.0)
    return max(0.0, 1 - row[-1] / most)


def _weight(letter: str) -> float:
    if letter in _VOWELS:
        return _VOWEL_COST
    return _R_COST if letter == "R" else 1.0


def _change(letter: str, other: str) -> float:
    if letter == other:
        return 0.0
    if letter in _VOWELS and other in _VOWELS:
        return _VOWEL_COST / 2
    if letter in _VOWELS or other in _VOWELS:
        return _GLIDE_COST if {letter, other} in ({"w", "F"}, {"y", "S"}) else 1.0
    return _NEAR.get(frozenset((letter, other)), 1.0)
