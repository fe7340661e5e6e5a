"""Text as stored, as indexed, and as written into a prompt.

Three forms, never mixed: ``clean`` for the log (verbatim except for unwritable characters),
``Tokenizer`` for the lexical index, ``neutralise`` for any prompt.
"""

import copy
import hashlib
import re
import threading
import unicodedata
import zlib

import Stemmer

from slowcat_memory.core.language.english import vocabulary as english
from slowcat_memory.core.language.german.statements import ASKS

TOKENIZER_VERSION = 2  # raise it when a text yields other tokens: indexes are then rebuilt
KEEP_CHARS = 256_000  # of one utterance, in the log
INDEX_CHARS = 32_000  # of one utterance, in an index

_UNWRITABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 without tab and newline, DEL, C1
    "\u202a-\u202e\u2066-\u2069"  # bidi embeddings, overrides, isolates
    "\U000e0000-\U000e007f"  # tag characters: invisible text
    "\ufeff\ufffe\uffff]"
)
_BREAK = re.compile("\r\n?|[\x0b\x0c\x1c-\x1f\x85]")  # controls that separate words
_SURROGATE = re.compile("[\ud800-\udfff]")
_ASCII_QUOTES = str.maketrans({"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"'})
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
# Vowel signs, points and joiners are part of a word, although re does not match them as such.
_MARKS = (
    "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06ed"
    "\u0900-\u0963\u0966-\u0df3"  # the scripts of India
    "\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece"  # Thai, Lao
    "\u0f18-\u0f39\u0f71-\u0fbc\u102b-\u103e\u1056-\u1074\u1082-\u108d\u17b4-\u17d3"
    "\u1ab0-\u1aff\u1dc0-\u1dff\u200c\u200d\u20d0-\u20f0"
)
_MARKED_WORD = re.compile(rf"[^\W_](?:[^\W_]|[{_MARKS}])*(?:'[^\W_](?:[^\W_]|[{_MARKS}])*)?")
_IDEOGRAMS = "\u3005\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_SPACELESS = re.compile(  # Thai, Lao, Burmese, Khmer, Japanese, Chinese, Korean
    f"([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\uac00-\ud7af{_IDEOGRAMS}]+)"
)
_IDEOGRAM = re.compile(f"[{_IDEOGRAMS}]")
# Optional in writing: Arabic and Hebrew points, the stretching of Arabic letters, joiners, the dot
# left by folding a Turkish I; and letters with several spellings.
_FOLDED_LETTERS = dict.fromkeys(
    [*range(0x591, 0x5C8), *range(0x610, 0x61B), 0x640, *range(0x64B, 0x660), 0x670]
    + [*range(0x6D6, 0x6EE), 0x200C, 0x200D, 0x307]
) | str.maketrans("أإآٱىیةک", "ااااييهك")
_ARABIC_ARTICLE = re.compile("^(?:[وبفك])?ال(?=[\u0620-\u064a]{3})")
_SHORT_FORMS = frozenset(("s", "t", "re", "ve", "ll", "d", "m"))  # I'll, don't, Anna's
_INVISIBLE = re.compile("[\u200b\u200e\u200f\u2060-\u2064\u061c\u180e]")
_BRACKET_TOKEN = re.compile(r"\[(/?[A-Za-z][A-Za-z0-9_ ]*)\]")  # [INST], [/TOOL_CALLS], [gMASK], …
_ROLE_HEADER = re.compile(
    r"(^|\s)(#{1,6}\s*)?(system|assistant|user|human|developer|instruction)(\s*):", re.I
)
_PROMPT_MARKS = str.maketrans(
    {"<": "‹", ">": "›", "＜": "‹", "＞": "›", "`": "'", "｜": "¦", "|": "¦", "\u2581": "_"}
)


def clean(text: str, limit: int = KEEP_CHARS) -> tuple[str, int]:
    """Return the text as the log keeps it, and how many characters were cut off its end.

    NFC; control, bidi and tag characters are dropped (line separators become a newline), lone
    surrogates replaced. Everything else, chat-template tokens included, stays verbatim.
    """
    kept = text[:limit]
    if _SURROGATE.search(kept):
        kept = _SURROGATE.sub("\ufffd", kept)
    kept = _UNWRITABLE.sub("", _BREAK.sub("\n", kept))
    kept = unicodedata.normalize("NFC", kept)[:limit].strip()  # NFC makes a few texts longer
    return kept, max(0, len(text) - limit)


def neutralise(text: str) -> str:
    """Remove everything that could act as more than text inside a prompt.

    Chat-template tokens become live control tokens when they reach a model inside a message
    (measured on llama.cpp), and a line that looks like a role header reads like one. Angle
    brackets, pipes and back-ticks get look-alikes, bracketed control words lose their brackets,
    role headers their colon, and the whole becomes one line with the same words.
    """
    if not text.isascii():
        text = _INVISIBLE.sub("", text)
    line = " ".join(text.split()).translate(_PROMPT_MARKS)
    # Few lines contain these, and searching for them costs more than the rest.
    if "[" in line:
        line = _BRACKET_TOKEN.sub(r"(\1)", line)
    return _ROLE_HEADER.sub(r"\1\3 -", line) if ":" in line else line


def fingerprint(text: str) -> str:
    """Return the lower-case words joined by single spaces: equal for texts of the same words."""
    if text.isascii():
        return " ".join(_WORD.findall(text.lower()))
    return " ".join(_MARKED_WORD.findall(text.translate(_ASCII_QUOTES).casefold()))


def digest(text: str) -> int:
    """Return a signed 64-bit hash of a text."""
    return int.from_bytes(bytes.fromhex(hex_digest(text)), signed=True)


def hex_digest(text: str, size: int = 8) -> str:
    """Return a hash of a text in hexadecimal digits, two a byte."""
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=size).hexdigest()


def estimate_tokens(text: str) -> int:
    """Estimate the number of LLM tokens of a text.

    The larger of a quarter of its UTF-8 bytes and four thirds of its words: the usual rule for
    byte-pair vocabularies, on the safe side for other scripts. 0 for an empty text.
    """
    return max(-(-len(text.encode("utf-8", "replace")) // 4), -(-4 * len(text.split()) // 3))


class Tokenizer:
    """Splits text into index terms: folded, stemmed, without stop words.

    Scripts without spaces (Chinese, Japanese, Korean, Thai, Lao, Burmese, Khmer) become character
    bigrams; an ideogram, which may be a word, is a token as well. Arabic loses optional marks and
    its article. Thread-safe.

    Attributes:
        version: Changes when the same text would yield other tokens.
        language: Language of the texts.
    """

    def __init__(self, stemmer: str = "english", language: str = "") -> None:
        """Create a tokenizer; ``stemmer`` is a Snowball language or "none".

        ``language`` is that of the texts; "" for the stemmer's.

        Raises:
            ValueError: There is no such stemmer.
        """
        self.version = zlib.crc32(f"{TOKENIZER_VERSION}/{stemmer}".encode())
        known = Stemmer.algorithms()
        if stemmer != "none" and stemmer not in known:
            raise ValueError(f"no stemmer for {stemmer!r}; one of: none, {', '.join(known)}")
        self.language = language or ("english" if stemmer == "none" else stemmer)
        self._algorithm = stemmer
        self._stop = english.STOP_WORDS if stemmer in ("english", "none") else frozenset()
        self._known: dict[str, tuple[str, ...]] = {}
        self._remembers = True
        self._lock = threading.Lock()
        self.forget()

    def forget(self) -> None:
        """Clear the word cache and the stemmer's own."""
        with self._lock:
            self._known.clear()  # in place: query tokenizers share it
            stems = self._algorithm != "none"
            self._stemmer = Stemmer.Stemmer(self._algorithm) if stems else None

    def for_queries(self) -> "Tokenizer":
        """Return the same tokenizer for queries, which does not cache their words."""
        clone = copy.copy(self)
        clone._remembers = False
        if self._stemmer is not None:
            clone._stemmer, clone._lock = Stemmer.Stemmer(self._algorithm, 0), threading.Lock()
        return clone

    def __call__(self, text: str) -> list[str]:
        """Return the tokens in order, with repetitions; only ``INDEX_CHARS`` characters count."""
        text = text[:INDEX_CHARS]
        words = _WORD.findall(text.lower()) if text.isascii() else _words_of_any_script(text)
        tokens: list[str] = []
        known = self._known
        for word in words:
            stems = known.get(word)
            tokens += self._tokens(word) if stems is None else stems
        return tokens

    def _tokens(self, word: str) -> tuple[str, ...]:
        """Return a folded word's tokens, cached because few words are new."""
        if word in self._stop:
            stems: tuple[str, ...] = ()
        elif word.isascii():
            stems = self._stem(word)
        else:
            parts = enumerate(_SPACELESS.split(word))  # odd places hold the runs
            stems = tuple(
                token
                for place, part in parts
                for token in (
                    _bigrams(part) if place % 2 else self._stem(_ARABIC_ARTICLE.sub("", part))
                )
            )
        if len(self._known) > 200_000:
            self._known.clear()
        if self._remembers and len(word) <= 64:
            self._known[word] = stems
        return stems

    def _stem(self, word: str) -> tuple[str, ...]:
        head, _, tail = word.partition("'")
        bare = head if tail in _SHORT_FORMS else head + tail
        negated = tail == "t" and head.endswith("n") and bool(self._stop)  # don't, won't
        if not bare or bare in self._stop or negated:
            return ()
        with self._lock:  # a Snowball stemmer keeps state while it works
            return (self._stemmer.stemWord(bare) if self._stemmer else bare,)


def begins_sentence(text: str, place: int) -> bool:
    """Return whether a sentence or quotation begins at a place, where capitals mean nothing."""
    before = text[max(0, place - 8) : place].rstrip(" \t\"'“‘(¿¡*-")
    return not before or before[-1] in ".!?…:;。！？؟\n"


def _words_of_any_script(text: str) -> list[str]:
    """Fold and split a text that is not all ASCII, keeping vowel signs."""
    folded = unicodedata.normalize("NFKC", text.translate(_ASCII_QUOTES)).casefold()
    return _MARKED_WORD.findall(folded.translate(_FOLDED_LETTERS)[:INDEX_CHARS])


def _bigrams(run: str) -> list[str]:
    if len(run) == 1:
        return [run]
    pairs = [run[i : i + 2] for i in range(len(run) - 1)]
    return [*pairs, *_IDEOGRAM.findall(run)]


def fold(value: str) -> str:
    """Return a name or value in lower case, without outer punctuation and double spaces."""
    return " ".join(value.casefold().split()).strip(" .,;!?\"'")


WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_SENTENCE = re.compile(r"(?:[^.!?…;。！？؟\n]|(?<=\d)\.(?=\s*[^\W\d_]))+[.!?…;。！？؟]*")


def asking(text: str) -> list[str]:
    """Return the sentences that are questions: by a question mark or (for STT) by their start."""
    sentences = (sentence.strip() for sentence in _SENTENCE.findall(text))
    return [
        part
        for part in sentences
        if part.endswith(("?", "？", "؟"))
        or ((first := WORD.search(part)) and first[0].lower().partition("'")[0] in english.ASKING)
        or ASKS.match(part)
    ]


_NO_CONTENT = english.EMPTY | english.PRONOUNS


def content_words(text: str) -> list[str]:
    """Return a text's distinct words in order, without pronouns, auxiliaries and fillers."""
    words = dict.fromkeys(WORD.findall(text))
    if "'" in text or "’" in text:
        return [word for word in words if _bare(word) not in _NO_CONTENT]
    return [word for word in words if word.lower() not in _NO_CONTENT]


def _bare(word: str) -> str:
    return word.lower().replace("’", "'").partition("'")[0]
